"""One sentence, scored as EVALB scores it, and EVALB's output, to the letter.

The output is the table, the totals, and the summary for all and for short sentences. Sentences in error or
skipped are left out of every total, so that a parser that fails on hard sentences looks better: read the
coverage beside it.

Source: EVALB's output and behaviour (PAPERS.md, section 6). Conventions: a bracket's label is cut at the
first ``-`` or ``=``; brackets of width zero and deleted ones do not count, terminals are no brackets; each
gold bracket is matched with the first equal one of the parse that is still free; a bracket of the parse
crosses once, however many of the gold it crosses; tags are compared as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from mbrparse.evaluate.evalb.line import EvalbLine, mend_quotes
from mbrparse.evaluate.evalb.parameters import EvalbParameters
from mbrparse.evaluate.trees.matches import Brackets, consistent, gap_owners
from mbrparse.treebank.outlines import Span


class Status(IntEnum):
    """EVALB's Stat.: only valid sentences enter its totals."""

    VALID = 0
    ERROR = 1
    SKIP = 2
    UNPARSED = 3  #: SPMRL's, with -X: counts, with nothing found


class Score(NamedTuple):
    """A row of EVALB's table, and what breakdowns need.

    ``pairs`` are the places of matched brackets, gold and parse, in ``gold_brackets`` and
    ``test_brackets``.
    """

    status: Status
    length: int
    matched: int = 0
    gold: int = 0
    test: int = 0
    crossing: int = 0
    words: int = 0
    correct_tags: int = 0
    gold_brackets: Brackets = Brackets([], [])
    test_brackets: Brackets = Brackets([], [])
    pairs: tuple[tuple[int, int], ...] = ()
    gold_tags: tuple[str, ...] = ()


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
        if parameters.unparsed_count:
            count = _unparsed(gold, parameters)
            return Score(Status.UNPARSED, gold.length, gold=count, words=len(gold.words))
        return Score(Status.SKIP, gold.length)
    if len(gold.words) != len(test.words):
        mend_quotes(gold, test, parameters)
        if len(gold.words) != len(test.words):
            error(f"Length unmatch ({len(gold.words)}|{len(test.words)})")
            return Score(Status.ERROR, gold.length)
    if gold.words != test.words:
        for our_word, their_word in zip(gold.words, test.words, strict=True):
            if not parameters.same_word(our_word, their_word):
                error(f"Words unmatch ({our_word}|{their_word})")
                return Score(Status.ERROR, gold.length)
    ours, theirs = _counting(gold, parameters), _counting(test, parameters)
    pairs = _matches(ours, theirs, parameters)
    return Score(
        Status.VALID if well_read else Status.ERROR,
        gold.length,
        len(pairs),
        len(ours.spans),
        len(theirs.spans),
        _crossing(ours.spans, theirs.spans, len(gold.words), gold.nested and test.nested),
        len(gold.words),
        sum(map(parameters.same_tag, gold.tags, test.tags)),
        ours,
        theirs,
        tuple(pairs),
        tuple(gold.tags),
    )


def _unparsed(line: EvalbLine, parameters: EvalbParameters) -> int:
    """The brackets of a gold line without a parse, as SPMRL's evaluator counts them.

    That is each bracket once, and once more for every deleted label that is not its own.
    """
    count = 0
    for start, end, label in zip(line.starts, line.ends, line.labels, strict=True):
        if start != end:
            is_deleted = parameters.bracket_label(label) is None
            count += 1 + len(parameters.deleted) - is_deleted
    return count


def _counting(line: EvalbLine, parameters: EvalbParameters) -> Brackets:
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
    return sum(any(_cross(one, other) for one in right) for other in test)


def _cross(one: Span, other: Span) -> bool:
    return one[0] < other[0] < one[1] < other[1] or other[0] < one[0] < other[1] < one[1]


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
        """Add a sentence."""
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
