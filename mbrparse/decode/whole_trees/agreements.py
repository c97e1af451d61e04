"""What a sentence's derivations say of brackets: whether the true tree crosses them, or has their labels."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.charts.crossing.consistency import Consistency
from mbrparse.grammar.charts.crossing.masked_forest import MaskedForest
from mbrparse.grammar.charts.span_summary import cell_of
from mbrparse.grammar.pcfg import FloatArray

# A graph of what is left is made where it is so much smaller, and while all of them have so many edges.
SMALLER = 0.4
ROOM = 20_000_000

BoolArray = npt.NDArray[np.bool_]
Span = tuple[int, int]


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
        closed = known.closed | forest.cells_across(*bracket)
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
        return known.weight * known.forest.mass(known.closed | known.forest.cells_across_all(tree))
