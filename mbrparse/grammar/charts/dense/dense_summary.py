"""Posteriors of labelled spans from a dense chart, for the spans of width two and more."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mbrparse.grammar.charts.dense.dense_state import DenseState
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.charts.span_summary import SpanEntries, SpanSummary
from mbrparse.grammar.charts.vector import (
    add,
    choose_greater,
    load,
    multiply,
    multiply_add,
    spread,
    store,
    zeros,
)
from mbrparse.grammar.kernel import kernel


class WideLabels(NamedTuple):
    """The wide symbols of each label, labels in order of text."""

    start: Ints
    member: Ints
    label: Ints  # the label's id
    number: Floats  # 0, 1, 2 .. as floats, and the tolerance factor at the end


def wide_labels(label: Ints, tie: float, dtype: Any) -> WideLabels:
    """The labels of wide symbols, given in their order."""
    order = np.argsort(label, kind="stable")
    names = np.unique(label)
    start = np.searchsorted(label[order], np.append(names, names[-1] + 1 if len(names) else 0))
    number = np.append(np.arange(len(names)), 1 + tie)
    return WideLabels(
        start.astype(np.int32), order.astype(np.int32), names.astype(np.int32), number.astype(dtype)
    )


@kernel
def dense_summary(
    state: DenseState,
    labels: WideLabels,
    inside: Floats,
    outside: Floats,
    summary: SpanSummary,
    rows: Floats,
) -> None:
    """Summarize the cells of width two and more; arrays of ``summary`` are [lane, cell].

    ``rows`` is scratch of three rows.
    """
    group, offsets, n_wide, n = state.group, state.offsets, state.n_wide, state.longest
    factor = spread(labels.number, len(labels.label))
    for start in range(n):
        for end in range(start + 2, n + 1):
            base = offsets[start] + end * n_wide
            best = zeros(inside)
            total = best
            chosen = best
            for index in range(len(labels.label)):
                mass = zeros(inside)
                for place in range(labels.start[index], labels.start[index + 1]):
                    member = labels.member[place]
                    mass = multiply_add(load(inside, base, member), load(outside, base, member), mass)
                total = add(total, mass)
                bound = multiply(best, factor)
                chosen = choose_greater(mass, bound, spread(labels.number, index), chosen)
                best = choose_greater(mass, bound, mass, best)
            store(rows, 0, 0, best)
            store(rows, 0, 1, total)
            store(rows, 0, 2, chosen)
            for lane in range(len(group.length)):
                length = group.length[lane]
                if end <= length:
                    cell = start * length - start * (start - 1) // 2 + end - start - 1
                    summary.best[lane, cell] = rows[0, lane]
                    summary.total[lane, cell] = rows[1, lane]
                    summary.label[lane, cell] = labels.label[int(rows[2, lane])] if rows[0, lane] > 0 else -1


@kernel
def dense_entries(
    state: DenseState, labels: WideLabels, inside: Floats, outside: Floats, lane: int
) -> SpanEntries:
    """All projected labels above zero of one lane, for the spans of width two and more."""
    offsets, n_wide, length = state.offsets, state.n_wide, state.group.length[lane]
    capacity = length * (length + 1) // 2 * len(labels.label)
    starts = np.empty(capacity, np.int32)
    ends = np.empty(capacity, np.int32)
    label_ids = np.empty(capacity, np.int32)
    g = np.empty(capacity)
    place = 0
    for start in range(length):
        for end in range(start + 2, length + 1):
            base = offsets[start] + end * n_wide
            for index in range(len(labels.label)):
                mass = inside[0, 0] * 0
                for at in range(labels.start[index], labels.start[index + 1]):
                    row = base + labels.member[at]
                    mass += inside[row, lane] * outside[row, lane]
                if mass > 0:
                    starts[place], ends[place], label_ids[place] = start, end, labels.label[index]
                    g[place] = mass
                    place += 1
    none = np.zeros(place)
    return SpanEntries(
        starts[:place].copy(), ends[:place].copy(), label_ids[:place].copy(), g[:place].copy(), none
    )
