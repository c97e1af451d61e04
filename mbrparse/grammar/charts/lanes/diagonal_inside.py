"""The way up in the chart of one sentence, by diagonals (see ``diagonal_state``)."""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.base.rule_tables import Floats, Ints
from mbrparse.grammar.charts.base.vector import load, store, store_to, zeros
from mbrparse.grammar.charts.lanes.dense_splits import apply_rules, plus, sum_splits
from mbrparse.grammar.charts.lanes.dense_state import DenseState
from mbrparse.grammar.charts.lanes.diagonal_scale import rescale, set_pace
from mbrparse.grammar.charts.lanes.diagonal_state import Diagonals, clear, diagonal_splits
from mbrparse.grammar.kernel import kernel


@kernel
def diagonal_inside(
    state: DenseState, layout: Diagonals, chart: Floats, maximize: bool | None, stop: Ints
) -> bool:
    """Fill a chart with inside values or, to ``maximize``, the probability of each node's best derivation.

    It ends where ``stop`` (``Clock.stop``) is set. False where values may have left the numbers' range.
    """
    tables, column, scratch, least = state.tables, layout.inside, state.scratch, state.least
    height, lanes, nothing = state.longest + 1, scratch.shape[1], zeros(scratch)
    clear(state, layout, chart)
    drift = 0
    for block in range((layout.pad + state.longest) // lanes + 1):
        first = block * lanes - layout.pad  # the end of the first lane's cells
        for symbol in range(state.n_wide):
            for width in range(1, first + lanes):
                store(column, symbol * height, width, nothing)
        if layout.bound:
            drift = set_pace(state, layout, block, drift)
        if least == 1:
            _enter_words(state, layout, chart, first)
        for width in range(2, first + lanes):
            if stop[0]:
                return False
            _join_narrow(state, layout, chart, first, width, maximize)
            inner = width >= 2 * least
            if inner:
                splits = diagonal_splits(state, layout, block, width)
                sum_splits(tables, scratch, chart, column, splits, maximize)
            for parent in range(state.n_wide):
                total = load(column, parent * height, width)
                if inner:
                    total = apply_rules(tables, scratch, parent, total, maximize)
                    store(column, parent * height, width, total)
                store_to(chart, parent * layout.plane + width * layout.pitch, block * lanes, total)
        if layout.bound:
            power, kept = rescale(state, layout, chart, block)
            drift += power
            if not kept:
                return False
    return True


@kernel
def _enter_words(state: DenseState, layout: Diagonals, chart: Floats, first: int) -> None:
    """Enter the symbols that a word may have and that also have binary rules."""
    group, height = state.group, state.longest + 1
    for lane in range(state.scratch.shape[1]):
        end = first + lane
        if end < 1:
            continue
        for entry in range(group.entry_start[0, end - 1], group.entry_start[0, end]):
            wide = group.entry_wide[entry]
            if wide >= 0:
                layout.inside[wide * height + 1, lane] = group.entry_prob[entry]
                chart[wide * layout.plane + layout.pitch + layout.pad + end] = group.entry_prob[entry]


@kernel
def _join_narrow(
    state: DenseState, layout: Diagonals, chart: Floats, first: int, width: int, maximize: bool | None
) -> None:
    """Combine the cells' first words with what follows them, and their last ones with what goes before."""
    narrow, group, column, least = state.tables.narrow, state.group, layout.inside, state.least
    height, plane = np.uint64(state.longest + 1), np.uint64(layout.plane)
    row = np.uint64(width)
    for lane in range(state.scratch.shape[1]):
        end = first + lane
        start = end - width
        if start < 0:
            continue
        place = np.uint64(lane)
        for entry in range(group.entry_start[0, start], group.entry_start[0, start + 1]):
            if group.entry_wide[entry] >= 0:
                continue
            symbol, prob = group.entry_symbol[entry], group.entry_prob[entry]
            if width > least:
                for rule in range(narrow.left_start[symbol], narrow.left_start[symbol + 1]):
                    weight = prob * narrow.left_prob[rule]
                    here = narrow.left_parent[rule] * height + row
                    value = weight * column[narrow.left_other[rule] * height + row - np.uint64(1), place]
                    column[here, place] = plus(column[here, place], value, maximize)
            if width == 2:
                for rule in range(narrow.both_start[symbol], narrow.both_start[symbol + 1]):
                    here = narrow.both_parent[rule] * height + row
                    for other in range(group.entry_start[0, start + 1], group.entry_start[0, end]):
                        if group.entry_symbol[other] == narrow.both_other[rule]:
                            value = prob * (narrow.both_prob[rule] * group.entry_prob[other])
                            column[here, place] = plus(column[here, place], value, maximize)
        if width > least:
            front = np.uint64((width - 1) * layout.pitch + layout.pad + end - 1)
            for entry in range(group.entry_start[0, end - 1], group.entry_start[0, end]):
                if group.entry_wide[entry] >= 0:
                    continue
                symbol, prob = group.entry_symbol[entry], group.entry_prob[entry]
                for rule in range(narrow.right_start[symbol], narrow.right_start[symbol + 1]):
                    weight = prob * narrow.right_prob[rule]
                    here = narrow.right_parent[rule] * height + row
                    value = weight * chart[narrow.right_other[rule] * plane + front]
                    column[here, place] = plus(column[here, place], value, maximize)
