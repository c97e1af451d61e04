"""What a search of items holds: arrays that its kernel fills, used again for sentence after sentence.

An item is a symbol over a span, with the best derivation of it that is known and nothing else of how it can
be derived. Chains are linked lists in arrays: a head per position and symbol, a ``next`` per item, -1 at the
end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.pcfg import FloatArray, IntArray

LongArray = npt.NDArray[np.int64]
NONE = -1
NOT_IN_CHART = -2

# Columns of ItemSearch.items (int32): span and symbol; the items that its best derivation is made of (-1 over
# a terminal); chains of those in the chart by (start, symbol) and by (end, symbol) (-2: never yet in the
# chart); where it stands on the agenda (-1: it does not).
START, END, SYMBOL, LEFT, RIGHT, NEXT_START, NEXT_END = range(7)
# Columns of ItemSearch.edges (int32): the parent's symbol and the items below.
PARENT, LEFT_CHILD, RIGHT_CHILD = range(3)
# Entries of ItemSearch.counts.
ITEMS, QUEUED, EDGES, POPPED, PUSHED, REOPENED, GOAL, LISTED = range(8)


class ItemSearch(NamedTuple):
    """All that changes while a sentence of n terminals is searched.

    items            int32 [capacity, 7], in the order in which they were proposed
    log_inside       float64 [capacity]: of the best derivation known
    slope, offset    float64 [capacity]: the merit is slope * log_inside + offset
    heap, merits     int32, float64 [capacity]: the agenda (item_heap); place int32 [capacity]
    keys             int64 [capacity]: (start, end, symbol) as one number
    slots            int32 [a power of two]: open-addressing table of items, 0 where free, else the item + 1
    by_start, by_end int32 [n + 1, symbols]: heads of the chains
    edges            int32 [room, 3], edge_log_prob float64 [room]: what a popped item makes
    bettered         int32 [room]: the items that were there and have a better derivation by them
    counts           int64 [8]: items, those on the agenda, edges, items popped and pushed, pushed once more
                     after they were popped, the best root over the sentence (-1: none yet), and of the edges
                     or items of the list at hand
    goal             float64 [1]: the log probability of the best parse so far
    """

    items: IntArray
    log_inside: FloatArray
    slope: FloatArray
    offset: FloatArray
    heap: IntArray
    merits: FloatArray
    place: IntArray
    keys: LongArray
    slots: IntArray
    by_start: IntArray
    by_end: IntArray
    edges: IntArray
    edge_log_prob: FloatArray
    bettered: IntArray
    counts: LongArray
    goal: FloatArray


def empty_item_search(length: int, symbols: int, capacity: int, edges: int) -> ItemSearch:
    """Room for so many terminals, items (``capacity``, a power of two) and edges of one item."""
    return ItemSearch(
        np.empty((capacity, 7), np.int32),
        np.empty(capacity),
        np.empty(capacity),
        np.empty(capacity),
        np.empty(capacity, np.int32),
        np.empty(capacity),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int64),
        np.zeros(4 * capacity, np.int32),
        np.full((length + 1, symbols), NONE, np.int32),
        np.full((length + 1, symbols), NONE, np.int32),
        np.empty((edges, 3), np.int32),
        np.empty(edges),
        np.empty(edges, np.int32),
        np.zeros(8, np.int64),
        np.full(1, -np.inf),
    )


def with_more_items(search: ItemSearch) -> ItemSearch:
    """The same search with twice the room for items; their table is empty and to be filled."""
    old = len(search.items)
    more = empty_item_search(0, 0, 2 * old, 1)
    columns = ("items", "log_inside", "slope", "offset", "heap", "merits", "place", "keys")
    for name in columns:
        getattr(more, name)[:old] = getattr(search, name)
    return search._replace(slots=more.slots, **{name: getattr(more, name) for name in columns})


def with_more_edges_a_pop(search: ItemSearch) -> ItemSearch:
    """The same search with twice the room for what one item makes; nothing stands there between two pops."""
    more = empty_item_search(0, 0, 1, 2 * len(search.edges))
    return search._replace(edges=more.edges, edge_log_prob=more.edge_log_prob, bettered=more.bettered)
