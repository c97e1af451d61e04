"""What is read off the charts of one sentence that lie by diagonals (see ``diagonal_state``)."""

from __future__ import annotations

import math
from typing import NamedTuple

from mbrparse.grammar.charts.base.rule_tables import Floats, Ints
from mbrparse.grammar.charts.base.span_summary import SpanSummary
from mbrparse.grammar.charts.lanes.dense_derivation import LaneNodes, Places, read_derivations
from mbrparse.grammar.charts.lanes.dense_state import DenseState
from mbrparse.grammar.charts.lanes.dense_summary import WideLabels, certain_words, summarize
from mbrparse.grammar.charts.lanes.diagonal_inside import diagonal_inside
from mbrparse.grammar.charts.lanes.diagonal_outside import diagonal_outside
from mbrparse.grammar.charts.lanes.diagonal_state import Diagonals
from mbrparse.grammar.kernel import kernel


class InsideOutside(NamedTuple):
    """The two charts of a sentence, and scratch of two rows."""

    inside: Floats
    outside: Floats
    figures: Floats  # the scaled probability (in lane 0); the largest outside values


@kernel
def diagonal_posteriors(
    state: DenseState,
    layout: Diagonals,
    labels: WideLabels,
    charts: InsideOutside,
    summary: SpanSummary,
    stop: Ints,
) -> tuple[float, float]:
    """Fill both charts of a sentence, and ``summary`` as ``dense_summary`` does.

    Returns the sentence's probability (scaled) and the largest outside value; not numbers where values may
    have left the numbers' range.
    """
    inside, outside, figures = charts
    figures[:] = 0
    if not diagonal_inside(state, layout, inside, None, stop):
        return math.nan, math.nan
    _root(state, layout, inside, figures)
    if figures[0, 0] > 0:
        diagonal_outside(state, layout, inside, outside, figures, stop)
        _summarize(state, layout, labels, charts, summary)
        certain_words(state, labels, summary)
    peak = figures[1, 0]
    for lane in range(1, figures.shape[1]):
        peak = max(peak, figures[1, lane])
    return figures[0, 0], peak


@kernel
def diagonal_derivation(
    state: DenseState,
    layout: Diagonals,
    chart: Floats,
    tolerance: float,
    stack: Ints,
    nodes: LaneNodes,
    stop: Ints,
) -> bool:
    """Fill a chart with the probabilities of nodes' best derivations, and ``nodes`` as ``dense_derivations``.

    False where values may have left the numbers' range.
    """
    if not diagonal_inside(state, layout, chart, True, stop):
        return False
    places = Places(layout.pad, -layout.pitch, 0, layout.pitch + 1, layout.plane)
    read_derivations(state, chart, places, tolerance, stack, nodes)
    return True


@kernel
def _root(state: DenseState, layout: Diagonals, chart: Floats, figures: Floats) -> None:
    """The scaled probability of the sentence, summed in the charts' own precision as that of a group is."""
    n = state.longest
    if n > 1 or state.least == 1:
        for symbol in range(state.n_wide):
            place = symbol * layout.plane + n * layout.pitch + layout.pad + n
            figures[0, 0] += state.tables.root[symbol] * chart[place]


@kernel
def _summarize(
    state: DenseState, layout: Diagonals, labels: WideLabels, charts: InsideOutside, summary: SpanSummary
) -> None:
    inside, outside, _ = charts
    n, rows, lanes = state.longest, layout.rows, layout.rows.shape[1]
    for width in range(2, n + 1):
        for block in range((layout.pad + width) // lanes, (layout.pad + n) // lanes + 1):
            base = width * layout.pitch + block * lanes
            summarize(labels, inside, outside, base, layout.plane, rows)
            for lane in range(lanes):
                start = block * lanes + lane - layout.pad - width
                if start >= 0:
                    cell = start * n - start * (start - 1) // 2 + width - 1
                    summary.best[0, cell] = rows[0, lane]
                    summary.total[0, cell] = rows[1, lane]
                    summary.label[0, cell] = labels.label[int(rows[2, lane])] if rows[0, lane] > 0 else -1


@kernel
def rows_of(state: DenseState, layout: Diagonals, chart: Floats, rows: Floats) -> None:
    """Copy a chart into ``rows`` [rows, 1], which lie as those of a group of one lane do."""
    n = state.longest
    for width in range(1, n + 1):
        for end in range(width, n + 1):
            row = state.offsets[end - width] + end * state.n_wide
            place = width * layout.pitch + layout.pad + end
            for symbol in range(state.n_wide):
                rows[row + symbol, 0] = chart[symbol * layout.plane + place]
