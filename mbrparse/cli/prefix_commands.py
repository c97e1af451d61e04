"""``mbrparse surprisal``, ``next`` and ``masked``: words' probabilities, and other words in their places."""

from __future__ import annotations

import csv
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

import mbrparse as mp
from mbrparse import errors, files, log
from mbrparse.cli import commands, messages, model_options, options

if TYPE_CHECKING:
    from mbrparse.decode.parser.sentences import Sentence
    from mbrparse.decode.words import surprisal as surprisals

Found = TypeVar("Found", "surprisals.SentenceSurprisals", "surprisals.Distributions")
# Sentences that are read before one of them is looked at.
_TOGETHER = 512
# With a greater spectral radius a grammar is inconsistent: the radius itself is exact to fewer digits.
_CONSISTENT = 1 + 1e-9


@dataclass(frozen=True)
class WordOptions(model_options.InputOptions):
    """What words are read, and what their probabilities are of."""

    by: Any = commands.option(
        choices=["tags", "words"], help="Of a grammar of words: what is predicted.  [default: its terminals]"
    )

    def probabilities(self, inputs: Sequence[str], output: str | None) -> surprisals.WordProbabilities:
        """Those of the grammar; a note says if some of its trees never end."""
        from mbrparse.decode.words import surprisal as surprisals
        from mbrparse.grammar.tree_statistics import spectral_radius

        if self.grammar is None:
            raise click.UsageError("Missing option '-g' / '--grammar'.")
        options.check_outputs({"--output": output}, {"--grammar": self.grammar, "INPUT": inputs})
        known = mp.read_grammar(self.grammar, normalize=self.normalize, start=self.start, log=messages.note)
        if (radius := spectral_radius(known)) > _CONSISTENT:
            messages.note(
                f"{files.source_name(self.grammar)}: inconsistent (spectral radius {radius:.6g}): "
                "some of its trees are infinite, and their prefixes count, too"
            )
        return surprisals.WordProbabilities(known, self.by)

    def results(
        self,
        inputs: Sequence[str],
        words: surprisals.WordProbabilities,
        find: Callable[[Sequence[Sentence]], Iterator[Found]],
        what: str,
    ) -> Iterator[tuple[int, Found]]:
        """The numbered result of each sentence; at the end a note on the mean of all bits, of ``what``."""
        from mbrparse.decode.parser import sentences
        from mbrparse.decode.parser.parsing import most_common
        from mbrparse.decode.parser.sources import check_fit

        fit, count, finite, unseen, bits, reasons = False, 0, 0, 0, 0.0, Counter[str]()
        lines = sentences.read_input(inputs, self.read_form, self.encoding)
        while some := list(itertools.islice(lines, _TOGETHER)):
            batch = [line.sentence for line in some]
            spoken = [one for one in batch if one and not fit]
            check_fit(words.grammar, spoken)
            plain = some[0].tokens and not self.tokenize
            if plain and (remark := sentences.untokenized(words.grammar, spoken)):
                messages.note(remark)
            fit = fit or bool(spoken)
            for one in messages.with_progress(find(batch), "reading", len(batch)):
                count, unseen = count + 1, unseen + one.unseen
                known = [value for value in one.bits.tolist() if math.isfinite(value)]
                finite, bits = finite + len(known), bits + sum(known)
                if len(known) < len(one.bits):
                    reasons[one.reason or "impossible words"] += 1
                yield count, one
        mean = bits / max(finite, 1)
        per_word = f"{mean:.4f} bits a word on average (perplexity {2**mean:.4f})"
        each = f": {per_word}, over {finite} {what}" if finite else ""
        without = log.counted(reasons.total(), "sentence")
        unknown = f"; {without} with words of probability zero ({most_common(reasons)})" if reasons else ""
        classes = f"; {log.counted(unseen, 'unseen word')} with the probability of a class" if unseen else ""
        messages.note(log.counted(count, "sentence") + each + classes + unknown)


_WORDS = commands.group(WordOptions, without=("posteriors", "mix", *model_options.LABEL_OPTIONS))


@commands.command
def surprisal(
    inputs: tuple[str, ...] = options.inputs(),
    known: WordOptions = _WORDS,
    layout: str = commands.option(
        "--format",
        choices=["table", "csv", "json"],
        default="table",
        help="A table for people, CSV, or a JSON object a line.",
    ),
    output: str = options.output(),
) -> None:
    """Print the surprisal of each word and of the end of each sentence: -log2 P(word | the words before).

    INPUT holds lines of tokens or trees. Probabilities are exact sums over all derivations. Surprisal, its
    lexical and its syntactic part and the entropy of what may come next are in bits; the logarithm of the
    prefix's probability is natural. docs/prefixes.md says what these mean.
    """
    from mbrparse.decode.words.surprisal import COLUMNS

    words = known.probabilities(inputs, output)
    with files.open_output(output) as stream, messages.compilation_noted():
        table = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        if layout == "csv":
            table.writeheader()
        for number, found in known.results(inputs, words, words.surprisals, "words and sentence ends"):
            rows = found.rows(number)
            if layout == "csv":
                table.writerows(rows)
            elif layout == "json":
                for row in rows:  # JSON has no numbers that are not finite
                    missing = {name: None for name in _NUMBERS if not math.isfinite(row[name])}
                    stream.write(json.dumps(row | missing) + "\n")
            else:
                _write_table(rows, stream)


_NUMBERS = ("surprisal", "lexical", "syntactic", "entropy", "log_prefix")


def _write_table(rows: Sequence[surprisals.Row], stream: TextIO) -> None:
    texts = [[errors.visible(row["word"]), errors.visible(row["terminal"])] for row in rows]
    widths = [max(map(len, column)) for column in zip(["word", "terminal"], *texts, strict=True)]
    heading = "".join(f"{name:>12}" for name in _NUMBERS)
    stream.write(f"{rows[0]['sentence']:>4}  {'word':<{widths[0]}}  {'terminal':<{widths[1]}}{heading}\n")
    for (word, terminal), row in zip(texts, rows, strict=True):
        numbers = "".join(f"{row[name]:z12.4f}" for name in _NUMBERS)
        ending = f"  {row['reason']}" if row["reason"] else ""
        stream.write(f"{row['position']:>4}  {word:<{widths[0]}}  {terminal:<{widths[1]}}{numbers}{ending}\n")
    stream.write("\n")


_TOP = commands.count_option(default=5, metavar="K", help="Without --output: print the K most probable.")
_DISTRIBUTIONS = commands.option(
    "-o", "--output", metavar="FILE.npz", help="Write all of each distribution (docs/formats.md)."
)


@commands.command
def next(  # noqa: A001
    inputs: tuple[str, ...] = options.inputs(),
    known: WordOptions = _WORDS,
    top: int = _TOP,
    output: str | None = _DISTRIBUTIONS,
) -> None:
    """Print what may come next before each word of a sentence, and at its end.

    A line holds the numbers of sentence and word, the word with its probability given the words before, and
    the most probable ones there. </s> is the end.
    """
    _print_distributions(inputs, known, top, output, ends=True)


@commands.command
def masked(
    inputs: tuple[str, ...] = options.inputs(),
    known: WordOptions = _WORDS,
    top: int = _TOP,
    output: str | None = _DISTRIBUTIONS,
) -> None:
    """Print what each word of a sentence may be, given all the others.

    A line holds the numbers of sentence and word, the word with its probability given all others, and the
    most probable ones there. One word of a sentence may be unknown to the grammar.
    """
    _print_distributions(inputs, known, top, output, ends=False)


def _print_distributions(
    inputs: Sequence[str], known: WordOptions, top: int, output: str | None, ends: bool
) -> None:
    from mbrparse.decode.words.surprisal import DistributionsFile

    if output is not None:
        options.refuse(["top"], "no --output")
    words = known.probabilities(inputs, output)
    find, what = (words.next_words, "words and sentence ends") if ends else (words.masked_words, "words")
    file = None if output is None else DistributionsFile(words.grammar, ends)
    with messages.compilation_noted():
        for number, found in known.results(inputs, words, find, what):
            if file is None:
                _print_top(number, found, words, top)
            else:
                file.add(found)
    if file is not None and output is not None:
        with files.open_output_bytes(output) as stream:
            file.write(stream)


def _print_top(
    sentence: int, found: surprisals.Distributions, words: surprisals.WordProbabilities, top: int
) -> None:
    width = max(map(len, found.words), default=0)
    for place, (word, bits) in enumerate(zip(found.words, found.bits.tolist(), strict=True)):
        best = words.most_probable(found, place, top)
        shown = "  ".join(f"{errors.visible(one)} {probability:.4f}" for one, probability in best)
        line = f"{sentence:>4} {place + 1:>3}  {errors.visible(word):<{width}}  {2**-bits:.4f}  {shown}"
        click.echo(line if found.reason is None else f"{line}  {found.reason}")
    click.echo()
