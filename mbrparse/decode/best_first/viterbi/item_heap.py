"""An agenda of items: a heap in arrays whose entries carry their merits, the best one on top.

Four entries hang under each, so that the heap is half as deep as a binary one and those that are compared lie
side by side. ``place`` [items] says where each item stands (-1: not there), so that one whose merit grows is
moved and never listed twice. Of equal merits the item that was proposed first (the smaller id) is on top.
"""

from __future__ import annotations

from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray, IntArray


@kernel
def lift(heap: IntArray, merits: FloatArray, place: IntArray, spot: int, item: int, merit: float) -> None:
    """Put an item of this merit at ``spot``, or above it where it belongs."""
    while spot > 0:
        above = (spot - 1) >> 2
        if merits[above] > merit or (merits[above] == merit and heap[above] < item):
            break
        heap[spot], merits[spot] = heap[above], merits[above]
        place[heap[spot]] = spot
        spot = above
    heap[spot], merits[spot] = item, merit
    place[item] = spot


@kernel
def take_top(heap: IntArray, merits: FloatArray, place: IntArray, size: int) -> int:
    """Take the best item off a heap of ``size`` entries."""
    top = heap[0]
    place[top] = -1
    size -= 1
    if size == 0:
        return top  # type: ignore[no-any-return]
    item, merit = heap[size], merits[size]
    spot = 0
    while True:
        first = 4 * spot + 1
        if first >= size:
            break
        below = first
        for other in range(first + 1, min(first + 4, size)):
            if merits[other] > merits[below] or (
                merits[other] == merits[below] and heap[other] < heap[below]
            ):
                below = other
        if merit > merits[below] or (merit == merits[below] and item < heap[below]):
            break
        heap[spot], merits[spot] = heap[below], merits[below]
        place[heap[spot]] = spot
        spot = below
    heap[spot], merits[spot] = item, merit
    place[item] = spot
    return top  # type: ignore[no-any-return]
