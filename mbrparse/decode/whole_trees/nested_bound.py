"""How probable a binary tree can be at most, if each node may choose the tree below it for itself.

U(node) is at least the probability of the node's derivations that look like any one tree over its span: of
the ways to split the span (and, where labels count, to label its parts) the largest sum over edges of
share * U * U. What is doubtful in different parts of a sentence is multiplied, as it is in the trees.
"""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.crossing.crossing_kernels import Booleans
from mbrparse.grammar.charts.crossing.masked_forest import MaskedForest, nodes_of_ways
from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray


class NestedBound:
    """The bounds of one forest; with unary rules there is none below one."""

    def __init__(self, masked: MaskedForest, look: Ints) -> None:
        """``look`` [nodes] is what a tree shows of a node, its span included."""
        forest = self._forest = masked.forest
        self._look = look
        self._bounded = not masked.has_chains
        # The edges of each rule: parts of one look, one after the other.
        binary = np.flatnonzero(forest.way_to >= 0)
        sizes = np.diff(forest.edge_first)[forest.way_to[binary]]
        begin = np.repeat(forest.edge_first[forest.way_to[binary]] - np.cumsum(sizes) + sizes, sizes)
        edge = begin + np.arange(len(begin))
        way = np.repeat(binary, sizes)
        parent, left, right = nodes_of_ways(forest)[way], forest.edge_left[edge], forest.edge_right[edge]
        share = forest.way_share[way] * forest.edge_share[edge]
        order = np.lexsort((look[right], look[left], parent))
        self._edges = parent[order], left[order], right[order], share[order]

    def bound(self, alive: Booleans) -> float:
        """What no tree exceeds that is made of nodes that are alive."""
        forest = self._forest
        if not self._bounded:
            return 1.0
        best = np.where(forest.node_end - forest.node_start > 1, 0.0, 1.0)
        _nest(*self._edges, self._look, alive, best)
        first, last = forest.node_first[-2], forest.node_first[-1]
        root = forest.root[first:last] * best[first:last]
        _, shown = np.unique(self._look[first:last], return_inverse=True)
        return float(np.bincount(shown.reshape(-1), root).max()) if len(root) else 0.0


@kernel
def _nest(
    parents: Ints,
    lefts: Ints,
    rights: Ints,
    shares: FloatArray,
    look: Ints,
    alive: Booleans,
    best: FloatArray,
) -> None:
    """``best`` [nodes] is one over single terminals, and is filled above them."""
    place = 0
    while place < len(parents):
        parent, left, right = parents[place], look[lefts[place]], look[rights[place]]
        total = 0.0
        while place < len(parents):
            if parents[place] != parent or look[lefts[place]] != left or look[rights[place]] != right:
                break
            total += shares[place] * best[lefts[place]] * best[rights[place]]
            place += 1
        if alive[parent]:
            best[parent] = max(best[parent], total)
