"""Where no constituent of the n-ary tree crosses a span: every span at once, for right-linear continuations.

Nothing crosses (i, j) if it is a node of the binary tree, or if two or more children of one constituent of
the n-ary tree make it up. These children then hang from one spine: continuations that all end at some b > j,
below a node over (i, b); the last of them hangs from the continuation that is split at j. So for each (i, b)
the posterior of its nodes is sent down the spine, and c(i, j) collects what is split at j below the first
node. This is the closed formula with U, W and E of the paper's nodes, node by node, in probabilities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.crossing.derivation_graph import DerivationGraph
from mbrparse.grammar.charts.crossing.graph_rules import Doubles
from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.kernel import kernel

# Less than this is not sent down: with all that it stands for it is far below the last digit asked for.
_LEAST = 1e-20


class Spines(NamedTuple):
    """The edges of a graph by what a spine wants of them.

    ``split`` holds, from split_first[x] on, by split of continuation x, the sum of its edges' shares. The
    ``step`` entries of node x, a list from step_head[x] on, are the continuations that it goes on with.
    """

    split_first: Ints  # by node
    split: Doubles
    step_head: Ints  # by node, or -1
    step_next: Ints  # or -1
    step_to: Ints
    step_share: Doubles


def consistent_spans(graph: DerivationGraph, share: Doubles, g_bottom: Doubles) -> Doubles:
    """c(start, end) by cell (grammar.charts.span_summary), of a graph with right-linear continuations.

    ``share`` [edges] and ``g_bottom`` [nodes] may be those of the graph or, given that some cells are closed,
    others (see ``closings``). Costs n^4 / 24 times the continuations of a cell.
    """
    nodes = len(graph.node_symbol)
    widths = np.where(graph.node_continuation, graph.node_end - graph.node_start, 0)
    split_first = np.zeros(nodes + 1, np.int32)
    np.cumsum(widths, out=split_first[1:])
    steps = int(_count_steps(graph))
    spines = Spines(
        split_first,
        np.zeros(int(split_first[-1])),
        np.full(nodes, -1, np.int32),
        np.zeros(steps, np.int32),
        np.zeros(steps, np.int32),
        np.zeros(steps),
    )
    _gather(graph, share, spines)
    n = graph.length
    consistent = np.zeros(n * (n + 1) // 2)
    _send_down(graph, g_bottom, spines, consistent, np.zeros(nodes))
    over = np.cumsum(np.arange(n, 0, -1))
    consistent[np.concatenate(([0], over[:-1]))] = 1.0  # nothing crosses a single terminal
    return consistent


@kernel
def _count_steps(graph: DerivationGraph) -> int:
    count = 0
    for edge in range(len(graph.edge_right)):
        if graph.node_continuation[graph.edge_right[edge]]:
            count += 1
    return count


@kernel
def _gather(graph: DerivationGraph, share: Doubles, spines: Spines) -> None:
    head, following, to = spines.step_head, spines.step_next, spines.step_to
    steps = 0
    for edge in range(len(graph.edge_parent)):
        value = share[edge]
        if value == 0:
            continue
        parent, right = graph.edge_parent[edge], graph.edge_right[edge]
        if graph.node_continuation[parent]:
            split = graph.node_start[right] - graph.node_start[parent]
            spines.split[spines.split_first[parent] + split] += value
        if graph.node_continuation[right]:
            # Edges run in the order of splits: what goes on at this split was entered last.
            step = head[parent]
            while step >= 0 and to[step] != right:
                same = graph.node_start[to[step]] == graph.node_start[right]
                step = following[step] if same else -1
            if step < 0:
                step = steps
                steps += 1
                following[step], to[step] = head[parent], right
                head[parent] = step
            spines.step_share[step] += value


@kernel
def _send_down(
    graph: DerivationGraph, g_bottom: Doubles, spines: Spines, consistent: Doubles, mass: Doubles
) -> None:
    """``mass`` [nodes] is scratch, zero before and after."""
    n, node_first = graph.length, graph.node_first
    head, following, to, step_share = spines.step_head, spines.step_next, spines.step_to, spines.step_share
    split, split_first = spines.split, spines.split_first
    for start in range(n):
        row = start * n - start * (start - 1) // 2 - start - 1
        for end in range(start + 2, n + 1):
            base = end * (end - 1) // 2 + end - 1
            live = False
            for node in range(node_first[base - start], node_first[base - start + 1]):
                value = g_bottom[node]
                consistent[row + end] += value
                if value > _LEAST:
                    step = head[node]
                    while step >= 0:
                        mass[to[step]] += value * step_share[step]
                        live = True
                        step = following[step]
            if not live:
                continue
            for below in range(start + 1, end - 1):
                for node in range(node_first[base - below], node_first[base - below + 1]):
                    value = mass[node]
                    if value == 0:
                        continue
                    mass[node] = 0
                    if value <= _LEAST:
                        continue
                    first = split_first[node]
                    for width in range(1, end - below):
                        consistent[row + below + width] += value * split[first + width]
                    step = head[node]
                    while step >= 0:
                        mass[to[step]] += value * step_share[step]
                        step = following[step]
