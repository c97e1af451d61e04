"""Precision and recall label by label, and which labels are taken for which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

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

    def add(
        self,
        gold: Brackets,
        guess: Brackets,
        pairs: Iterable[tuple[int, int]] | None = None,
    ) -> list[tuple[int, int]]:
        """Take a sentence in; ``pairs`` are the places of the matches (default: equal constituents).

        Returns the places of the confusions, gold and guess.
        """
        matches = equal_constituents(gold, guess) if pairs is None else list(pairs)
        self.gold.update(gold.labels)
        self.guess.update(guess.labels)
        self.found.update(gold.labels[place] for place, _ in matches)
        self.right.update(guess.labels[place] for _, place in matches)
        extra = _by_span(guess, {place for _, place in matches})
        confused = [
            pair
            for span, missed in _by_span(gold, {place for place, _ in matches}).items()
            for pair in zip(missed, extra.get(span, ()), strict=False)
        ]
        self.confusions.update((gold.labels[one], guess.labels[other]) for one, other in confused)
        return confused


def equal_constituents(gold: Brackets, guess: Brackets) -> list[tuple[int, int]]:
    """The places, in gold and guess, of constituents with one span and label; each is matched once."""
    free: dict[tuple[Span, str], list[int]] = {}
    for place, item in reversed(list(enumerate(zip(guess.spans, guess.labels, strict=True)))):
        free.setdefault(item, []).append(place)
    return [
        (place, free[item].pop())
        for place, item in enumerate(zip(gold.spans, gold.labels, strict=True))
        if free.get(item)
    ]


def _by_span(tree: Brackets, matched: set[int]) -> dict[Span, list[int]]:
    """The places of what is not matched."""
    found: dict[Span, list[int]] = {}
    for place, span in enumerate(tree.spans):
        if place not in matched:
            found.setdefault(span, []).append(place)
    return found
