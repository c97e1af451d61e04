"""What a sentence's derivations say of brackets: whether the true tree crosses them, or has their labels."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.charts.crossing.closings import Closings
from mbrparse.grammar.charts.crossing.consistency import Consistency
from mbrparse.grammar.charts.crossing.derivation_graph import DerivationGraph
from mbrparse.grammar.charts.crossing.restriction import restricted
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

    ``weight`` is the probability of the graph of ``closings``, ``closed`` are the cells that it holds closed,
    ``masses`` has by cell the probability that nothing crosses what is fixed, nor the cell's span (0 for
    spans that no tree with the fixed brackets has).
    """

    closings: Closings
    closed: BoolArray
    weight: float
    masses: FloatArray


class Uncrossed:
    """Brackets agree with the true tree where none of its constituents crosses any of them."""

    def __init__(self, consistency: Consistency, graph: DerivationGraph) -> None:
        self.length = graph.length
        self.cost = len(graph.edge_share)
        self._consistency = consistency
        self._closings = Closings(graph)
        self._room = ROOM

    def start(self) -> Known:
        """Where nothing is fixed."""
        closings = self._closings
        return Known(closings, closings.none, 1.0, self._consistency.joint(closings, closings.none))

    def within(self, known: Known, bracket: Span) -> tuple[Known, int]:
        """The same with one more bracket fixed, and what it cost."""
        consistency, closings = self._consistency, known.closings
        cost = 3 * len(closings.graph.edge_share)
        closed = known.closed | consistency.closed(closings, [bracket])
        weight = known.weight
        if consistency.one_pass:
            given = closings.conditioned(closed)
            masses = weight * consistency.joint_of(closings.graph, given)
            left = int(np.count_nonzero(given.share))
            if (
                0 < left < SMALLER * len(given.share)
                and left < self._room
                and not len(closings.graph.chain_top)
            ):
                # What comes of this state has less to look at.
                self._room -= left
                weight *= given.mass
                closings = Closings(restricted(closings.graph, given))
                closed = closings.none
        else:
            masses = weight * consistency.joint(closings, closed)
            cost *= len(masses)
        masses[(known.masses == 0) | crossing_table(self.length)[cell_of(self.length, *bracket)]] = 0.0
        return Known(closings, closed, weight, masses), cost

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
        closings = known.closings
        return known.weight * closings.mass(known.closed | self._consistency.closed(closings, tree))
