"""Gold and parses scored line by line as EVALB does, as a table of counts with EVALB's summary as criteria.

Averages, breakdowns and significance tests treat these counts as any others. What EVALB leaves out (errors,
skipped sentences) has zeros in all columns but ``length`` and ``status``, and no share in any rate.

EVALB's output, to the letter: the table, the totals, and the summary for all and for short sentences.

Sentences in error or skipped are left out of every total, so that a parser that fails on hard sentences looks
better: read the coverage beside it. Source: EVALB's output (PAPERS.md, section 6).

One sentence, scored as EVALB scores it.

Source: EVALB's output and behaviour (PAPERS.md, section 6). Conventions: a bracket's label is cut at the
first ``-`` or ``=``; brackets of width zero and deleted ones do not count, terminals are no brackets; each
gold bracket is matched with the first equal one of the parse that is still free; a bracket of the parse
crosses once, however many of the gold it crosses; tags are compared as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from itertools import chain, tee, zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbrparse.errors import InputMismatchError
from mbrparse.evaluate.align import TreeSource, no_trees
from mbrparse.evaluate.counts import Brackets, ComparedTrees, Tally, consistent, gap_owners
from mbrparse.evaluate.criteria import COVERAGE, Column, Counts, Criterion, exact, f_score, ratio, sides
from mbrparse.evaluate.evalb.parameters import (
    EvalbLine,
    EvalbParameters,
    StrayWordError,
    mend_quotes,
    read_line,
)
from mbrparse.treebank.outlines import Span

if TYPE_CHECKING:
    import pandas as pd


class Status(IntEnum):
    """EVALB's Stat.: only valid sentences enter its totals."""

    VALID = 0
    ERROR = 1
    SKIP = 2
    UNPARSED = 3  #: SPMRL's, with -X: counts, with nothing found


class Score(NamedTuple):
    """A row of EVALB's table, and what breakdowns need."""

    status: Status
    length: int
    counts: Sequence[int] = (0,) * 6  #: ``matched`` to ``correct_tags`` of ``EvalbCounts``
    trees: ComparedTrees | None = None


def score(
    gold: EvalbLine,
    test: EvalbLine,
    parameters: EvalbParameters,
    well_read: bool,
    error: Callable[[str], None],
) -> Score:
    """Compare two lines; ``error`` is called with EVALB's message where they are not one sentence.

    A line that was not ``well_read`` is an error, but scored all the same, as EVALB does.
    """
    if not test.words:
        if not parameters.unparsed_count:
            return Score(Status.SKIP, gold.length)
        return Score(Status.UNPARSED, gold.length, (0, _unparsed(gold, parameters), 0, 0, len(gold.words), 0))
    if len(gold.words) != len(test.words):
        mend_quotes(gold, test, parameters)
        if len(gold.words) != len(test.words):
            error(f"Length unmatch ({len(gold.words)}|{len(test.words)})")
            return Score(Status.ERROR, gold.length)
    for our_word, their_word in zip(gold.words, test.words, strict=True):
        if not parameters.same_word(our_word, their_word):
            error(f"Words unmatch ({our_word}|{their_word})")
            return Score(Status.ERROR, gold.length)
    ours, theirs = _counted(gold, parameters), _counted(test, parameters)
    pairs = _matches(ours, theirs, parameters)
    crossing = _crossing(ours.spans, theirs.spans, len(gold.words), gold.nested and test.nested)
    correct_tags = sum(map(parameters.same_tag, gold.tags, test.tags))
    counts = len(pairs), len(ours.spans), len(theirs.spans), crossing, len(gold.words), correct_tags
    status = Status.VALID if well_read else Status.ERROR
    return Score(status, gold.length, counts, ComparedTrees(ours, theirs, pairs, gold.tags))


def _unparsed(line: EvalbLine, parameters: EvalbParameters) -> int:
    """The brackets of a gold line without a parse, as SPMRL's evaluator counts them.

    That is each bracket once, and once more for every deleted label that is not its own.
    """
    brackets = zip(line.starts, line.ends, line.labels, strict=True)
    labels = [label for start, end, label in brackets if start != end]
    own = sum(parameters.bracket_label(label) is None for label in labels)
    return len(labels) * (1 + len(parameters.deleted)) - own


def _counted(line: EvalbLine, parameters: EvalbParameters) -> Brackets:
    spans: list[Span] = []
    labels: list[str] = []
    for start, end, label in zip(line.starts, line.ends, line.labels, strict=True):
        if start != end:
            cut = parameters.bracket_label(label)
            if cut is not None:
                spans.append((start, end))
                labels.append(cut)
    return Brackets(spans, labels)


def _matches(gold: Brackets, test: Brackets, parameters: EvalbParameters) -> list[tuple[int, int]]:
    free: dict[Span, list[int]] = {}
    for place, span in enumerate(test.spans):
        free.setdefault(span, []).append(place)
    pairs = []
    for place, (span, label) in enumerate(zip(gold.spans, gold.labels, strict=True)):
        for candidate in free.get(span, ()):
            if not parameters.labelled or parameters.same_label(label, test.labels[candidate]):
                free[span].remove(candidate)
                pairs.append((place, candidate))
                break
    return pairs


def _crossing(gold: list[Span], test: list[Span], words: int, nested: bool) -> int:
    """How many spans of the parse cross any of the gold."""
    right = frozenset(gold)
    if nested:  # and so no two of one side cross
        wrong = [span for span in test if span not in right]
        return len(wrong) - consistent(wrong, gap_owners(gold, words))
    return sum(any(a < start < b < end or start < a < end < b for a, b in right) for start, end in test)


class EvalbStopError(InputMismatchError):
    """EVALB ends here, without a summary."""


def evalb_scores(
    gold: TreeSource,
    parses: Sequence[TreeSource],
    parameters: EvalbParameters,
    log: Callable[[str], None],
    same_length: bool = False,
) -> list[Iterator[Score]]:
    """For each parser, an iterator over the scores of the gold's lines.

    ``log`` is called with EVALB's messages, after the parser's name where there are several. Different
    numbers of lines are one of them, after which the scores end; or InputMismatchError if they must have
    the ``same_length``. Raises EvalbStopError where EVALB ends for good, CorpusError (no gold), FileError.
    """
    gold_lines = _opened(gold.lines())
    if gold_lines is None:
        raise no_trees(gold.source)
    scores = []
    for source, lines in zip(parses, tee(gold_lines, len(parses)), strict=True):
        test_lines = _opened(source.lines()) or iter(())
        before = f"{source.name}: " if len(parses) > 1 else ""
        pairs = zip_longest(lines, test_lines)
        scores.append(_scores(source, pairs, parameters, log, before, same_length))
    return scores


def _opened(lines: Iterator[str]) -> Iterator[str] | None:
    """The same lines, the first of them read, so that errors come before any output; None: no lines."""
    first = next(lines, None)
    return None if first is None else chain([first], lines)


def _scores(
    source: TreeSource,
    pairs: Iterable[tuple[str | None, str | None]],
    parameters: EvalbParameters,
    log: Callable[[str], None],
    before: str,
    same_length: bool,
) -> Iterator[Score]:
    """The scores of pairs of lines, gold and parse.

    EVALB's messages, each with what stands ``before`` it, are counted: too many end the run.
    """
    number = count = 0

    def error(message: str) -> None:
        """Pass a message on; raises EvalbStopError at the error after MAX_ERROR + 1 others."""
        nonlocal count
        log(f"{before}{number} : {message}")
        count += 1
        most = parameters.max_error
        if count > most + 1:
            raise source.place(number).error(
                EvalbStopError,
                f"EVALB stops at the error that follows {most + 1} others (MAX_ERROR {most})",
                "mend the parses, or raise MAX_ERROR in the parameter file",
            )

    def read(text: str, side: str) -> EvalbLine:
        try:
            return read_line(text, parameters, error)
        except StrayWordError:
            raise source.place(number).error(
                EvalbStopError,
                f"text outside of brackets in {side}: EVALB gets no further",
                "one tree a line, each word with its tag in brackets of its own; "
                "an empty line where there is no parse",
            ) from None

    for number, (ours, theirs) in enumerate(pairs, start=1):
        so_far = count
        gold = None if ours is None else read(ours, "the gold")
        if gold is None or theirs is None:
            if same_length:
                ends, whose = ("parses end", "gold") if theirs is None else ("gold ends", "parses")
                here = source.place(number)
                raise here.error(
                    InputMismatchError,
                    f"the {ends} before this {here.unit} of the {whose}",
                    "give one line for each gold tree (an empty one where there is no parse); mbrparse "
                    "debinarize writes a tree that stands on several lines on one",
                )
            longer = "gold" if theirs is None else "test"
            error(f"Number of lines unmatch (too many lines in {longer} file)")
            return
        yield score(gold, read(theirs, "the parses"), parameters, count == so_far, error)


#: Only SPMRL's evaluator has the second.
_COUNTING = (Status.VALID, Status.UNPARSED)


class EvalbCounts(NamedTuple):
    """One row of the table: a sentence of one parser. ``matched`` to ``correct_tags`` are EVALB's."""

    name: str  #: of the parses
    sentence: int  #: 1-based
    gold_line: int
    parse_line: int
    status: int  #: EVALB's: 0 valid, 1 error, 2 skipped; SPMRL's: 3 without a parse, but counted
    length: int  #: EVALB's Len.
    parsed: int  #: 1 if valid
    matched: int
    gold: int
    test: int
    crossing: int
    words: int
    correct_tags: int


def count_as_evalb(
    gold: TreeSource,
    parses: Sequence[TreeSource],
    parameters: EvalbParameters,
    log: Callable[[str], None],
    tallies: Mapping[str, Sequence[Tally]] | None = None,
) -> Iterator[list[EvalbCounts]]:
    """Yield, for each gold line, its counts in each parser's parses.

    ``log`` is called with EVALB's messages, ``tallies`` (by each name) are updated; raises as
    ``evalb_scores`` does.
    """
    parsers = evalb_scores(gold, parses, parameters, log, same_length=True)
    for number, scores in enumerate(zip(*parsers, strict=True), start=1):
        for source, scored in zip(parses, scores, strict=True):
            if tallies is not None and scored.trees is not None and scored.status == Status.VALID:
                for tally in tallies[source.name]:
                    tally.add(scored.trees)
        yield [_counts(source.name, number, one) for source, one in zip(parses, scores, strict=True)]


def _counts(name: str, number: int, score: Score) -> EvalbCounts:
    """The row of one score."""
    counts = score.counts if score.status in _COUNTING else (0,) * 6
    places, parsed = (name, number, number, number), int(score.status == Status.VALID)
    return EvalbCounts(*places, int(score.status), score.length, parsed, *counts)


def _sentences(name: str, heading: str, passes: Callable[[Counts], Column]) -> Criterion:
    """The share of the sentences that count that pass a test."""
    return Criterion(
        name,
        heading,
        lambda counts: (passes(counts) & (_counting(counts) > 0)).astype(int),
        _counting,
    )


def _counting(counts: Counts) -> Column:
    return np.isin(counts["status"], _COUNTING).astype(int)


#: The share of sentences that count: EVALB leaves out more than empty parses.
EVALB_COVERAGE = replace(COVERAGE, heading="coverage")

#: The lines of EVALB's summary, in its order.
EVALB: tuple[Criterion, ...] = (
    ratio("bracketing_recall", "recall", "matched", "gold"),
    ratio("bracketing_precision", "precision", "matched", "test"),
    f_score("bracketing_f", "F", "matched", "test"),
    _sentences("complete_match", "complete", exact("matched", "test")),
    Criterion(
        "average_crossing",
        "crossing",
        lambda counts: counts["crossing"],
        _counting,
        percent=False,
        lower_is_better=True,
    ),
    _sentences("no_crossing", "no cross.", lambda counts: counts["crossing"] == 0),
    _sentences("two_or_less_crossing", "<=2 cross.", lambda counts: counts["crossing"] <= 2),
    ratio("tagging_accuracy", "tags", "correct_tags", "words"),
)


_RULE = "============================================================================\n"
HEADING = (
    "  Sent.                        Matched  Bracket   Cross        Correct Tag\n"
    " ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy\n"
    f"{_RULE}"
)


class Report:
    """EVALB's output for one parser's scores, of which the counts are kept."""

    def __init__(self, name: str, cutoff: int) -> None:
        self._name = name
        self._cutoff = cutoff
        self._rows: list[EvalbCounts] = []

    @property
    def counts(self) -> pd.DataFrame:
        """The table of counts."""
        import pandas as pd

        return pd.DataFrame(self._rows, columns=EvalbCounts._fields)

    def lines(self, scores: Iterable[Score]) -> Iterator[str]:
        """The whole output, in pieces that end with their line."""
        yield HEADING
        for number, scored in enumerate(scores, start=1):
            self._rows.append(_counts(self._name, number, scored))
            yield _row(number, scored)
        yield _RULE
        counts = self.counts
        yield _totals(counts)
        yield "=== Summary ===\n"
        yield _summary("All", counts)
        yield _summary(f"len<={self._cutoff}", counts[counts["length"] <= self._cutoff])

    def coverage(self) -> tuple[str, bool]:
        """What share of the sentences the figures are about, and whether that is all of them."""
        errors, skipped, valid = _numbers(self.counts)
        total = len(self._rows)
        share = f"coverage {_percent(valid, total):.2f}: {valid} of {total} sentences count"
        return f"{share}, {errors} in error and {skipped} skipped", valid == total


def _row(number: int, score: Score) -> str:
    """A sentence's line of the table."""
    matched, gold, test, crossing, words, tags = score.counts
    return (
        f"{number:4d}  {score.length:3d}    {score.status:d}  "
        f"{_percent(matched, gold):6.2f} {_percent(matched, test):6.2f}   "
        f"{matched:3d}    {gold:3d}  {test:3d}    {crossing:3d}   "
        f"{words:4d}  {tags:4d}   {_percent(tags, words):6.2f}\n"
    )


def _totals(counts: pd.DataFrame) -> str:
    """The line below the table; without any brackets on one side, EVALB leaves its first half out."""
    matched, gold, test, crossing, words, tags = (int(counts[name].sum()) for name in EvalbCounts._fields[7:])
    brackets = (
        f"                {_percent(matched, gold):6.2f} {_percent(matched, test):6.2f} "
        f"{matched:6d} {gold:5d} {test:5d}  {crossing:5d}"
    )
    return (brackets if gold and test else "") + f"  {words:5d} {tags:5d}   {_percent(tags, words):6.2f}\n"


def _summary(title: str, counts: pd.DataFrame) -> str:
    errors, skipped, valid = _numbers(counts)
    figures = {}
    for one in EVALB:
        above, below = (float(side.sum()) for side in sides(one, counts, "pooled"))
        figures[one.name] = _percent(above, below) if one.percent else above / max(below, 1)
    recall, precision = figures["bracketing_recall"], figures["bracketing_precision"]
    # Zero by zero, as C prints it on x86.
    f_measure = (
        "  -nan" if recall + precision == 0 else f"{2 * precision * recall / (precision + recall):6.2f}"
    )
    return (
        f"\n-- {title} --\n"
        f"Number of sentence        = {len(counts):6d}\n"
        f"Number of Error sentence  = {errors:6d}\n"
        f"Number of Skip  sentence  = {skipped:6d}\n"
        f"Number of Valid sentence  = {valid:6d}\n"
        f"Bracketing Recall         = {recall:6.2f}\n"
        f"Bracketing Precision      = {precision:6.2f}\n"
        f"Bracketing FMeasure       = {f_measure}\n"
        f"Complete match            = {figures['complete_match']:6.2f}\n"
        f"Average crossing          = {figures['average_crossing']:6.2f}\n"
        f"No crossing               = {figures['no_crossing']:6.2f}\n"
        f"2 or less crossing        = {figures['two_or_less_crossing']:6.2f}\n"
        f"Tagging accuracy          = {figures['tagging_accuracy']:6.2f}\n"
    )


def _numbers(counts: pd.DataFrame) -> list[int]:
    """How many sentences are in error, skipped, and valid."""
    return [int((counts["status"] == kind).sum()) for kind in (Status.ERROR, Status.SKIP, Status.VALID)]


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else 0.0
