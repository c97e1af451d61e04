"""Search of the free space: any binary tree with one label for each span of width 2 or more.

MAXC(start, end) = gain(start, end) + max over split of MAXC(start, split) + MAXC(split, end); a single
terminal adds nothing (Goodman 1996, section 3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.splits import SpanTable, best_split, span_table
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray, IntArray


class Bracketing(NamedTuple):
    """A binary bracketing: n-1 spans in preorder, each with its parent's position (-1: the root's)."""

    score: float
    starts: IntArray
    ends: IntArray
    parents: IntArray


def best_bracketing(gains: FloatArray, length: int, tie: float = 1e-9, clock: Clock = NO_LIMIT) -> Bracketing:
    """The bracketing with the largest sum of gains, which are by cell (grammar.charts.span_summary).

    Of those within ``tie`` (relative) of each other, the one that splits first. Raises TimeLimitError.
    """
    table = span_table(length)
    found = _best_bracketing(gains.astype(np.float64, copy=False), length, tie, table, clock.stop)
    clock.check()
    return Bracketing(*found)


@kernel
def _best_bracketing(
    gains: FloatArray, length: int, tie: float, table: SpanTable, stop: IntArray
) -> tuple[float, IntArray, IntArray, IntArray]:
    score, score_by_end, split_of = table.score, table.score_by_end, table.split
    count = max(length - 1, 0)
    starts = np.zeros(count, np.int32)
    ends = np.zeros(count, np.int32)
    parents = np.zeros(count, np.int32)
    for start in range(length - 2, -1, -1):
        if stop[0]:
            return 0.0, starts, ends, parents
        row = start * length - start * (start - 1) // 2 - start - 1
        for end in range(start + 2, length + 1):
            best, split_of[start, end] = best_split(table, start, end, tie)
            best += gains[row + end]
            score[start, end] = best
            score_by_end[end, start] = best
    # Preorder with a stack of (start, end, parent).
    stack = np.zeros((length + 1, 3), np.int32)
    height = 0
    if count:
        stack[0, 0], stack[0, 1], stack[0, 2] = 0, length, -1
        height = 1
    node = 0
    while height:
        height -= 1
        start, end, parent = stack[height, 0], stack[height, 1], stack[height, 2]
        starts[node], ends[node], parents[node] = start, end, parent
        split = split_of[start, end]
        if end - split > 1:
            stack[height, 0], stack[height, 1], stack[height, 2] = split, end, node
            height += 1
        if split - start > 1:
            stack[height, 0], stack[height, 1], stack[height, 2] = start, split, node
            height += 1
        node += 1
    return score[0, length], starts, ends, parents
