"""Search of the free space: any binary tree with one label for each span of width 2 or more.

MAXC(start, end) = gain(start, end) + max over split of MAXC(start, split) + MAXC(split, end); a single
terminal adds nothing (Goodman 1996, section 3).
"""

from __future__ import annotations

from typing import NamedTuple

from mbrparse.decode.base.best_split import SpanTable, best_split
from mbrparse.grammar.charts.base.rule_tables import Ints, Offsets
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray, IntArray


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
