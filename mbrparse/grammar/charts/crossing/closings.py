"""A graph with some of its cells closed: what is left of the probability, and how it is shared out.

A closed cell has no node but continuations: no constituent of the n-ary tree stands there. Where all cells
that cross some brackets are closed, what is left is the probability that the true tree crosses none of them;
given that, the shares and posteriors of the graph are those that ``conditioned`` finds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.crossing.derivation_graph import DerivationGraph
from mbrparse.grammar.charts.crossing.graph_rules import Doubles, Flags
from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.kernel import kernel


class Conditioned(NamedTuple):
    """Probabilities given that no closed cell has a constituent; ``mass`` is that of this itself."""

    mass: float
    share: Doubles  # by edge
    g_bottom: Doubles  # by node


class Closings:
    """One graph, and the memory to ask it again and again."""

    def __init__(self, graph: DerivationGraph) -> None:
        self.graph = graph
        nodes = len(graph.node_symbol)
        self._bottom, self._top = np.zeros(nodes), np.zeros(nodes)
        self._cell = _cells(graph)
        self.none = np.zeros(len(graph.node_first) - 1, np.bool_)

    def crossing(self, start: int, end: int) -> Flags:
        """The cells (packed_forest.forest_cell) that cross a bracket."""
        starts, ends = self._cell
        before = (starts < start) & (start < ends) & (ends < end)
        return before | ((start < starts) & (starts < end) & (end < ends))

    def mass(self, closed: Flags) -> float:
        """The probability that no constituent stands in the closed cells."""
        if self.graph.length < 2:
            return 1.0
        return float(_inside(self.graph, closed, self._alive(closed), self._bottom, self._top))

    def mass_of_nodes(self, alive: Flags) -> float:
        """The probability that all nodes are among those that are ``alive``."""
        if self.graph.length < 2:
            return 1.0
        return float(_inside(self.graph, self.none, alive, self._bottom, self._top))

    def conditioned(self, closed: Flags) -> Conditioned:
        """The same with all that is probable given this."""
        return self.conditioned_nodes(closed, self._alive(closed))

    def conditioned_nodes(self, closed: Flags, alive: Flags) -> Conditioned:
        """The same where ``alive`` [nodes] says itself what may stand anywhere."""
        graph = self.graph
        mass = float(_inside(graph, closed, alive, self._bottom, self._top))
        share, g_bottom = np.zeros(len(graph.edge_share)), np.zeros(len(graph.g_bottom))
        if mass > 0:
            g_top = np.zeros(len(graph.g_bottom))
            _outside(graph, closed, self._bottom, self._top, mass, share, g_top, g_bottom)
        return Conditioned(mass, share, g_bottom)

    def _alive(self, closed: Flags) -> Flags:
        graph = self.graph
        sizes = np.diff(graph.node_first)
        alive: Flags = ~np.repeat(closed, sizes) | graph.node_continuation
        return alive


def _cells(graph: DerivationGraph) -> tuple[Ints, Ints]:
    ends = np.repeat(np.arange(1, graph.length + 1), np.arange(1, graph.length + 1))
    starts = ends * (ends - 1) // 2 + ends - 1 - np.arange(len(ends))
    return starts.astype(np.int32), ends.astype(np.int32)


@kernel
def _inside(graph: DerivationGraph, closed: Flags, alive: Flags, bottom: Doubles, top: Doubles) -> float:
    """The probability of what is alive; ``bottom`` and ``top`` [nodes] take the nodes' own."""
    unary = len(graph.chain_top) > 0
    edge_first, edge_parent, edge_left = graph.edge_first, graph.edge_parent, graph.edge_left
    edge_right, edge_share, node_first = graph.edge_right, graph.edge_share, graph.node_first
    cell = 0
    for end in range(1, graph.length + 1):
        for start in range(end - 1, -1, -1):
            first, last = node_first[cell], node_first[cell + 1]
            if end - start == 1:
                top[first:last] = 1.0
                cell += 1
                continue
            bottom[first:last] = 0.0
            for edge in range(edge_first[cell], edge_first[cell + 1]):
                bottom[edge_parent[edge]] += edge_share[edge] * top[edge_left[edge]] * top[edge_right[edge]]
            for node in range(first, last):
                if not alive[node]:
                    bottom[node] = 0.0
                top[node] = 0.0 if unary else bottom[node]
            if unary:
                share = graph.chain_closed if closed[cell] else graph.chain_share
                for chain in range(graph.chain_first[cell], graph.chain_first[cell + 1]):
                    top[graph.chain_top[chain]] += share[chain] * bottom[graph.chain_bottom[chain]]
                for node in range(first, last):
                    if not alive[node]:
                        top[node] = 0.0
            cell += 1
    total = 0.0
    for node in range(node_first[cell - 1], node_first[cell]):
        total += graph.root[node] * top[node]
    return total


@kernel
def _outside(
    graph: DerivationGraph,
    closed: Flags,
    bottom: Doubles,
    top: Doubles,
    mass: float,
    share: Doubles,
    g_top: Doubles,
    g_bottom: Doubles,
) -> None:
    """Shares and posteriors given what ``_inside`` has found; all three arrays are zero before."""
    unary = len(graph.chain_top) > 0
    edge_parent, edge_left, edge_right = graph.edge_parent, graph.edge_left, graph.edge_right
    cells = len(graph.node_first) - 1
    for node in range(graph.node_first[cells - 1], graph.node_first[cells]):
        g_top[node] = graph.root[node] * top[node] / mass
    # A node's g_top is its probability to be entered, and in all chains from it those below add up.
    for cell in range(cells - 1, -1, -1):
        first, last = graph.node_first[cell], graph.node_first[cell + 1]
        if unary and graph.chain_first[cell] < graph.chain_first[cell + 1]:
            chain_share = graph.chain_closed if closed[cell] else graph.chain_share
            for chain in range(graph.chain_first[cell], graph.chain_first[cell + 1]):
                above, below = graph.chain_top[chain], graph.chain_bottom[chain]
                if g_top[above] > 0:
                    g_bottom[below] += g_top[above] * chain_share[chain] * bottom[below] / top[above]
        else:
            for node in range(first, last):
                g_bottom[node] = g_top[node]
        for edge in range(graph.edge_first[cell], graph.edge_first[cell + 1]):
            parent = edge_parent[edge]
            if g_bottom[parent] > 0:
                left, right = edge_left[edge], edge_right[edge]
                part = graph.edge_share[edge] * top[left] * top[right] / bottom[parent]
                share[edge] = part
                passed = g_bottom[parent] * part
                g_top[left] += passed
                g_top[right] += passed
