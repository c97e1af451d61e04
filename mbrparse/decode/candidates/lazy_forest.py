"""Lazy search in a forest: vertices are its nodes, its groups (pairs of children over a span), the root."""

from __future__ import annotations

import numpy as np

from mbrparse.decode.candidates.best_ways import NONE, Best, Scores
from mbrparse.decode.candidates.lazy_search import Found, LazySearch, Node
from mbrparse.decode.candidates.ways import LEXICAL, UNARY, Ways
from mbrparse.grammar.charts.clock import Clock
from mbrparse.grammar.charts.forest.packed_forest import forest_cell


class LazyForest(LazySearch[int]):
    """The derivations of one sentence's forest."""

    def __init__(
        self, ways: Ways, best: Best, rules: Scores, unaries: Scores, roots: Scores, clock: Clock
    ) -> None:
        super().__init__(len(best.score), clock)
        self._ways, self._best = ways, best
        self._rules, self._unaries, self._roots = rules, unaries, roots
        self._nodes = len(ways.first) - 2

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

    def _listed(self, vertex: int) -> tuple[int, list[Found]]:
        if vertex == self._root:
            candidates = self._of_root()
            return min(candidates).place, candidates
        best = int(self._best.place[vertex])
        return best, self._of_node(vertex) if vertex < self._nodes else self._of_group(vertex)

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
