"""Commands on treebanks: ``mbrparse corpora``, ``stats``, ``check``, ``split``, ``baseline``, ``sample``."""

from __future__ import annotations

import json
import re
import secrets
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from itertools import islice
from typing import Any

import click

from mbrparse import errors, files, log
from mbrparse.cli import corpus_options, model_options, options
from mbrparse.cli.commands import Text, argument, command, count_option, group, option, seed_option
from mbrparse.cli.messages import note, with_progress
from mbrparse.treebank import baselines, brackets, clean, splits
from mbrparse.treebank.corpora import known_corpora, places, reading
from mbrparse.treebank.corpora import treebank_statistics as statistics
from mbrparse.treebank.formats import formats
from mbrparse.treebank.tree import bracket_free


@command
def corpora(
    paths: tuple[str, ...] = argument(nargs=-1, metavar="[PATH]..."),
    check: bool = option(is_flag=True, help="Also print what is in those that are on this machine."),
) -> None:
    """List the treebanks that are known by name: size, licence, citation, and location in NLTK's data.

    Of a PATH (a file, a folder, a zip, or a folder of zips) print its likely format, how it is read,
    its contents, and what is removed or cut.
    """
    for spec in [spec for path in paths for spec in statistics.readers_at(path)]:
        _describe(spec)
    if paths:
        return
    found = reading.find_corpora(())
    for corpus in known_corpora.CORPORA:
        here = found[corpus.name]
        click.echo(errors.visible(f"{corpus.spec}  {corpus.title} ({corpus.language}), {corpus.size}"))
        click.echo(f"    licence   {corpus.licence}")
        click.echo(f"    cite      {corpus.citation}")
        for spec in here:
            click.echo(errors.visible(f"    here      mbrparse binarize {spec}"))
            if check:
                _describe(spec)
        if not here:
            click.echo(f"    not here  {corpus.get}")


def _describe(spec: str) -> None:
    """Print what a treebank seems to be, and how it is read."""
    progress = partial(with_progress, title=spec)
    found = statistics.treebank_statistics(spec, on_error="skip", progress=progress)
    figures, counts, corpus = found.figures(), found.counts(), known_corpora.known_corpus(spec)
    sizes = ("files", "trees", "words", "different tags", "different labels", "malformed trees left out")
    lines = {
        "read as": f"mbrparse binarize {spec}",
        "holds": ", ".join(f"{name} {figures[name]:,}" for name in sizes),
    }
    for table in ("removed", "wrappers", "traces", "functions"):
        items = [f"{name} {number:,}" for name, number in counts[table].items()]
        lines[table] = ", ".join(items[:10] + ["..."] * (len(items) > 10)) or "none"
    if (first := statistics.first_tree(spec)) is not None:
        lines["format"] = first.format
        lines["written"] = errors.shortened(first.written, 300)
        lines["first"] = errors.shortened(str(first.tree), 300)
        lines["its words"] = errors.shortened(" ".join(first.tree.words()), 300)
    lines["cut"] = (
        f"functions, as {clean.PENN if corpus is None else corpus.functions} says, by --functions strip"
    )
    lines["more"] = f"mbrparse stats {spec}; mbrparse check {spec}"
    plain = "plain brackets" if first is None or first.format == "brackets" else first.format
    click.echo(errors.visible(f"{spec}  {plain if corpus is None else corpus.title}"))
    for what, text in lines.items():
        click.echo(errors.visible(f"    {what:<9} {text}"))


#: How many rows of each table, and malformed trees of a kind, are shown where all are asked for.
_TOP = 10
FIGURES, FILES = "figures", "files"
_QUOTED = re.compile(r"\s*'[^']*'")


@command
def stats(
    treebanks: tuple[str, ...] = argument(nargs=-1, required=True, metavar="TREEBANK..."),
    table: str | None = option(
        choices=[FIGURES, FILES, *statistics.TABLES],
        help="Print this table alone (default: the top of each).",
    ),
    top: int | None = count_option(
        help="How many rows of a table (default: all of --table, in csv and json; else 10)."
    ),
    format: Any = option(
        choices=["text", "markdown", "latex", "csv", "json"],
        default="text",
        help="csv has one table: of files, or --table.",
    ),
    no_traces: bool = option(is_flag=True, help="Take out traces first."),
    functions: str = corpus_options.functions(),
    reading: corpus_options.CorpusOptions = group(corpus_options.CorpusOptions),
    on_error: Any = corpus_options.on_error(
        "At a malformed tree, stop with an error, or leave it out and count it."
    ),
    output: str = options.output(),
) -> None:
    """Count what is in a treebank: words, labels, tags, rules, unary chains, lengths, depths, traces.

    TREEBANK is what binarize takes: a file, "-", a folder, a zip, a glob, or a name that corpora lists.
    Trees are counted as they are written, but for a wrapper around the root; traces (-NONE-) are no words. A
    chain is a row of constituents with one child each.
    """
    import pandas as pd

    from mbrparse.evaluate.tables import csv_of, lay_out

    options.check_outputs({"--output": output}, {"TREEBANK": treebanks})
    progress = partial(with_progress, title="counting")
    found = statistics.treebank_statistics(
        *treebanks,
        functions=functions,
        no_traces=no_traces,
        reading=reading,
        on_error=on_error,
        progress=progress,
    )
    if unmatched := reading.unmatched(found.removed):
        note(f"warning: no label fits --drop {','.join(unmatched)}")
    counts: dict[str, Mapping[str, Any]] = {FIGURES: found.figures(), FILES: found.files, **found.counts()}
    names = [table] if table else [FILES] if format == "csv" else list(counts)
    if format == "json":
        chosen = {name: dict(islice(counts[name].items(), top)) for name in names}
        lines = [json.dumps(chosen, indent=2, ensure_ascii=False)]
    elif format == "csv":
        heading, *body = _rows(names[0], counts[names[0]], top)
        lines = csv_of(pd.DataFrame(body, columns=heading, dtype=object)).splitlines()
    else:
        lines, most = [], top if table or top else _TOP
        for name in filter(counts.get, names):
            rows = _by_tens(counts[name]) if name == "lengths" else counts[name]
            shown = _rows(name, rows, None if name == FIGURES else most)
            lines += lay_out([[*map(_shown, row)] for row in shown], format)
            left = 0 if name == FIGURES or most is None or table else len(rows) - most
            lines += [f"... {left:,} more: --table {name}"] * (left > 0) + [""] * (table is None)
    with files.open_output(output) as stream:
        stream.writelines(f"{line}\n" for line in lines)


def _rows(name: str, counts: Mapping[str, Any], most: int | None) -> list[tuple[Any, ...]]:
    """A heading and rows: of files with their sum, of others with their shares."""
    if name == FIGURES:
        return [("", name), *islice(counts.items(), most)]
    if name == FILES:
        rows = [(file, *figures.values()) for file, figures in counts.items()]
        sums = map(sum, zip(*(row[1:] for row in rows), strict=True))
        return [("file", *statistics.FILE_FIGURES), *rows[:most], ("total", *sums)]
    whole = sum(counts.values())
    rows = [(key, number, 100 * number / whole) for key, number in counts.items()]
    return [(name, "count", "percent"), *rows[:most]]


def _by_tens(lengths: Mapping[str, int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for length, count in lengths.items():
        low = max(int(length) - 1, 0) // 10 * 10
        found[f"{low + 1}-{low + 10}"] += count
    return found


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


@command
def check(
    treebanks: tuple[str, ...] = argument(nargs=-1, required=True, metavar="TREEBANK..."),
    format: Any = option(choices=["text", "json"], default="text", help="json: an object a line."),
    all: bool = option(is_flag=True, help=f"Name all that is malformed, not the first {_TOP} of a kind."),
    reading: corpus_options.CorpusOptions = group(corpus_options.CorpusOptions),
    output: str = options.output(),
) -> None:
    """Name the malformed trees of a treebank, and count what is suspicious, or removed, as it is read.

    TREEBANK is what binarize takes: a file, "-", a folder, a zip, a glob, or a name that corpora lists. What
    is suspicious can be read, but likely means something else; its first place is printed, and its number
    in brackets. The exit status is 1 if any tree is malformed.
    """
    options.check_outputs({"--output": output}, {"TREEBANK": treebanks})
    malformed = 0
    with files.open_output(output) as stream:
        for spec in treebanks:
            kinds = Counter[str]()
            for found in statistics.check_treebank(spec, reading, partial(with_progress, title="checking")):
                malformed += found.kind == "malformed"
                of_kind = _QUOTED.sub("", found.what)
                kinds[of_kind] += found.kind == "malformed"
                if not all and format == "text" and kinds[of_kind] > _TOP:
                    continue
                if format == "json":
                    stream.write(json.dumps(found._asdict(), ensure_ascii=False) + "\n")
                    continue
                place = f"{found.source}:{found.line}" if found.line else found.source
                kind = "" if found.kind == "malformed" else f"{found.kind} ({found.number:,}): "
                stream.write(errors.visible(f"{place}: {kind}{found.what}") + "\n")
            for what, number in kinds.items():
                if number > _TOP and not all:
                    note(f"{number - _TOP:,} more: {what} (--all names them)")
            if not files.is_file(known_corpora.corpus_path(spec)):
                continue
            if (first := statistics.first_tree(spec, reading)) is not None:
                note(f"{spec} is read as {first.format}")
                note(f"the first tree: {errors.shortened(str(first.tree), 300)}")
                note(f"it is written: {errors.shortened(first.written, 300)}")
            if (reader := statistics.likely_reader(spec, reading)) != spec:
                note(f"{spec} looks like another style: name its reader, {reader}")
    note(f"malformed trees: {malformed:,}")
    if malformed:
        raise click.exceptions.Exit(1)


@command
def split(
    inputs: tuple[str, ...] = options.inputs(),
    test_fraction: str | None = option(
        type=Text("F"), help="Test on the last floor(N*F) trees, or with --seed on random ones."
    ),
    test_last: int | None = count_option(help="Test on the last N trees.", least=0, metavar="N"),
    test_random: int | None = count_option(help="Test on N trees drawn at random.", least=0, metavar="N"),
    fold: str | None = option(
        type=Text("I/N"), help="Test on the I-th of N parts, with --seed of random trees."
    ),
    train_size: str | None = option(
        type=Text("F|N"), help="The number of training trees to keep, or their share."
    ),
    dev_fraction: str | None = option(
        type=Text("F"),
        help="Take floor(N*F) of the other trees for development: the last ones, or with --seed random ones.",
    ),
    seed: int | None = seed_option("Seed of a random draw."),
    train_output: str | None = option(metavar="PATH", help="The file of the training trees."),
    dev_output: str | None = option(metavar="PATH", help="The file of the development trees."),
    test_output: str | None = option(metavar="PATH", help="The file of the test trees."),
    encoding: str = options.encoding(),
    no_ids: bool = corpus_options.no_ids(),
) -> None:
    """Split the N trees of files into training, test and development parts, each in the input's order."""
    if sum(given is not None for given in (test_fraction, test_last, test_random, fold)) != 1:
        raise click.UsageError("Give one of --test-fraction, --test-last, --test-random and --fold.")
    if test_random is not None and seed is None:
        raise click.UsageError("--test-random needs --seed.")
    if test_last is not None and seed is not None:
        raise click.UsageError("--seed needs --test-fraction, --test-random or --fold.")
    if (dev_fraction is None) != (dev_output is None):
        raise click.UsageError("--dev-fraction and --dev-output need each other.")
    outputs = {"--train-output": train_output, "--dev-output": dev_output, "--test-output": test_output}
    if not any(outputs.values()):
        raise click.UsageError("Give --train-output, --test-output or both.")
    options.check_outputs(corpus_options.with_places(outputs, no_ids), {"INPUT": inputs})
    # As text: half the memory of the trees, and what is written is what their writer writes.
    trees: list[str] = []
    where: list[tuple[str, int]] = []
    lengths: list[int] = []
    for path in inputs:
        for line, tree, _ in formats.read_tree_file(path, encoding):
            if tree is not None:
                trees.append(str(tree))
                where.append((files.source_name(path), line))
                lengths.append(len(tree.leaves()))
    if not trees:
        raise reading.no_trees(", ".join(map(files.source_name, inputs)))
    if test_fraction is not None:
        parts = splits.split_fraction(len(trees), test_fraction, seed)
    elif fold is not None:
        parts = splits.split_fold(len(trees), fold, seed)
    else:
        parts = splits.split_number(len(trees), test_last or test_random or 0, seed)
    train, development = parts.train, None
    if dev_fraction is not None:
        taken = len(splits.split_fraction(len(trees), dev_fraction).test)
        again = splits.split_number(len(train), taken, seed)
        train, development = ([parts.train[place] for place in part] for part in again)
    if train_size is not None:
        train = splits.first_part(train, train_size, seed)
    known = places.Places(note)
    with files.atomic_outputs():
        for output, positions in zip(outputs.values(), (train, development or (), parts.test), strict=True):
            if output is not None:
                with places.open_trees(output, not no_ids) as write:
                    for position in positions:
                        write(trees[position], known.of(*where[position]))
    taken_apart = ("training", train), ("development", development), ("test", parts.test)
    note(", ".join(log.counted(len(part), f"{name} tree") for name, part in taken_apart if part is not None))
    remark = None if seed is not None else splits.length_note(lengths, parts)
    if remark is not None:
        note(remark)


@command
def baseline(
    trees: str = argument(),
    kind: Any = option(
        choices=["left", "right", "random", "balanced"],
        required=True,
        help="Left-branching, right-branching, split at random, or split in the middle.",
    ),
    seed: int = seed_option("Seed of the random trees.", default=0),
    runs: int = count_option(
        default=1,
        most=10_000,
        help="The number of files of random trees, with --seed and the seeds after it.",
    ),
    label: str = option(type=Text(), default="X", help="The label of all constituents."),
    frequent_labels: bool = option(
        is_flag=True,
        help="Use the most frequent label of roots, and that of other constituents, in TREES.",
    ),
    output: str = options.output(
        "Where to write; with several runs a pattern such as build/random-{seed}.mrg."
    ),
    encoding: str = options.encoding(),
) -> None:
    """Write a binary baseline tree for each tree of TREES; empty trees stay empty.

    A parser should be better than trees that depend on nothing but the sentence's length, or on chance.
    Labels matter only where an evaluation counts them.
    """
    if kind != "random":
        options.refuse(["seed", "runs"], "--kind random")
    if frequent_labels:
        options.refuse(["label"], "no --frequent-labels")
    if runs > 1 and "{seed}" not in output:
        raise click.UsageError("several runs need several files: write --output as random-{seed}.mrg")
    if not label or any(character.isspace() or character in "()" for character in label):
        raise click.UsageError("a label has neither white space nor brackets, and is not empty.")
    paths = {number: output.replace("{seed}", str(number)) for number in range(seed, seed + runs)}
    options.check_outputs({"--output": list(paths.values())}, {"TREES": trees})
    read = [tree for _, tree, _ in formats.read_parse_file(trees, encoding)]
    if not read:
        raise errors.CorpusError("no trees in the input", source=files.source_name(trees))
    labels = baselines.BaselineLabels(label, label)
    if frequent_labels:
        labels = baselines.most_frequent_labels(read)
    with ExitStack() as outputs:
        outputs.enter_context(files.atomic_outputs())
        for number, path in paths.items():
            stream = outputs.enter_context(files.open_output(path))
            for tree in baselines.baseline_trees(read, kind, number, labels):
                brackets.write_tree(tree, stream)


def _lengths(text: str) -> tuple[int, int]:
    read = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", text)
    first, last = (int(read[1]), int(read[2] or read[1])) if read else (0, 0)
    if not 0 < first <= last <= 1000:
        raise click.BadParameter(f"{text!r} is neither a length nor a range such as 5-10, of 1 to 1000 words")
    return first, last


@command
def sample(
    grammar: str = argument(),
    count: int = count_option("-n", least=0, required=True, help="How many trees."),
    seed: int | None = seed_option("Seed of the random numbers (default: a new one, printed)."),
    words: bool = option(is_flag=True, help="Write the words alone, a sentence a line."),
    conditioned: list[str] | None = option(
        metavar="PREFIX",
        type=Text(read=str.split),
        help="Only trees that begin with these words (or tags).",
    ),
    lengths: tuple[int, int] | None = option(
        type=Text("N[-N]", _lengths), help="Only trees of N words, or of N to N words."
    ),
    normalize: bool = model_options.normalize_option(),
    start: str | None = model_options.start_option(),
    output: str = options.output(),
) -> None:
    """Sample trees from a grammar. Its rules may have any length.

    GRAMMAR is a file in mbrparse's format or in NLTK's, or embedded:flights.
    """
    from mbrparse.grammar.grammar_files import read_rules
    from mbrparse.grammar.sample import Sampler

    options.check_outputs({"--output": output}, {"GRAMMAR": grammar})
    if seed is None:
        seed = secrets.randbelow(2**31)
    path, tagger = reading.embedded_grammar(grammar), bool(conditioned)
    rules = read_rules(path, normalize=normalize, start=start, tagger=tagger, log=note)
    sampler = Sampler(rules, seed)
    if conditioned or lengths:
        from mbrparse.decode.words.conditioned import ConditionedSampler

        sampler = ConditionedSampler(rules, seed, conditioned or (), lengths)
    with files.open_output(output) as stream:
        for tree in with_progress(sampler.trees(count), "sampling", count):
            if words:
                stream.write(bracket_free(" ".join(tree.words())) + "\n")
            else:
                brackets.write_tree(tree, stream)
    note(f"sampled {log.counted(count, 'tree')} with seed {seed}")
