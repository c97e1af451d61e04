"""A forest's posteriors of labelled spans: what objectives of the free space look at."""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.forest.forest_nodes import ForestNodes
from mbrparse.grammar.charts.forest.packed_forest import forest_cell
from mbrparse.grammar.charts.live_nodes import LiveNodes, live_nodes
from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.charts.span_summary import SpanEntries, SpanSummary, empty_summary
from mbrparse.grammar.kernel import array_kernel


def forest_summary(forest: ForestNodes, label: Ints, n_labels: int, n: int, tolerance: float) -> SpanSummary:
    """Summarize all cells; over single terminals only preterminals count."""
    summary = empty_summary(n)
    _summarize(forest, label, n_labels, n, tolerance, summary)
    return summary


@array_kernel
def _summarize(
    forest: ForestNodes, label: Ints, n_labels: int, n: int, tolerance: float, summary: SpanSummary
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


def forest_entries(forest: ForestNodes, label: Ints, n: int) -> SpanEntries:
    """Expected numbers above zero of labels over spans, single terminals included."""
    count = int(forest.node_first[n * (n + 1) // 2])
    starts, ends = forest.node_start[:count], _ends(forest, n)
    g = forest.inside[:count] * forest.outside[:count]
    lexical = np.where(ends - starts == 1, forest.lexical[:count] * forest.outside[:count], 0.0)
    rows = np.column_stack([starts, ends, label[forest.node_symbol[:count]]])[g > 0]
    distinct, number = np.unique(rows, axis=0, return_inverse=True)
    columns = distinct.astype(np.int32)
    total, own = (np.bincount(number.reshape(-1), x[g > 0], len(distinct)) for x in (g, lexical))
    return SpanEntries(
        columns[:, 0].copy(), columns[:, 1].copy(), columns[:, 2].copy(), total, np.minimum(own, total)
    )


def forest_nodes(forest: ForestNodes, n: int) -> LiveNodes:
    """The nodes that occur in some parse."""
    count = int(forest.node_first[n * (n + 1) // 2])
    inside, outside = forest.inside[:count], forest.outside[:count]
    starts, symbols = forest.node_start[:count].copy(), forest.node_symbol[:count].copy()
    with np.errstate(divide="ignore"):
        return live_nodes(starts, _ends(forest, n), symbols, np.log(inside), inside * outside)


def _ends(forest: ForestNodes, n: int) -> Ints:
    """By node, where its span ends."""
    sizes = np.diff(forest.node_first[: n * (n + 1) // 2 + 1])
    ends = np.repeat(np.arange(1, n + 1, dtype=np.int32), np.arange(1, n + 1))
    return np.repeat(ends, sizes)
