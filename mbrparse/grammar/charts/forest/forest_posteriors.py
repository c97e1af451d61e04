"""A forest's posteriors of labelled spans: what objectives of the free space look at."""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.base.packed_forest import Forest, forest_cell
from mbrparse.grammar.charts.base.rule_tables import Ints
from mbrparse.grammar.charts.base.span_summary import SpanEntries, SpanSummary, empty_summary
from mbrparse.grammar.kernel import kernel


def forest_summary(forest: Forest, label: Ints, n_labels: int, n: int, tolerance: float) -> SpanSummary:
    """Summarize all cells; over single terminals only preterminals count."""
    summary = empty_summary(n)
    _summarize(forest, label, n_labels, n, tolerance, summary)
    return summary


@kernel
def _summarize(
    forest: Forest, label: Ints, n_labels: int, n: int, tolerance: float, summary: SpanSummary
) -> None:
    mass = np.zeros(n_labels)
    inside, outside, node_symbol = forest.inside, forest.outside, forest.node_symbol
    for start in range(n):
        for end in range(start + 1, n + 1):
            place = start * n - start * (start - 1) // 2 + end - start - 1
            cell = forest_cell(start, end)
            nodes = range(forest.node_first[cell], forest.node_first[cell + 1])
            values = forest.lexical if end - start == 1 else inside
            largest, total = 0.0, 0.0
            for node in nodes:
                value = values[node] * outside[node]
                mass[label[node_symbol[node]]] += value
                total += value
            for node in nodes:
                largest = max(largest, mass[label[node_symbol[node]]])
            summary.total[place] = total
            for node in nodes:
                name = label[node_symbol[node]]
                # The first label within tolerance of the largest.
                if mass[name] > 0 and mass[name] >= largest * (1 - tolerance):
                    if summary.label[place] < 0 or name < summary.label[place]:
                        summary.label[place] = name
                        summary.best[place] = mass[name]
            for node in nodes:
                mass[label[node_symbol[node]]] = 0


def forest_entries(forest: Forest, label: Ints, n_labels: int, n: int) -> SpanEntries:
    """Expected numbers above zero of labels over spans, single terminals included; labels in order."""
    count = int(forest.node_first[n * (n + 1) // 2])
    starts, ends, label_ids = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    room = SpanEntries(starts, ends, label_ids, np.empty(count), np.zeros(count))
    found = _list_entries(forest, label, n_labels, n, room)
    return SpanEntries(*(values[:found].copy() for values in room))


@kernel
def _list_entries(forest: Forest, label: Ints, n_labels: int, n: int, room: SpanEntries) -> int:
    """Enter them into arrays with room for one of each node; returns how many there are."""
    starts, ends, label_ids, g, lexical = room
    inside, outside, node_symbol = forest.inside, forest.outside, forest.node_symbol
    mass, own = np.zeros(n_labels), np.zeros(n_labels)
    seen = np.zeros(n_labels, np.bool_)
    names = np.empty(n_labels, np.int32)
    place = 0
    for start in range(n):
        for end in range(start + 1, n + 1):
            cell, found = forest_cell(start, end), 0
            for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
                value, name = inside[node] * outside[node], label[node_symbol[node]]
                if value > 0 and not seen[name]:
                    seen[name] = True
                    names[found] = name
                    found += 1
                mass[name] += value
                if end - start == 1:
                    own[name] += forest.lexical[node] * outside[node]
            for name in np.sort(names[:found]):
                starts[place], ends[place], label_ids[place] = start, end, name
                g[place] = mass[name]
                lexical[place] = min(own[name], mass[name])
                place += 1
                mass[name], own[name] = 0, 0
                seen[name] = False
    return place
