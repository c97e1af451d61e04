"""The table of a search's items: which of them, if any, is a symbol over a span."""

from __future__ import annotations

import numpy as np

from mbrparse.decode.best_first.viterbi.item_state import (
    END,
    GOAL,
    ITEMS,
    NEXT_START,
    NONE,
    NOT_IN_CHART,
    START,
    SYMBOL,
    ItemSearch,
    LongArray,
)
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import IntArray


@kernel
def key_of(start: int, end: int, symbol: int, symbols: int) -> int:
    """An item as one number."""
    return int((np.int64(end) * (end - 1) // 2 + start) * symbols + symbol)


@kernel
def slot_of(slots: IntArray, keys: LongArray, key: int) -> int:
    """Where a key stands in the table, or the free slot for it; the table's size is a power of two."""
    mask = len(slots) - 1
    slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & mask
    while slots[slot] != 0 and keys[slots[slot] - 1] != key:
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def new_item(search: ItemSearch, slot: int, key: int) -> int:
    """Enter an item of this key into its free slot; there must be room for it."""
    item = search.counts[ITEMS]
    search.counts[ITEMS] += 1
    search.slots[slot] = item + 1
    search.keys[item] = key
    search.items[item, NEXT_START] = NOT_IN_CHART
    search.place[item] = NONE
    return item  # type: ignore[no-any-return]


@kernel
def clear_items(search: ItemSearch) -> None:
    """Forget all items: as many steps as there are, however large the arrays."""
    items, counts = search.items, search.counts
    # From the last one on, so that no slot is free on the way to an item that is still there.
    for item in range(counts[ITEMS] - 1, -1, -1):
        search.slots[slot_of(search.slots, search.keys, search.keys[item])] = 0
        search.by_start[items[item, START], items[item, SYMBOL]] = NONE
        search.by_end[items[item, END], items[item, SYMBOL]] = NONE
    counts[:] = 0
    counts[GOAL] = NONE
    search.goal[0] = -np.inf


@kernel
def index_items(search: ItemSearch) -> None:
    """Fill a new, empty table of items."""
    for item in range(search.counts[ITEMS]):
        search.slots[slot_of(search.slots, search.keys, search.keys[item])] = item + 1
