"""Charts of sentences that are filled one by one, by diagonals: the memory that they share.

``Recognition`` fills one to see whether a grammar has a tree for a sentence at all, where numbers are too
small to tell.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mbrparse.charts.base.clock import Clock
from mbrparse.charts.base.memory import aligned_rows
from mbrparse.charts.dense.dense_derivation import LaneNodes
from mbrparse.charts.dense.dense_state import DenseState, dense_tables
from mbrparse.charts.dense.dense_summary import WideLabels
from mbrparse.charts.dense.diagonal_passes import (
    InsideOutside,
    diagonal_derivation,
    diagonal_inside,
    diagonal_posteriors,
    rows_of,
)
from mbrparse.charts.dense.diagonal_state import Diagonals
from mbrparse.charts.dense.number_range import PRODUCT_POWER
from mbrparse.charts.rule_tables import Floats, Ints, Lexicon, Rules, lexical_entries
from mbrparse.charts.spans import SpanSummary
from mbrparse.grammar.pcfg import IntArray


def room_for_nodes(lanes: int, longest: int) -> tuple[LaneNodes, Ints]:
    """Room for the derivations of a group, and the scratch for reading them off."""
    start, end, symbol, tag = np.empty((4, lanes, longest), np.int32)
    return LaneNodes(start, end, symbol, tag, np.zeros(lanes)), np.empty((longest + 1, 3), np.int32)


class DiagonalCharts:
    """Drives the kernels of the layout of ``diagonal_state``.

    Where a chart is ``rescaled``, its kernel changes the sentence's powers of two by word, and the values of
    its entries with them.
    """

    def __init__(self, labels: WideLabels, scratch: Floats, clock: Clock) -> None:
        self._labels, self._clock = labels, clock
        self._lanes, self._dtype = scratch.shape[1], scratch.dtype
        nothing = aligned_rows(0, self._dtype)
        self._charts = InsideOutside(nothing[:, 0], nothing[:, 0], aligned_rows(2, self._dtype))
        self._columns, self._rows = [nothing, nothing], aligned_rows(3, self._dtype)
        # By length and bound; they hold columns.
        self._layouts: dict[tuple[int, int], Diagonals] = {}
        self._bound = np.finfo(self._dtype).maxexp // 4
        self._least = 2.0 ** -PRODUCT_POWER[self._dtype.name]

    def posteriors(self, state: DenseState, summary: SpanSummary, rescaled: bool) -> tuple[float, float]:
        """Fill inside, outside and the summary [1, cell], but words that are not certain.

        Returns the sentence's probability (scaled) and the largest outside value; not numbers where values
        may have left the numbers' range.
        """
        layout = self._layout(state, rescaled)
        self._grow("inside", state, layout)
        self._grow("outside", state, layout)
        found = diagonal_posteriors(state, layout, self._labels, self._charts, summary, self._clock.stop)
        self._clock.check()
        return found

    def inside(self, state: DenseState, rescaled: bool) -> Floats | None:
        """The inside values, [rows, 1] as in dense charts; None where they may have lost some."""
        layout = self._layout(state, rescaled)
        self._grow("inside", state, layout)
        kept = diagonal_inside(state, layout, self._charts.inside, None, self._clock.stop)
        self._clock.check()
        return self.inside_rows(state) if kept else None

    def derivation(self, state: DenseState, rescaled: bool, tolerance: float) -> LaneNodes | None:
        """The best derivation; None where values may have left the numbers' range."""
        layout = self._layout(state, rescaled)
        self._grow("inside", state, layout)
        nodes, stack = room_for_nodes(1, state.longest)
        chart, stop = self._charts.inside, self._clock.stop
        kept = diagonal_derivation(state, layout, chart, tolerance, stack, nodes, stop)
        self._clock.check()
        return nodes if kept else None

    def rows(self, state: DenseState) -> tuple[Floats, Floats]:
        """The inside and outside values last computed, [rows, 1] in the order of dense charts."""
        return self._rows_of(state, self._charts.inside), self._rows_of(state, self._charts.outside)

    def inside_rows(self, state: DenseState) -> Floats:
        """The first of them, or those of the best derivations."""
        return self._rows_of(state, self._charts.inside)

    def _rows_of(self, state: DenseState, chart: Floats) -> Floats:
        rows = np.empty((state.longest * (state.longest + 1) // 2 * state.n_wide, 1), self._dtype)
        rows_of(state, self._layout(state, rescaled=False), chart, rows)
        return rows

    def _layout(self, state: DenseState, rescaled: bool) -> Diagonals:
        n, bound = state.longest, self._bound if rescaled else 0
        if (known := self._layouts.get((n, bound))) is not None:
            return known
        blocks = -(-n // self._lanes)
        # An odd number of cache lines: neighbouring diagonals do not fight for the same places of a cache.
        pitch = (blocks | 1) * self._lanes
        rows = state.n_wide * (n + 1)
        if len(self._columns[0]) < rows:
            self._columns = [aligned_rows(rows, self._dtype), aligned_rows(rows, self._dtype)]
            self._layouts.clear()
        self._layouts[n, bound] = layout = Diagonals(
            blocks * self._lanes - 1 - n,
            pitch,
            (n + 1) * pitch,
            n + 1,
            self._columns[0],
            self._columns[1],
            self._rows,
            bound,
            self._least,
        )
        return layout

    def _grow(self, name: str, state: DenseState, layout: Diagonals) -> None:
        """Make sure that a chart is large enough."""
        numbers = state.n_wide * layout.plane
        if len(getattr(self._charts, name)) < numbers:
            chart = aligned_rows(numbers // self._lanes, self._dtype).reshape(-1)
            self._charts = self._charts._replace(**{name: chart})


class Recognition:
    """Looks for the best derivation where all probabilities above zero are one: no value is anything else."""

    def __init__(
        self, rules: Rules, lexicon: Lexicon, dtype: npt.DTypeLike, diagonals: DiagonalCharts
    ) -> None:
        certain = rules._replace(
            prob=(rules.prob > 0).astype(np.float64), root_prob=(rules.root_prob > 0).astype(np.float64)
        )
        self._tables = dense_tables(certain, dtype)
        self._lexicon = lexicon
        self._entry_prob = (lexicon.prob > 0).astype(dtype)
        self._diagonals = diagonals

    def derives(self, tokens: IntArray, state: DenseState) -> bool:
        """Whether there is, or may be, a tree for two tokens or more; ``state`` is that of them alone."""
        entries, _ = lexical_entries(self._lexicon, tokens)
        group = state.group._replace(entry_prob=self._entry_prob[entries])
        state = state._replace(tables=self._tables, group=group)
        nodes = self._diagonals.derivation(state, rescaled=False, tolerance=0.0)
        return nodes is None or bool(nodes.top[0] > 0)
