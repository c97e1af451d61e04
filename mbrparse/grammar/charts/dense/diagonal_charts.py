"""Charts of sentences that are filled one by one, by diagonals: the memory that they share."""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.clock import Clock
from mbrparse.grammar.charts.dense.dense_state import DenseState
from mbrparse.grammar.charts.dense.dense_summary import WideLabels
from mbrparse.grammar.charts.dense.diagonal_state import Diagonals
from mbrparse.grammar.charts.dense.diagonal_summary import (
    InsideOutside,
    diagonal_best,
    diagonal_posteriors,
    rows_of,
)
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.charts.span_summary import SpanSummary
from mbrparse.grammar.charts.vector import aligned_rows

# No way down tells what the values are worth that have become zero on a way up to the best derivation. In
# double precision products of two values above this are no zeros.
_LEAST_BEST = {"float64": 2.0**-450, "float32": 2.0**-126}


class DiagonalCharts:
    """Drives the kernels of the layout of ``diagonal_state``.

    ``shift`` has a sentence's powers of two by word; where a chart is ``rescaled``, its kernel changes them
    and the values of the group's entries with them.
    """

    def __init__(self, labels: WideLabels, scratch: Floats, clock: Clock) -> None:
        self._labels, self._clock = labels, clock
        self._lanes, self._dtype = scratch.shape[1], scratch.dtype
        self._charts = [aligned_rows(0, self._dtype), aligned_rows(0, self._dtype)]
        self._columns = [aligned_rows(0, self._dtype), aligned_rows(0, self._dtype)]
        self._rows, self._figures = aligned_rows(3, self._dtype), aligned_rows(2, self._dtype)
        self._bound = np.finfo(self._dtype).maxexp // 4
        self._least_best = _LEAST_BEST[self._dtype.name]

    def posteriors(
        self, state: DenseState, shift: Ints, summary: SpanSummary, rescaled: bool
    ) -> tuple[Floats, Floats]:
        """Fill inside, outside and the summary's cells of width two and more.

        Returns the sentence's probability (scaled) and the largest outside value, [1] each; not numbers where
        values may have left the numbers' range.
        """
        layout = self._layout(state, shift, rescaled)
        figures = self._figures
        charts = InsideOutside(self._chart(0, state, layout), self._chart(1, state, layout), figures)
        if not diagonal_posteriors(state, layout, self._labels, charts, summary, self._clock.stop):
            figures[:] = np.nan
        self._clock.check()
        return figures[0, :1], figures[1].max(keepdims=True)

    def best(self, state: DenseState, shift: Ints, rescaled: bool) -> Floats | None:
        """The probabilities of nodes' best derivations, as ``rows`` has them.

        None where values may have left the numbers' range.
        """
        layout = self._layout(state, shift, rescaled, self._least_best)
        rows = self._empty_rows(state)
        kept = diagonal_best(state, layout, self._chart(0, state, layout), rows, self._clock.stop)
        self._clock.check()
        return rows if kept else None

    def rows(self, which: int, state: DenseState) -> Floats:
        """The inside (0) or outside (1) values last computed, [rows, 1] in the order of dense charts."""
        layout = self._layout(state, np.zeros(0, np.int32), False)
        rows = self._empty_rows(state)
        rows_of(state, layout, self._chart(which, state, layout), rows)
        return rows

    def _empty_rows(self, state: DenseState) -> Floats:
        return np.empty((state.longest * (state.longest + 1) // 2 * state.n_wide, 1), self._dtype)

    def _layout(self, state: DenseState, shift: Ints, rescaled: bool, least: float = 0.0) -> Diagonals:
        n = state.longest
        blocks = -(-n // self._lanes)
        # An odd number of cache lines: neighbouring diagonals do not fight for the same places of a cache.
        pitch = (blocks | 1) * self._lanes
        rows = state.n_wide * (n + 1)
        if len(self._columns[0]) < rows:
            self._columns = [aligned_rows(rows, self._dtype), aligned_rows(rows, self._dtype)]
        return Diagonals(
            blocks * self._lanes - 1 - n,
            pitch,
            (n + 1) * pitch,
            self._columns[0],
            self._columns[1],
            self._rows,
            shift,
            self._bound if rescaled else 0,
            least,
        )

    def _chart(self, which: int, state: DenseState, layout: Diagonals) -> Floats:
        rows = state.n_wide * layout.plane // self._lanes
        if len(self._charts[which]) < rows:
            self._charts[which] = aligned_rows(rows, self._dtype)
        return self._charts[which].reshape(-1)
