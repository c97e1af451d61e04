"""``mbrparse surprisal``, ``next`` and ``masked``: words' probabilities, and other words in their places."""

from __future__ import annotations

import csv
import itertools
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

import mbrparse as mp
from mbrparse import errors, files, log
from mbrparse.cli import commands, messages, model_options, options

if TYPE_CHECKING:
    from mbrparse.decode.parser.sentences import Line, Sentence
    from mbrparse.decode.words import surprisal as surprisals
    from mbrparse.decode.words.written_words import Row

Found = TypeVar("Found", "surprisals.SentenceSurprisals", "surprisals.Distributions")
# Sentences that are read before one of them is looked at.
_TOGETHER = 512
# With a greater spectral radius a grammar is inconsistent: the radius itself is exact to fewer digits.
_CONSISTENT = 1 + 1e-9
# A perplexity of more bits is shown as a power of two: it may be no double, and its digits say nothing.
_MOST_BITS = 40


@dataclass(frozen=True)
class WordOptions(model_options.InputOptions):
    """What words are read, and what their probabilities are of."""

    by: Any = commands.option(
        choices=["tags", "words"], help="What a grammar of words predicts.  [default: its terminals]"
    )
    fold_case: bool = commands.option(
        is_flag=True, help="Read a word in the other case where the grammar knows it in that alone."
    )
    no_end: bool = commands.option(
        is_flag=True, help="The input is fragments: leave out the end of a sentence."
    )

    def probabilities(
        self,
        inputs: Sequence[str],
        outputs: options.Paths,
        items: str | None = None,
        entropies: bool = False,
        analyses: int = 0,
    ) -> surprisals.WordProbabilities:
        """Those of the grammar; a note says if some of its trees never end, and what has no value then."""
        from mbrparse.decode.words import surprisal as surprisals
        from mbrparse.grammar.tree_statistics import FINITE, spectral_radius

        if self.grammar is None:
            raise click.UsageError("Missing option '-g' / '--grammar'.")
        read = {"--grammar": self.grammar, "--items": items, "INPUT": list(filterfalse(_is_sentence, inputs))}
        options.check_outputs(outputs, read)
        known = mp.read_grammar(self.grammar, normalize=self.normalize, start=self.start, log=messages.note)
        radius = spectral_radius(known)
        if entropies and radius >= FINITE:
            messages.note(
                f"{files.source_name(self.grammar)}: its trees have no finite entropy (spectral radius "
                f"{radius:.6g}): only whole sentences have a derivation_entropy"
            )
        if radius > _CONSISTENT:
            messages.note(
                f"{files.source_name(self.grammar)}: inconsistent (spectral radius {radius:.6g}): "
                "some of its trees are infinite, and their prefixes count, too"
            )
        end = not self.no_end and items is None
        return surprisals.WordProbabilities(known, self.by, self.fold_case, end, entropies, analyses)

    def lines(self, inputs: Sequence[str]) -> Iterator[Line]:
        """The sentences of files, or of the command line; empty lines at the end are none."""
        from mbrparse.decode.parser import sentences

        empty: list[Line] = []
        for one in inputs:
            given: Iterable[Line]
            if _is_sentence(one):
                [leaves], tokens = sentences.sentences_from([mp.tokenize(one) if self.tokenize else one])
                given = [sentences.Line(leaves, 0, tokens, "<sentence>", one if tokens else "")]
            else:
                given = sentences.read_input([one], self.read_form, self.encoding)
            for line in given:
                if line.tokens and not line.sentence:
                    empty.append(line)
                else:
                    yield from empty
                    empty.clear()
                    yield line

    def results(
        self,
        lines: Iterator[Line],
        words: surprisals.WordProbabilities,
        find: Callable[[Sequence[Sentence]], Iterator[Found]],
        what: str,
    ) -> Iterator[tuple[int, Line, Found]]:
        """The number, line and result of each sentence; at the end a note on all bits, those of ``what``.

        It counts the words that stand for a class, too.
        """
        from mbrparse.decode.parser import sentences
        from mbrparse.decode.parser.parsing import most_common
        from mbrparse.decode.parser.sources import check_fit

        fit, count, finite, bits, reasons, told = False, 0, 0, 0.0, Counter[str](), Counter[str]()
        while some := list(itertools.islice(lines, _TOGETHER)):
            batch = [line.sentence for line in some]
            spoken = [one for one in batch if one and not fit]
            check_fit(words.grammar, spoken)
            plain = some[0].tokens and not self.tokenize
            if plain and (remark := sentences.untokenized(words.grammar, spoken)):
                messages.note(remark)
            fit = fit or bool(spoken)
            found = messages.with_progress(find(batch), "reading", len(batch))
            for line, one in zip(some, found, strict=True):
                count, told = count + 1, told + one.told
                known = [value for value in one.bits.tolist() if math.isfinite(value)]
                finite, bits = finite + len(known), bits + sum(known)
                if len(known) < len(one.bits):
                    reasons[one.reason or "impossible words"] += 1
                yield count, line, one
        mean = bits / max(finite, 1)
        perplexity = f"{2**mean:.4f}" if mean < _MOST_BITS else f"2^{mean:.4f}"
        per_word = f"{mean:.4f} bits a word on average (perplexity {perplexity})"
        each = f": {per_word}, over {finite} {what}" if finite else ""
        without = log.counted(reasons.total(), "sentence")
        unknown = f"; {without} with words of probability zero ({most_common(reasons)})" if reasons else ""
        rare = 0 if words.grammar.unknown is None else len(words.grammar.unknown.words)
        of_class = {"rare": f"a share of a class's probability, of {rare} in training"}
        of_class |= {"unseen": "the probability of a class", "folded": "that of the word in the other case"}
        stand = [
            (log.counted(told[kind], f"{kind} word"), what) for kind, what in of_class.items() if told[kind]
        ]
        classes = "".join(f"; {number} with {what}" for number, what in stand)
        messages.note(log.counted(count, "sentence") + each + classes + unknown)


def _is_sentence(text: str) -> bool:
    """Whether an argument is no file, but a sentence: it has blanks."""
    return len(text.split()) > 1 and not os.path.exists(text)


_WITHOUT = ("posteriors", "mix", *model_options.LABEL_OPTIONS)
_WORDS = commands.group(WordOptions, without=_WITHOUT)


@commands.command
def surprisal(
    inputs: tuple[str, ...] = options.inputs(),
    known: WordOptions = _WORDS,
    items: str | None = commands.option(
        type=commands.InputFile(),
        help="Instead of INPUT: a table with the items of an experiment (docs/for-psycholinguists.md).",
    ),
    per: Any = commands.option(
        choices=["token", "word", "region"],
        default="token",
        help="A row for each token, or sums over those of a word between blanks, or of a region of --items.",
    ),
    spillover: int = commands.count_option(
        least=0, most=9, default=0, help="Repeat surprisal, length and log frequency of so many rows before."
    ),
    entropies: bool = commands.option(
        is_flag=True,
        help="Add the entropy of all trees that begin so, its reduction, and the parts of the next word's.",
    ),
    analyses: int = commands.count_option(
        least=0,
        most=1000,
        metavar="K",
        default=0,
        help="Find the K most probable analyses of the words so far, partial trees (docs/prefixes.md): adds "
        "columns; tables list them.",
    ),
    analyses_output: str | None = commands.option(
        metavar="PATH", help="Also write all --analyses here, as CSV."
    ),
    layout: Any = commands.option(
        "--format",
        choices=["table", "csv", "json"],
        help="A table for people, CSV, or a JSON object a line.  [default: table; csv with --items]",
    ),
    plot: str | None = commands.option(
        metavar="PATH",
        help="Also draw the mean of each region and condition of --items, as .svg, .png or .pdf.",
    ),
    output: str = options.output(),
) -> None:
    """Print the surprisal of each word and of the end of each sentence: -log2 P(word | the words before).

    INPUT holds lines of tokens or trees, or is a sentence in quotes. Probabilities are exact sums over all
    derivations. Surprisal, its lexical and its syntactic part and the entropy of what may come next are in
    bits; the logarithm of the prefix's probability is natural. docs/prefixes.md says what these mean.
    """
    from mbrparse.decode.words import experiment_items, surprisal, written_words

    if items is None:
        options.refuse(["plot"] if per != "region" else ["plot", "per"], "--items")
    elif inputs != (files.STANDARD,):
        raise click.UsageError("Give either INPUT or --items.")
    form = Path(plot or "x.svg").suffix[1:].lower()
    if form not in ("svg", "png", "pdf"):
        raise click.UsageError("--plot FILE ends in .svg, .png or .pdf.")
    if not analyses:
        options.refuse(["analyses_output"], "--analyses")
    outputs = {"--output": output, "--plot": plot, "--analyses-output": analyses_output}
    words = known.probabilities(inputs if items is None else (), outputs, items, entropies, analyses)
    columns = list(surprisal.COLUMNS if per == "token" else written_words.JOINED_COLUMNS)
    columns += [*surprisal.more_columns(entropies, analyses), *written_words.spilled_columns(spillover)]
    given, regions = None, list["Row"]()
    if items is not None:
        given = experiment_items.read_items(items, known.encoding, columns)
        columns[:0] = given.names
    lines = known.lines(inputs) if given is None else given.lines(known.tokenize)
    what = "words" if known.no_end or items is not None else "words and sentence ends"
    layout = layout or ("table" if items is None else "csv")
    with files.atomic_outputs():
        with ExitStack() as streams:
            stream = streams.enter_context(files.open_output(output))
            streams.enter_context(messages.compilation_noted())
            table = csv.DictWriter(stream, columns, extrasaction="ignore", lineterminator="\n")
            if layout == "csv":
                table.writeheader()
            listing = _listing(analyses_output, written_words.OF_ANALYSES, streams)
            for number, line, found in known.results(lines, words, words.surprisals, what):
                rows = found.rows(number, line.text)
                if listing is not None:
                    listing.writerows(found.analysis_rows(number))
                if given is not None:
                    regions += given.rows(number - 1, rows, "region") if plot else []
                    rows = given.rows(number - 1, rows, per)
                elif per == "word":
                    rows = written_words.joined(rows, line.text)
                written_words.spill(rows, spillover)
                if layout == "csv":
                    table.writerows(rows)
                elif layout == "json":
                    for row in rows:  # JSON has no numbers that are not finite
                        listed = {name: row[name] for name in columns}
                        stream.write(
                            json.dumps({name: _finite(value) for name, value in listed.items()}) + "\n"
                        )
                elif rows:
                    names = [*_NUMBERS, *(surprisal.ENTROPIES if entropies else ())]
                    _write_table(rows, names, found.analyses if per == "token" else (), stream)
        if plot is not None and given is not None:
            with files.open_output_bytes(plot) as image:
                image.write(experiment_items.draw_regions(regions, given.names, form))


def _listing(path: str | None, columns: Sequence[str], streams: ExitStack) -> csv.DictWriter[str] | None:
    """What writes the rows of a table of its own, if there is a path for it."""
    if path is None:
        return None
    table = csv.DictWriter(streams.enter_context(files.open_output(path)), columns, lineterminator="\n")
    table.writeheader()
    return table


_NUMBERS = ("surprisal", "lexical", "syntactic", "entropy", "log_prefix")


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_table(
    rows: Sequence[Row], names: Sequence[str], analyses: Sequence[Sequence[Row]], stream: TextIO
) -> None:
    """Write the rows of a sentence, below each its analyses; what wins in the end is marked."""
    texts = [[errors.visible(row["word"]), errors.visible(row["terminal"])] for row in rows]
    widths = [max(map(len, column)) for column in zip(["word", "terminal"], *texts, strict=True)]
    columns = {name: max(12, len(name) + 2) for name in names}
    heading = "".join(f"{name:>{width}}" for name, width in columns.items())
    stream.write(f"{rows[0]['sentence']:>4}  {'word':<{widths[0]}}  {'terminal':<{widths[1]}}{heading}\n")
    for (word, terminal), row, below in zip(texts, rows, analyses or [()] * len(rows), strict=True):
        numbers = "".join(f"{row[name]:z{width}.4f}" for name, width in columns.items())
        ending = f"  {row['reason']}" if row["reason"] else ""
        stream.write(f"{row['position']:>4}  {word:<{widths[0]}}  {terminal:<{widths[1]}}{numbers}{ending}\n")
        for one in below:
            mark = "*" if one["wins"] else " "
            stream.write(f"      {one['probability']:.4f} {mark} {errors.visible(one['analysis'])}\n")
    stream.write("\n")


_TOP = commands.count_option(default=5, metavar="K", help="Show the K most probable words.")
_LAYOUT = commands.option(
    "--format",
    choices=["table", "csv", "npz"],
    help="A table or CSV of the most probable words, or arrays of all (docs/formats.md).  "
    "[default: table; npz with --output]",
)
_DISTRIBUTIONS = commands.option("-o", "--output", metavar="PATH", help="Where to write.")


@commands.command
def next(  # noqa: A001
    inputs: tuple[str, ...] = options.inputs(),
    known: WordOptions = _WORDS,
    top: int = _TOP,
    layout: Any = _LAYOUT,
    output: str | None = _DISTRIBUTIONS,
) -> None:
    """Print what may come next before each word of a sentence, and at its end.

    A line holds the numbers of sentence and word, the word with its probability given the words before, and
    the most probable ones there. </s> is the end.
    """
    _print_distributions(inputs, known, top, layout, output, ends=True)


@commands.command
def masked(
    inputs: tuple[str, ...] = options.inputs(),
    known: WordOptions = commands.group(WordOptions, without=(*_WITHOUT, "no_end")),
    top: int = _TOP,
    layout: Any = _LAYOUT,
    output: str | None = _DISTRIBUTIONS,
) -> None:
    """Print what each word of a sentence may be, given all the others.

    A line holds the numbers of sentence and word, the word with its probability given all others, and the
    most probable ones there. One word of a sentence may be unknown to the grammar.
    """
    _print_distributions(inputs, known, top, layout, output, ends=False)


def _print_distributions(
    inputs: Sequence[str], known: WordOptions, top: int, layout: str | None, output: str | None, ends: bool
) -> None:
    from mbrparse.decode.words.surprisal import OTHER_COLUMNS, DistributionsFile

    layout = layout or ("table" if output is None else "npz")
    if layout == "npz":
        options.refuse(["top"], "no --output of arrays")
        if output is None:
            raise click.UsageError("--format npz needs --output.")
    words = known.probabilities(inputs, {"--output": output})
    find, what = (words.next_words, "words and sentence ends") if ends else (words.masked_words, "words")
    results = known.results(known.lines(inputs), words, find, "words" if known.no_end else what)
    with messages.compilation_noted():
        if layout == "npz":
            file = DistributionsFile(words.grammar, ends)
            for _, _, found in results:
                file.add(found)
            with files.open_output_bytes(output or files.STANDARD) as arrays:
                file.write(arrays)
            return
        with files.open_output(output or files.STANDARD) as stream:
            table = csv.DictWriter(stream, OTHER_COLUMNS, lineterminator="\n")
            if layout == "csv":
                table.writeheader()
            for number, _, found in results:
                if layout == "csv":
                    table.writerows(words.other_words(number, found, top))
                else:
                    stream.write("".join(_top_lines(number, found, words, top)))


def _top_lines(
    sentence: int, found: surprisals.Distributions, words: surprisals.WordProbabilities, top: int
) -> Iterator[str]:
    width = max(map(len, found.words), default=0)
    for place, (word, bits) in enumerate(zip(found.words, found.bits.tolist(), strict=True)):
        best = words.most_probable(found, place, top)
        shown = "  ".join(f"{errors.visible(one)} {probability:.4f}" for one, probability in best)
        line = f"{sentence:>4} {place + 1:>3}  {errors.visible(word):<{width}}  {2**-bits:.4f}  {shown}"
        yield f"{line}\n" if found.reason is None else f"{line}  {found.reason}\n"
    yield "\n"
