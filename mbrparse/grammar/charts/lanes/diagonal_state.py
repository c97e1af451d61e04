"""How the chart of one sentence lies in memory: a vector has neighbouring cells of one diagonal.

Cells of equal width have equal splits, so that what ``dense_splits`` does for the same cell of several
sentences it does here for the cells that end at ``end``, ``end + 1`` ..; each lane adds up in the same
order as there, hence a sentence has the same values alone and in company.

A chart is an array of numbers: ``symbol * plane + width * pitch + pad + end``. The ends of one vector are a
*block*. ``pad`` is such that the last end is the last lane of its block, hence every diagonal has as few
vectors as can be. Cells that would begin before the sentence are zero. The cells of the block at work are
kept in a *column* besides, [symbol * (n + 1) + width, lanes], where what all of them read lies closer.
"""

from __future__ import annotations

from typing import NamedTuple

from mbrparse.grammar.charts.base.rule_tables import Floats
from mbrparse.grammar.charts.base.vector import store_to, zeros
from mbrparse.grammar.charts.lanes.dense_splits import Splits
from mbrparse.grammar.charts.lanes.dense_state import DenseState
from mbrparse.grammar.kernel import kernel


class Diagonals(NamedTuple):
    """The layout for one sentence, and what its kernels take notes in."""

    pad: int
    pitch: int
    plane: int
    inside: Floats  # a column
    outside: Floats  # another
    rows: Floats  # scratch of three rows
    bound: int  # powers of two that are not dangerous, or 0 where words keep their own
    least: float  # values below have lost others to zero, perhaps


@kernel
def diagonal_splits(state: DenseState, layout: Diagonals, block: int, width: int) -> Splits:
    """The splits of the cells of one width that end in one block; left children in the chart, right ones in
    the column."""
    lanes, least = state.scratch.shape[1], state.least
    return Splits(
        width - 2 * least + 1,
        block * lanes - width + least + least * layout.pitch,
        layout.pitch + 1,
        layout.plane,
        (width - least) * lanes,
        -lanes,
        0,
        (state.longest + 1) * lanes,
    )


@kernel
def clear(state: DenseState, layout: Diagonals, chart: Floats) -> None:
    """Set all to zero that is read of a chart: its cells, and those before the sentence beside them."""
    lanes, nothing = state.scratch.shape[1], zeros(state.scratch)
    for symbol in range(state.n_wide):
        for width in range(state.longest + 1):
            place = symbol * layout.plane + width * layout.pitch
            # The block before the first that has a cell of this width; to the left lies the last width's end.
            first = max((layout.pad + width) // lanes - 1, 0)
            for block in range(first, layout.pitch // lanes):
                store_to(chart, place, block * lanes, nothing)
