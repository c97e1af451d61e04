"""The way down in dense charts: outside values."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbrparse.grammar.charts.dense.dense_state import DenseState
from mbrparse.grammar.charts.dense.dense_tables import DenseTables
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.charts.vector import (
    add,
    any_positive,
    load,
    maximum,
    multiply,
    multiply_add,
    spread,
    store,
    zeros,
)
from mbrparse.grammar.kernel import kernel


@kernel
def dense_outside(
    state: DenseState, inside: Floats, outside: Floats, total: Floats, peak: Floats, stop: Ints
) -> None:
    """Fill ``outside`` (zero before) with outside / probability of the sentence, until ``stop``.

    inside * outside is then the posterior of a node.  Nodes without an
    inside value pass nothing on; a lane without a parse stays zero.  The one
    row of ``peak`` (zero before) takes the largest outside value of each lane:
    far below the largest number, it shows that nothing of weight underflowed.
    """
    tables, group = state.tables, state.group
    for lane in range(len(group.length)):
        if total[lane] > 0:
            base = state.offsets[0] + group.length[lane] * state.n_wide
            for symbol in range(state.n_wide):
                outside[base + symbol, lane] = tables.root[symbol] / total[lane]
    for start in range(state.longest - 1):
        for end in range(state.longest, start + 1, -1):
            if stop[0]:
                return
            _pass_wide(state, inside, outside, peak, start, end)
            _pass_narrow_right(state, outside, start, end)
        _pass_narrow_left(state, outside, start)


@kernel
def _pass_wide(
    state: DenseState, inside: Floats, outside: Floats, peak: Floats, start: int, end: int
) -> None:
    """Pass to all pairs of wide children what the cell's nodes have."""
    tables, offsets, n_wide, least = state.tables, state.offsets, state.n_wide, state.least
    base = offsets[start] + end * n_wide
    live = False
    largest = load(peak, 0, 0)
    for symbol in range(n_wide):
        value = load(outside, base, symbol)
        largest = maximum(largest, value)
        if any_positive(multiply(value, load(inside, base, symbol))):
            live = True
    store(peak, 0, 0, largest)
    first = start + least
    count = end - start - 2 * least + 1
    if not live or count <= 0:
        return
    for tile in range(len(tables.tile_left)):
        slot = 4 * tile
        weight0 = _receive(tables, outside, base, slot)
        weight1 = _receive(tables, outside, base, slot + 1)
        weight2 = _receive(tables, outside, base, slot + 2)
        weight3 = _receive(tables, outside, base, slot + 3)
        if not any_positive(add(add(weight0, weight1), add(weight2, weight3))):
            continue
        left = tables.tile_left[tile]
        right0, right1 = tables.tile_right[slot], tables.tile_right[slot + 1]
        right2, right3 = tables.tile_right[slot + 2], tables.tile_right[slot + 3]
        here = offsets[start] + first * n_wide
        there = offsets[first] + end * n_wide
        step = offsets[first + 1] - offsets[first]
        for _ in range(count):
            value = load(inside, here, left)
            total = load(outside, here, left)
            total = multiply_add(weight0, load(inside, there, right0), total)
            total = multiply_add(weight1, load(inside, there, right1), total)
            total = multiply_add(weight2, load(inside, there, right2), total)
            total = multiply_add(weight3, load(inside, there, right3), total)
            store(outside, here, left, total)
            store(outside, there, right0, multiply_add(weight0, value, load(outside, there, right0)))
            store(outside, there, right1, multiply_add(weight1, value, load(outside, there, right1)))
            store(outside, there, right2, multiply_add(weight2, value, load(outside, there, right2)))
            store(outside, there, right3, multiply_add(weight3, value, load(outside, there, right3)))
            here += n_wide
            there += step
            step -= n_wide


@kernel
def _receive(tables: DenseTables, outside: Floats, base: int, pair: int) -> Any:
    """What a pair of children receives from its parents in this cell."""
    total = zeros(outside)
    for rule in range(tables.pair_start[pair], tables.pair_start[pair + 1]):
        parent = load(outside, base, tables.pair_parent[rule])
        total = multiply_add(spread(tables.pair_prob, rule), parent, total)
    return total


@kernel
def _pass_narrow_left(state: DenseState, outside: Floats, start: int) -> None:
    narrow, group, offsets, n_wide, least = (
        state.tables.narrow,
        state.group,
        state.offsets,
        state.n_wide,
        state.least,
    )
    step = np.uint64(n_wide)
    for lane in range(len(group.length)):
        room = group.length[lane] - start - least
        if room <= 0:
            continue
        column = np.uint64(lane)
        end = start + 1 + least
        base = np.uint64(offsets[start] + end * n_wide)
        rest = np.uint64(offsets[start + 1] + end * n_wide)
        for entry in range(group.entry_start[lane, start], group.entry_start[lane, start + 1]):
            if group.entry_wide[entry] >= 0:
                continue
            symbol = group.entry_symbol[entry]
            for rule in range(narrow.left_start[symbol], narrow.left_start[symbol + 1]):
                weight = group.entry_prob[entry] * narrow.left_prob[rule]
                here = base + narrow.left_parent[rule]
                there = rest + narrow.left_other[rule]
                for _ in range(room):
                    outside[there, column] += weight * outside[here, column]
                    here += step
                    there += step


@kernel
def _pass_narrow_right(state: DenseState, outside: Floats, start: int, end: int) -> None:
    narrow, group, offsets, n_wide = state.tables.narrow, state.group, state.offsets, state.n_wide
    if end - start <= state.least:
        return
    base = np.uint64(offsets[start] + end * n_wide)
    front = base - np.uint64(n_wide)
    for lane in range(len(group.length)):
        if end > group.length[lane]:
            continue
        column = np.uint64(lane)
        for entry in range(group.entry_start[lane, end - 1], group.entry_start[lane, end]):
            if group.entry_wide[entry] >= 0:
                continue
            symbol = group.entry_symbol[entry]
            for rule in range(narrow.right_start[symbol], narrow.right_start[symbol + 1]):
                outside[front + narrow.right_other[rule], column] += (
                    group.entry_prob[entry]
                    * narrow.right_prob[rule]
                    * outside[base + narrow.right_parent[rule], column]
                )
