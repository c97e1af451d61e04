"""Inside, outside and Viterbi over the edges that a best-first search has made.

A chart is a list of constituents and a list of edges, both in the order in which they were made. The first
so many edges are the chart at an earlier point of the search. All values are natural logs; ``order`` lists
edges by the width of their parent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbrparse.decode.best_first.search_state import LEFT, NONE, PARENT, RIGHT, log_add
from mbrparse.grammar.kernel import kernel

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray, IntArray


TIE = 1e-9


@kernel
def inside_pass(terminal: FloatArray, order: IntArray, edges: IntArray, log_prob: FloatArray) -> FloatArray:
    """Exact inside probabilities within the chart.

    ``terminal`` [constituents] holds the lexical probabilities (-inf above terminals), ``log_prob`` the
    edges' rules'.
    """
    inside = terminal.copy()
    for edge in order:
        gain = log_prob[edge] + inside[edges[edge, LEFT]] + inside[edges[edge, RIGHT]]
        parent = edges[edge, PARENT]
        inside[parent] = log_add(inside[parent], gain)
    return inside


@kernel
def outside_pass(
    inside: FloatArray, root: FloatArray, order: IntArray, edges: IntArray, log_prob: FloatArray
) -> FloatArray:
    """Exact outside probabilities within the chart; ``root`` [constituents] is where they start."""
    outside = root.copy()
    for position in range(len(order) - 1, -1, -1):
        edge = order[position]
        above = outside[edges[edge, PARENT]]
        if above == -np.inf:
            continue
        above += log_prob[edge]
        left, right = edges[edge, LEFT], edges[edge, RIGHT]
        outside[left] = log_add(outside[left], above + inside[right])
        outside[right] = log_add(outside[right], above + inside[left])
    return outside


@kernel
def viterbi_pass(
    terminal: FloatArray,
    order: IntArray,
    edges: IntArray,
    log_prob: FloatArray,
    ends: IntArray,
    symbols: IntArray,
) -> tuple[FloatArray, IntArray]:
    """Each constituent's best derivation: its log probability, and its edge (-1 over terminals).

    Of derivations that differ by no more than a tie, the one with the first split and then the first left
    and right child (in the order of symbol ids, which is that of their text) is taken.
    """
    best = terminal.copy()
    edge_of = np.full(len(terminal), np.int32(NONE), np.int32)
    for edge in order:
        left, right, parent = edges[edge, LEFT], edges[edge, RIGHT], edges[edge, PARENT]
        score = log_prob[edge] + best[left] + best[right]
        old = best[parent]
        margin = TIE * abs(old)
        better = old == -np.inf or score > old + margin
        if not better and score >= old - margin:
            other = edge_of[parent]
            old_left, old_right = edges[other, LEFT], edges[other, RIGHT]
            better = (ends[left], symbols[left], symbols[right]) < (
                ends[old_left],
                symbols[old_left],
                symbols[old_right],
            )
        if better:
            best[parent] = score
            edge_of[parent] = edge
    return best, edge_of
