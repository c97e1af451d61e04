"""Search among n-ary trees with a given number of constituents, for gains that depend on that number."""

from __future__ import annotations

import numpy as np

from mbrparse.decode.nary.constituent_search import Constituents
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray, IntArray


def best_of_any_size(
    gains: FloatArray, length: int, tie: float = 1e-9, clock: Clock = NO_LIMIT
) -> Constituents:
    """The tree T with the largest sum over its constituents of gains[|T| - 1], the root always among them.

    ``gains`` are by size and by cell (grammar.charts.span_summary), for sizes from 1 to length - 1; over
    single terminals they are not asked for. Of equal trees the one with fewer constituents, then the one
    that splits first. Raises TimeLimitError where the clock's time is up.

    >>> gains = np.array([[0, 0, 0.5, 0, 0, 0], [0, 0.1, 0.3, 0, 0.3, 0]])
    >>> found = best_of_any_size(gains, 3)
    >>> round(found.score, 9), found.starts.tolist(), found.ends.tolist()
    (0.6, [0, 1], [3, 3])
    """
    # best[start, end, c]: of c constituents over a span, itself perhaps among them.
    best = np.zeros((length, length + 1, length))
    table = np.ascontiguousarray(gains, np.float64)
    score, starts, ends = _best_of_any_size(table, length, tie, best, clock.stop)
    clock.check()
    return Constituents(score, starts, ends)


@kernel
def _best_of_any_size(
    gains: FloatArray, length: int, tie: float, best: FloatArray, stop: IntArray
) -> tuple[float, IntArray, IntArray]:
    below = np.zeros(length)
    score, size = 0.0, 0
    for count in range(1, length):
        if stop[0]:
            break
        _fill(gains[count - 1], length, count, best, below)
        reached = best[0, length, count]
        if not size or reached > score + tie * abs(score):
            score, size = reached, count
    starts, ends = np.zeros(size, np.int32), np.zeros(size, np.int32)
    if size:
        _fill(gains[size - 1], length, size, best, below)
        _read_off(gains[size - 1], length, size, tie, best, starts, ends)
    return score, starts, ends


@kernel
def _fill(gains: FloatArray, length: int, most: int, best: FloatArray, below: FloatArray) -> None:
    """Fill ``best`` for up to ``most`` constituents; one of the whole sentence's is the root."""
    for start in range(length - 1, -1, -1):
        row = start * length - start * (start - 1) // 2 - start - 1
        for end in range(start + 2, length + 1):
            width = end - start
            below[:width] = -np.inf
            for split in range(start + 1, end):
                for left in range(min(split - start - 1, most) + 1):
                    value = best[start, split, left]
                    for right in range(min(end - split - 1, most - left) + 1):
                        total = value + best[split, end, right]
                        below[left + right] = max(below[left + right], total)
            own = gains[row + end]
            best[start, end, 0] = below[0]
            for count in range(1, min(width - 1, most) + 1):
                reached = own + below[count - 1]
                best[start, end, count] = reached if width == length else max(reached, below[count])


@kernel
def _read_off(
    gains: FloatArray,
    length: int,
    size: int,
    tie: float,
    best: FloatArray,
    starts: IntArray,
    ends: IntArray,
) -> None:
    """The constituents of the best tree, in preorder."""
    stack = np.zeros((length + 1, 3), np.int32)
    stack[0, 1], stack[0, 2] = length, size
    height, found = 1, 0
    while height:
        height -= 1
        start, end, count = stack[height]
        if not count:
            continue
        row = start * length - start * (start - 1) // 2 - start - 1
        split, left, reached = _best_way(best, start, end, count - 1, tie)
        kept = True
        # As many as fit are there with the span itself alone.
        if end - start < length and count < end - start - 1:
            other_split, other_left, passed = _best_way(best, start, end, count, tie)
            kept = reached + gains[row + end] > passed + tie * abs(passed)
            if not kept:
                split, left = other_split, other_left
        if kept:
            starts[found], ends[found] = start, end
            found += 1
            count -= 1
        stack[height, 0], stack[height, 1], stack[height, 2] = split, end, count - left
        stack[height + 1, 0], stack[height + 1, 1], stack[height + 1, 2] = start, split, left
        height += 2


@kernel
def _best_way(best: FloatArray, start: int, end: int, count: int, tie: float) -> tuple[int, int, float]:
    """Where ``count`` constituents stand best on two parts of a span: split, count on the left, sum."""
    best_split, best_left, most = 0, 0, -np.inf
    for split in range(start + 1, end):
        for left in range(max(0, count - (end - split - 1)), min(split - start - 1, count) + 1):
            total = best[start, split, left] + best[split, end, count - left]
            if not best_split or total > most + tie * abs(most):
                best_split, best_left, most = split, left, total
    return best_split, best_left, most
