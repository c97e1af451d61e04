"""Search among n-ary trees: the constituents, none crossing another, that gain most.

M(start, end) = max(0, gain(start, end)) + max over split of M(start, split) + M(split, end), and the root
is always kept. Over one terminal M is 0, or what a constituent over it gains. A constituent whose gain is
not above the tolerance of ties is left out, so that nothing rests on the sign of a rounded zero.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mbrparse.decode.base.best_split import SpanTable, best_split
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray, IntArray


@kernel
def search_constituents(
    gains: FloatArray,
    length: int,
    tie: float,
    table: SpanTable,
    kept: npt.NDArray[np.bool_],
    stop: IntArray,
) -> tuple[float, IntArray, IntArray]:
    score, score_by_end, split_of = table.score, table.score_by_end, table.split
    starts, ends = np.zeros(2 * length, np.int32), np.zeros(2 * length, np.int32)
    for start in range(length - 1, -1, -1):
        if stop[0]:
            return 0.0, starts, ends
        row = start * length - start * (start - 1) // 2 - start - 1
        for end in range(start + 1, length + 1):
            best = 0.0
            if end - start > 1:
                best, split_of[start, end] = best_split(table, start, end, tie)
            whole = end - start == length and length > 1
            if whole or gains[row + end] > tie:
                best += gains[row + end]
                kept[start, end] = True
            score[start, end] = best
            score_by_end[end, start] = best
    stack = np.zeros((length + 1, 2), np.int32)
    height, count = 0, 0
    if length:
        stack[0, 1] = length
        height = 1
    while height:
        height -= 1
        start, end = stack[height, 0], stack[height, 1]
        if kept[start, end]:
            starts[count], ends[count] = start, end
            count += 1
        if end - start > 1:
            split = split_of[start, end]
            stack[height, 0], stack[height, 1] = split, end
            stack[height + 1, 0], stack[height + 1, 1] = start, split
            height += 2
    total = score[0, length] if length else 0.0
    return total, starts[:count].copy(), ends[:count].copy()
