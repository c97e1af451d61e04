"""Precision and recall label by label, and which labels are taken for which."""

from __future__ import annotations

from collections import Counter

from mbrparse.evaluate.compared import ComparedTrees
from mbrparse.evaluate.outline import Brackets, Span


class LabelTally:
    """Sums over one parser's sentences, by label.

    A confusion is a gold and a guessed constituent over one span, neither of which found its match; in
    chains of unary constituents they are paired from the top.
    """

    def __init__(self) -> None:
        self.gold: Counter[str] = Counter()
        self.guess: Counter[str] = Counter()
        self.found: Counter[str] = Counter()  #: matched, by the gold's label
        self.right: Counter[str] = Counter()  #: matched, by the guess's (EVALB may have others as equal)
        self.confusions: Counter[tuple[str, str]] = Counter()

    def add(self, trees: ComparedTrees) -> None:
        """Take a sentence in."""
        gold, guess, matches, *_ = trees
        self.gold.update(gold.labels)
        self.guess.update(guess.labels)
        self.found.update(gold.labels[place] for place, _ in matches)
        self.right.update(guess.labels[place] for _, place in matches)
        extra = _by_span(guess, {place for _, place in matches})
        for span, missed in _by_span(gold, {place for place, _ in matches}).items():
            self.confusions.update(zip(missed, extra.get(span, ()), strict=False))


def _by_span(tree: Brackets, matched: set[int]) -> dict[Span, list[str]]:
    """The labels of what is not matched."""
    found: dict[Span, list[str]] = {}
    for place, (span, label) in enumerate(zip(tree.spans, tree.labels, strict=True)):
        if place not in matched:
            found.setdefault(span, []).append(label)
    return found
