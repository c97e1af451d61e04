"""EVALB's output, to the letter: the table, the totals, and the summary for all and for short sentences.

Sentences in error or skipped are left out of every total, so that a parser that fails on hard sentences looks
better: read the coverage beside it. Source: EVALB's output (PAPERS.md, section 6).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mbrparse.evaluate.evalb.evalb_counts import EVALB, EvalbCounts, evalb_row
from mbrparse.evaluate.evalb.score import Score, Status
from mbrparse.evaluate.tables.count_table import Columns

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
    def counts(self) -> Columns:
        """The table of counts."""
        return Columns.of_rows(EvalbCounts._fields, self._rows)

    def lines(self, scores: Iterable[Score]) -> Iterator[str]:
        """The whole output, in pieces that end with their line."""
        yield HEADING
        for number, score in enumerate(scores, start=1):
            self._rows.append(evalb_row(self._name, number, score))
            yield _row(number, score)
        yield _RULE
        counts = self.counts
        yield _totals(counts)
        yield "=== Summary ===\n"
        yield _summary("All", counts)
        yield _summary(f"len<={self._cutoff}", counts.where(counts["length"] <= self._cutoff))

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


def _totals(counts: Columns) -> str:
    """The line below the table; without any brackets on one side, EVALB leaves its first half out."""
    matched, gold, test, crossing, words, tags = (int(counts[name].sum()) for name in EvalbCounts._fields[7:])
    brackets = (
        f"                {_percent(matched, gold):6.2f} {_percent(matched, test):6.2f} "
        f"{matched:6d} {gold:5d} {test:5d}  {crossing:5d}"
    )
    return (brackets if gold and test else "") + f"  {words:5d} {tags:5d}   {_percent(tags, words):6.2f}\n"


def _summary(title: str, counts: Columns) -> str:
    errors, skipped, valid = _numbers(counts)
    sums = ((one, one.numerator(counts).sum(), one.denominator(counts).sum()) for one in EVALB)
    figures = {
        one.name: _percent(above, below) if one.percent else above / max(below, 1)
        for one, above, below in sums
    }
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


def _numbers(counts: Columns) -> list[int]:
    """How many sentences are in error, skipped, and valid."""
    return [int((counts["status"] == kind).sum()) for kind in (Status.ERROR, Status.SKIP, Status.VALID)]


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0
