"""EVALB's output, to the letter: the table, the totals, and the summary for all and for short sentences.

Source: EVALB's own output. Sentences in error or skipped are left out of every total, so that a parser
that fails on hard sentences looks better: read the coverage beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mbrparse.evaluate.evalb.score import Score, Status

HEADING = (
    "  Sent.                        Matched  Bracket   Cross        Correct Tag\n"
    " ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy\n"
    "============================================================================\n"
)
_RULE = "============================================================================\n"


@dataclass
class Totals:
    """Sums over sentences; counts of brackets, words and tags over the valid ones."""

    sentences: int = 0
    errors: int = 0
    skipped: int = 0
    matched: int = 0
    gold: int = 0
    test: int = 0
    crossing: int = 0
    words: int = 0
    correct_tags: int = 0
    complete: int = 0
    no_crossing: int = 0
    few_crossing: int = 0  #: two or less

    @property
    def valid(self) -> int:
        """Sentences that count."""
        return self.sentences - self.errors - self.skipped

    def add(self, score: Score) -> None:
        """Take a sentence in."""
        self.sentences += 1
        self.errors += score.status == Status.ERROR
        self.skipped += score.status == Status.SKIP
        if score.status != Status.VALID:
            return
        self.matched += score.matched
        self.gold += score.gold
        self.test += score.test
        self.crossing += score.crossing
        self.words += score.words
        self.correct_tags += score.correct_tags
        self.complete += score.gold == score.test == score.matched
        self.no_crossing += score.crossing == 0
        self.few_crossing += score.crossing <= 2


class Report:
    """EVALB's output for a sequence of scores."""

    def __init__(self, cutoff: int) -> None:
        self.all = Totals()
        self.short = Totals()
        self._cutoff = cutoff

    def lines(self, scores: Iterable[Score]) -> Iterator[str]:
        """The whole output, in pieces that end with their line."""
        yield HEADING
        for number, score in enumerate(scores, start=1):
            self.all.add(score)
            if score.length <= self._cutoff:
                self.short.add(score)
            yield row(number, score)
        yield _RULE
        yield _sums(self.all)
        yield "=== Summary ===\n"
        yield _summary("All", self.all)
        yield _summary(f"len<={self._cutoff}", self.short)

    def coverage(self) -> str:
        """What share of the sentences the figures are about."""
        totals = self.all
        share = _percent(totals.valid, totals.sentences)
        return (
            f"coverage {share:.2f}: {totals.valid} of {totals.sentences} sentences count, "
            f"{totals.errors} in error and {totals.skipped} skipped"
        )


def row(number: int, score: Score) -> str:
    """A sentence's line of the table."""
    return (
        f"{number:4d}  {score.length:3d}    {score.status:d}  "
        f"{_percent(score.matched, score.gold):6.2f} {_percent(score.matched, score.test):6.2f}   "
        f"{score.matched:3d}    {score.gold:3d}  {score.test:3d}    {score.crossing:3d}   "
        f"{score.words:4d}  {score.correct_tags:4d}   {_percent(score.correct_tags, score.words):6.2f}\n"
    )


def _sums(totals: Totals) -> str:
    """The line below the table; without any brackets on one side, EVALB leaves its first half out."""
    brackets = (
        f"                {_percent(totals.matched, totals.gold):6.2f} "
        f"{_percent(totals.matched, totals.test):6.2f} {totals.matched:6d} {totals.gold:5d} "
        f"{totals.test:5d}  {totals.crossing:5d}"
    )
    return (
        brackets if totals.gold and totals.test else ""
    ) + f"  {totals.words:5d} {totals.correct_tags:5d}   {_percent(totals.correct_tags, totals.words):6.2f}\n"


def _summary(title: str, totals: Totals) -> str:
    recall, precision = _percent(totals.matched, totals.gold), _percent(totals.matched, totals.test)
    # Zero by zero, as C prints it on x86.
    f_measure = (
        "  -nan" if recall + precision == 0 else f"{2 * precision * recall / (precision + recall):6.2f}"
    )
    valid = totals.valid
    return (
        f"\n-- {title} --\n"
        f"Number of sentence        = {totals.sentences:6d}\n"
        f"Number of Error sentence  = {totals.errors:6d}\n"
        f"Number of Skip  sentence  = {totals.skipped:6d}\n"
        f"Number of Valid sentence  = {valid:6d}\n"
        f"Bracketing Recall         = {recall:6.2f}\n"
        f"Bracketing Precision      = {precision:6.2f}\n"
        f"Bracketing FMeasure       = {f_measure}\n"
        f"Complete match            = {_percent(totals.complete, valid):6.2f}\n"
        f"Average crossing          = {totals.crossing / valid if valid else 0.0:6.2f}\n"
        f"No crossing               = {_percent(totals.no_crossing, valid):6.2f}\n"
        f"2 or less crossing        = {_percent(totals.few_crossing, valid):6.2f}\n"
        f"Tagging accuracy          = {_percent(totals.correct_tags, totals.words):6.2f}\n"
    )


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0
