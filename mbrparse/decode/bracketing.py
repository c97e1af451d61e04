"""Searches among all bracketings, where a span is split in two at its best place.

The free space has any binary tree with one label for each span of width 2 or more: MAXC(start, end) =
gain(start, end) + max over split of MAXC(start, split) + MAXC(split, end); a single terminal adds nothing
(Goodman 1996, section 3).

Among n-ary trees the search is for the constituents, none crossing another, that gain most: M(start, end) =
max(0, gain(start, end)) + max over split of M(start, split) + M(split, end), and the root is always kept.
Over one terminal M is 0, or what a constituent over it gains. A constituent whose gain is not above the
tolerance of ties is left out, so that nothing rests on the sign of a rounded zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.base.rule_tables import Ints, Offsets
from mbrparse.charts.kernel import kernel

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray, IntArray


class SpanTable(NamedTuple):
    """By start and end, the best score of what stands over a span, and where it splits."""

    score: FloatArray
    score_by_end: FloatArray  # the mirror image keeps both factors of the inner loop contiguous
    split: IntArray

    @classmethod
    def of_length(cls, length: int) -> SpanTable:
        """An empty table for so many terminals.

        Made outside of kernels: one that fails for want of memory would keep all that it has taken.
        """
        square = length, length + 1
        return cls(np.zeros(square), np.zeros(square[::-1]), np.zeros(square, np.int32))


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


class Bracketings(NamedTuple):
    """Several, one after the other; positions of parents and cells count from the first."""

    scores: FloatArray
    starts: Ints
    ends: Ints
    parents: Ints
    cells: Offsets


class BracketingTables(NamedTuple):
    """What the search fills in, and a stack with rows of start, end, parent."""

    table: SpanTable
    stack: Ints


@kernel
def search_bracketings(
    gains: FloatArray,
    lengths: Offsets,
    tie: float,
    tables: BracketingTables,
    found: Bracketings,
    stop: IntArray,
) -> None:
    number, node = 0, 0
    for kind in range(len(gains)):
        cell = 0
        for length in lengths:
            cells = length * (length + 1) // 2
            found.scores[number] = _fill(gains[kind, cell : cell + cells], length, tie, tables.table, stop)
            if stop[0]:
                return
            node = _enter_spans(length, tables, found, node, cell)
            cell += cells
            number += 1


@kernel
def _fill(gains: FloatArray, length: int, tie: float, table: SpanTable, stop: IntArray) -> float:
    """Fill the table in; single terminals have nothing in it, whatever sentence came before."""
    score, score_by_end, split_of = table.score, table.score_by_end, table.split
    for start in range(length - 2, -1, -1):
        if stop[0]:
            return 0.0
        row = start * length - start * (start - 1) // 2 - start - 1
        for end in range(start + 2, length + 1):
            best, split_of[start, end] = best_split(table, start, end, tie)
            best += gains[row + end]
            score[start, end] = best
            score_by_end[end, start] = best
    return score[0, length] if length > 1 else 0.0


@kernel
def _enter_spans(length: int, tables: BracketingTables, found: Bracketings, node: int, cell: int) -> int:
    """Enter the spans from ``node`` on, in preorder; returns where they end. The first cell is ``cell``."""
    split_of, stack, height = tables.table.split, tables.stack, 0
    if length > 1:
        stack[0, 0], stack[0, 1], stack[0, 2] = 0, length, -1
        height = 1
    while height:
        height -= 1
        start, end = stack[height, 0], stack[height, 1]
        found.starts[node], found.ends[node], found.parents[node] = start, end, stack[height, 2]
        found.cells[node] = cell + start * length - start * (start - 1) // 2 + end - start - 1
        split = split_of[start, end]
        if end - split > 1:
            stack[height, 0], stack[height, 1], stack[height, 2] = split, end, node
            height += 1
        if split - start > 1:
            stack[height, 0], stack[height, 1], stack[height, 2] = start, split, node
            height += 1
        node += 1
    return node


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
