"""The way down in sparse charts: outside values."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.charts.sparse.alive import Alive, is_alive
from mbrparse.grammar.charts.sparse.sparse_state import MAX_SHIFT, SparseChart, SparseState
from mbrparse.grammar.kernel import kernel


@kernel
def sparse_outside(state: SparseState, alive: Alive | None, stop: Ints) -> float:
    """Fill in the chart's ``outside``; return the log of the sentence's probability (-inf at ``stop``).

    ``alive`` is what the way up was given.

    inside * outside of a node is its posterior, with unary rules how often it is expected.
    """
    tables, unary, chart, buckets = state.tables, state.unary, state.chart, state.buckets
    n = len(state.words.entry_start) - 1
    chains = len(unary.rule_parent) > 0
    outside, slots, factor = chart.outside, buckets.slots, buckets.factor
    outside[: chart.column_start[n + 1]] = 0
    total = 0.0
    node = chart.cell_first[0, n]
    while node >= 0:
        total += tables.root[chart.symbol[node]] * chart.inside[node]
        node = chart.cell_next[node]
    if total <= 0.0:
        return -np.inf
    node = chart.cell_first[0, n]
    while node >= 0:
        outside[node] = tables.root[chart.symbol[node]] / total
        node = chart.cell_next[node]
    for end in range(n, 1, -1):
        for node in range(chart.column_start[end], chart.column_start[end + 1]):
            slots[chart.symbol[node], chart.start[node]] = node
        if chains:
            _close_outside(state, 0, end)
        for split in range(1, end):
            if stop[0]:
                slots[:] = -1
                return -np.inf
            if _set_live_factors(chart, factor, split, end):
                right = chart.cell_first[split, end]
                while right >= 0:
                    outside[right] += _pass_down(state, alive, right, (split, end))
                    right = chart.cell_next[right]
            if chains:
                _close_outside(state, split, end)
        for node in range(chart.column_start[end], chart.column_start[end + 1]):
            slots[chart.symbol[node], chart.start[node]] = -1
    if chains:
        _close_outside(state, 0, 1)
    log_prob: float = np.log(total) + chart.exponent[0, n] * np.log(2.0)
    return log_prob


@kernel
def _close_outside(state: SparseState, start: int, end: int) -> None:
    """Close a cell whose nodes have all that wider cells give them."""
    unary, chart = state.unary, state.chart
    outside, mass = chart.outside, state.buckets.mass
    node = chart.cell_first[start, end]
    while node >= 0:
        mass[chart.symbol[node]] = outside[node]
        node = chart.cell_next[node]
    node = chart.cell_first[start, end]
    while node >= 0:
        symbol = chart.symbol[node]
        received = outside[node] * 0
        for entry in range(unary.closure_start[symbol], unary.closure_start[symbol + 1]):
            received += (
                mass[unary.closure_top[entry]] * unary.closure_value[entry]
            )  # the cell holds all these tops
        outside[node] = received
        node = chart.cell_next[node]


@kernel
def _set_live_factors(chart: SparseChart, factor: Floats, split: int, end: int) -> bool:
    """Factors as in ``set_factors``, zero where no parent can pass anything on."""
    outside = chart.outside
    any_live = False
    for start in range(split):
        factor[start] = 0
        if chart.cell_first[start, split] < 0:
            continue
        node = chart.cell_first[start, end]
        while node >= 0 and outside[node] == 0:
            node = chart.cell_next[node]
        if node >= 0:
            shift = chart.exponent[start, split] + chart.exponent[split, end] - chart.exponent[start, end]
            factor[start] = chart.powers[MAX_SHIFT + min(max(shift, -MAX_SHIFT), MAX_SHIFT)]
            any_live = True
    return any_live


@kernel
def _pass_down(state: SparseState, alive: Alive | None, right: int, span: tuple[int, int]) -> Any:
    """Pass to all left partners of a node what their parents have; return the node's own share."""
    split, end = span
    tables, chart, buckets = state.tables, state.chart, state.buckets
    outside, slots, factor = chart.outside, buckets.slots, buckets.factor
    received = outside[right] * 0
    symbol = chart.symbol[right]
    value = chart.inside[right]
    for pair in range(tables.pair_start[symbol], tables.pair_start[symbol + 1]):
        left = tables.pair_left[pair]
        first = buckets.first[split, left]
        last = buckets.first[split, left + 1]
        for member in range(first, last):
            start = buckets.start[member]
            if factor[start] == 0:
                continue
            weight = received * 0
            for rule in range(tables.rule_start[pair], tables.rule_start[pair + 1]):
                if alive is not None:
                    if not is_alive(alive, start, end, tables.rule_parent[rule]):
                        continue  # it may be there all the same, above what is
                parent = slots[tables.rule_parent[rule], start]
                if parent >= 0:  # else nothing predicts it
                    weight += tables.rule_prob[rule] * outside[parent]
            if weight > 0:
                weight *= factor[start]
                received += weight * buckets.value[member]
                outside[buckets.node[member]] += weight * value
    return received
