"""The layout of the chart of one sentence, and its scale: vectors have neighbouring cells of one diagonal.

Cells of equal width have equal splits, so that what ``dense_splits`` does for the same cell of several
sentences it does here for the cells that end at ``end``, ``end + 1`` ..; each lane adds up in the same
order as there, hence a sentence has the same values alone and in company.

A chart is an array of numbers: ``symbol * plane + width * pitch + pad + end``. The ends of one vector are a
*block*. ``pad`` is such that the last end is the last lane of its block, hence every diagonal has as few
vectors as can be. Cells that would begin before the sentence are zero. The cells of the block at work are
kept in a *column* besides, [symbol * (n + 1) + width, lanes], where what all of them read lies closer.

Values are multiplied by a power of two for each word that they span, as in all dense charts. What words
cost in the mean (``rule_tables.token_shift``) is near enough for short sentences; over hundreds of words
small differences add up. So when the cells that end in one place are complete, the widest of them that has a
value, as a rule the one from the sentence's begin, is brought to one by the power of its last word: all
readers find words and cells in one scale.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mbrparse.charts.dense.dense_splits import Splits
from mbrparse.charts.dense.dense_state import DenseState
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.charts.vector import (
    choose_greater,
    load,
    load_from,
    maximum,
    multiply,
    repeated,
    store,
    store_to,
    zeros,
)


class Diagonals(NamedTuple):
    """The layout for one sentence, and what its kernels take notes in."""

    pad: int
    pitch: int
    plane: int
    height: int  # a symbol's rows in a column
    inside: Floats  # a column
    outside: Floats  # another
    rows: Floats  # scratch of three rows
    bound: int  # powers of two that are not dangerous, or 0 where words keep their own
    least: float  # values below have lost others to zero, perhaps


@kernel
def diagonal_splits(layout: Diagonals, least: int, block: int, width: int) -> Splits:
    """The splits of the cells of one width that end in one block; left children in the chart, right ones in
    the column."""
    lanes = layout.rows.shape[1]
    return Splits(
        width - 2 * least + 1,
        block * lanes - width + least + least * layout.pitch,
        layout.pitch + 1,
        layout.plane,
        (width - least) * lanes,
        -lanes,
        0,
        layout.height * lanes,
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


@kernel
def set_pace(state: DenseState, layout: Diagonals, block: int, drift: int) -> int:
    """Give the words that end in a block the mean power of those before, which add up to ``drift``.

    Returns what they add up to with these.
    """
    lanes = state.scratch.shape[1]
    first = block * lanes - layout.pad
    if first <= 1:
        return drift
    pace = int(round(drift / (first - 1)))  # noqa: RUF046  # within a kernel it is a float
    for lane in range(lanes):
        _scale_word(state, first + lane - 1, pace)
    total: int = drift + lanes * pace
    return total


@kernel
def rescale(state: DenseState, layout: Diagonals, chart: Floats, block: int) -> tuple[int, bool]:
    """Rescale the cells that end in a block, and its words; the block's column is of no use then.

    Returns what the words' powers add up to. False where values may have left the numbers' range before.
    """
    rows, lanes = layout.rows, state.scratch.shape[1]
    powers = np.zeros(lanes, np.int32)
    _widest(state, layout, block)
    for lane in range(lanes):
        if rows[2, lane] < layout.least:
            return 0, False
    if not _choose_powers(state, layout, block, powers):
        return 0, False
    for width in range(state.least, (block + 1) * lanes - layout.pad):
        if width <= lanes:  # from then on no cell begins in this block
            for lane in range(lanes):
                power = powers[lane] - (powers[lane - width] if lane >= width else 0)
                rows[0, lane] = math.ldexp(1.0, power)
        factor = load(rows, 0, 0)
        place = width * layout.pitch + block * lanes
        for symbol in range(state.n_wide):
            value = load_from(chart, symbol * layout.plane, place)
            store_to(chart, symbol * layout.plane, place, multiply(value, factor))
    return int(powers[lanes - 1]), True


@kernel
def _widest(state: DenseState, layout: Diagonals, block: int) -> None:
    """Of each end's cells the largest value of the widest that has one, the largest and the least of all."""
    column, rows, height = layout.inside, layout.rows, state.longest + 1
    nothing = zeros(column)
    top, peak = nothing, nothing
    least = repeated(column, math.inf)
    for width in range((block + 1) * rows.shape[1] - layout.pad - 1, state.least - 1, -1):
        largest = nothing
        for symbol in range(state.n_wide):
            value = load(column, symbol * height, width)
            largest = maximum(largest, value)
            value = choose_greater(value, nothing, value, least)
            least = choose_greater(least, value, value, least)
        peak = maximum(peak, largest)
        top = choose_greater(top, nothing, top, largest)
    store(rows, 0, 0, top)
    store(rows, 0, 1, peak)
    store(rows, 0, 2, least)


@kernel
def _choose_powers(state: DenseState, layout: Diagonals, block: int, powers: Ints) -> bool:
    """By lane the power of two for what ends there, of which each word has the difference from the last."""
    bound = layout.bound
    before = 0
    for lane in range(len(powers)):
        end = block * len(powers) + lane - layout.pad
        if end < 1:
            continue
        power = before
        top, peak = layout.rows[0, lane], layout.rows[1, lane]
        if top > 0:
            if not peak < math.inf:
                return False
            power = min(-math.frexp(top)[1], bound - math.frexp(peak)[1])
        # Too large values would show as infinite ones; of too small ones some may be zero.
        if max(power, power - before) > bound or min(power, power - before) < -2 * bound:
            return False
        powers[lane] = power
        _scale_word(state, end - 1, power - before)
        before = power
    return True


@kernel
def _scale_word(state: DenseState, position: int, power: int) -> None:
    group = state.group
    group.shift[position] += power
    group.power[0] += power
    factor = math.ldexp(1.0, power)
    for entry in range(group.entry_start[0, position], group.entry_start[0, position + 1]):
        group.entry_prob[entry] *= factor
