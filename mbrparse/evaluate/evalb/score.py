"""One sentence, scored as EVALB scores it.

Source: EVALB's output and behaviour (PAPERS.md, section 6). Conventions: a bracket's label is cut at the
first ``-`` or ``=``; brackets of width zero and deleted ones do not count, terminals are no brackets; each
gold bracket is matched with the first equal one of the parse that is still free; a bracket of the parse
crosses once, however many of the gold it crosses; tags are compared as they are.
"""

from __future__ import annotations

from collections.abc import Callable
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
    crossing = _crossing(ours.spans, theirs.spans, len(gold.words), gold.nested and test.nested)
    correct_tags = sum(map(parameters.same_tag, gold.tags, test.tags))
    counts = len(pairs), len(ours.spans), len(theirs.spans), crossing, len(gold.words), correct_tags
    status = Status.VALID if well_read else Status.ERROR
    return Score(status, gold.length, *counts, ours, theirs, tuple(pairs), tuple(gold.tags))


def _unparsed(line: EvalbLine, parameters: EvalbParameters) -> int:
    """The brackets of a gold line without a parse, as SPMRL's evaluator counts them.

    That is each bracket once, and once more for every deleted label that is not its own.
    """
    brackets = zip(line.starts, line.ends, line.labels, strict=True)
    labels = [label for start, end, label in brackets if start != end]
    own = sum(parameters.bracket_label(label) is None for label in labels)
    return len(labels) * (1 + len(parameters.deleted)) - own


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
    return sum(any(a < start < b < end or start < a < end < b for a, b in right) for start, end in test)
