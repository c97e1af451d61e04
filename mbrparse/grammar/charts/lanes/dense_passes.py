"""Passes over dense charts: inside values or those of the best derivations; outside values.

What the wide children give comes from ``dense_splits``, which also says how one text serves both semirings.
Rules with a narrow child (a tag) depend on the lane's word and are applied lane by lane.
"""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.base.rule_tables import Floats, Ints
from mbrparse.grammar.charts.base.vector import add, any_positive, load, maximum, multiply, store, zeros
from mbrparse.grammar.charts.lanes.dense_splits import (
    Families,
    Splits,
    apply_rules,
    pass_splits,
    plus,
    sum_splits,
)
from mbrparse.grammar.charts.lanes.dense_state import DenseState, Entries, Group
from mbrparse.grammar.kernel import kernel


@kernel
def enter_words(entries: Entries, tokens: Ints, group: Group) -> int:
    """Enter the words of sentences whose lengths are there, one after the other; returns their entries."""
    word, entry = 0, 0
    for lane in range(len(group.length)):
        group.power[lane] = 0
        for position in range(group.entry_start.shape[1]):
            group.entry_start[lane, position] = entry
            if position >= group.length[lane]:
                continue
            token = tokens[word]
            group.shift[word] = entries.shift[token]
            group.power[lane] += entries.shift[token]
            word += 1
            for rule in range(entries.start[token], entries.start[token + 1]):
                group.entry_symbol[entry] = entries.symbol[rule]
                group.entry_prob[entry] = entries.prob[rule]
                group.entry_wide[entry] = entries.wide[rule]
                entry += 1
    return entry


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
            _fill_words(state, chart, start)
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
def _fill_words(state: DenseState, chart: Floats, position: int) -> None:
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
