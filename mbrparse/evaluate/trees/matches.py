"""How many constituents of a tree match those of the correct tree (``treebank.outlines`` lists them).

The counts of Goodman 1996, section 2, for one sentence:

* L (``labelled``): constituents of the guess that are, with their label, in the correct tree;
* B (``bracketed``): the same without the label;
* C (``consistent``): constituents of the guess that no constituent of the reference crosses, where
  (s,t) crosses (q,r) iff s < q < t < r or q < s < r < t (half-open positions).

Trees may hold a span or a labelled span more than once (unary chains): L and B are the sizes of
multiset intersections, so that each correct constituent is matched at most once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeVar

from mbrparse.treebank.outlines import Span

Item = TypeVar("Item", bound=Hashable)


class Brackets(NamedTuple):
    """The constituents of a tree that count, as they are compared; parents before children."""

    spans: list[Span]
    labels: list[str]


class Matches(NamedTuple):
    """L, B and C of one guessed tree."""

    labelled: int
    bracketed: int
    consistent: int


class Reference:
    """The correct constituents of one sentence, made ready for any number of guesses.

    ``crossing`` are the spans that C is judged by: ``spans``, or those of the tree that is left when
    some of its nodes are spliced out (continuations); parents before children in both.
    """

    def __init__(
        self, spans: Sequence[Span], labels: Sequence[str], crossing: Sequence[Span], terminals: int
    ) -> None:
        self._bracketed = Counter(spans)
        self._labelled = Counter(zip(spans, labels, strict=True))
        self._owners = gap_owners(crossing, terminals)

    def matches(self, spans: Sequence[Span], labels: Sequence[str]) -> Matches:
        """L, B and C of a guess over the same terminals.

        >>> gold = [(0, 4), (0, 2), (2, 4)]
        >>> guess = [(0, 4), (1, 4), (2, 4)]
        >>> Reference(gold, ["S", "A", "B"], gold, 4).matches(guess, ["S", "C", "D"])
        Matches(labelled=1, bracketed=2, consistent=2)
        """
        # No two spans of one tree cross.
        wrong = [span for span in spans if span not in self._bracketed]
        return Matches(
            _common(self._labelled, list(zip(spans, labels, strict=True))),
            _common(self._bracketed, spans),
            len(spans) - len(wrong) + consistent(wrong, self._owners),
        )


def _common(counts: Counter[Item], items: Sequence[Item]) -> int:
    """The size of the intersection of two multisets."""
    distinct = set(items)
    if len(distinct) == len(items):  # the usual case, and faster
        return len(counts.keys() & distinct)
    return (counts & Counter(items)).total()


def gap_owners(spans: Sequence[Span], terminals: int) -> list[int]:
    """For each position the number of the smallest span that has it strictly inside (-1: none).

    ``spans`` are a tree's, parents before children, so that descendants have larger numbers than
    their ancestors.

    >>> gap_owners([(0, 4), (1, 4), (1, 3)], 4)
    [-1, 0, 2, 1, -1]
    """
    owners = [-1] * (terminals + 1)
    for number, (start, end) in enumerate(spans):
        # Slices keep this short, and quick: a chain of 5,000 constituents takes milliseconds.
        owners[start + 1 : end] = [number] * (end - start - 1)
    return owners


def consistent(spans: Sequence[Span], owners: Sequence[int]) -> int:
    """How many spans cross none of the tree whose ``gap_owners`` are given.

    A span crosses nothing iff it is the union of adjacent children of one node. That node is the
    owner of the positions between these children, and all other positions inside belong to nodes
    below it; so the smallest number inside is the node's, and an owner of either end that has a
    larger number is below the node and reaches over that end.

    >>> consistent([(0, 3), (1, 4), (1, 3)], gap_owners([(0, 4), (1, 4), (1, 3)], 4))
    2
    """
    count = 0
    for start, end in spans:
        if end - start < 2:
            count += 1
            continue
        inside = min(owners[start + 1 : end])
        count += owners[start] <= inside >= owners[end]
    return count
