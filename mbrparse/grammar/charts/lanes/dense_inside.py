"""The way up in dense charts: inside values, or those of the best derivations.

What the wide children give comes from ``dense_splits``, which also says how one text serves both semirings.
Rules with a narrow child (a tag) depend on the lane's word and are applied lane by lane.
"""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.base.rule_tables import Floats, Ints
from mbrparse.grammar.charts.base.vector import load, store
from mbrparse.grammar.charts.lanes.dense_splits import Splits, apply_rules, plus, sum_splits
from mbrparse.grammar.charts.lanes.dense_state import DenseState
from mbrparse.grammar.kernel import kernel


@kernel
def dense_inside(state: DenseState, inside: Floats, stop: Ints) -> None:
    """Fill ``inside`` [rows, lanes], which must be zero before, until ``stop`` (``Clock.stop``)."""
    _fill(state, inside, None, stop)


@kernel
def dense_viterbi(state: DenseState, best: Floats, stop: Ints) -> None:
    """Fill ``best`` (zero before) with the probability of each node's best derivation."""
    _fill(state, best, True, stop)


@kernel
def _fill(state: DenseState, chart: Floats, maximize: bool | None, stop: Ints) -> None:
    tables, offsets, n_wide, least = state.tables, state.offsets, state.n_wide, state.least
    for start in range(state.longest - 1, -1, -1):
        if tables.wide_at_one:
            _enter_words(state, chart, start)
        _join_narrow_left(state, chart, start, maximize)
        for end in range(start + 2, state.longest + 1):
            if stop[0]:
                return
            _join_narrow_right(state, chart, start, end, maximize)
            if end - start >= 2 * least:
                sum_splits(tables, state.scratch, chart, chart, splits_of(state, start, end), maximize)
                base = offsets[start] + end * n_wide
                for parent in range(n_wide):
                    total = apply_rules(tables, state.scratch, parent, load(chart, base, parent), maximize)
                    store(chart, base, parent, total)


@kernel
def splits_of(state: DenseState, start: int, end: int) -> Splits:
    """The splits of a cell into two that hold wide symbols; there may be none."""
    offsets, n_wide, lanes = state.offsets, state.n_wide, state.scratch.shape[1]
    first = start + state.least
    return Splits(
        end - start - 2 * state.least + 1,
        (offsets[start] + first * n_wide) * lanes,
        n_wide * lanes,
        lanes,
        (offsets[first] + end * n_wide) * lanes,
        (offsets[first + 1] - offsets[first]) * lanes,
        n_wide * lanes,  # the rows of the triangle grow shorter
        lanes,
    )


@kernel
def _enter_words(state: DenseState, chart: Floats, position: int) -> None:
    """Enter the symbols that a word may have and that also have binary rules."""
    group = state.group
    base = state.offsets[position] + (position + 1) * state.n_wide
    for lane in range(len(group.length)):
        for entry in range(group.entry_start[lane, position], group.entry_start[lane, position + 1]):
            if group.entry_wide[entry] >= 0:
                chart[base + group.entry_wide[entry], lane] = group.entry_prob[entry]


@kernel
def _join_narrow_left(state: DenseState, chart: Floats, start: int, maximize: bool | None) -> None:
    """Combine the word at ``start`` with all that follows it."""
    narrow, group, offsets, n_wide = state.tables.narrow, state.group, state.offsets, state.n_wide
    step = np.uint64(n_wide)
    for lane in range(len(group.length)):
        room = group.length[lane] - start - state.least  # how many ends there are
        column = np.uint64(lane)
        for entry in range(group.entry_start[lane, start], group.entry_start[lane, start + 1]):
            if group.entry_wide[entry] >= 0:
                continue
            symbol = group.entry_symbol[entry]
            end = start + 1 + state.least
            base = np.uint64(offsets[start] + end * n_wide)
            rest = np.uint64(offsets[start + 1] + end * n_wide)
            for rule in range(narrow.left_start[symbol], narrow.left_start[symbol + 1]):
                weight = group.entry_prob[entry] * narrow.left_prob[rule]
                here = base + narrow.left_parent[rule]
                there = rest + narrow.left_other[rule]
                for _ in range(room):
                    chart[here, column] = plus(chart[here, column], weight * chart[there, column], maximize)
                    here += step
                    there += step
            if start + 1 < group.length[lane]:
                base = np.uint64(offsets[start] + (start + 2) * n_wide)
                for rule in range(narrow.both_start[symbol], narrow.both_start[symbol + 1]):
                    for other in range(
                        group.entry_start[lane, start + 1], group.entry_start[lane, start + 2]
                    ):
                        if group.entry_symbol[other] == narrow.both_other[rule]:
                            weight = narrow.both_prob[rule] * group.entry_prob[other]
                            here = base + narrow.both_parent[rule]
                            value = group.entry_prob[entry] * weight
                            chart[here, column] = plus(chart[here, column], value, maximize)


@kernel
def _join_narrow_right(state: DenseState, chart: Floats, start: int, end: int, maximize: bool | None) -> None:
    """Combine what goes before with the last word."""
    narrow, group, n_wide = state.tables.narrow, state.group, state.n_wide
    if end - start <= state.least:
        return
    base = np.uint64(state.offsets[start] + end * n_wide)
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
                weight = group.entry_prob[entry] * narrow.right_prob[rule]
                here = base + narrow.right_parent[rule]
                value = weight * chart[front + narrow.right_other[rule], column]
                chart[here, column] = plus(chart[here, column], value, maximize)


@kernel
def dense_roots(state: DenseState, inside: Floats) -> Floats:
    """The scaled probability of each sentence (narrow symbols as roots apart)."""
    tables, group = state.tables, state.group
    total = np.zeros(len(group.length), inside.dtype)
    for lane in range(len(group.length)):
        length = group.length[lane]
        if length > 1 or (length == 1 and tables.wide_at_one):
            base = state.offsets[0] + length * state.n_wide
            for symbol in range(state.n_wide):
                total[lane] += tables.root[symbol] * inside[base + symbol, lane]
    return total
