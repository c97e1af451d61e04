"""The most probable derivation of a forest: maxima from the words up, read from the root down.

A derivation is no more probable than each of its nodes: among the nodes whose posterior reaches a bound the
best derivation is found for certain if its own posterior reaches that bound.

Of equally good ones (within a tolerance) the first in order of splits is taken, then of the symbols of the
children; of chains of unary rules the one with the fewest nodes, then the one over the earliest split, then
the first in order of symbols.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.charts.chart import Derivation, derivation_of
from mbrparse.charts.forest.forest import ONE, Forest, ForestState, Index, forest_cell
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import BestChains, Floats
from mbrparse.grammar.pcfg import FloatArray, IntArray


class Maxima(NamedTuple):
    """The probability of the best derivation, or its logarithm; -1, or -inf, of what has none."""

    node: Floats  # by node
    own: Floats  # by node: without unary rules at the top
    group: Floats  # by group


@kernel
def fill_maxima(state: ForestState, maxima: Maxima, chain_prob: Floats, bound: float, n: int) -> None:
    """Find the maxima of a filled forest over the nodes that have a posterior of ``bound``.

    With a bound of 0 they are over all nodes, and outside values are not looked at.
    """
    forest, unary = state.forest, state.unary
    value, own, group_value = maxima.node, maxima.own, maxima.group
    production_parent, production_rule = forest.production_parent, forest.production_rule
    production_group, cell_production = forest.production_group, forest.cell_production
    inside, outside, lexical = forest.inside, forest.outside, forest.lexical
    rule_prob = state.tables.rule_prob
    node_first, left_first, left_node = forest.node_first, forest.left_first, forest.left_node
    edge_first, edge_group, node_symbol = forest.edge_first, forest.edge_group, forest.node_symbol
    slot, closure_start, closure_top = state.columns.node_slot, unary.closure_start, unary.closure_top
    has_unaries = len(unary.rule_parent) > 0
    group_value[: state.columns.counts[2]] = 0
    for end in range(1, n + 1):
        for start in range(end - 1, -1, -1):
            cell = forest_cell(start, end)
            begin, last = node_first[cell], node_first[cell + 1]
            for node in range(begin, last):
                # Others have a value below zero, which nothing improves.
                reached = bound == 0.0 or inside[node] * outside[node] >= bound
                value[node] = lexical[node] if reached else -1.0
            for place in range(Index(cell_production[cell]), Index(cell_production[cell + 1])):
                parent = Index(production_parent[place])
                product = (
                    rule_prob[Index(production_rule[place])] * group_value[Index(production_group[place])]
                )
                if value[parent] >= 0 and product > value[parent]:
                    value[parent] = product
            if has_unaries:
                for node in range(begin, last):
                    own[node] = value[node]
                    if value[node] >= 0:
                        slot[node_symbol[node]] = node
                for node in range(begin, last):
                    symbol = node_symbol[node]
                    if own[node] > 0:
                        for place in range(closure_start[symbol], closure_start[symbol + 1]):
                            top = slot[closure_top[place]]
                            if top >= 0:
                                value[top] = max(value[top], chain_prob[place] * own[node])
                for node in range(begin, last):
                    slot[node_symbol[node]] = -1
            for right in range(Index(begin), Index(last)):
                if not value[right] > 0:
                    continue
                partner = Index(left_first[right])
                for edge in range(Index(edge_first[right]), Index(edge_first[right + ONE])):
                    product = value[Index(left_node[partner])] * value[right]
                    partner = Index(partner + ONE)
                    group_value[Index(edge_group[edge])] = max(group_value[Index(edge_group[edge])], product)


class BestReader:
    """Reads the best derivation off the maxima of a sentence's forest."""

    def __init__(
        self, state: ForestState, maxima: Maxima, chains: BestChains, n: int, tie: float, logs: bool
    ) -> None:
        """Maxima are logarithms with ``logs``; derivations within ``tie`` (relative) are equally good."""
        self._state, self._forest, self._maxima, self._chains = state, state.forest, maxima, chains
        self._n, self._tie, self._logs = n, float(np.log1p(-tie)), logs

    def top(self) -> tuple[int, float]:
        """The root of the best derivation, -1 where there is none, and its logarithm (scaled as maxima)."""
        cell = forest_cell(0, self._n)
        nodes = np.arange(self._forest.node_first[cell], self._forest.node_first[cell + 1])
        symbols = self._forest.node_symbol[nodes]
        scores = _logs(self._state.tables.root[symbols]) + self._log(self._maxima.node[nodes])
        best = scores.max(initial=-np.inf)
        if best == -np.inf:
            return -1, -np.inf
        equal = np.flatnonzero(scores >= best + self._tie)
        return int(nodes[equal[np.argmin(symbols[equal])]]), float(best)

    def derivation(self, log_scale: float) -> Derivation:
        """The best derivation; ``log_scale`` is the logarithm of what maxima are multiplied by.

        Of several nodes over one span the upper ones come first.
        """
        root, log_prob = self.top()
        if root < 0:
            return Derivation(-np.inf, [], [])
        forest, chains = self._forest, self._chains
        nodes: list[tuple[int, int, int]] = []
        stack = [(root, self._n)]
        while stack:
            node, end = stack.pop()
            start = int(forest.node_start[node])
            if len(self._state.unary.rule_parent):
                node, entry = self._chain(node, start, end)
                while chains.length[entry] > 0:
                    nodes.append((start, end, int(self._state.unary.closure_top[entry])))
                    entry = int(chains.below[entry])
            nodes.append((start, end, int(forest.node_symbol[node])))
            if end - start > 1:
                split, _, _, left, right = self._children(node, start, end)
                stack += (right, end), (left, split)
        columns = np.array(nodes, np.int32).T.copy()
        return derivation_of(columns[0], columns[1], columns[2], log_prob - log_scale)

    def _chain(self, top: int, start: int, end: int) -> tuple[int, int]:
        """The node at the bottom of the best chain of unary rules, and the chain's entry in the closure."""
        forest, unary, cell = self._forest, self._state.unary, forest_cell(start, end)
        nodes = np.arange(forest.node_first[cell], forest.node_first[cell + 1])
        own = self._log(self._maxima.own[nodes])
        nodes, own = nodes[own > -np.inf], own[own > -np.inf]
        bottom, entries = ranges(unary.closure_start, forest.node_symbol[nodes])
        reaching = unary.closure_top[entries] == forest.node_symbol[top]
        bottom, entries = bottom[reaching], entries[reaching]
        scores = _logs(self._chains.prob[entries]) + own[bottom]
        equal = np.flatnonzero(scores >= scores.max() + self._tie)

        def order(place: int) -> tuple[int, int, int]:
            node = int(nodes[bottom[place]])
            split = self._children(node, start, end)[0] if end - start > 1 else -1
            return int(self._chains.length[entries[place]]), split, int(forest.node_symbol[node])

        chosen = min(equal.tolist(), key=order)
        return int(nodes[bottom[chosen]]), int(entries[chosen])

    def _children(self, node: int, start: int, end: int) -> tuple[int, int, int, int, int]:
        """The best split of a node, the symbols of its children there, and the children."""
        forest, cell = self._forest, forest_cell(start, end)
        first, last = forest.cell_production[cell], forest.cell_production[cell + 1]
        mine = first + np.flatnonzero(forest.production_parent[first:last] == node)
        groups, rules = forest.production_group[mine], forest.production_rule[mine]
        scores = _logs(self._state.tables.rule_prob[rules]) + self._log(self._maxima.group[groups])
        equal = groups[scores >= scores.max() + self._tie]
        return min(self._edge(group, start, end) for group in equal.tolist())

    def _edge(self, group: int, start: int, end: int) -> tuple[int, int, int, int, int]:
        forest = self._forest
        rights, lefts = edges_of(forest, group, start, end)
        scores = self._log(self._maxima.node[lefts]) + self._log(self._maxima.node[rights])
        # Splits come in descending order, and a group has one edge at each.
        best = np.flatnonzero(scores >= scores.max() + self._tie)[-1]
        left, right = int(lefts[best]), int(rights[best])
        symbols = int(forest.node_symbol[left]), int(forest.node_symbol[right])
        return int(forest.node_start[right]), *symbols, left, right

    def _log(self, values: Floats) -> FloatArray:
        return values if self._logs else _logs(values)


def _logs(values: Floats) -> FloatArray:
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(np.maximum(values, 0.0))
    return logs


def ranges(first: IntArray, ids: IntArray) -> tuple[IntArray, IntArray]:
    """The numbers from ``first[i]`` up to ``first[i + 1]`` for each of the ids, and whose they are.

    >>> [part.tolist() for part in ranges(np.array([0, 2, 5]), np.array([1, 0]))]
    [[0, 0, 0, 1, 1], [2, 3, 4, 0, 1]]
    """
    begin = first[ids].astype(np.int64)
    counts = first[ids + 1].astype(np.int64) - begin
    owner: IntArray = np.repeat(np.arange(len(ids)), counts)
    places: IntArray = np.arange(len(owner)) + np.repeat(begin - np.cumsum(counts) + counts, counts)
    return owner, places


def edges_of(forest: Forest, group: int, start: int, end: int) -> tuple[IntArray, IntArray]:
    """The right and left nodes of the edges of a group over a span, the last split first."""
    begin, last = forest.node_first[forest_cell(end - 1, end)], forest.node_first[forest_cell(start, end)]
    firsts = forest.edge_first[begin : last + 1]
    edges = firsts[0] + np.flatnonzero(forest.edge_group[firsts[0] : firsts[-1]] == group)
    rights = begin + np.searchsorted(firsts, edges, "right") - 1
    lefts = forest.left_node[forest.left_first[rights] + edges - forest.edge_first[rights]]
    return rights.astype(np.int32), lefts
