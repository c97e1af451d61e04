"""How probable a binary tree can be at most, if each node may choose the tree below it for itself.

U(node) is at least the probability of the node's derivations that look like any one tree over its span: of
the ways to split the span (and, where labels count, to label its parts) the largest sum over edges of
share * U * U. What is doubtful in different parts of a sentence is multiplied, as it is in the trees.
"""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.crossing.derivation_graph import DerivationGraph
from mbrparse.grammar.charts.crossing.graph_rules import Doubles, Flags
from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.kernel import kernel


class NestedBound:
    """The bounds of one graph; with unary rules there is none below one."""

    def __init__(self, graph: DerivationGraph, look: Ints) -> None:
        """``look`` [nodes] is what a tree shows of a node, its span included."""
        self._graph = graph
        self._look = look
        self._order = np.lexsort((look[graph.edge_right], look[graph.edge_left], graph.edge_parent)).astype(
            np.int32
        )

    def bound(self, alive: Flags) -> float:
        """What no tree exceeds that is made of nodes that are alive."""
        graph = self._graph
        if len(graph.chain_top):
            return 1.0
        best = np.ones(len(graph.node_symbol))
        _nest(graph, self._order, self._look, alive, best)
        first, last = graph.node_first[-2], graph.node_first[-1]
        root = graph.root[first:last] * best[first:last]
        _, shown = np.unique(self._look[first:last], return_inverse=True)
        return float(np.bincount(shown.reshape(-1), root).max()) if len(root) else 0.0


@kernel
def _nest(graph: DerivationGraph, order: Ints, look: Ints, alive: Flags, best: Doubles) -> None:
    """``best`` [nodes] is one over single terminals, and is filled above them."""
    parents, lefts, rights = graph.edge_parent, graph.edge_left, graph.edge_right
    for node in range(len(best)):
        if graph.node_end[node] - graph.node_start[node] > 1:
            best[node] = 0.0
    place = 0
    while place < len(order):
        edge = order[place]
        parent, left, right = parents[edge], look[lefts[edge]], look[rights[edge]]
        total = 0.0
        while place < len(order):
            edge = order[place]
            if parents[edge] != parent or look[lefts[edge]] != left or look[rights[edge]] != right:
                break
            total += graph.edge_share[edge] * best[lefts[edge]] * best[rights[edge]]
            place += 1
        if alive[parent]:
            best[parent] = max(best[parent], total)
