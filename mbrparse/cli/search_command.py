"""``mbrparse search``: the trees of treebanks that fit a pattern."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import click

from mbrparse import errors, files, log
from mbrparse.cli import corpus_options, messages, options
from mbrparse.cli.commands import Text, argument, command, count_option, group, option
from mbrparse.treebank import clean, drawing
from mbrparse.treebank.corpora import known_corpora, places, reading, tree_search

_COLUMNS = (*places.COLUMNS, "pattern", "begin", "end", "match", "words")
#: The most trees of an image.
_MOST_DRAWN = 200


@command
def search(
    pattern: str = argument(),
    treebanks: tuple[str, ...] = argument(nargs=-1, required=True, metavar="TREEBANK..."),
    also: list[str] = option(
        multiple=True, type=Text("PATTERN"), help="A further pattern, in the same pass."
    ),
    cleaned: bool = option(
        is_flag=True,
        help="Search cleaned trees, without traces, wrappers and functions, as binarize has them.",
    ),
    count: bool = option(is_flag=True, help="Print how many trees and nodes fit, by file."),
    trees: bool = option(is_flag=True, help="Print whole trees, a line each, instead of words."),
    format: Any = option(choices=["text", "csv"], default="text", help="Lines for people, or a row a match."),
    most: int | None = count_option(help="End after N trees that fit.", metavar="N"),
    svg: str | None = option(metavar="PATH", help=f"Also draw the trees that fit, {_MOST_DRAWN} at most."),
    corpus: corpus_options.CorpusOptions = group(corpus_options.CorpusOptions),
    on_error: Any = corpus_options.on_error("At a malformed tree, stop with an error, or leave it out."),
    output: str = options.output(),
) -> None:
    """Print the sentences whose trees fit a PATTERN in the language of tgrep; words that fit are in brackets.

    'NP < PP' is an NP with a PP below it, 'VP << /^NN/' a VP with a noun anywhere inside, 'S !< NP' an S
    without NP below it. TREEBANK is what binarize takes. Trees are as the corpus has them, with traces and
    functions. A tree takes a millisecond. The exit status is 1 if nothing fits.
    """
    if count and trees:
        raise click.UsageError("Give --count or --trees, not both.")
    options.check_outputs({"--output": output, "--svg": svg}, {"TREEBANK": treebanks})
    patterns = [pattern, *also]
    fits = tree_search.compiled(patterns)
    known, removed = places.Places(messages.note), Counter[str]()
    counts: dict[str, Counter[str]] = {}
    drawn: list[drawing.Drawing] = []
    matched = 0
    with ExitStack() as outputs:
        outputs.enter_context(files.atomic_outputs())
        stream = outputs.enter_context(files.open_output(output))
        rows = csv.writer(stream, lineterminator="\n")
        if format == "csv" and not count:
            rows.writerow(_COLUMNS)
        read = _trees(treebanks, corpus, on_error, removed, cleaned)
        for one, matches in messages.with_progress(tree_search.search(read, fits), "searching"):
            names = [
                "trees",
                *["trees that fit"] * bool(matches),
                *(patterns[match.pattern] for match in matches),
            ]
            counts.setdefault(one.source, Counter()).update(names)
            if not matches:
                continue
            matched += 1
            place, words = known.of(one.source, one.line, one.id), one.tree.words()
            if svg is not None and len(drawn) < 2 * _MOST_DRAWN:
                marks = {match.constituent for match in matches if match.constituent is not None}
                drawn += [drawing.heading(errors.visible(str(place))), drawing.drawing(one.tree, marks)]
            if format == "csv" and not count:
                for match in matches:
                    found = match.begin, match.end, str(match.node), " ".join(words)
                    rows.writerow([*map(str, place), patterns[match.pattern], *found])
            elif not count:
                lines = [str(one.tree)] if trees else [match.marked(words) for match in matches]
                stream.writelines(errors.visible(f"{place}: {line}") + "\n" for line in lines)
            if matched == most:
                break
        if count and format == "csv":
            rows.writerows(_by_file(counts, patterns))
        elif count:
            (_, *names), *figures = _by_file(counts, patterns)
            for file, *numbers in figures:
                shown = (f"{name} {number:,}" for name, number in zip(names, numbers, strict=True))
                stream.write(errors.visible(f"{file}: {', '.join(shown)}") + "\n")
        if svg is not None:
            outputs.enter_context(files.open_output(svg)).write(
                f"{drawing.svg(drawn or [drawing.heading('no tree fits')])}\n"
            )
    if not counts:
        raise reading.no_trees(", ".join(treebanks))
    total = sum(one["trees"] for one in counts.values())
    left_out = f"; malformed trees left out: {removed['malformed']:,}" if removed["malformed"] else ""
    messages.note(f"{log.counted(matched, 'tree')} of {total:,} fit{left_out}")
    if not matched:
        raise click.exceptions.Exit(1)


def _by_file(counts: dict[str, Counter[str]], patterns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """A heading, the figures of each file, and their sums."""
    names = ("trees", "trees that fit", *patterns)
    yield "file", *names
    for file, figures in [*counts.items(), ("total", sum(counts.values(), Counter[str]()))]:
        yield file, *(figures[name] for name in names)


def _trees(
    specs: tuple[str, ...],
    how: corpus_options.CorpusOptions,
    on_error: str,
    removed: Counter[str],
    cleaned: bool,
) -> Iterator[reading.SourceTree]:
    def skip(_: errors.MbrparseError) -> None:
        removed["malformed"] += 1

    for spec in specs:
        corpus = known_corpora.known_corpus(spec)
        convention = clean.categories(clean.STRIP, clean.PENN if corpus is None else corpus.functions)
        for one in reading.read_corpus(spec, how, on_error=skip if on_error == "skip" else None):
            bare = clean.without_traces(one.tree) if cleaned else one.tree
            if bare is not None:
                yield one._replace(tree=clean.simplify(bare, "keep", convention) if cleaned else bare)
