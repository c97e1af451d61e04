"""Passes over dense charts: inside values or those of the best derivations; outside values.

What the wide children give comes from ``dense_splits``, which also says how one text serves both semirings.
Rules with a narrow child (a tag) depend on the lane's word and are applied lane by lane.

Kernels that run once a cell take only the arrays that they read: each array of a tuple costs a count of
references at every call.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.charts.dense.dense_derivation import LaneNodes, Places, read_derivations
from mbrparse.charts.dense.dense_splits import (
    Families,
    Splits,
    apply_rules,
    pass_splits,
    plus,
    sum_splits,
)
from mbrparse.charts.dense.dense_state import DenseState, Entries, Group
from mbrparse.charts.dense.dense_summary import WideLabels, dense_summary
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats, Ints, Offsets, RulesByChild
from mbrparse.charts.spans import SpanSummary
from mbrparse.charts.vector import add, any_positive, load, maximum, multiply, store, zeros


class Cells(NamedTuple):
    """Where cells are: the cell (start, end) has the rows from offsets[start] + end * n_wide."""

    offsets: Offsets
    n_wide: int
    least: int  # the width of the narrowest cells with wide symbols


class GroupCharts(NamedTuple):
    """The charts of a group, and scratch."""

    inside: Floats  # [rows, lanes]
    outside: Floats  # with a row more for each wide symbol and each end from 0 on
    peak: Floats  # [1, lanes]: the largest outside value of each lane
    rows: Floats  # scratch of three rows


@kernel
def enter_words(entries: Entries, tokens: Ints, group: Group) -> int:
    """Enter the words of sentences whose lengths are there, one after the other; returns their entries."""
    first, symbols, probs, wide, shifts = entries
    length, entry_start, entry_symbol, entry_prob, entry_wide, shift, power = group
    word, entry = 0, 0
    for lane in range(len(length)):
        power[lane] = 0
        for position in range(entry_start.shape[1]):
            entry_start[lane, position] = entry
            if position >= length[lane]:
                continue
            token = tokens[word]
            shift[word] = shifts[token]
            power[lane] += shifts[token]
            word += 1
            for rule in range(first[token], first[token + 1]):
                entry_symbol[entry] = symbols[rule]
                entry_prob[entry] = probs[rule]
                entry_wide[entry] = wide[rule]
                entry += 1
    return entry


@kernel
def dense_posteriors(
    state: DenseState, labels: WideLabels, charts: GroupCharts, summary: SpanSummary, stop: Ints
) -> Floats:
    """Fill the charts of a group (zero before), and the summary of its cells as ``dense_summary`` does.

    Returns the scaled probability of each sentence. Ends early where ``stop`` (``Clock.stop``) is set.
    """
    inside, outside, peak, rows = charts
    dense_inside(state, inside, None, stop)
    total = _roots(state, inside)
    dense_outside(state, inside, outside, total, peak, stop)
    dense_summary(state, labels, inside, outside, summary, rows)
    return total


@kernel
def dense_derivations(
    state: DenseState, best: Floats, tolerance: float, stack: Ints, nodes: LaneNodes, stop: Ints
) -> None:
    """Fill ``best`` (zero before) with the probabilities of nodes' best derivations, and read off the best.

    Those of all lanes go into ``nodes``; ``stack`` is scratch. Ends early where ``stop`` is set.
    """
    dense_inside(state, best, True, stop)
    lanes, row = best.shape[1], state.n_wide * best.shape[1]
    places = Places(-row, (state.longest - 1) * row, row, row, lanes)
    if not stop[0]:
        read_derivations(state, best.reshape(-1), places, tolerance, stack, nodes)


@kernel
def dense_inside(state: DenseState, chart: Floats, maximize: bool | None, stop: Ints) -> None:
    """Fill ``chart`` [rows, lanes], zero before, until ``stop``.

    With inside values or, to ``maximize``, the probability of each node's best derivation.
    """
    tables, group, scratch = state.tables, state.group, state.scratch
    tiles, rules, right = tables.tiles, tables.by_parent, tables.narrow_right
    offsets, n_wide, least, lanes = state.offsets, state.n_wide, state.least, state.scratch.shape[1]
    cells = Cells(offsets, n_wide, least)
    for start in range(state.longest - 1, -1, -1):
        if tables.wide_at_one:
            _fill_words(group, chart, start, offsets[start] + (start + 1) * n_wide)
        _join_narrow_left(tables.narrow_left, tables.narrow_both, group, cells, chart, start, maximize)
        for end in range(start + 2, state.longest + 1):
            if stop[0]:
                return
            if end - start > least:
                _join_narrow_right(right, group, chart, offsets[start] + end * n_wide, n_wide, end, maximize)
            if end - start >= 2 * least:
                sum_splits(tiles, scratch, chart, chart, _splits_of(cells, lanes, start, end), maximize)
                base = offsets[start] + end * n_wide
                for parent in range(n_wide):
                    total = apply_rules(rules, scratch, parent, load(chart, base, parent), maximize)
                    store(chart, base, parent, total)


@kernel
def _splits_of(cells: Cells, lanes: int, start: int, end: int) -> Splits:
    """The splits of a cell into two that hold wide symbols; there may be none."""
    offsets, n_wide, least = cells
    first = start + least
    return Splits(
        end - start - 2 * least + 1,
        (offsets[start] + first * n_wide) * lanes,
        n_wide * lanes,
        lanes,
        (offsets[first] + end * n_wide) * lanes,
        (offsets[first + 1] - offsets[first]) * lanes,
        n_wide * lanes,  # the rows of the triangle grow shorter
        lanes,
    )


@kernel
def _fill_words(group: Group, chart: Floats, position: int, base: int) -> None:
    """Enter the symbols that a word may have and that also have binary rules."""
    entry_start, entry_prob, entry_wide = group.entry_start, group.entry_prob, group.entry_wide
    for lane in range(len(group.length)):
        for entry in range(entry_start[lane, position], entry_start[lane, position + 1]):
            if entry_wide[entry] >= 0:
                chart[base + entry_wide[entry], lane] = entry_prob[entry]


@kernel
def _join_narrow_left(
    rules: RulesByChild,
    rules_of_two: RulesByChild,
    group: Group,
    cells: Cells,
    chart: Floats,
    start: int,
    maximize: bool | None,
) -> None:
    """Combine the word at ``start`` with all that follows it."""
    length, entry_start, entry_symbol, entry_prob, entry_wide, _, _ = group
    first, parent, other, prob = rules
    first_of_two, parent_of_two, second_of_two, prob_of_two = rules_of_two
    offsets, n_wide, least = cells
    step = np.uint64(n_wide)
    for lane in range(len(length)):
        room = length[lane] - start - least  # how many ends there are
        column = np.uint64(lane)
        for entry in range(entry_start[lane, start], entry_start[lane, start + 1]):
            if entry_wide[entry] >= 0:
                continue
            symbol = entry_symbol[entry]
            end = start + 1 + least
            base = np.uint64(offsets[start] + end * n_wide)
            rest = np.uint64(offsets[start + 1] + end * n_wide)
            for rule in range(first[symbol], first[symbol + 1]):
                weight = entry_prob[entry] * prob[rule]
                here = base + parent[rule]
                there = rest + other[rule]
                for _ in range(room):
                    chart[here, column] = plus(chart[here, column], weight * chart[there, column], maximize)
                    here += step
                    there += step
            if start + 1 < length[lane]:
                base = np.uint64(offsets[start] + (start + 2) * n_wide)
                for rule in range(first_of_two[symbol], first_of_two[symbol + 1]):
                    for second in range(entry_start[lane, start + 1], entry_start[lane, start + 2]):
                        if entry_symbol[second] == second_of_two[rule]:
                            weight = prob_of_two[rule] * entry_prob[second]
                            here = base + parent_of_two[rule]
                            value = entry_prob[entry] * weight
                            chart[here, column] = plus(chart[here, column], value, maximize)


@kernel
def _join_narrow_right(
    rules: RulesByChild, group: Group, chart: Floats, row: int, n_wide: int, end: int, maximize: bool | None
) -> None:
    """Combine what goes before with the last word, in the cell at ``row``."""
    length, entry_start, entry_symbol, entry_prob, entry_wide, _, _ = group
    first, parent, other, prob = rules
    base = np.uint64(row)
    front = base - np.uint64(n_wide)
    for lane in range(len(length)):
        if end > length[lane]:
            continue
        column = np.uint64(lane)
        for entry in range(entry_start[lane, end - 1], entry_start[lane, end]):
            if entry_wide[entry] >= 0:
                continue
            symbol = entry_symbol[entry]
            for rule in range(first[symbol], first[symbol + 1]):
                weight = entry_prob[entry] * prob[rule]
                here = base + parent[rule]
                value = weight * chart[front + other[rule], column]
                chart[here, column] = plus(chart[here, column], value, maximize)


@kernel
def _roots(state: DenseState, inside: Floats) -> Floats:
    """The scaled probability of each sentence (narrow symbols as roots apart)."""
    root, length = state.tables.root, state.group.length
    total = np.zeros(len(length), inside.dtype)
    for lane in range(len(length)):
        if length[lane] > 1 or (length[lane] == 1 and state.tables.wide_at_one):
            base = state.offsets[0] + length[lane] * state.n_wide
            for symbol in range(state.n_wide):
                total[lane] += root[symbol] * inside[base + symbol, lane]
    return total


@kernel
def dense_outside(
    state: DenseState, inside: Floats, outside: Floats, total: Floats, peak: Floats, stop: Ints
) -> None:
    """Fill ``outside`` (zero before) with outside / probability of the sentence, until ``stop``.

    inside * outside is then the posterior of a node. Nodes without an inside value pass nothing on; a lane
    without a parse stays zero. The largest outside values, in ``peak`` (zero before), show that nothing of
    weight underflowed where they are far below the largest number.
    """
    tables, group, root = state.tables, state.group, state.tables.root
    tiles, rules, left, right = tables.tiles, tables.by_pair, tables.narrow_left, tables.narrow_right
    offsets, longest, n_wide, least = state.offsets, state.longest, state.n_wide, state.least
    cells, lanes = Cells(offsets, n_wide, least), inside.shape[1]
    # What a node has as a right child is complete before any comes to it as a left one: the two are summed
    # apart, so that the sums are the same in whichever order cells are visited. A cell (start, end) has the
    # rows from as_left + end * n_wide for what its nodes have as left children.
    as_left = longest * (longest + 1) // 2 * n_wide
    for lane in range(len(total)):
        if total[lane] > 0:
            base = offsets[0] + group.length[lane] * n_wide
            for symbol in range(n_wide):
                outside[base + symbol, lane] = root[symbol] / total[lane]
    for start in range(longest - 1):
        family = Families(inside, inside, outside, outside, (as_left - offsets[start]) * lanes)
        for end in range(longest, start + least - 1, -1):
            if stop[0]:
                return
            base, above = offsets[start] + end * n_wide, as_left + end * n_wide
            live = _complete(inside, outside, peak, n_wide, base, above)
            if end == start + 1:
                continue
            if live and end - start >= 2 * least:
                splits = _splits_of(cells, lanes, start, end)
                pass_splits(tiles, rules, family, outside, base * lanes, lanes, splits)
            if end - start > least:
                _pass_narrow_right(right, group, outside, base, above - n_wide, end)
        _pass_narrow_left(left, group, cells, outside, start)


@kernel
def _complete(inside: Floats, outside: Floats, peak: Floats, n_wide: int, base: int, as_left: int) -> bool:
    """Add what a cell's nodes have as left children; returns whether some node is part of a parse."""
    live = False
    largest = load(peak, 0, 0)
    nothing = zeros(peak)
    for symbol in range(n_wide):
        value = add(load(outside, base, symbol), load(outside, as_left, symbol))
        store(outside, as_left, symbol, nothing)
        store(outside, base, symbol, value)
        largest = maximum(largest, value)
        if any_positive(multiply(value, load(inside, base, symbol))):
            live = True
    store(peak, 0, 0, largest)
    return live


@kernel
def _pass_narrow_left(rules: RulesByChild, group: Group, cells: Cells, outside: Floats, start: int) -> None:
    """Pass to all that follows the word at ``start`` what the cells have that begin there."""
    length, entry_start, entry_symbol, entry_prob, entry_wide, _, _ = group
    first, parent, other, prob = rules
    offsets, n_wide, least = cells
    step = np.uint64(n_wide)
    for lane in range(len(length)):
        room = length[lane] - start - least
        if room <= 0:
            continue
        column = np.uint64(lane)
        end = start + 1 + least
        base = np.uint64(offsets[start] + end * n_wide)
        rest = np.uint64(offsets[start + 1] + end * n_wide)
        for entry in range(entry_start[lane, start], entry_start[lane, start + 1]):
            if entry_wide[entry] >= 0:
                continue
            symbol = entry_symbol[entry]
            for rule in range(first[symbol], first[symbol + 1]):
                weight = entry_prob[entry] * prob[rule]
                here = base + parent[rule]
                there = rest + other[rule]
                for _ in range(room):
                    outside[there, column] += weight * outside[here, column]
                    here += step
                    there += step


@kernel
def _pass_narrow_right(
    rules: RulesByChild, group: Group, outside: Floats, row: int, before: int, end: int
) -> None:
    """Pass what the cell at ``row`` has to what goes before its last word, whose rows begin at ``before``."""
    length, entry_start, entry_symbol, entry_prob, entry_wide, _, _ = group
    first, parent, other, prob = rules
    base, front = np.uint64(row), np.uint64(before)
    for lane in range(len(length)):
        if end > length[lane]:
            continue
        column = np.uint64(lane)
        for entry in range(entry_start[lane, end - 1], entry_start[lane, end]):
            if entry_wide[entry] >= 0:
                continue
            symbol = entry_symbol[entry]
            for rule in range(first[symbol], first[symbol + 1]):
                outside[front + other[rule], column] += (
                    entry_prob[entry] * prob[rule] * outside[base + parent[rule], column]
                )
