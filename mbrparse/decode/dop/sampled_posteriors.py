"""What samples say of spans: how many have a label there, and how many have nothing that crosses it."""

from __future__ import annotations

import numpy as np

from mbrparse.decode.candidates.sampler import Samples
from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.charts.span_summary import SpanEntries, cell_of, entries_without_unaries
from mbrparse.grammar.kernel import array_kernel
from mbrparse.grammar.pcfg import FloatArray


def sampled_entries(samples: Samples, label: Ints) -> SpanEntries:
    """The share of samples that have a label over a span; ``label`` [symbol] is the symbol's."""
    count, length = len(samples.first) - 1, int(samples.end.max(initial=1))
    labels = int(label.max()) + 1
    cells = cell_of(length, samples.start.astype(np.int64), samples.end.astype(np.int64))
    keys, first, found = np.unique(
        cells * labels + label[samples.symbol], return_index=True, return_counts=True
    )
    starts, ends = samples.start[first], samples.end[first]
    return entries_without_unaries(starts, ends, (keys % labels).astype(np.int32), found / count)


def sampled_consistency(samples: Samples, constituent: Ints, length: int) -> FloatArray:
    """c by cell: the share of samples of which no constituent crosses the span.

    ``constituent`` [symbol] is -1 for what is none, 0 otherwise.
    """
    trees = samples.trees(constituent)
    first = np.cumsum([0, *(len(tree.nodes) for tree in trees)])
    nodes = np.concatenate([tree.nodes for tree in trees])
    drawn = np.array([len(tree.drawn) for tree in trees], np.int32)
    uncrossed = np.zeros(length * (length + 1) // 2, np.int32)
    _add_uncrossed(first, nodes[:, 0].copy(), nodes[:, 1].copy(), drawn, length, uncrossed)
    # Divided at the end: a sum of shares may be more than one.
    return uncrossed / (len(samples.first) - 1)


@array_kernel
def _add_uncrossed(first: Ints, starts: Ints, ends: Ints, drawn: Ints, n: int, uncrossed: Ints) -> None:
    """Add how often each tree was drawn to the cells that nothing of it crosses."""
    crossed = np.full(len(uncrossed), -1, np.int32)
    for tree in range(len(drawn)):
        for node in range(first[tree], first[tree + 1]):
            low, high = starts[node], ends[node]
            # One end of what crosses it lies within it, the other beyond.
            for inner in range(low + 1, high):
                for start in range(low):
                    crossed[start * n - start * (start - 1) // 2 + inner - start - 1] = tree
                for end in range(high + 1, n + 1):
                    crossed[inner * n - inner * (inner - 1) // 2 + end - inner - 1] = tree
        for cell in range(len(uncrossed)):
            if crossed[cell] != tree:
                uncrossed[cell] += drawn[tree]
