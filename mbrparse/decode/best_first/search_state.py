"""The state of a best-first search: its arrays, the agenda, and the table of constituents.

All logs are natural; inside probabilities are kept as logs, so that no length underflows. Chains are
linked lists in arrays: a head per position (or constituent), a ``next`` per entry, -1 at the end. What
belongs to one constituent, or to one edge, stands in one row.

The agenda is a binary heap of constituent ids with the best constituent on top. The column PLACE of
``items`` holds each constituent's position in the heap (-1: not there), so that one whose merit has changed
is moved and never listed twice. Of equal merits the constituent that was proposed first (the smaller id) is
taken first: the popping order is always the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.kernel import kernel

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray, IntArray


LongArray = npt.NDArray[np.int64]
NONE = -1
NOT_WAITING = -2

# Columns of Search.items (int32), one row a constituent: its span and symbol; its position in the
# agenda (-1: in the chart); chains of the chart's constituents by start and by end; of the edges that it is
# the left, the right child of; of those whose increment is to be passed on; of all constituents by start.
START, END, SYMBOL, PLACE, NEXT_START, NEXT_END, LEFT_EDGES, RIGHT_EDGES, NEXT_WAITING, NEXT_PROPOSED = range(
    10
)
# Columns of Search.logs (float64): the inside estimate; as much of it as was passed to the edges above (-inf:
# not in the chart); the increment since; the figure of merit.
INSIDE, PASSED, PENDING, MERIT = range(4)
# Columns of Search.edges (int32): an id of Rules, the constituents, chains by left and by right child.
RULE, PARENT, LEFT, RIGHT, NEXT_LEFT, NEXT_RIGHT = range(6)
# Rows of Search.heads (int32): heads of the chains by start, by end, by width, and by start of all.
BY_START, BY_END, WAITING, PROPOSED_AT = range(4)
# Entries of Search.counts.
CONSTITUENTS, EDGES, AGENDA, POPPED, PARSES, NEXT_DRAIN = range(6)
# Layers of Search.prefix: log alpha_L, as much of it as was passed on, the increment since.
TOTAL, PREFIX_PASSED, PREFIX_PENDING = range(3)


class Rules(NamedTuple):
    """Binary rules in sparse rows, ids in the order of (left, right, parent).

    first_of_left    int32 [symbols + 1]: rules with left child B are first_of_left[B]:first_of_left[B + 1]
    right, parent    int32 [rules]; log_prob float64 [rules]
    first_of_right   int32 [symbols + 1], into by_right and left_of, in the order of (right, left, parent)
    by_right         int32 [rules]: rule ids
    left_of          int32 [rules]: their left children
    root             float64 [symbols]: log probability of being the root
    """

    first_of_left: IntArray
    right: IntArray
    parent: IntArray
    log_prob: FloatArray
    first_of_right: IntArray
    by_right: IntArray
    left_of: IntArray
    root: FloatArray


class Search(NamedTuple):
    """All that changes while a sentence of n terminals is searched.

    items, logs, edges   as above, rows in the order in which constituents were proposed, edges made
    heap                 int32 [capacity of constituents]
    heads                int32 [4, n + 1]
    keys, values         int64, int32: open-addressing table of constituents, keys -1 where free
    counts               int64 [6]: constituents, edges, agenda, popped, roots popped, and the number of
                         edges at which withheld increments are passed on to judge the mass
    log_mass             float64 [1]: log of the sentence probability that has been found
    prefix               float64 [3, n, symbols], or [3, 0, 0] where alpha_L is not needed
    prefix_dirty         int8 [n] or [0]: whether there are increments of alpha_L
    """

    items: IntArray
    logs: FloatArray
    edges: IntArray
    heap: IntArray
    heads: IntArray
    keys: LongArray
    values: IntArray
    counts: LongArray
    log_mass: FloatArray
    prefix: FloatArray
    prefix_dirty: npt.NDArray[np.int8]


class Control(NamedTuple):
    """How to search and when to stop.

    factors         of the figure of merit (merit_kernels)
    log_threshold   log of the share that an increment must exceed to be passed on
    max_edges       stop before there are more
    first_parse     stop when a root over the whole sentence is popped
    log_mass        stop when the sentence probability found reaches this (inf: never)
    """

    factors: int
    log_threshold: float
    max_edges: int
    first_parse: bool
    log_mass: float


@kernel
def log_add(one: float, two: float) -> float:
    """log(exp(one) + exp(two)), natural logs; -inf is zero."""
    if one < two:
        one, two = two, one
    if two == -np.inf:
        return one
    return one + np.log1p(np.exp(two - one))  # type: ignore[no-any-return]


@kernel
def rise(heap: IntArray, items: IntArray, logs: FloatArray, spot: int) -> int:
    """Move the entry at ``spot`` up to where it belongs; returns its new spot."""
    item = heap[spot]
    while spot > 0:
        above = (spot - 1) >> 1
        other = heap[above]
        if logs[other, MERIT] > logs[item, MERIT] or (
            logs[other, MERIT] == logs[item, MERIT] and other < item
        ):
            break
        heap[spot] = other
        items[other, PLACE] = spot
        spot = above
    heap[spot] = item
    items[item, PLACE] = spot
    return spot


@kernel
def sink(heap: IntArray, items: IntArray, logs: FloatArray, spot: int, size: int) -> None:
    """Move the entry at ``spot`` down to where it belongs in a heap of ``size`` entries."""
    item = heap[spot]
    while True:
        below = 2 * spot + 1
        if below >= size:
            break
        if below + 1 < size:
            one, two = heap[below], heap[below + 1]
            if logs[two, MERIT] > logs[one, MERIT] or (logs[two, MERIT] == logs[one, MERIT] and two < one):
                below += 1
        other = heap[below]
        if logs[item, MERIT] > logs[other, MERIT] or (
            logs[item, MERIT] == logs[other, MERIT] and item < other
        ):
            break
        heap[spot] = other
        items[other, PLACE] = spot
        spot = below
    heap[spot] = item
    items[item, PLACE] = spot


@kernel
def remove_top(heap: IntArray, items: IntArray, logs: FloatArray, size: int) -> int:
    """Take the best entry off a heap of ``size`` entries; returns the constituent."""
    best = heap[0]
    items[best, PLACE] = -1
    if size > 1:
        heap[0] = heap[size - 1]
        sink(heap, items, logs, 0, size - 1)
    return best  # type: ignore[no-any-return]


@kernel
def settle(heap: IntArray, items: IntArray, logs: FloatArray, item: int, size: int) -> None:
    """Put a constituent whose merit has changed where it belongs."""
    spot = rise(heap, items, logs, items[item, PLACE])
    sink(heap, items, logs, spot, size)


@kernel
def propose(search: Search, start: int, end: int, symbol: int, symbols: int) -> int:
    """The constituent, which is put on the agenda if it is new; there must be room for it."""
    key = (np.int64(start) * search.heads.shape[1] + end) * symbols + symbol
    slot = find_slot(search.keys, key)
    if search.keys[slot] == key:
        return search.values[slot]  # type: ignore[no-any-return]
    item = search.counts[CONSTITUENTS]
    search.counts[CONSTITUENTS] += 1
    search.keys[slot] = key
    search.values[slot] = item
    search.items[item, START], search.items[item, END] = start, end
    search.items[item, SYMBOL] = symbol
    search.items[item, NEXT_PROPOSED] = search.heads[PROPOSED_AT, start]
    search.heads[PROPOSED_AT, start] = item
    spot = search.counts[AGENDA]
    search.counts[AGENDA] += 1
    search.heap[spot] = item
    search.items[item, PLACE] = spot
    # Of merit -inf for now: its first edge is added next, and gives it its place.
    rise(search.heap, search.items, search.logs, spot)
    return item  # type: ignore[no-any-return]


@kernel
def find_slot(keys: LongArray, key: int) -> int:
    """The slot of a key in the table, or the free slot for it; the table's size is a power of two."""
    mask = len(keys) - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(mixed >> np.uint64(20)) & mask
    while keys[slot] != NONE and keys[slot] != key:
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def index_all(search: Search, symbols: int) -> None:
    """Fill a new, empty table of constituents."""
    for item in range(search.counts[CONSTITUENTS]):
        start, end = search.items[item, START], search.items[item, END]
        key = (np.int64(start) * search.heads.shape[1] + end) * symbols + search.items[item, SYMBOL]
        slot = find_slot(search.keys, key)
        search.keys[slot] = key
        search.values[slot] = item
