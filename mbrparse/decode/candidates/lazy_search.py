"""Lazy search: every vertex's derivations in order, found when they are asked for.

Huang and Chiang (2005), algorithm 3. A *vertex* is whatever may be derived in several ways from others: a
node of a forest, a pair of children over a span, the root. Of the derivation of a vertex that was found last,
those follow that take the next best derivation of one of its children instead. With unary rules a vertex may
come below itself: what a child's next derivation asks of a vertex above it is one that the vertex has already
(as in the recursive enumeration of paths, Jimenez and Marzal 1999).
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

from mbrparse.grammar.charts.clock import Clock

Node = tuple[int, int, int]  # start, end, symbol
VertexT = TypeVar("VertexT", bound=Hashable)


class Found(NamedTuple):
    """A derivation of a vertex, compared in this order: the better one is the lesser."""

    cost: int  # its score, negative
    order: tuple[int, ...]  # of those of one score
    place: int  # which of the vertex's ways it goes
    ranks: tuple[int, ...]  # which of its children's derivations it is made of


class _Vertex:
    """What was found of a vertex, the best first, and what waits."""

    __slots__ = ("followed", "found", "waiting")

    def __init__(self, best: int, candidates: list[Found]) -> None:
        # The best one is known; of equal ones the first that is listed might go around a cycle.
        self.found = [one for one in candidates if one.place == best]
        self.waiting = [one for one in candidates if one.place != best]
        heapq.heapify(self.waiting)
        self.followed = 0  # how many of those found have their followers among those that wait

    @property
    def exhausted(self) -> bool:
        return self.followed == len(self.found) and not self.waiting


class LazySearch(ABC, Generic[VertexT]):
    """The derivations of one sentence; who derives from it says what vertices are made of."""

    def __init__(self, root: VertexT, clock: Clock) -> None:
        self._root = root
        self._clock = clock
        self._vertices: dict[VertexT, _Vertex] = {}

    @abstractmethod
    def _listed(self, vertex: VertexT) -> tuple[int, list[Found]]:
        """The place of a vertex's best way, and of all its ways the best derivations."""

    @abstractmethod
    def _children(self, vertex: VertexT, place: int) -> tuple[VertexT, ...]:
        """What a way of a vertex is made of."""

    @abstractmethod
    def _made(self, vertex: VertexT, place: int, ranks: tuple[int, ...]) -> Found:
        """The derivation of a vertex that takes these derivations of its children."""

    def root(self, k: int) -> list[Found]:
        """The k best derivations of the sentence, or all; raises TimeLimitError."""
        if k > 0:
            self._reach(self._root, k - 1)
        return self._vertex(self._root).found[:k]

    def _vertex(self, vertex: VertexT) -> _Vertex:
        state = self._vertices.get(vertex)
        if state is None:
            state = self._vertices[vertex] = _Vertex(*self._listed(vertex))
        return state

    def _reach(self, vertex: VertexT, rank: int) -> None:
        """Find the derivations of a vertex up to this rank, as far as there are any."""
        stack = [(vertex, rank)]
        while stack:
            self._clock.check()
            vertex, rank = stack[-1]
            state = self._vertex(vertex)
            if self._is_settled(state, rank):
                stack.pop()
                continue
            if state.followed < len(state.found):
                last = state.found[-1]
                children = self._children(vertex, last.place)
                wanted = _followers(last.ranks)
                asked = [
                    (child, one)
                    for ranks in wanted
                    for child, one in zip(children, ranks, strict=True)
                    if one and not self._is_settled(self._vertex(child), one)
                ]
                if asked:
                    stack.extend(asked)
                    continue
                for ranks in wanted:
                    there = (
                        len(self._vertex(c).found) > one or not one
                        for c, one in zip(children, ranks, strict=True)
                    )
                    if all(there):
                        heapq.heappush(state.waiting, self._made(vertex, last.place, ranks))
                state.followed += 1
            if state.waiting:
                state.found.append(heapq.heappop(state.waiting))

    @staticmethod
    def _is_settled(state: _Vertex, rank: int) -> bool:
        return len(state.found) > rank or state.exhausted


def _followers(ranks: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The next ranks, each reached from one before it only.

    >>> _followers((0, 2)), _followers((1, 0))
    ([(0, 3)], [(1, 1), (2, 0)])
    """
    if len(ranks) < 2:
        return [(rank + 1,) for rank in ranks]
    left, right = ranks
    return [(left, right + 1)] if right else [(left, 1), (left + 1, 0)]
