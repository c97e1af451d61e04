"""Inside and outside for grammars of which a cell holds few symbols.

The chart is a list of items (start, symbol), column by column (a column is
all items with the same end).  A column is filled from its last start to its
first.  When the cell (split, end) is complete, each of its items looks, as a
right child, for partners among the items that end at ``split``: these are
bucketed by symbol, so that every step of the innermost loop is a product that
is not zero.

A complete cell is closed under unary rules before anything is made of it: its
inside values b become U* b, on the way back its outside values t become t U*
(see ``closure``), so that inside * outside counts how often a symbol is
expected over the span, any number of times in one chain.

Values are kept relative to 2 ** exponent of their cell, so that no sentence
is too long; factors between cells are powers of two and cost no digit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mbrparse.grammar.charts.closure import UnaryTables
from mbrparse.grammar.charts.rule_tables import Floats, Ints, SparseTables
from mbrparse.grammar.kernel import kernel

MAX_SHIFT = 1000  # powers of two beyond this are treated as zero or infinite


class Words(NamedTuple):
    """One sentence: the lexical entries of each token, and powers of two."""

    entry_start: Ints
    entry_symbol: Ints
    entry_prob: Floats
    powers: Floats  # 2 ** (i - MAX_SHIFT)


class Items(NamedTuple):
    """The chart: arrays by item, and pointers into them.

    It is also the work space of the kernels; sentence after sentence is
    parsed in the same arrays (new memory would cost more than the parsing).
    """

    start: Ints
    symbol: Ints
    inside: Floats
    outside: Floats  # divided by the sentence's probability
    column_start: Ints  # items that end at e: column_start[e] .. column_start[e + 1]
    cell_first: Ints  # [start, end]: the cell's newest item, or -1
    cell_next: Ints  # by item: the cell's next one, or -1
    exponent: Ints  # [start, end]


class Buckets(NamedTuple):
    """The items that end at e, as left children: members first[e, b] .. first[e, b + 1].

    ``slots`` [symbol, start] is the item of the column at work, or -1; all -1
    between calls.  ``mass`` [symbol] is scratch for one cell.
    """

    first: Ints
    item: Ints
    start: Ints
    value: Floats
    factor: Floats
    slots: Ints
    mass: Floats


@kernel
def sparse_inside(
    tables: SparseTables, unary: UnaryTables, words: Words, items: Items, buckets: Buckets
) -> bool:
    """Fill ``items`` with all items of a sentence; false when they do not fit."""
    n = len(words.entry_start) - 1
    capacity = len(items.inside)
    item_start, item_symbol, inside = items.start, items.symbol, items.inside
    cell_first, cell_next, column_start = items.cell_first, items.cell_next, items.column_start
    slots, factor = buckets.slots, buckets.factor
    cell_first[: n + 1, : n + 1] = -1
    items.exponent[: n + 1, : n + 1] = 0
    count = 0
    for end in range(1, n + 1):
        column_start[end] = count
        for entry in range(words.entry_start[end - 1], words.entry_start[end]):
            if count == capacity:
                slots[:] = -1
                return False
            enter_item(items, slots, (end - 1, end), words.entry_symbol[entry], count)
            inside[count] = words.entry_prob[entry]
            count += 1
        for split in range(end - 1, 0, -1):
            if cell_first[split, end] < 0:
                continue
            if unary.present:
                normalize(words, items, split, end)  # sums over chains may be large: first make room
                count = _close_inside(unary, items, buckets, split, end, count)
                if count < 0:
                    return False
            normalize(words, items, split, end)
            set_factors(words, items, factor, split, end)
            right_item = cell_first[split, end]
            while right_item >= 0:
                symbol = item_symbol[right_item]
                for pair in range(tables.pair_start[symbol], tables.pair_start[symbol + 1]):
                    left = tables.pair_left[pair]
                    first = buckets.first[split, left]
                    last = buckets.first[split, left + 1]
                    if first == last:
                        continue
                    for rule in range(tables.rule_start[pair], tables.rule_start[pair + 1]):
                        parent = tables.rule_parent[rule]
                        weight = tables.rule_prob[rule] * inside[right_item]
                        for member in range(first, last):
                            start = buckets.start[member]
                            item = slots[parent, start]
                            if item < 0:
                                if count == capacity:
                                    slots[:] = -1
                                    return False
                                item = count
                                count += 1
                                slots[parent, start] = item
                                item_start[item] = start
                                inside[item] = 0
                                item_symbol[item] = parent
                                cell_next[item] = cell_first[start, end]
                                cell_first[start, end] = item
                            inside[item] += weight * buckets.value[member] * factor[start]
                right_item = cell_next[right_item]
        if unary.present:
            normalize(words, items, 0, end)
            count = _close_inside(unary, items, buckets, 0, end, count)
            if count < 0:
                return False
        normalize(words, items, 0, end)
        column_start[end + 1] = count
        for item in range(column_start[end], count):
            slots[item_symbol[item], item_start[item]] = -1
        fill_buckets(tables, items, buckets, end)
    return True


@kernel
def _close_inside(
    unary: UnaryTables, items: Items, buckets: Buckets, start: int, end: int, count: int
) -> int:
    """Close a complete cell under unary rules; return the new number of items, -1 if they do not fit."""
    inside, slots, mass = items.inside, buckets.slots, buckets.mass
    newest = items.cell_first[start, end]  # new items come before it
    item = newest
    while item >= 0:
        mass[items.symbol[item]] = inside[item]
        inside[item] = 0
        item = items.cell_next[item]
    item = newest
    while item >= 0:
        symbol = items.symbol[item]
        for entry in range(unary.start[symbol], unary.start[symbol + 1]):
            top = slots[unary.top[entry], start]
            if top < 0:
                if count == len(inside):
                    slots[:] = -1
                    return -1
                top = count
                enter_item(items, slots, (start, end), unary.top[entry], count)
                inside[top] = 0
                count += 1
            inside[top] += unary.total[entry] * mass[symbol]
        item = items.cell_next[item]
    return count


@kernel
def enter_item(items: Items, slots: Ints, span: tuple[int, int], symbol: int, item: int) -> None:
    """Enter a new item into its cell."""
    start, end = span
    items.start[item] = start
    items.symbol[item] = symbol
    items.cell_next[item] = items.cell_first[start, end]
    items.cell_first[start, end] = item
    slots[symbol, start] = item


@kernel
def fill_buckets(tables: SparseTables, items: Items, buckets: Buckets, end: int) -> None:
    """Sort the column's items by symbol, left children only."""
    begin = items.column_start[end]
    place = np.zeros(tables.n_left + 1, np.int32)
    for item in range(begin, items.column_start[end + 1]):
        left = tables.left_index[items.symbol[item]]
        if left >= 0:
            place[left + 1] += 1
    place[0] = begin
    for left in range(tables.n_left):
        place[left + 1] += place[left]
    buckets.first[end] = place
    for item in range(begin, items.column_start[end + 1]):
        left = tables.left_index[items.symbol[item]]
        if left >= 0:
            member = place[left]
            place[left] += 1
            buckets.item[member] = item
            buckets.start[member] = items.start[item]
            buckets.value[member] = items.inside[item]


@kernel
def normalize(words: Words, items: Items, start: int, end: int) -> None:
    """Bring the largest value of a complete cell near one."""
    largest = items.inside[0] * 0
    item = items.cell_first[start, end]
    while item >= 0:
        largest = max(largest, items.inside[item])
        item = items.cell_next[item]
    if largest > 0:
        shift = int(np.floor(np.log2(largest)))
        _scale_cell(words, items, start, end, shift)


@kernel
def _scale_cell(words: Words, items: Items, start: int, end: int, shift: int) -> None:
    """Divide a cell's values by 2 ** shift and note it in its exponent."""
    factor = words.powers[MAX_SHIFT - min(max(shift, -MAX_SHIFT), MAX_SHIFT)]
    item = items.cell_first[start, end]
    while item >= 0:
        items.inside[item] *= factor
        item = items.cell_next[item]
    items.exponent[start, end] += shift


@kernel
def set_factors(words: Words, items: Items, factor: Floats, split: int, end: int) -> None:
    """Powers of two that bring products at this split to the scale of the cells they go to.

    A cell takes its scale from the first split that reaches it, and a larger
    one when a later split would overflow it.
    """
    for start in range(split):
        if items.cell_first[start, split] < 0:
            continue
        product = items.exponent[start, split] + items.exponent[split, end]
        if items.cell_first[start, end] < 0:
            items.exponent[start, end] = product
        elif product - items.exponent[start, end] > 100:
            _scale_cell(words, items, start, end, product - items.exponent[start, end])
        shift = product - items.exponent[start, end]
        factor[start] = words.powers[MAX_SHIFT + max(shift, -MAX_SHIFT)]


@kernel
def sparse_outside(
    tables: SparseTables, unary: UnaryTables, words: Words, items: Items, buckets: Buckets
) -> float:
    """Fill in ``items.outside``; return the log of the sentence's probability.

    inside * outside of an item is its posterior, with unary rules how often it is expected.
    """
    n = len(words.entry_start) - 1
    outside, slots, factor = items.outside, buckets.slots, buckets.factor
    outside[: items.column_start[n + 1]] = 0
    total = 0.0
    item = items.cell_first[0, n]
    while item >= 0:
        total += tables.root[items.symbol[item]] * items.inside[item]
        item = items.cell_next[item]
    if total <= 0.0:
        return -np.inf
    item = items.cell_first[0, n]
    while item >= 0:
        outside[item] = tables.root[items.symbol[item]] / total
        item = items.cell_next[item]
    for end in range(n, 1, -1):
        for item in range(items.column_start[end], items.column_start[end + 1]):
            slots[items.symbol[item], items.start[item]] = item
        if unary.present:
            _close_outside(unary, items, buckets, 0, end)
        for split in range(1, end):
            if _set_live_factors(words, items, outside, factor, split, end):
                right_item = items.cell_first[split, end]
                while right_item >= 0:
                    outside[right_item] += _pass_down(tables, items, buckets, right_item, split)
                    right_item = items.cell_next[right_item]
            if unary.present:
                _close_outside(unary, items, buckets, split, end)
        for item in range(items.column_start[end], items.column_start[end + 1]):
            slots[items.symbol[item], items.start[item]] = -1
    if unary.present:
        _close_outside(unary, items, buckets, 0, 1)
    log_prob: float = np.log(total) + items.exponent[0, n] * np.log(2.0)
    return log_prob


@kernel
def _close_outside(unary: UnaryTables, items: Items, buckets: Buckets, start: int, end: int) -> None:
    """Close a cell whose items have all that wider cells give them."""
    outside, mass = items.outside, buckets.mass
    item = items.cell_first[start, end]
    while item >= 0:
        mass[items.symbol[item]] = outside[item]
        item = items.cell_next[item]
    item = items.cell_first[start, end]
    while item >= 0:
        symbol = items.symbol[item]
        received = outside[item] * 0
        for entry in range(unary.start[symbol], unary.start[symbol + 1]):
            received += mass[unary.top[entry]] * unary.total[entry]  # the cell holds all these tops
        outside[item] = received
        item = items.cell_next[item]


@kernel
def _set_live_factors(
    words: Words, items: Items, outside: Floats, factor: Floats, split: int, end: int
) -> bool:
    """Factors as in ``set_factors``, zero where no parent can pass anything on."""
    any_live = False
    for start in range(split):
        factor[start] = 0
        if items.cell_first[start, split] < 0:
            continue
        item = items.cell_first[start, end]
        while item >= 0 and outside[item] == 0:
            item = items.cell_next[item]
        if item >= 0:
            shift = items.exponent[start, split] + items.exponent[split, end] - items.exponent[start, end]
            factor[start] = words.powers[MAX_SHIFT + min(max(shift, -MAX_SHIFT), MAX_SHIFT)]
            any_live = True
    return any_live


@kernel
def _pass_down(tables: SparseTables, items: Items, buckets: Buckets, right_item: int, split: int) -> Any:
    """Pass to all left partners of an item what their parents have; return the item's own share."""
    outside, slots, factor = items.outside, buckets.slots, buckets.factor
    received = outside[right_item] * 0
    symbol = items.symbol[right_item]
    value = items.inside[right_item]
    for pair in range(tables.pair_start[symbol], tables.pair_start[symbol + 1]):
        left = tables.pair_left[pair]
        first = buckets.first[split, left]
        last = buckets.first[split, left + 1]
        for member in range(first, last):
            start = buckets.start[member]
            if factor[start] == 0:
                continue
            weight = received * 0
            for rule in range(tables.rule_start[pair], tables.rule_start[pair + 1]):
                weight += tables.rule_prob[rule] * outside[slots[tables.rule_parent[rule], start]]
            if weight > 0:
                weight *= factor[start]
                received += weight * buckets.value[member]
                outside[buckets.item[member]] += weight * value
    return received
