"""Search for the best constituents of which none crosses another.

Binary trees have every span that is split in two: M(start, end) = gain(start, end) + max over split of
M(start, split) + M(split, end); a single terminal adds nothing (Goodman 1996, section 3).

N-ary trees have the constituents that gain most: M(start, end) = max(0, gain(start, end)) + max over split of
M(start, split) + M(split, end), and the root is always kept. Over one terminal M is 0, or what a constituent
over it gains. A constituent whose gain is not above the tolerance of ties is left out, so that nothing
depends on the sign of a rounded zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Ints

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray

#: How much better than the best, relatively, a later candidate must be.
TIE = 1e-9


class Bracketing(NamedTuple):
    """The spans of a tree in preorder, each with its parent's position (-1: the root's)."""

    score: float
    starts: Ints
    ends: Ints
    parents: Ints


class _Table(NamedTuple):
    """By start and end: the best score of a span's constituents, its split, and whether itself is one."""

    score: FloatArray
    score_by_end: FloatArray  # the mirror image keeps both factors of the inner loop contiguous
    split: Ints
    kept: npt.NDArray[np.bool_]


def best_bracketing(gains: FloatArray, length: int, tie: float = TIE) -> Bracketing:
    """The binary tree with the largest sum of gains, which are by cell (charts.spans).

    Of those within ``tie`` (relative) of each other the one that splits first.
    """
    return _search(gains, length, tie, True)


def best_constituents(gains: FloatArray, length: int, tie: float = TIE) -> Bracketing:
    """The n-ary tree with the largest sum of gains, the whole sentence always among its constituents.

    A single terminal has no root above it but where that gains. Of equal trees the one with fewer
    constituents, then the one that splits first.

    >>> gains = np.array([0.0, 0.5, -0.1, 0.0, 0.2, 0.0])  # (0,1) (0,2) (0,3) (1,2) (1,3) (2,3)
    >>> found = best_constituents(gains, 3)
    >>> round(found.score, 9), found.starts.tolist(), found.ends.tolist()
    (0.4, [0, 0], [3, 2])
    """
    return _search(gains, length, tie, False)


def _search(gains: FloatArray, length: int, tie: float, binary: bool) -> Bracketing:
    square = length, length + 1
    # Made outside of kernels: one that fails for want of memory would keep all that it has taken.
    scores, mirrored, kept = np.zeros(square), np.zeros(square[::-1]), np.zeros(square, np.bool_)
    table = _Table(scores, mirrored, np.zeros(square, np.int32), kept)
    search_spans(np.ascontiguousarray(gains, np.float64), length, tie, binary, table)
    spans = np.zeros((3, 2 * length), np.int32)
    count = list_spans(length, table, spans)
    score = float(scores[0, length]) if length else 0.0
    return Bracketing(score, spans[0, :count], spans[1, :count], spans[2, :count])


@kernel
def search_spans(gains: FloatArray, length: int, tie: float, binary: bool, table: _Table) -> None:
    """Fill the table; gains are by cell."""
    score, score_by_end = table.score, table.score_by_end
    for start in range(length - 1, -1, -1):
        row = start * length - start * (start - 1) // 2 - start - 1
        for end in range(start + 1, length + 1):
            best = 0.0
            if end - start > 1:
                best = score[start, start + 1] + score_by_end[end, start + 1]
                bound = best + tie * abs(best)
                best_at = start + 1
                for split in range(start + 2, end):
                    candidate = score[start, split] + score_by_end[end, split]
                    if candidate > bound:
                        best, best_at = candidate, split
                        bound = best + tie * abs(best)
                table.split[start, end] = best_at
            gain, whole = gains[row + end], end - start == length
            if (end - start > 1 and (binary or whole)) or (not binary and gain > tie):
                best += gain
                table.kept[start, end] = True
            score[start, end] = score_by_end[end, start] = best


@kernel
def list_spans(length: int, table: _Table, spans: Ints) -> int:
    """Write starts, ends and parents of the kept spans to the rows of ``spans``; returns their number."""
    stack = np.zeros((length + 1, 3), np.int32)
    count, height = 0, 0
    if length:
        stack[0, 1], stack[0, 2] = length, -1
        height = 1
    while height:
        height -= 1
        start, end, parent = stack[height]
        if table.kept[start, end]:
            spans[0, count], spans[1, count], spans[2, count] = start, end, parent
            parent = count
            count += 1
        if end - start > 1:
            split = table.split[start, end]
            stack[height, 0], stack[height, 1], stack[height, 2] = split, end, parent
            stack[height + 1, 0], stack[height + 1, 1], stack[height + 1, 2] = start, split, parent
            height += 2
    return count
