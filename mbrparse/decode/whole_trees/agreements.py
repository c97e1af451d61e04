"""What a sentence's derivations say of brackets: whether the true tree crosses them, or has their labels."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.decode.whole_trees.whole_tree_kernels import nest_bounds
from mbrparse.grammar.charts.base.rule_tables import Ints
from mbrparse.grammar.charts.base.span_summary import cell_of
from mbrparse.grammar.charts.crossing.consistency import Consistency, MaskedForest, nodes_of_ways
from mbrparse.grammar.pcfg import FloatArray

# A graph of what is left is made where it is so much smaller, and while all of them have so many edges.
SMALLER = 0.4
ROOM = 20_000_000

BoolArray = npt.NDArray[np.bool_]
Span = tuple[int, int]
Labelled = tuple[int, int, int]
NO_LABEL = -1


@lru_cache(maxsize=4)
def crossing_table(length: int) -> BoolArray:
    """Which spans cross, both by cell (span_summary)."""
    starts, ends = np.triu_indices(length)
    ends = ends + 1
    inside = (starts[:, None] < starts) & (starts < ends[:, None]) & (ends[:, None] < ends)
    crossing: BoolArray = inside | inside.T
    return crossing


class Known(NamedTuple):
    """What is known where some brackets are fixed.

    ``weight`` is the probability of the derivations of ``forest``, ``closed`` are the cells that it holds
    closed, ``masses`` has by cell the probability that nothing crosses what is fixed, nor the cell's span (0
    for spans that no tree with the fixed brackets has).
    """

    forest: MaskedForest
    closed: BoolArray
    weight: float
    masses: FloatArray


class Uncrossed:
    """Brackets agree with the true tree where none of its constituents crosses any of them."""

    def __init__(self, consistency: Consistency, forest: MaskedForest) -> None:
        self.length = forest.length
        self.cost = forest.cost
        self._consistency = consistency
        self._forest = forest
        self._room = ROOM

    def start(self) -> Known:
        """Where nothing is fixed."""
        forest = self._forest
        return Known(forest, forest.none, 1.0, self._consistency.joint(forest, forest.none))

    def within(self, known: Known, bracket: Span) -> tuple[Known, int]:
        """The same with one more bracket fixed, and what it cost."""
        consistency, forest, weight = self._consistency, known.forest, known.weight
        cost = 3 * forest.cost
        closed = known.closed | forest.cells_across([bracket])
        if consistency.one_pass:
            mass, given = forest.conditioned(closed)
            masses = weight * consistency.joint_of(forest, mass, given)
            left = forest.edges_left(given)
            if 0 < left < min(SMALLER * forest.cost, self._room) and not forest.has_chains:
                # What comes of this state has less to look at.
                self._room -= left
                weight *= mass
                forest = forest.restricted(given)
                closed = forest.none
        else:
            masses = weight * consistency.joint(forest, closed)
            cost *= len(masses)
        masses[(known.masses == 0) | crossing_table(self.length)[cell_of(self.length, *bracket)]] = 0.0
        return Known(forest, closed, weight, masses), cost

    def masses(self, known: Known, forbidden: frozenset[Span]) -> FloatArray:
        """The masses by cell, without what is forbidden."""
        if not forbidden:
            return known.masses
        masses = known.masses.copy()
        masses[[cell_of(self.length, *span) for span in forbidden]] = 0.0
        return masses

    def brackets(self, known: Known, spans: list[Span], forbidden: frozenset[Span]) -> list[Span]:
        """The spans themselves."""
        return spans

    def bound(self, known: Known, forbidden: frozenset[Span]) -> float:
        """Nothing better than the masses of brackets bounds trees that continuations may cross."""
        return 1.0

    def mass(self, known: Known, tree: list[Span]) -> float:
        """The probability that nothing crosses any of them."""
        return known.weight * known.forest.mass(known.closed | known.forest.cells_across(tree))


class KnownTree(NamedTuple):
    """What is known where some labelled brackets are fixed.

    ``alive`` are the nodes that may be there still, ``joint`` has by look (a label over a span) the
    probability that it is there with all that is fixed.
    """

    alive: BoolArray
    joint: FloatArray


class SameTree:
    """Labelled brackets (start, end, label id) agree with the true tree where it has them all."""

    def __init__(self, masked: MaskedForest, label: Ints) -> None:
        """``label`` [symbol] is what a tree shows; over single terminals it shows nothing."""
        n = self.length = masked.length
        self.cost = masked.cost
        self._masked, forest = masked, masked.forest
        cells = cell_of(n, forest.node_start, forest.node_end)
        wide = forest.node_end - forest.node_start > 1
        label_of = np.where(wide, label[forest.node_symbol], NO_LABEL)
        labels = int(label.max(initial=0)) + 2
        looks, look = np.unique(cells.astype(np.int64) * labels + label_of + 1, return_inverse=True)
        self._look: Ints = look.reshape(-1).astype(np.int32)
        self._cell_of_node = cells
        self._cell, self._label = (looks // labels).astype(np.int64), (looks % labels - 1).astype(np.int64)
        self._look_of = {
            (int(cell), int(shown)): place
            for place, (cell, shown) in enumerate(zip(self._cell, self._label, strict=True))
        }
        self._nested = NestedBound(masked, self._look)

    def start(self) -> KnownTree:
        """What is known where nothing is fixed."""
        return self._shown(np.ones(len(self._look), np.bool_))

    def within(self, known: KnownTree, bracket: Labelled) -> tuple[KnownTree, int]:
        """The same with one more bracket fixed, and what it cost."""
        return self._shown(known.alive & self._allowed([bracket])), 2 * self.cost

    def masses(self, known: KnownTree, forbidden: frozenset[Labelled]) -> FloatArray:
        """By cell, the largest joint probability of its labels."""
        joint = self._left(known, forbidden)
        masses = np.zeros(self.length * (self.length + 1) // 2)
        np.maximum.at(masses, self._cell, joint)
        return masses

    def brackets(
        self, known: KnownTree, spans: list[tuple[int, int]], forbidden: frozenset[Labelled]
    ) -> list[Labelled]:
        """Each span with its best label."""
        joint = self._left(known, forbidden)
        chosen = []
        for start, end in spans:
            cell = cell_of(self.length, start, end)
            first, last = np.searchsorted(self._cell, [cell, cell + 1]).tolist()
            best = first + int(joint[first:last].argmax()) if last > first else -1
            chosen.append((start, end, int(self._label[best]) if best >= 0 else NO_LABEL))
        return chosen

    def bound(self, known: KnownTree, forbidden: frozenset[Labelled]) -> float:
        """What the probability of no tree exceeds that has what is fixed and nothing forbidden."""
        alive = known.alive.copy()
        for start, end, label in forbidden:
            alive &= self._look != self._look_of.get((cell_of(self.length, start, end), label), -1)
        return self._nested.bound(alive)

    def mass(self, known: KnownTree, tree: list[Labelled]) -> float:
        """The probability that the true tree looks so."""
        return self._masked.mass(self._masked.none, known.alive & self._allowed(tree))

    def _shown(self, alive: BoolArray) -> KnownTree:
        mass, given = self._masked.conditioned(self._masked.none, alive)
        joint = mass * np.bincount(self._look, given.g_bottom, len(self._cell))
        return KnownTree(alive, np.where(self._label == NO_LABEL, 0.0, joint))

    def _left(self, known: KnownTree, forbidden: frozenset[Labelled]) -> FloatArray:
        if not forbidden:
            return known.joint
        joint = known.joint.copy()
        for start, end, label in forbidden:
            joint[self._look_of[cell_of(self.length, start, end), label]] = 0.0
        return joint

    def _allowed(self, brackets: list[Labelled]) -> BoolArray:
        """The nodes that stand beside these brackets, or are one of them."""
        crossing = crossing_table(self.length)
        closed = np.zeros(len(crossing), np.bool_)
        allowed = np.ones(len(self._look), np.bool_)
        for start, end, label in brackets:
            cell = cell_of(self.length, start, end)
            closed |= crossing[cell]
            allowed &= (self._cell_of_node != cell) | (self._look == self._look_of.get((cell, label), -1))
        left: BoolArray = allowed & ~closed[self._cell_of_node]
        return left


class NestedBound:
    """How probable a binary tree can be at most, if each node may choose the tree below it for itself.

    U(node) is at least the probability of the node's derivations that look like any one tree over its span:
    of the ways to split the span (and, where labels count, to label its parts) the largest sum over edges of
    share * U * U. What is doubtful in different parts of a sentence is multiplied, as it is in the trees.
    With unary rules there is no bound below one.
    """

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

    def bound(self, alive: BoolArray) -> float:
        """What no tree exceeds that is made of nodes that are alive."""
        forest = self._forest
        if not self._bounded:
            return 1.0
        best = np.where(forest.node_end - forest.node_start > 1, 0.0, 1.0)
        nest_bounds(*self._edges, self._look, alive, best)
        first, last = forest.node_first[-2], forest.node_first[-1]
        root = forest.root[first:last] * best[first:last]
        _, shown = np.unique(self._look[first:last], return_inverse=True)
        return float(np.bincount(shown.reshape(-1), root).max()) if len(root) else 0.0
