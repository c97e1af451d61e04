"""Lazy search: every vertex's derivations in order, found on demand.

Huang and Chiang (2005), algorithm 3. A *vertex* is whatever may be derived in several ways from others: a
node of a forest, a pair of children over a span, the root. Of the derivation of a vertex that was found last,
those follow that take the next best derivation of one of its children instead. With unary rules a vertex may
come below itself: what a child's next derivation needs of a vertex above it has been found already
(as in the recursive enumeration of paths, Jimenez and Marzal 1999).
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

#: Costs are whole numbers, negative natural logarithms in units of 2 ** -40: sums of them do not depend on
#: the order, so that derivations by the same rules tie exactly.
SCALE = 2.0**40

Order = tuple[int, ...]
VertexT = TypeVar("VertexT", bound=Hashable)


def scores_of(logs: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Natural logarithms as whole numbers."""
    return np.rint(logs * SCALE).astype(np.int64)


class Alternative(NamedTuple, Generic[VertexT]):
    """One of the ways to derive a vertex: its own cost, and what it is made of.

    Of equal ones the lesser ``order`` comes first; an empty one is that of the only child's derivation.
    """

    cost: int
    order: Order
    children: tuple[VertexT, ...]


class Found(NamedTuple):
    """A derivation of a vertex, compared in this order: the better one is the lesser."""

    cost: int
    order: Order
    place: int  # which of the vertex's alternatives it is
    ranks: tuple[int, ...]  # which of its children's derivations it is made of


class _Vertex(Generic[VertexT]):
    """What was found of a vertex, the best first, and what waits."""

    __slots__ = ("alternatives", "followed", "found", "waiting")

    def __init__(
        self, alternatives: list[Alternative[VertexT]], best: int | None, first: list[Found]
    ) -> None:
        self.alternatives = alternatives
        best = min(first).place if best is None else best
        self.found = [one for one in first if one.place == best]
        self.waiting = [one for one in first if one.place != best]
        heapq.heapify(self.waiting)
        self.followed = 0  # how many of those found have their followers among those that wait

    def is_settled(self, rank: int) -> bool:
        """Whether the derivation of this rank is found, or there is none."""
        return len(self.found) > rank or (self.followed == len(self.found) and not self.waiting)


class LazySearch(ABC, Generic[VertexT]):
    """The derivations of one sentence; subclasses define what vertices are made of."""

    def __init__(self, root: VertexT) -> None:
        self._root = root
        self._vertices: dict[VertexT, _Vertex[VertexT]] = {}

    @abstractmethod
    def _alternatives(self, vertex: VertexT) -> tuple[list[Alternative[VertexT]], int | None]:
        """The alternatives of a vertex, and the place of the best one.

        None where the least is the best: not if it might go around a cycle.
        """

    @abstractmethod
    def _best(self, vertex: VertexT) -> tuple[int, Order]:
        """The cost and the order of a vertex's best derivation."""

    def root(self, k: int) -> list[Found]:
        """The k best derivations of the sentence, or all."""
        if k > 0:
            self._reach(self._root, k - 1)
        return self._vertex(self._root).found[:k]

    def vertices(self, rank: int) -> Iterator[tuple[VertexT, int]]:
        """The vertices of the derivation of this rank in preorder, with their numbers of children."""
        stack = [(self._root, rank)]
        while stack:
            vertex, rank = stack.pop()
            state = self._vertex(vertex)
            found = state.found[rank]
            children = state.alternatives[found.place].children
            yield vertex, len(children)
            stack.extend(reversed(list(zip(children, found.ranks, strict=True))))

    def _vertex(self, vertex: VertexT) -> _Vertex[VertexT]:
        state = self._vertices.get(vertex)
        if state is None:
            alternatives, best = self._alternatives(vertex)
            first = [
                self._made(one, place, (0,) * len(one.children)) for place, one in enumerate(alternatives)
            ]
            state = self._vertices[vertex] = _Vertex(alternatives, best, first)
        return state

    def _made(self, alternative: Alternative[VertexT], place: int, ranks: tuple[int, ...]) -> Found:
        """The derivation that takes these derivations of the children."""
        cost, order, children = alternative
        below = order
        for child, rank in zip(children, ranks, strict=True):
            if rank:
                added, below = self._vertices[child].found[rank][:2]
            else:
                added, below = self._best(child)
            cost += added
        return Found(cost, order or below, place, ranks)

    def _reach(self, vertex: VertexT, rank: int) -> None:
        """Find the derivations of a vertex up to this rank, as far as there are any."""
        stack = [(vertex, rank)]
        while stack:
            vertex, rank = stack[-1]
            state = self._vertex(vertex)
            if state.is_settled(rank):
                stack.pop()
                continue
            if state.followed < len(state.found):
                last = state.found[-1]
                alternative = state.alternatives[last.place]
                children = alternative.children
                wanted = _followers(last.ranks)
                needed = [
                    (child, one)
                    for ranks in wanted
                    for child, one in zip(children, ranks, strict=True)
                    if one and not self._vertex(child).is_settled(one)
                ]
                if needed:
                    stack.extend(needed)
                    continue
                for ranks in wanted:
                    there = (
                        len(self._vertex(c).found) > one or not one
                        for c, one in zip(children, ranks, strict=True)
                    )
                    if all(there):
                        heapq.heappush(state.waiting, self._made(alternative, last.place, ranks))
                state.followed += 1
            if state.waiting:
                state.found.append(heapq.heappop(state.waiting))


def _followers(ranks: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The next ranks, each reached from one before it only.

    >>> _followers((0, 2)), _followers((1, 0))
    ([(0, 3)], [(1, 1), (2, 0)])
    """
    if len(ranks) < 2:
        return [(rank + 1,) for rank in ranks]
    left, right = ranks
    return [(left, right + 1)] if right else [(left, 1), (left + 1, 0)]
