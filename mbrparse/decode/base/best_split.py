"""Where a span is best split in two, for searches that choose among all bracketings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray, IntArray


class SpanTable(NamedTuple):
    """By start and end, the best score of what stands over a span, and where it splits."""

    score: FloatArray
    score_by_end: FloatArray  # the mirror image keeps both factors of the inner loop contiguous
    split: IntArray


def span_table(length: int) -> SpanTable:
    """An empty table for so many terminals.

    Made outside of kernels: one that fails for want of memory would keep all that it has taken.
    """
    return SpanTable(
        np.zeros((length, length + 1)),
        np.zeros((length + 1, length + 1)),
        np.zeros((length, length + 1), np.int32),
    )


@kernel
def best_split(table: SpanTable, start: int, end: int, tie: float) -> tuple[float, int]:
    """The largest sum of the scores of two parts, and the split: of those within ``tie`` the first."""
    score, score_by_end = table.score, table.score_by_end
    best = score[start, start + 1] + score_by_end[end, start + 1]
    bound = best + tie * abs(best)
    best_at = start + 1
    for split in range(start + 2, end):
        candidate = score[start, split] + score_by_end[end, split]
        if candidate > bound:
            best = candidate
            bound = best + tie * abs(best)
            best_at = split
    return best, best_at
