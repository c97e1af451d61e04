"""Posteriors of labelled spans from a sparse chart, as a list."""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.lexicon import Words
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.charts.span_summary import SpanEntries
from mbrparse.grammar.charts.sparse.sparse_state import MAX_SHIFT, SparseChart
from mbrparse.grammar.kernel import array_kernel, kernel


def sparse_entries(words: Words, chart: SparseChart, label: Ints, n_labels: int) -> SpanEntries:
    """All projected labels above zero; labels of a cell in order."""
    count = int(chart.column_start[len(words.entry_start)])
    starts, ends, label_ids = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    room = SpanEntries(starts, ends, label_ids, np.empty(count), np.zeros(count))
    found = _list_entries(words, chart, label, n_labels, room)
    return SpanEntries(*(values[:found].copy() for values in room))


@array_kernel
def _list_entries(words: Words, chart: SparseChart, label: Ints, n_labels: int, room: SpanEntries) -> int:
    """Enter them into arrays with room for one of each node; returns how many there are."""
    starts, ends, label_ids, g, lexical = room
    n = len(words.entry_start) - 1
    mass = np.zeros(n_labels, chart.inside.dtype)
    own = np.zeros(n_labels, chart.inside.dtype)  # what of a label is rewritten as the word
    word_prob = np.zeros(len(label), chart.inside.dtype)
    seen = np.zeros(n_labels, np.bool_)
    names = np.empty(n_labels, np.int32)
    place = 0
    for start in range(n):
        for end in range(start + 1, n + 1):
            found = 0
            if end - start == 1:
                _add_lexical(words, chart, label, own, word_prob, start)
            node = chart.cell_first[start, end]
            while node >= 0:
                value = chart.inside[node] * chart.outside[node]
                name = label[chart.symbol[node]]
                if value > 0 and not seen[name]:
                    seen[name] = True
                    names[found] = name
                    found += 1
                mass[name] += value
                node = chart.cell_next[node]
            for name in np.sort(names[:found]):
                starts[place], ends[place], label_ids[place] = start, end, name
                g[place] = mass[name]
                lexical[place] = min(own[name], mass[name])
                place += 1
                mass[name] = 0
                seen[name] = False
            if end - start == 1:
                for entry in range(words.entry_start[start], words.entry_start[end]):
                    own[label[words.entry_symbol[entry]]] = 0
    return place


@kernel
def _add_lexical(
    words: Words, chart: SparseChart, label: Ints, own: Floats, word_prob: Floats, position: int
) -> None:
    """Add up, by label, outside(X) * P(X -> word); ``word_prob`` [symbol] is scratch, zero between calls."""
    shift = chart.exponent[position, position + 1]
    scale = chart.powers[MAX_SHIFT - min(max(shift, -MAX_SHIFT), MAX_SHIFT)]
    entries = range(words.entry_start[position], words.entry_start[position + 1])
    for entry in entries:
        word_prob[words.entry_symbol[entry]] = words.entry_prob[entry] * scale
    # In the order of the chart: without unary rules it is the same sum as that of all nodes.
    node = chart.cell_first[position, position + 1]
    while node >= 0:
        symbol = chart.symbol[node]
        own[label[symbol]] += word_prob[symbol] * chart.outside[node]
        node = chart.cell_next[node]
    for entry in entries:
        word_prob[words.entry_symbol[entry]] = 0
