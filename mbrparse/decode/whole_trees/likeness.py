"""What derivations say of labelled brackets: whether the true binary tree has them, annotations taken off."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.whole_trees.agreements import BoolArray, crossing_table
from mbrparse.decode.whole_trees.nested_bound import NestedBound
from mbrparse.grammar.charts.crossing.masked_forest import MaskedForest
from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.charts.span_summary import cell_of
from mbrparse.grammar.pcfg import FloatArray

Labelled = tuple[int, int, int]
NO_LABEL = -1


class Shown(NamedTuple):
    """What is known where some labelled brackets are fixed.

    ``alive`` are the nodes that may be there still, ``joint`` has by look (a label over a span) the
    probability that it is there with all that is fixed.
    """

    alive: BoolArray
    joint: FloatArray


class Likeness:
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

    def start(self) -> Shown:
        """What is known where nothing is fixed."""
        return self._shown(np.ones(len(self._look), np.bool_))

    def within(self, known: Shown, bracket: Labelled) -> tuple[Shown, int]:
        """The same with one more bracket fixed, and what it cost."""
        return self._shown(known.alive & self._allowed([bracket])), 2 * self.cost

    def masses(self, known: Shown, forbidden: frozenset[Labelled]) -> FloatArray:
        """By cell, the largest joint probability of its labels."""
        joint = self._left(known, forbidden)
        masses = np.zeros(self.length * (self.length + 1) // 2)
        np.maximum.at(masses, self._cell, joint)
        return masses

    def brackets(
        self, known: Shown, spans: list[tuple[int, int]], forbidden: frozenset[Labelled]
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

    def bound(self, known: Shown, forbidden: frozenset[Labelled]) -> float:
        """What the probability of no tree exceeds that has what is fixed and nothing forbidden."""
        alive = known.alive.copy()
        for start, end, label in forbidden:
            alive &= self._look != self._look_of.get((cell_of(self.length, start, end), label), -1)
        return self._nested.bound(alive)

    def mass(self, known: Shown, tree: list[Labelled]) -> float:
        """The probability that the true tree looks so."""
        return self._masked.mass(self._masked.none, known.alive & self._allowed(tree))

    def _shown(self, alive: BoolArray) -> Shown:
        mass, given = self._masked.conditioned(self._masked.none, alive)
        joint = mass * np.bincount(self._look, given.g_bottom, len(self._cell))
        return Shown(alive, np.where(self._label == NO_LABEL, 0.0, joint))

    def _left(self, known: Shown, forbidden: frozenset[Labelled]) -> FloatArray:
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
