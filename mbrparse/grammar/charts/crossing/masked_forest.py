"""The derivations of a sentence, some of its nodes masked: what is left of its probability, and of what.

A *closed* cell has no node but continuations: no constituent of the n-ary tree stands there. Where all cells
that cross some brackets are closed, what is left is the probability that the true tree crosses none of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.base.closure import Closure
from mbrparse.grammar.charts.crossing.crossing_kernels import (
    Booleans,
    Conditioned,
    CrossingForest,
    Masked,
    list_chains,
    masked_inside,
    masked_outside,
)
from mbrparse.grammar.charts.forest.top_down_kernels import TopDownForest
from mbrparse.grammar.pcfg import FloatArray, IntArray


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
