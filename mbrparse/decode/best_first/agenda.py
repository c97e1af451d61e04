"""The agenda: a binary heap in arrays, the best constituent on top.

The heap holds constituent ids; the column PLACE of ``items`` says where each stands (-1: not there), so
that one whose merit has changed is moved and never listed twice. Of equal merits the constituent that was
proposed first (the smaller id) is taken first: with the search itself sequential, the popping order is
always the same.
"""

from __future__ import annotations

from mbrparse.decode.best_first.state import MERIT, PLACE
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray, IntArray


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
