"""Gold and parses scored line by line as EVALB does, as a table of counts with EVALB's summary as criteria.

Averages, breakdowns and significance tests treat these counts as any others. What EVALB leaves out (errors,
skipped sentences) has zeros in all columns but ``length`` and ``status``, and no share in any rate.

EVALB's output, to the letter: the table, the totals, and the summary for all and for short sentences.

Sentences in error or skipped are left out of every total, so that a parser that fails on hard sentences looks
better: read the coverage beside it. Source: EVALB's output (PAPERS.md, section 6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, tee, zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbrparse.errors import InputMismatchError
from mbrparse.evaluate.align import Place, TreeSource, no_trees
from mbrparse.evaluate.counts import ComparedTrees, Tally
from mbrparse.evaluate.criteria import COVERAGE, Column, Counts, Criterion, exact, f_score, ratio, sides
from mbrparse.evaluate.evalb.parameters import EvalbParameters
from mbrparse.evaluate.evalb.scoring import EvalbLine, Score, Status, StrayWordError, read_line, score

if TYPE_CHECKING:
    import pandas as pd


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
        scores.append(_Scorer(source, parameters, log, before).scores(lines, test_lines, same_length))
    return scores


def _opened(lines: Iterator[str]) -> Iterator[str] | None:
    """The same lines, the first of them read, so that errors come before any output; None: no lines."""
    first = next(lines, None)
    return None if first is None else chain([first], lines)


class _Scorer:
    """Scores a parser's lines. EVALB's messages to the user are counted: too many end the run."""

    def __init__(
        self, parses: TreeSource, parameters: EvalbParameters, log: Callable[[str], None], before: str
    ) -> None:
        """``before`` begins each message."""
        self._parses = parses
        self._parameters = parameters
        self._log = log
        self._before = before
        self._line = 1
        self._count = 0

    def scores(self, gold: Iterator[str], test: Iterator[str], same_length: bool) -> Iterator[Score]:
        """The score of each line."""
        for self._line, (ours, theirs) in enumerate(zip_longest(gold, test), start=1):
            before = self._count
            gold_line = None if ours is None else self._read(ours, "the gold")
            if gold_line is None or theirs is None:
                if same_length:
                    ends, whose = ("parses end", "gold") if theirs is None else ("gold ends", "parses")
                    raise self._place.error(
                        InputMismatchError,
                        f"the {ends} before this {self._place.unit} of the {whose}",
                        "give one line for each gold tree (an empty one where there is no parse)",
                    )
                longer = "gold" if theirs is None else "test"
                self._error(f"Number of lines unmatch (too many lines in {longer} file)")
                return
            test_line = self._read(theirs, "the parses")
            yield score(gold_line, test_line, self._parameters, self._count == before, self._error)

    def _read(self, text: str, side: str) -> EvalbLine:
        try:
            return read_line(text, self._parameters, self._error)
        except StrayWordError:
            raise self._place.error(
                EvalbStopError,
                f"text outside of brackets in {side}: EVALB gets no further",
                "one tree a line, each word with its tag in brackets of its own; "
                "an empty line where there is no parse",
            ) from None

    @property
    def _place(self) -> Place:
        """Where the parses are being read."""
        return self._parses.place(self._line)

    def _error(self, message: str) -> None:
        """Pass a message on; raises EvalbStopError at the error after MAX_ERROR + 1 others."""
        self._log(f"{self._before}{self._line} : {message}")
        self._count += 1
        most = self._parameters.max_error
        if self._count > most + 1:
            raise self._place.error(
                EvalbStopError,
                f"EVALB stops at the error that follows {most + 1} others (MAX_ERROR {most})",
                "mend the parses, or raise MAX_ERROR in the parameter file",
            )


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
        rows = []
        for source, scored in zip(parses, scores, strict=True):
            rows.append(evalb_row(source.name, number, scored))
            if tallies is not None and scored.status == Status.VALID:
                trees = ComparedTrees(
                    scored.gold_brackets, scored.test_brackets, scored.pairs, scored.gold_tags
                )
                for tally in tallies[source.name]:
                    tally.add(trees)
        yield rows


def evalb_row(name: str, number: int, score: Score) -> EvalbCounts:
    """The counts of one score."""
    counts = score.matched, score.gold, score.test, score.crossing, score.words, score.correct_tags
    if score.status not in _COUNTING:
        counts = 0, 0, 0, 0, 0, 0
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
            self._rows.append(evalb_row(self._name, number, scored))
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
    return (
        f"{number:4d}  {score.length:3d}    {score.status:d}  "
        f"{_percent(score.matched, score.gold):6.2f} {_percent(score.matched, score.test):6.2f}   "
        f"{score.matched:3d}    {score.gold:3d}  {score.test:3d}    {score.crossing:3d}   "
        f"{score.words:4d}  {score.correct_tags:4d}   {_percent(score.correct_tags, score.words):6.2f}\n"
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
