"""Reading the most probable derivation off a sparse chart."""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.nodes import Nodes
from mbrparse.grammar.charts.sparse.sparse_state import BestPaths, SparseState
from mbrparse.grammar.kernel import array_kernel


@array_kernel
def sparse_derivation(state: SparseState, best: BestPaths) -> tuple[Nodes, float]:
    """Read the best derivation off the chart, and its log probability.

    Of several nodes over one span the upper ones come first.
    """
    tables, unary, chart = state.tables, state.unary, state.chart
    back, chains = best.back, best.chains
    n = len(state.words.entry_start) - 1
    nodes = Nodes(np.empty(2 * n - 1, np.int32), np.empty(2 * n - 1, np.int32), np.empty(2 * n - 1, np.int32))
    top = 0.0
    node = chart.cell_first[0, n]
    while node >= 0:
        top = max(top, tables.root[chart.symbol[node]] * chart.inside[node])
        node = chart.cell_next[node]
    if top <= 0:
        return Nodes(nodes.start[:0], nodes.end[:0], nodes.symbol[:0]), -np.inf
    root = -1
    node = chart.cell_first[0, n]
    while node >= 0:
        if tables.root[chart.symbol[node]] * chart.inside[node] >= top * (1 - best.tolerance):
            if root < 0 or chart.symbol[node] < chart.symbol[root]:
                root = node
        node = chart.cell_next[node]
    stack = np.empty((n + 1, 2), np.int32)  # node and end
    stack[0, 0], stack[0, 1] = root, n
    depth, count = 1, 0
    while depth > 0:
        depth -= 1
        node, end = stack[depth, 0], stack[depth, 1]
        if len(unary.rule_parent) > 0:
            entry = back[node, 3]
            node = back[node, 2]
            while chains.length[entry] > 0:
                nodes = _room(nodes, count, n)
                nodes.start[count] = chart.start[node]
                nodes.end[count] = end
                nodes.symbol[count] = unary.closure_top[entry]
                count += 1
                entry = chains.below[entry]
            nodes = _room(nodes, count, n)
        nodes.start[count] = chart.start[node]
        nodes.end[count] = end
        nodes.symbol[count] = chart.symbol[node]
        count += 1
        if end - chart.start[node] > 1:
            right = back[node, 1]
            stack[depth, 0], stack[depth, 1] = right, end
            stack[depth + 1, 0], stack[depth + 1, 1] = back[node, 0], chart.start[right]
            depth += 2
    nodes = Nodes(nodes.start[:count], nodes.end[:count], nodes.symbol[:count])
    return nodes, np.log(top) + chart.exponent[0, n] * np.log(2.0)


@array_kernel
def _room(nodes: Nodes, count: int, n: int) -> Nodes:
    """The nodes, with room for one more."""
    if count < len(nodes.start):
        return nodes
    more = np.empty(count + 2 * n, np.int32)
    return Nodes(
        np.concatenate((nodes.start, more)),
        np.concatenate((nodes.end, more)),
        np.concatenate((nodes.symbol, more)),
    )
