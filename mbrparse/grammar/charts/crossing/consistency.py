"""c(start, end): the probability that no constituent of the true n-ary tree crosses a span.

Continuations are no constituents and may cross. It is the inside probability of the sentence when all cells
that cross the span are closed to labels that are no continuations, over the sentence's probability. For most
binarizations each span has a pass of its own. Where continuations are right-linear (or left-linear, the
mirror image) one pass has them all:

Nothing crosses (i, j) if it is a node of the binary tree, or if two or more children of one constituent of
the n-ary tree make it up. These children then hang from one spine: continuations that all end at some b > j,
below a node over (i, b); the last of them hangs from the continuation that is split at j. So for each (i, b)
the posterior of its nodes is sent down the spine, and c(i, j) collects what is split at j below the first
node. This is the closed formula with U, W and E of the paper's nodes, node by node, in probabilities.
"""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.base.closure import Closure, unary_closure
from mbrparse.grammar.charts.base.span_summary import cell_of
from mbrparse.grammar.charts.crossing.crossing_kernels import (
    Booleans,
    Conditioned,
    Spines,
    gather_spines,
    send_down,
)
from mbrparse.grammar.charts.crossing.masked_forest import Chains, MaskedForest
from mbrparse.grammar.charts.forest.top_down import ForestSource, top_down_forest
from mbrparse.grammar.charts.forest.top_down_kernels import TopDownForest
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.grammar.rules import is_terminal
from mbrparse.treebank.labels import is_continuation

#: Nodes expected less often are left out: together they are far below the last digit that anyone asks for.
NEGLIGIBLE = 1e-18
ROUNDING = 1e-12


class Consistency:
    """What one grammar's forests say of spans that nothing crosses."""

    def __init__(self, grammar: PCFG, continuation: Booleans | None = None) -> None:
        """``continuation`` [symbols]: what is no constituent; by default the grammar's continuations."""
        flags = _continuations(grammar) if continuation is None else continuation
        self.continuation = flags
        unary = flags[grammar.unary_parent].any() or flags[grammar.unary_child].any()
        #: Whether continuations are left children only: spines of these go on to the left.
        self.mirrored = not unary and bool(flags[grammar.left].any()) and not flags[grammar.right].any()
        self.one_pass = self.mirrored or not (unary or flags[grammar.left].any())
        self._chains = Chains(flags)
        if grammar.has_unaries:
            closure = unary_closure(grammar)
            self._chains = Chains(flags, closure, _closed(grammar, flags, closure))

    def forest(self, charts: ForestSource, terminal_ids: IntArray) -> MaskedForest:
        """The derivations of a sentence; raises as ``top_down_forest`` does."""
        return self.masked(top_down_forest(charts, terminal_ids, NEGLIGIBLE))

    def masked(self, forest: TopDownForest) -> MaskedForest:
        """The same of a forest without what is negligible."""
        return MaskedForest.of(forest, self._chains)

    def of_sentence(self, charts: ForestSource, terminal_ids: IntArray) -> FloatArray:
        """c by cell (grammar.charts.base.span_summary)."""
        forest = self.forest(charts, terminal_ids)
        # With unary rules shares are to be those of a node's binary rules, which joint() finds.
        if self.one_pass and not forest.has_chains:
            kept = forest.forest
            return self._consistent(forest, kept.way_share, kept.edge_share, forest.crossing.g_bottom)
        return self.joint(forest, forest.none)

    def joint(self, forest: MaskedForest, closed: Booleans) -> FloatArray:
        """By cell, the probability that closed cells have no constituent, and that none crosses the span."""
        if self.one_pass:
            return self.joint_of(forest, *forest.conditioned(closed))
        n = forest.length
        found = np.full(n * (n + 1) // 2, forest.mass(closed))
        for start in range(n):
            for end in range(start + 2, n + 1):
                if end - start < n:
                    found[cell_of(n, start, end)] = forest.mass(closed | forest.cells_across(start, end))
        return found

    def joint_of(self, forest: MaskedForest, mass: float, given: Conditioned) -> FloatArray:
        """The same in one pass, from what is left where cells are closed, of probability ``mass``."""
        return mass * self._consistent(forest, given.way_share, given.edge_share, given.g_bottom)

    def _consistent(
        self, masked: MaskedForest, way_share: FloatArray, edge_share: FloatArray, g_bottom: FloatArray
    ) -> FloatArray:
        """c by cell from shares and posteriors; costs n^4 / 24 times the continuations of a cell."""
        forest, continuation, n = masked.forest, masked.crossing.continuation, masked.length
        nodes = len(continuation)
        starts, ends = np.triu_indices(n)
        turned = cell_of(n, n - 1 - ends, n - starts)  # each cell's mirror image
        if self.mirrored:
            starts, ends = n - 1 - ends, n - 1 - starts
        cells = (ends + 1) * ends // 2 + ends - starts
        split_first = np.zeros(nodes + 1, np.int32)
        np.cumsum(np.where(continuation, forest.node_end - forest.node_start, 0), out=split_first[1:])
        inner = forest.edge_left if self.mirrored else forest.edge_right
        steps = int((continuation[inner] * _uses(forest)).sum())
        spines = Spines(
            forest.node_first[cells],
            forest.node_first[cells + 1],
            split_first,
            np.zeros(int(split_first[-1])),
            np.zeros(nodes + 1, np.int32),
            np.zeros(steps, np.int32),
            np.zeros(steps),
        )
        newest = np.full(nodes, -1, np.int32)
        gather_spines(masked.crossing, way_share, edge_share, self.mirrored, spines, newest)
        found = np.zeros(n * (n + 1) // 2)
        send_down(n, g_bottom, spines, found, np.zeros(nodes))
        found[np.cumsum(np.append(0, np.arange(n, 1, -1)))] = 1.0  # nothing crosses a single terminal
        # What differs from one by rounding is one: logarithms of it would tell equal trees apart.
        found[found > 1 - ROUNDING] = 1.0
        return found[turned] if self.mirrored else found


def _continuations(grammar: PCFG) -> Booleans:
    """Which symbols are continuations: no constituents of the n-ary tree."""
    return np.array([not is_terminal(name) and is_continuation(name) for name in grammar.symbols], np.bool_)


def _uses(forest: TopDownForest) -> IntArray:
    """How many ways lead to the group of each edge."""
    ways = np.bincount(forest.way_to[forest.way_to >= 0], minlength=len(forest.edge_first) - 1)
    return np.repeat(ways, np.diff(forest.edge_first)).astype(np.int32)


def _closed(grammar: PCFG, continuation: Booleans, closure: Closure) -> FloatArray:
    """The chains that have nothing but continuations in them, by entry of the closure of all."""
    within = unary_closure(grammar, continuation[grammar.unary_parent] & continuation[grammar.unary_child])
    symbols = len(grammar.symbols)
    bottom = np.repeat(np.arange(symbols), np.diff(closure.start))
    inner = np.repeat(np.arange(symbols), np.diff(within.start)) * symbols + within.top
    values = np.zeros(len(bottom))
    # Whatever is reached by some chains is reached by all.
    values[np.searchsorted(bottom * symbols + closure.top, inner)] = within.value
    values[~(continuation[bottom] & continuation[closure.top])] = 0.0
    return values
