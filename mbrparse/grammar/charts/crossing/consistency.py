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

A *closed* cell has no node but continuations: no constituent of the n-ary tree stands there. Where all cells
that cross some brackets are closed, what is left is the probability that the true tree crosses none of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.base.closure import Closure, unary_closure
from mbrparse.grammar.charts.base.span_summary import cell_of
from mbrparse.grammar.charts.crossing.crossing_kernels import (
    Booleans,
    Conditioned,
    CrossingForest,
    Masked,
    Spines,
    gather_spines,
    list_chains,
    masked_inside,
    masked_outside,
    send_down,
)
from mbrparse.grammar.charts.forest.top_down import ForestSource, top_down_forest
from mbrparse.grammar.charts.forest.top_down_kernels import TopDownForest
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.grammar.rules import is_terminal
from mbrparse.treebank.labels import is_continuation


class Chains(NamedTuple):
    """What may stand over closed cells, and a grammar's chains of unary rules.

    ``closed`` is the part of each entry of the closure whose chains hold nothing but continuations.
    """

    continuation: Booleans  # by symbol
    closure: Closure | None = None  # None without unary rules
    closed: FloatArray = np.zeros(0)


class MaskedForest:
    """One sentence's forest, and the memory to ask it again and again."""

    def __init__(self, crossing: CrossingForest) -> None:
        forest = self.forest = crossing.forest
        self.crossing = crossing
        self.length = forest.length
        self.none = np.zeros(len(forest.node_first) - 1, np.bool_)
        nodes = len(forest.node_symbol)
        self._values = Masked(np.zeros(nodes), np.zeros(nodes), np.zeros(len(forest.edge_first) - 1))
        ends = np.repeat(np.arange(1, self.length + 1), np.arange(1, self.length + 1))
        self._cell_start = ends * (ends - 1) // 2 + ends - 1 - np.arange(len(ends))
        self._cell_end = ends

    @classmethod
    def of(cls, forest: TopDownForest, chains: Chains) -> MaskedForest:
        """A sentence's forest, with its chains listed."""
        binary = np.where(forest.way_to >= 0, forest.way_share, 0.0)
        of_rules = np.bincount(nodes_of_ways(forest), binary, len(forest.node_symbol))
        wide = forest.node_end - forest.node_start > 1
        nothing, none = np.zeros(0, np.int32), np.zeros(0)
        crossing = CrossingForest(
            forest,
            chains.continuation[forest.node_symbol],
            np.where(wide, forest.node_g * of_rules, forest.node_g) if chains.closure else forest.node_g,
            np.zeros(len(forest.node_first), np.int32),
            *(nothing, nothing, none, none),
        )
        if chains.closure is not None:
            slot = np.full(len(chains.continuation), -1, np.int32)
            entries = chains.closure.start, chains.closure.top, chains.closure.value, chains.closed, slot
            count = int(list_chains(crossing, *entries))
            (top, bottom), (share, closed) = np.zeros((2, count), np.int32), np.zeros((2, count))
            crossing = crossing._replace(
                chain_top=top, chain_bottom=bottom, chain_share=share, chain_closed=closed
            )
            list_chains(crossing, *entries)
        return cls(crossing)

    @property
    def has_chains(self) -> bool:
        """Whether there are unary rules in it."""
        return bool(len(self.crossing.chain_top))

    @cached_property
    def cost(self) -> int:
        """How many pairs of a rule and a split there are."""
        return self._edges_of_rules(np.diff(self.forest.edge_first), self.forest.way_to)

    def edges_left(self, given: Conditioned) -> int:
        """How many of these pairs are left."""
        edges = np.diff(np.append(0, np.cumsum(given.edge_share > 0))[self.forest.edge_first])
        return self._edges_of_rules(edges, self.forest.way_to[given.way_share > 0])

    @staticmethod
    def _edges_of_rules(edges: IntArray, ways: IntArray) -> int:
        """``edges`` by group, summed over ways that lead to groups."""
        return int(edges[ways[ways >= 0]].sum())

    def cells_across(self, start: int, end: int) -> Booleans:
        """The cells (packed_forest.forest_cell) that cross a bracket."""
        starts, ends = self._cell_start, self._cell_end
        before = (starts < start) & (start < ends) & (ends < end)
        return before | ((start < starts) & (starts < end) & (end < ends))

    def cells_across_all(self, brackets: Iterable[tuple[int, int]]) -> Booleans:
        """The cells that cross one of the brackets, or several."""
        closed = self.none
        for start, end in brackets:
            closed = closed | self.cells_across(start, end)
        return closed

    def mass(self, closed: Booleans, alive: Booleans | None = None) -> float:
        """The probability that no constituent stands in closed cells, and that all nodes are ``alive``."""
        if self.length < 2:
            return 1.0
        alive = self._alive(closed) if alive is None else alive
        return float(masked_inside(self.crossing, closed, alive, self._values))

    def conditioned(self, closed: Booleans, alive: Booleans | None = None) -> tuple[float, Conditioned]:
        """The same, and what is probable given this."""
        crossing, forest = self.crossing, self.forest
        mass = self.mass(closed, alive)
        given = Conditioned(
            way_share=np.zeros(len(forest.way_share)),
            edge_share=np.zeros(len(forest.edge_share)),
            g_bottom=np.zeros(len(forest.node_symbol)),
            g_top=np.zeros(len(forest.node_symbol)),
            g_group=np.zeros(len(forest.edge_first) - 1),
        )
        if mass > 0 and self.length > 1:
            masked_outside(crossing, closed, self._values, mass, given)
        return mass, given

    def restricted(self, given: Conditioned) -> MaskedForest:
        """The derivations that are left, with probabilities given that; of forests without unary rules."""
        forest = self.forest
        ways, edges = given.way_share > 0, given.edge_share > 0
        way_first = np.append(0, np.cumsum(ways))[forest.way_first].astype(np.int32)
        edge_first = np.append(0, np.cumsum(edges))[forest.edge_first].astype(np.int32)
        root = np.where(np.arange(len(forest.root)) < forest.node_first[-2], 0.0, given.g_bottom)
        left = forest._replace(
            root=root,
            way_first=way_first,
            way_to=forest.way_to[ways],
            way_rule=forest.way_rule[ways],
            way_share=given.way_share[ways],
            edge_first=edge_first,
            edge_left=forest.edge_left[edges],
            edge_right=forest.edge_right[edges],
            edge_share=given.edge_share[edges],
        )
        return MaskedForest(self.crossing._replace(forest=left, g_bottom=given.g_bottom))

    def _alive(self, closed: Booleans) -> Booleans:
        alive: Booleans = ~np.repeat(closed, np.diff(self.forest.node_first)) | self.crossing.continuation
        return alive


def nodes_of_ways(forest: TopDownForest) -> IntArray:
    """The node that each way makes."""
    nodes = np.arange(len(forest.node_symbol), dtype=np.int32)
    return np.repeat(nodes, np.diff(forest.way_first))


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
