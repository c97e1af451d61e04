"""What a sentence's derivations say of brackets: whether the true tree crosses them, or has their labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from mbrparse.charts.crossing.consistency import Consistency, MaskedForest, nodes_of_ways
from mbrparse.charts.forest.top_down import TopDownForest
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Ints
from mbrparse.charts.spans import cell_of
from mbrparse.grammar.pcfg import FloatArray

# A graph of what is left is made where it is so much smaller, and while all of them have so many edges.
SMALLER = 0.4
ROOM = 20_000_000

BoolArray = npt.NDArray[np.bool_]
# Start and end, perhaps with a label's id.
Bracket = tuple[int, ...]
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
    """What is known where some brackets are fixed, which nothing may cross.

    ``weight`` is the probability of the derivations of ``forest``, ``closed`` are the cells that it holds
    closed. ``joint`` has by cell the probability that nothing crosses what is fixed, nor the cell's span (0
    for spans that no tree with the fixed brackets has).
    """

    forest: MaskedForest
    closed: BoolArray
    weight: float
    joint: FloatArray


class KnownTree(NamedTuple):
    """What is known where some labelled brackets are fixed.

    ``alive`` are the nodes that may be there still, ``joint`` has the probability of each bracket together
    with all that is fixed.
    """

    alive: BoolArray
    joint: FloatArray


KnownT = TypeVar("KnownT", Known, KnownTree)


class Agreement(ABC, Generic[KnownT]):
    """How probably a sentence's true tree agrees with brackets."""

    def __init__(self, forest: MaskedForest, brackets: Sequence[Bracket]) -> None:
        """``brackets`` are all that there are, in the order of cells (span_summary)."""
        self.length = forest.length
        self.work = 0
        """How many edges have been looked at since."""
        self._forest = forest
        self._brackets = brackets
        self._cell = np.array([cell_of(self.length, start, end) for start, end, *_ in brackets])
        self._place_of = {bracket: place for place, bracket in enumerate(brackets)}

    @abstractmethod
    def start(self) -> KnownT:
        """What is known where no bracket is fixed."""

    @abstractmethod
    def within(self, known: KnownT, bracket: Bracket) -> KnownT:
        """What is known where one more is."""

    @abstractmethod
    def mass(self, known: KnownT, tree: Sequence[Bracket]) -> float:
        """The probability that the true tree agrees with a binary tree, which has all that is fixed."""

    def bound(self, known: KnownT, forbidden: frozenset[Bracket]) -> float:
        """What no tree exceeds that has what is fixed and nothing forbidden; 1 if nothing is known."""
        return 1.0

    def masses(self, known: KnownT, forbidden: frozenset[Bracket]) -> FloatArray:
        """By cell, the probability of what is fixed and of the cell's best bracket, none of the forbidden."""
        masses = np.zeros(self.length * (self.length + 1) // 2)
        np.maximum.at(masses, self._cell, self._left(known, forbidden))
        return masses

    def brackets(
        self, known: KnownT, spans: Iterable[Bracket], forbidden: frozenset[Bracket]
    ) -> list[Bracket]:
        """The best brackets of these spans, in their order."""
        joint = self._left(known, forbidden)
        chosen: list[Bracket] = []
        for start, end in spans:
            cell = cell_of(self.length, start, end)
            first, last = np.searchsorted(self._cell, [cell, cell + 1]).tolist()
            best = first + int(joint[first:last].argmax()) if last > first else -1
            chosen.append(self._brackets[best] if best >= 0 else (start, end, NO_LABEL))
        return chosen

    def _left(self, known: KnownT, forbidden: frozenset[Bracket]) -> FloatArray:
        """The joint probabilities by bracket, without what is forbidden."""
        if not forbidden:
            return known.joint
        joint = known.joint.copy()
        joint[[self._place_of[bracket] for bracket in forbidden]] = 0.0
        return joint


class Uncrossed(Agreement[Known]):
    """Brackets agree with the true tree where none of its constituents crosses any of them."""

    def __init__(self, consistency: Consistency, forest: MaskedForest) -> None:
        n = forest.length
        super().__init__(forest, [(start, end) for start in range(n) for end in range(start + 1, n + 1)])
        self._consistency = consistency
        self._room = ROOM

    def start(self) -> Known:
        """Where nothing is fixed."""
        forest = self._forest
        return Known(forest, forest.none, 1.0, self._consistency.joint(forest, forest.none))

    def within(self, known: Known, bracket: Bracket) -> Known:
        """The same with one more bracket fixed."""
        consistency, forest, weight = self._consistency, known.forest, known.weight
        cost = 3 * forest.cost
        start, end = bracket
        closed = known.closed | forest.cells_across([(start, end)])
        if consistency.one_pass:
            mass, given = forest.conditioned(closed)
            joint = weight * consistency.joint_of(forest, mass, given)
            left = forest.edges_left(given)
            if 0 < left < min(SMALLER * forest.cost, self._room) and not forest.has_chains:
                # What comes of this state has less to look at.
                self._room -= left
                weight *= mass
                forest = forest.restricted(given)
                closed = forest.none
        else:
            joint = weight * consistency.joint(forest, closed)
            cost *= len(joint)
        self.work += cost
        joint[(known.joint == 0) | crossing_table(self.length)[self._place_of[bracket]]] = 0.0
        return Known(forest, closed, weight, joint)

    def mass(self, known: Known, tree: Sequence[Bracket]) -> float:
        """The probability that nothing crosses any of them."""
        self.work += self._forest.cost
        across = known.forest.cells_across((start, end) for start, end in tree)
        return known.weight * known.forest.mass(known.closed | across)


class SameTree(Agreement[KnownTree]):
    """Labelled brackets (start, end, label id) agree with the true tree where it has them all."""

    def __init__(self, masked: MaskedForest, label: Ints) -> None:
        """``label`` [symbol] is what a tree shows; over single terminals it shows nothing."""
        forest = masked.forest
        wide = forest.node_end - forest.node_start > 1
        label_of = np.where(wide, label[forest.node_symbol], NO_LABEL)
        looks = np.column_stack([forest.node_start, forest.node_end, label_of])
        distinct, look = np.unique(looks, axis=0, return_inverse=True)
        super().__init__(masked, list(map(tuple, distinct.tolist())))
        self._look: Ints = look.reshape(-1).astype(np.int32)
        """By node, its bracket."""
        self._shows_nothing = distinct[:, 2] == NO_LABEL
        self._edges = _edges_by_look(forest, self._look)

    def start(self) -> KnownTree:
        """What is known where nothing is fixed."""
        return self._known(np.ones(len(self._look), np.bool_))

    def within(self, known: KnownTree, bracket: Bracket) -> KnownTree:
        """The same with one more bracket fixed."""
        self.work += 2 * self._forest.cost
        return self._known(known.alive & self._allowed([bracket]))

    def bound(self, known: KnownTree, forbidden: frozenset[Bracket]) -> float:
        """How probable a tree of what is left can be at most, if each node may choose what is below it.

        U(node) is at least the probability of the node's derivations that look like any one tree over its
        span: of the ways to split the span (and, where labels count, to label its parts) the largest sum over
        edges of share * U * U. What is doubtful in different parts of a sentence is multiplied, as it is in
        the trees. With unary rules there is no bound below one.
        """
        if self._forest.has_chains:
            return 1.0
        forest = self._forest.forest
        alive = known.alive & ~np.isin(self._look, [self._place_of.get(one, -1) for one in forbidden])
        best = np.where(forest.node_end - forest.node_start > 1, 0.0, 1.0)
        nest_bounds(*self._edges, self._look, alive, best)
        roots = slice(forest.node_first[-2], forest.node_first[-1])
        return float(np.bincount(self._look[roots], forest.root[roots] * best[roots], 1).max())

    def mass(self, known: KnownTree, tree: Sequence[Bracket]) -> float:
        """The probability that the true tree looks so."""
        self.work += self._forest.cost
        return self._forest.mass(self._forest.none, known.alive & self._allowed(tree))

    def _known(self, alive: BoolArray) -> KnownTree:
        mass, given = self._forest.conditioned(self._forest.none, alive)
        joint = mass * np.bincount(self._look, given.g_bottom, len(self._brackets))
        return KnownTree(alive, np.where(self._shows_nothing, 0.0, joint))

    def _allowed(self, brackets: Sequence[Bracket]) -> BoolArray:
        """The nodes that stand beside these brackets, or are one of them."""
        crossing = crossing_table(self.length)
        cells = [cell_of(self.length, start, end) for start, end, _ in brackets]
        barred: BoolArray = np.logical_or.reduce(crossing[cells])
        barred[cells] = True
        allowed: BoolArray = ~barred[self._cell]
        allowed[[self._place_of[one] for one in brackets if one in self._place_of]] = True
        return allowed[self._look]


def _edges_by_look(forest: TopDownForest, look: Ints) -> tuple[Ints, Ints, Ints, FloatArray]:
    """The edges of each rule (parent, left, right, share): those of one look one after the other."""
    binary = np.flatnonzero(forest.way_to >= 0)
    sizes = np.diff(forest.edge_first)[forest.way_to[binary]]
    begin = np.repeat(forest.edge_first[forest.way_to[binary]] - np.cumsum(sizes) + sizes, sizes)
    edge = begin + np.arange(len(begin))
    way = np.repeat(binary, sizes)
    parent, left, right = nodes_of_ways(forest)[way], forest.edge_left[edge], forest.edge_right[edge]
    share = forest.way_share[way] * forest.edge_share[edge]
    order = np.lexsort((look[right], look[left], parent))
    return parent[order], left[order], right[order], share[order]


@kernel
def nest_bounds(
    parents: Ints,
    lefts: Ints,
    rights: Ints,
    shares: FloatArray,
    look: Ints,
    alive: BoolArray,
    best: FloatArray,
) -> None:
    """Bound each node's best tree; ``best`` [nodes] is one over single terminals, and is filled above them.

    Edges are those of one rule each, in the order of their parent and of the looks of their children.
    """
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
