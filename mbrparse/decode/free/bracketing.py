"""Search of the free space: any binary tree with one label for each span of width 2 or more.

MAXC(start, end) = gain(start, end) + max over split of MAXC(start, split) + MAXC(split, end); a single
terminal adds nothing (Goodman 1996, section 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbrparse.decode.best_split import SpanTable, best_split, span_table
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.rule_tables import Ints, Offsets
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray, IntArray


class Bracketing(NamedTuple):
    """A binary bracketing: n-1 spans in preorder, each with its parent's position (-1: the root's)."""

    score: float
    starts: Ints
    ends: Ints
    parents: Ints


class Bracketings(NamedTuple):
    """Several, one after the other; positions of parents and cells count from the first."""

    scores: FloatArray
    starts: Ints
    ends: Ints
    parents: Ints
    cells: Offsets


class _Room(NamedTuple):
    """What the search fills in, and a stack with rows of start, end, parent."""

    table: SpanTable
    stack: Ints


class BracketingSearch:
    """Looks for best bracketings, one call after the other, in memory that it keeps.

    Of those within ``tie`` (relative) of each other the best is the one that splits first.
    """

    def __init__(self, tie: float = 1e-9, clock: Clock = NO_LIMIT) -> None:
        self._tie, self._clock = tie, clock
        self._room = _Room(span_table(0), np.empty((1, 3), np.int32))

    def best(self, gains: Sequence[FloatArray], lengths: Sequence[int]) -> Bracketings:
        """For each kind of gains the bracketing of each sentence with the largest sum.

        Gains are by cell (grammar.charts.span_summary), one sentence after the other. Raises TimeLimitError.
        """
        count = len(gains) * sum(max(length - 1, 0) for length in lengths)
        starts, ends, parents = np.empty((3, count), np.int32)
        scores = np.empty(len(gains) * len(lengths))
        found = Bracketings(scores, starts, ends, parents, np.empty(count, np.int64))
        if len(self._room.stack) <= (longest := max(lengths)):
            self._room = _Room(span_table(longest), np.empty((longest + 1, 3), np.int32))
        stop = self._clock.stop
        _search(np.array(gains, np.float64), np.array(lengths), self._tie, self._room, found, stop)
        self._clock.check()
        return found


def best_bracketing(gains: FloatArray, length: int, tie: float = 1e-9, clock: Clock = NO_LIMIT) -> Bracketing:
    """The bracketing of one sentence; raises TimeLimitError."""
    found = BracketingSearch(tie, clock).best([gains], [length])
    return Bracketing(float(found.scores[0]), found.starts, found.ends, found.parents)


@kernel
def _search(
    gains: FloatArray,
    lengths: Offsets,
    tie: float,
    room: _Room,
    found: Bracketings,
    stop: IntArray,
) -> None:
    number, node = 0, 0
    for kind in range(len(gains)):
        cell = 0
        for length in lengths:
            cells = length * (length + 1) // 2
            found.scores[number] = _fill(gains[kind, cell : cell + cells], length, tie, room.table, stop)
            if stop[0]:
                return
            node = _enter_spans(length, room, found, node, cell)
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
def _enter_spans(length: int, room: _Room, found: Bracketings, node: int, cell: int) -> int:
    """Enter the spans from ``node`` on, in preorder; returns where they end. The first cell is ``cell``."""
    split_of, stack, height = room.table.split, room.stack, 0
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
