"""The way down in dense charts: outside values."""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.base.rule_tables import Floats, Ints
from mbrparse.grammar.charts.base.vector import add, any_positive, load, maximum, multiply, store, zeros
from mbrparse.grammar.charts.lanes.dense_inside import splits_of
from mbrparse.grammar.charts.lanes.dense_splits import Families, pass_splits
from mbrparse.grammar.charts.lanes.dense_state import DenseState
from mbrparse.grammar.kernel import kernel


@kernel
def dense_outside(
    state: DenseState, inside: Floats, outside: Floats, total: Floats, peak: Floats, stop: Ints
) -> None:
    """Fill ``outside`` (zero before) with outside / probability of the sentence, until ``stop``.

    It has a row more for each wide symbol and each end from 0 on.
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
        for end in range(state.longest, start + state.least - 1, -1):
            if stop[0]:
                return
            live = _complete(state, inside, outside, peak, start, end)
            if end == start + 1:
                continue
            if live and end - start >= 2 * state.least:
                _pass_wide(state, inside, outside, start, end)
            _pass_narrow_right(state, outside, start, end)
        _pass_narrow_left(state, outside, start)


@kernel
def _as_left(state: DenseState, end: int) -> int:
    """The row of what a cell has as a left child of those that start where it does; it ends at ``end``.

    What a node has as a right child is complete before any comes to it as a left one: the two are summed
    apart, so that the sums are the same in whichever order the cells are visited.
    """
    return (state.longest * (state.longest + 1) // 2 + end) * state.n_wide


@kernel
def _complete(state: DenseState, inside: Floats, outside: Floats, peak: Floats, start: int, end: int) -> bool:
    """Add what a cell's nodes have as left children; returns whether some node is part of a parse."""
    base, as_left = state.offsets[start] + end * state.n_wide, _as_left(state, end)
    live = False
    largest = load(peak, 0, 0)
    nothing = zeros(peak)
    for symbol in range(state.n_wide):
        value = add(load(outside, base, symbol), load(outside, as_left, symbol))
        store(outside, as_left, symbol, nothing)
        store(outside, base, symbol, value)
        largest = maximum(largest, value)
        if any_positive(multiply(value, load(inside, base, symbol))):
            live = True
    store(peak, 0, 0, largest)
    return live


@kernel
def _pass_wide(state: DenseState, inside: Floats, outside: Floats, start: int, end: int) -> None:
    """Pass to all pairs of wide children what the cell's nodes have."""
    lanes = state.scratch.shape[1]
    base = (state.offsets[start] + end * state.n_wide) * lanes
    family = Families(
        inside, inside, outside, outside, _as_left(state, 0) * lanes - state.offsets[start] * lanes
    )
    pass_splits(state.tables, family, outside, base, lanes, splits_of(state, start, end))


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
    front = np.uint64(_as_left(state, end - 1))
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
