"""Passes over the chart of one sentence by diagonals, and what is read off it (see ``diagonal_state``)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mbrparse.charts.dense.dense_derivation import LaneNodes, Places, read_derivations
from mbrparse.charts.dense.dense_splits import Families, apply_rules, pass_splits, plus, sum_splits
from mbrparse.charts.dense.dense_state import DenseState, DenseTables, Group
from mbrparse.charts.dense.dense_summary import WideLabels, certain_words, summarize
from mbrparse.charts.dense.diagonal_state import Diagonals, clear, diagonal_splits, rescale, set_pace
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats, Ints, RulesByChild
from mbrparse.charts.spans import SpanSummary
from mbrparse.charts.vector import (
    add,
    any_positive,
    load,
    load_from,
    maximum,
    multiply,
    store,
    store_to,
    zeros,
)


@kernel
def diagonal_inside(
    state: DenseState, layout: Diagonals, chart: Floats, maximize: bool | None, stop: Ints
) -> bool:
    """Fill a chart with inside values or, to ``maximize``, the probability of each node's best derivation.

    It ends where ``stop`` (``Clock.stop``) is set. False where values may have left the numbers' range.
    """
    tables, group, column, scratch, least = (
        state.tables,
        state.group,
        layout.inside,
        state.scratch,
        state.least,
    )
    tiles, rules = tables.tiles, tables.by_parent
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
            _enter_words(group, layout, chart, first, height)
        for width in range(2, first + lanes):
            if stop[0]:
                return False
            _join_narrow(tables, group, layout, chart, first, width, maximize)
            inner = width >= 2 * least
            if inner:
                splits = diagonal_splits(layout, least, block, width)
                sum_splits(tiles, scratch, chart, column, splits, maximize)
            for parent in range(state.n_wide):
                total = load(column, parent * height, width)
                if inner:
                    total = apply_rules(rules, scratch, parent, total, maximize)
                    store(column, parent * height, width, total)
                store_to(chart, parent * layout.plane + width * layout.pitch, block * lanes, total)
        if layout.bound:
            power, kept = rescale(state, layout, chart, block)
            drift += power
            if not kept:
                return False
    return True


@kernel
def _enter_words(group: Group, layout: Diagonals, chart: Floats, first: int, height: int) -> None:
    """Enter the symbols that a word may have and that also have binary rules."""
    _, entry_start, _, entry_prob, entry_wide, _, _ = group
    column, pitch, plane = layout.inside, layout.pitch, layout.plane
    for lane in range(column.shape[1]):
        end = first + lane
        if end < 1:
            continue
        for entry in range(entry_start[0, end - 1], entry_start[0, end]):
            wide = entry_wide[entry]
            if wide >= 0:
                column[wide * height + 1, lane] = entry_prob[entry]
                chart[wide * plane + pitch + layout.pad + end] = entry_prob[entry]


@kernel
def _join_narrow(
    tables: DenseTables,
    group: Group,
    layout: Diagonals,
    chart: Floats,
    first: int,
    width: int,
    maximize: bool | None,
) -> None:
    """Combine the cells' first words with what follows them, and their last ones with what goes before."""
    _, entry_start, entry_symbol, entry_prob, entry_wide, _, _ = group
    left_start, left_parent, left_other, left_prob = tables.narrow_left
    right_start, right_parent, right_other, right_prob = tables.narrow_right
    both_start, both_parent, both_other, both_prob = tables.narrow_both
    column, pitch, least = layout.inside, layout.pitch, 1 if tables.wide_at_one else 2
    height, plane = np.uint64(layout.height), np.uint64(layout.plane)
    row = np.uint64(width)
    for lane in range(column.shape[1]):
        end = first + lane
        start = end - width
        if start < 0:
            continue
        place = np.uint64(lane)
        for entry in range(entry_start[0, start], entry_start[0, start + 1]):
            if entry_wide[entry] >= 0:
                continue
            symbol, prob = entry_symbol[entry], entry_prob[entry]
            if width > least:
                for rule in range(left_start[symbol], left_start[symbol + 1]):
                    weight = prob * left_prob[rule]
                    here = left_parent[rule] * height + row
                    value = weight * column[left_other[rule] * height + row - np.uint64(1), place]
                    column[here, place] = plus(column[here, place], value, maximize)
            if width == 2:
                for rule in range(both_start[symbol], both_start[symbol + 1]):
                    here = both_parent[rule] * height + row
                    for other in range(entry_start[0, start + 1], entry_start[0, end]):
                        if entry_symbol[other] == both_other[rule]:
                            value = prob * (both_prob[rule] * entry_prob[other])
                            column[here, place] = plus(column[here, place], value, maximize)
        if width > least:
            front = np.uint64((width - 1) * pitch + layout.pad + end - 1)
            for entry in range(entry_start[0, end - 1], entry_start[0, end]):
                if entry_wide[entry] >= 0:
                    continue
                symbol, prob = entry_symbol[entry], entry_prob[entry]
                for rule in range(right_start[symbol], right_start[symbol + 1]):
                    weight = prob * right_prob[rule]
                    here = right_parent[rule] * height + row
                    value = weight * chart[right_other[rule] * plane + front]
                    column[here, place] = plus(column[here, place], value, maximize)


@kernel
def diagonal_outside(
    state: DenseState,
    layout: Diagonals,
    inside: Floats,
    outside: Floats,
    figures: Floats,
    stop: Ints,
) -> None:
    """Fill ``outside`` with outside / probability of the sentence, until ``stop``.

    As ``dense_outside`` does; the sentence's probability is the first of ``figures`` [2, lanes], whose second
    row takes the largest outside value of each lane. What nodes have as left
    children is summed up in the chart, what they have as right ones in a column.
    """
    tables, group, column, above, n = state.tables, state.group, layout.inside, layout.outside, state.longest
    tiles, rules, left, right = tables.tiles, tables.by_pair, tables.narrow_left, tables.narrow_right
    root, least, lanes, height = tables.root, state.least, state.scratch.shape[1], n + 1
    family = Families(inside, column, outside, above, 0)
    nothing = zeros(state.scratch)
    clear(state, layout, outside)
    for block in range((layout.pad + n) // lanes, -1, -1):
        first = block * lanes - layout.pad
        for symbol in range(state.n_wide):
            for width in range(1, first + lanes):
                place = symbol * layout.plane + width * layout.pitch
                store(column, symbol * height, width, load_from(inside, place, block * lanes))
                store(above, symbol * height, width, nothing)
        if first + lanes - 1 == n:
            for symbol in range(state.n_wide):
                above[symbol * height + n, lanes - 1] = root[symbol] / figures[0, 0]
        for width in range(first + lanes - 1, least - 1, -1):
            if stop[0]:
                return
            live = _complete(state.n_wide, layout, outside, figures, block, width)
            if width == 1:
                continue
            if live and width >= 2 * least:
                splits = diagonal_splits(layout, least, block, width)
                pass_splits(tiles, rules, family, above, width * lanes, height * lanes, splits)
            if width > least:
                _pass_narrow(left, right, group, layout, outside, first, width)


@kernel
def _complete(
    n_wide: int, layout: Diagonals, outside: Floats, figures: Floats, block: int, width: int
) -> bool:
    """Add what nodes have as left children; returns whether some node is part of a parse."""
    column, above, plane, height = layout.inside, layout.outside, layout.plane, layout.height
    live = False
    largest = load(figures, 0, 1)
    place = width * layout.pitch + block * above.shape[1]
    for symbol in range(n_wide):
        value = add(load(above, symbol * height, width), load_from(outside, symbol * plane, place))
        store(above, symbol * height, width, value)
        store_to(outside, symbol * plane, place, value)
        largest = maximum(largest, value)
        if any_positive(multiply(value, load(column, symbol * height, width))):
            live = True
    store(figures, 0, 1, largest)
    return live


@kernel
def _pass_narrow(
    left: RulesByChild,
    right: RulesByChild,
    group: Group,
    layout: Diagonals,
    outside: Floats,
    first: int,
    width: int,
) -> None:
    """Pass to the children beside a last word, and beside a first one, what the cells' nodes have."""
    _, entry_start, entry_symbol, entry_prob, entry_wide, _, _ = group
    left_start, left_parent, left_other, left_prob = left
    right_start, right_parent, right_other, right_prob = right
    above, pitch, plane, height = layout.outside, layout.pitch, layout.plane, layout.height
    for lane in range(above.shape[1]):
        end = first + lane
        start = end - width
        if start < 0:
            continue
        front = (width - 1) * pitch + layout.pad + end - 1
        for entry in range(entry_start[0, end - 1], entry_start[0, end]):
            if entry_wide[entry] >= 0:
                continue
            symbol = entry_symbol[entry]
            for rule in range(right_start[symbol], right_start[symbol + 1]):
                outside[right_other[rule] * plane + front] += (
                    entry_prob[entry] * right_prob[rule] * above[right_parent[rule] * height + width, lane]
                )
        for entry in range(entry_start[0, start], entry_start[0, start + 1]):
            if entry_wide[entry] >= 0:
                continue
            symbol = entry_symbol[entry]
            for rule in range(left_start[symbol], left_start[symbol + 1]):
                weight = entry_prob[entry] * left_prob[rule]
                there = left_other[rule] * height + width - 1
                above[there, lane] += weight * above[left_parent[rule] * height + width, lane]


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
    label, posterior, total = summary
    n, names, rows, lanes = state.longest, labels.label, layout.rows, layout.rows.shape[1]
    for width in range(2, n + 1):
        for block in range((layout.pad + width) // lanes, (layout.pad + n) // lanes + 1):
            base = width * layout.pitch + block * lanes
            summarize(labels, inside, outside, base, layout.plane, rows)
            for lane in range(lanes):
                start = block * lanes + lane - layout.pad - width
                if start >= 0:
                    cell = start * n - start * (start - 1) // 2 + width - 1
                    posterior[0, cell], total[0, cell] = rows[0, lane], rows[1, lane]
                    label[0, cell] = names[int(rows[2, lane])] if rows[0, lane] > 0 else -1


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
