"""Lazy search in a forest: every vertex's derivations in order, found when they are asked for.

Huang and Chiang (2005), algorithm 3. A *vertex* is a node of the forest, a group (a pair of children over a
span, whose edges are the splits) or the root. Of the derivation of a vertex that was found last, those follow
that take the next best derivation of one of its children instead. With unary rules a vertex may come below
itself: what a child's next derivation asks of a vertex above it is one that the vertex has already (as in
the recursive enumeration of paths, Jimenez and Marzal 1999).
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from mbrparse.decode.candidates.best_ways import NONE, Best, Scores
from mbrparse.decode.candidates.ways import LEXICAL, UNARY, Ways
from mbrparse.grammar.charts.clock import Clock
from mbrparse.grammar.charts.forest.packed_forest import forest_cell

Node = tuple[int, int, int]  # start, end, symbol


class Found(NamedTuple):
    """A derivation of a vertex, compared in this order: the better one is the lesser."""

    cost: int  # its score, negative
    order: tuple[int, ...]  # of those of one score
    place: int  # its way, edge or root node
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


class LazySearch:
    """The derivations of one sentence."""

    def __init__(
        self, ways: Ways, best: Best, rules: Scores, unaries: Scores, roots: Scores, clock: Clock
    ) -> None:
        self._ways, self._best, self._clock = ways, best, clock
        self._rules, self._unaries, self._roots = rules, unaries, roots
        self._nodes = len(ways.first) - 2
        self._root = len(best.score)
        self._vertices: dict[int, _Vertex] = {}

    def root(self, k: int) -> list[Found]:
        """The k best derivations of the sentence, or all; raises TimeLimitError."""
        if k > 0:
            self._reach(self._root, k - 1)
        return self._vertex(self._root).found[:k]

    def nodes(self, rank: int) -> list[Node]:
        """The nodes of the sentence's derivation of this rank, in preorder, preterminals included."""
        forest, listed = self._ways.forest, []
        stack = [(self._root, rank, self._ways.length)]
        while stack:
            vertex, rank, end = stack.pop()
            found = self._vertex(vertex).found[rank]
            if vertex < self._nodes:
                listed.append((int(forest.node_start[vertex]), end, int(forest.node_symbol[vertex])))
            children = self._children(vertex, found.place)
            ends = [end] * len(children)
            if len(children) == 2:
                ends[0] = int(forest.node_start[children[1]])
            stack.extend(reversed(list(zip(children, found.ranks, ends, strict=True))))
        return listed

    def _vertex(self, vertex: int) -> _Vertex:
        state = self._vertices.get(vertex)
        if state is None:
            if vertex == self._root:
                candidates = self._of_root()
                best = min(candidates).place
            else:
                best = int(self._best.place[vertex])
                candidates = self._of_node(vertex) if vertex < self._nodes else self._of_group(vertex)
            state = self._vertices[vertex] = _Vertex(best, candidates)
        return state

    def _of_root(self) -> list[Found]:
        forest = self._ways.forest
        cell = forest_cell(0, self._ways.length)
        nodes = np.arange(forest.node_first[cell], forest.node_first[cell + 1])
        symbols, below = forest.node_symbol[nodes], self._best.score[nodes]
        live = (below > NONE) & (self._roots[symbols] > NONE)
        costs = -(self._roots[symbols] + below)[live]
        rows = zip(costs.tolist(), symbols[live].tolist(), nodes[live].tolist(), strict=True)
        return [Found(cost, (symbol,), node, (0,)) for cost, symbol, node in rows]

    def _of_group(self, vertex: int) -> list[Found]:
        ways, group = self._ways, vertex - self._nodes
        first, last = int(ways.edge_first[group]), int(ways.edge_first[group + 1])
        left, right = self._best.score[ways.left[first:last]], self._best.score[ways.right[first:last]]
        live = (left > NONE) & (right > NONE)
        places, costs = np.flatnonzero(live) + first, -(left + right)[live]
        return [Found(c, (p,), p, (0, 0)) for c, p in zip(costs.tolist(), places.tolist(), strict=True)]

    def _of_node(self, vertex: int) -> list[Found]:
        ways = self._ways
        places = range(int(ways.first[vertex]), int(ways.first[vertex + 1]))
        candidates = []
        for place, way in zip(places, ways.way[places.start : places.stop].tolist(), strict=True):
            if way == LEXICAL:
                candidates.append(Found(-int(self._best.lexical[vertex]), (-1,), place, ()))
            elif self._best.score[self._children(vertex, place)[0]] > NONE:
                candidates.append(self._made(vertex, place, (0,)))
        return candidates

    def _children(self, vertex: int, place: int) -> tuple[int, ...]:
        ways = self._ways
        if vertex == self._root:
            return (place,)
        if vertex >= self._nodes:
            return int(ways.left[place]), int(ways.right[place])
        way = int(ways.way[place])
        if way == LEXICAL:
            return ()
        if way <= UNARY:
            return (int(ways.forest.unary_child[UNARY - way]),)
        return (self._nodes + int(ways.forest.production_group[way]),)

    def _cost(self, vertex: int, rank: int) -> int:
        return self._vertices[vertex].found[rank].cost if rank else -int(self._best.score[vertex])

    def _made(self, vertex: int, place: int, ranks: tuple[int, ...]) -> Found:
        """The derivation of a vertex that takes these derivations of its children."""
        ways, forest = self._ways, self._ways.forest
        children = self._children(vertex, place)
        cost = sum(map(self._cost, children, ranks))
        if vertex == self._root:
            symbol = int(forest.node_symbol[place])
            return Found(cost - int(self._roots[symbol]), (symbol,), place, ranks)
        if vertex >= self._nodes:
            return Found(cost, (place,), place, ranks)
        way = int(ways.way[place])
        if way <= UNARY:
            # After all splits: of equal chains the shorter one.
            order: tuple[int, ...] = (ways.length, int(forest.node_symbol[children[0]]))
            return Found(cost - int(self._unaries[forest.unary_rule[UNARY - way]]), order, place, ranks)
        below = children[0]
        edge = self._vertices[below].found[ranks[0]].place if ranks[0] else int(self._best.place[below])
        left, right = ways.left[edge], ways.right[edge]
        order = int(forest.node_start[right]), int(forest.node_symbol[left]), int(forest.node_symbol[right])
        return Found(cost - int(self._rules[forest.production_rule[way]]), order, place, ranks)

    def _reach(self, vertex: int, rank: int) -> None:
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
