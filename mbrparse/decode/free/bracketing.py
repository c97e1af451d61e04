"""Search of the free space: any binary tree with one label for each span of width 2 or more.

MAXC(start, end) = gain(start, end) + max over split of MAXC(start, split) + MAXC(split, end); a single
terminal adds nothing (Goodman 1996, section 3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.splits import SpanTable, best_split, span_table
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.rule_tables import Ints, Offsets
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray, IntArray


class Bracketing(NamedTuple):
    """A binary bracketing: n-1 spans in preorder, each with its parent's position (-1: the root's)."""

    score: float
    starts: IntArray
    ends: IntArray
    parents: IntArray


class Bracketings(NamedTuple):
    """Those of several sentences; the spans of sentence s are ``first[s]`` .. ``first[s + 1]``."""

    first: Offsets
    scores: FloatArray
    starts: Ints
    ends: Ints
    parents: Ints


def best_bracketing(gains: FloatArray, length: int, tie: float = 1e-9, clock: Clock = NO_LIMIT) -> Bracketing:
    """The bracketing with the largest sum of gains, which are by cell (grammar.charts.span_summary).

    Of those within ``tie`` (relative) of each other, the one that splits first. Raises TimeLimitError.
    """
    _, scores, *spans = best_bracketings(gains, np.array([length]), tie, clock)
    return Bracketing(float(scores[0]), *spans)


def best_bracketings(
    gains: FloatArray, lengths: Offsets, tie: float = 1e-9, clock: Clock = NO_LIMIT
) -> Bracketings:
    """The best one of each sentence; the gains of their cells stand one after the other."""
    first = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.maximum(lengths - 1, 0), out=first[1:])
    starts, ends, parents = np.zeros((3, first[-1]), np.int32)
    found = Bracketings(first, np.zeros(len(lengths)), starts, ends, parents)
    longest = int(lengths.max(initial=0))
    stack = np.zeros((longest + 1, 3), np.int32)
    _search(gains.astype(np.float64, copy=False), lengths, tie, span_table(longest), stack, found, clock.stop)
    clock.check()
    return found


@kernel
def _search(
    gains: FloatArray,
    lengths: Offsets,
    tie: float,
    table: SpanTable,
    stack: Ints,
    found: Bracketings,
    stop: IntArray,
) -> None:
    cell = 0
    for sentence in range(len(lengths)):
        length = lengths[sentence]
        cells = length * (length + 1) // 2
        found.scores[sentence] = _fill(gains[cell : cell + cells], length, tie, table, stop)
        if stop[0]:
            return
        _read_off(length, table.split, stack, found, found.first[sentence])
        cell += cells


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
def _read_off(length: int, split_of: Ints, stack: Ints, found: Bracketings, first: int) -> None:
    """Enter the spans from ``first`` on, in preorder; the stack has rows of start, end, parent."""
    height, node = 0, 0
    if length > 1:
        stack[0, 0], stack[0, 1], stack[0, 2] = 0, length, -1
        height = 1
    while height:
        height -= 1
        start, end = stack[height, 0], stack[height, 1]
        place = first + node
        found.starts[place], found.ends[place], found.parents[place] = start, end, stack[height, 2]
        split = split_of[start, end]
        if end - split > 1:
            stack[height, 0], stack[height, 1], stack[height, 2] = split, end, node
            height += 1
        if split - start > 1:
            stack[height, 0], stack[height, 1], stack[height, 2] = start, split, node
            height += 1
        node += 1
