"""Precision and recall by where a constituent stands: how deep in its tree, or over how many words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from mbrparse.evaluate.compared import ComparedTrees, mothers
from mbrparse.evaluate.outline import Span

#: From here on all depths are one.
DEEPEST = 10
#: The first width of each group.
WIDTHS = (1, 2, 3, 5, 9, 17, 33)


class PlaceTally:
    """Sums over one parser's sentences, by a number that each constituent of a tree has."""

    def __init__(self, numbers: Callable[[Sequence[Span]], list[int]]) -> None:
        self._numbers = numbers
        self.gold: Counter[int] = Counter()
        self.guess: Counter[int] = Counter()
        self.found: Counter[int] = Counter()  #: matched, by the gold's number
        self.right: Counter[int] = Counter()  #: matched, by the guess's

    def add(self, trees: ComparedTrees) -> None:
        """Take a sentence in."""
        gold, guess = self._numbers(trees.gold.spans), self._numbers(trees.guess.spans)
        self.gold.update(gold)
        self.guess.update(guess)
        self.found.update(gold[place] for place, _ in trees.pairs)
        self.right.update(guess[place] for _, place in trees.pairs)


def depths(spans: Sequence[Span]) -> list[int]:
    """How many constituents of the tree are around each, up to ``DEEPEST``.

    >>> depths([(0, 4), (0, 2), (2, 4), (2, 4)])
    [0, 1, 1, 2]
    """
    found: list[int] = []
    for mother in mothers(spans):
        found.append(0 if mother < 0 else found[mother] + 1)
    return [min(depth, DEEPEST) for depth in found]


def widths(spans: Sequence[Span]) -> list[int]:
    """The first of the ``WIDTHS`` that are with each constituent's own in one group.

    >>> widths([(0, 4), (2, 3)])
    [3, 1]
    """
    return [max(width for width in WIDTHS if width <= end - start) for start, end in spans]


def depth_name(depth: int) -> str:
    """What a depth is called in tables."""
    return f"{depth}+" if depth == DEEPEST else str(depth)


def width_name(first: int) -> str:
    """What a group of widths is called.

    >>> [width_name(first) for first in (1, 3, 33)]
    ['1', '3-4', '33+']
    """
    place = WIDTHS.index(first) + 1
    if place == len(WIDTHS):
        return f"{first}+"
    last = WIDTHS[place] - 1
    return str(first) if last == first else f"{first}-{last}"
