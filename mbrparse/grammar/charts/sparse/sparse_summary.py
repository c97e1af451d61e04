"""What free-space objectives need to know of a sparse chart."""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.lexicon import Words
from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.charts.span_summary import SpanSummary
from mbrparse.grammar.charts.sparse.sparse_state import MAX_SHIFT, SparseChart
from mbrparse.grammar.kernel import array_kernel


@array_kernel
def sparse_summary(
    chart: SparseChart, label: Ints, n_labels: int, n: int, tolerance: float, summary: SpanSummary
) -> None:
    """Summarize all cells of a sentence in an empty summary; ``label`` projects symbols."""
    mass = np.zeros(n_labels, chart.inside.dtype)
    for start in range(n):
        for end in range(start + 1, n + 1):
            cell = start * n - start * (start - 1) // 2 + end - start - 1
            node = chart.cell_first[start, end]
            while node >= 0:
                mass[label[chart.symbol[node]]] += chart.inside[node] * chart.outside[node]
                node = chart.cell_next[node]
            largest = mass[0] * 0
            node = chart.cell_first[start, end]
            while node >= 0:
                largest = max(largest, mass[label[chart.symbol[node]]])
                summary.total[cell] += chart.inside[node] * chart.outside[node]
                node = chart.cell_next[node]
            node = chart.cell_first[start, end]
            while node >= 0:
                name = label[chart.symbol[node]]
                # The first label within tolerance of the largest.
                if mass[name] > 0 and mass[name] >= largest * (1 - tolerance):
                    if summary.label[cell] < 0 or name < summary.label[cell]:
                        summary.label[cell] = name
                        summary.best[cell] = mass[name]
                node = chart.cell_next[node]
            node = chart.cell_first[start, end]
            while node >= 0:
                mass[label[chart.symbol[node]]] = 0
                node = chart.cell_next[node]


@array_kernel
def summarize_words(
    words: Words, chart: SparseChart, label: Ints, n_labels: int, summary: SpanSummary, tolerance: float
) -> None:
    """Replace the cells of width one by what outside(X) * P(X -> word) says of preterminals X.

    Each word has just one, hence the ``total`` of its cell is one in a sentence with a parse.
    """
    n = len(words.entry_start) - 1
    mass = np.zeros(n_labels, chart.inside.dtype)
    for start in range(n):
        cell = start * n - start * (start - 1) // 2
        shift = chart.exponent[start, start + 1]
        scale = chart.powers[MAX_SHIFT - min(max(shift, -MAX_SHIFT), MAX_SHIFT)]
        summary.label[cell] = -1
        summary.best[cell] = 0
        summary.total[cell] = 0
        entries = range(words.entry_start[start], words.entry_start[start + 1])
        for entry in entries:
            node = chart.cell_first[start, start + 1]
            while chart.symbol[node] != words.entry_symbol[entry]:
                node = chart.cell_next[node]
            posterior = chart.outside[node] * (words.entry_prob[entry] * scale)
            mass[label[chart.symbol[node]]] += posterior
            summary.total[cell] += posterior
        largest = mass[0] * 0
        for entry in entries:
            largest = max(largest, mass[label[words.entry_symbol[entry]]])
        for entry in entries:
            name = label[words.entry_symbol[entry]]
            # The first label within tolerance of the largest.
            good = mass[name] > 0 and mass[name] >= largest * (1 - tolerance)
            if good and (summary.label[cell] < 0 or name < summary.label[cell]):
                summary.label[cell] = name
                summary.best[cell] = mass[name]
        for entry in entries:
            mass[label[words.entry_symbol[entry]]] = 0
