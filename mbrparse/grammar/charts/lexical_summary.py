"""What a chart with unary rules says of single terminals: the posteriors of their preterminals.

Over one terminal a chain of constituents may stand, and only its lowest node is the preterminal.
"""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.charts.span_summary import SpanSummary
from mbrparse.grammar.charts.sparse import MAX_SHIFT, Items, Words
from mbrparse.grammar.kernel import kernel


@kernel
def summarize_words(
    words: Words, items: Items, label: Ints, n_labels: int, summary: SpanSummary, tolerance: float
) -> None:
    """Replace the cells of width one by what outside(X) * P(X -> word) says of preterminals X.

    Each word has just one, hence the ``total`` of its cell is one in a sentence with a parse.
    """
    n = len(words.entry_start) - 1
    mass = np.zeros(n_labels, items.inside.dtype)
    for start in range(n):
        cell = start * n - start * (start - 1) // 2
        shift = items.exponent[start, start + 1]
        scale = words.powers[MAX_SHIFT - min(max(shift, -MAX_SHIFT), MAX_SHIFT)]
        summary.label[cell] = -1
        summary.best[cell] = 0
        summary.total[cell] = 0
        entries = range(words.entry_start[start], words.entry_start[start + 1])
        for entry in entries:
            item = items.cell_first[start, start + 1]
            while items.symbol[item] != words.entry_symbol[entry]:
                item = items.cell_next[item]
            posterior = items.outside[item] * (words.entry_prob[entry] * scale)
            mass[label[items.symbol[item]]] += posterior
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
