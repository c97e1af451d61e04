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
        pairs = confused_pairs(trees)
        self.confusions.update((gold.labels[one], guess.labels[other]) for one, other in pairs)


def confused_pairs(trees: ComparedTrees) -> list[tuple[int, int]]:
    """The places, in gold and guess, of constituents that are taken for each other."""
    extra = _by_span(trees.guess, {place for _, place in trees.pairs})
    missed = _by_span(trees.gold, {place for place, _ in trees.pairs})
    return [
        pair for span, places in missed.items() for pair in zip(places, extra.get(span, ()), strict=False)
    ]


def _by_span(tree: Brackets, matched: set[int]) -> dict[Span, list[int]]:
    """The places of what is not matched."""
    found: dict[Span, list[int]] = {}
    for place, span in enumerate(tree.spans):
        if place not in matched:
            found.setdefault(span, []).append(place)
    return found
