"""The most probable derivation by the sparse kernels: maxima for sums.

Ties as in ``dense_viterbi``; among chains of unary rules over a span the one with the fewest nodes
comes first, then the one over the earliest split, then the first in order of symbols.
"""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.closure import UnaryTables
from mbrparse.grammar.charts.dense_viterbi import Nodes
from mbrparse.grammar.charts.rule_tables import Ints, SparseTables
from mbrparse.grammar.charts.sparse import (
    Buckets,
    Items,
    Words,
    enter_item,
    fill_buckets,
    normalize,
    set_factors,
)
from mbrparse.grammar.kernel import kernel


@kernel
def sparse_viterbi(
    tables: SparseTables,
    unary: UnaryTables,
    words: Words,
    items: Items,
    buckets: Buckets,
    back: Ints,
    tolerance: float,
) -> bool:
    """As ``sparse_inside``, with maxima.

    ``back`` [item, 2] tells the items of the two children that are best without a unary rule. With unary
    rules it is [item, 4]: then come the item at the bottom of the best chain, and the chain.
    """
    n = len(words.entry_start) - 1
    capacity = len(items.inside)
    item_start, item_symbol, best = items.start, items.symbol, items.inside
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
            best[count] = words.entry_prob[entry]
            count += 1
        for split in range(end - 1, 0, -1):
            if cell_first[split, end] < 0:
                continue
            if unary.present:
                count = _close_best(unary, items, buckets, back, (split, end), count, tolerance)
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
                        weight = tables.rule_prob[rule] * best[right_item]
                        for member in range(first, last):
                            start = buckets.start[member]
                            value = weight * buckets.value[member] * factor[start]
                            item = slots[parent, start]
                            if item < 0:
                                if count == capacity:
                                    slots[:] = -1
                                    return False
                                item = count
                                count += 1
                                slots[parent, start] = item
                                item_start[item] = start
                                item_symbol[item] = parent
                                cell_next[item] = cell_first[start, end]
                                cell_first[start, end] = item
                                best[item] = value
                            elif value < best[item] * (1 - tolerance):
                                continue
                            elif value <= best[item] * (1 + tolerance):
                                # A tie: splits come in descending order, symbols in none.
                                best[item] = max(best[item], value)
                                old_right = back[item, 1]
                                if item_start[old_right] == split and (
                                    item_symbol[back[item, 0]],
                                    item_symbol[old_right],
                                ) < (item_symbol[buckets.item[member]], symbol):
                                    continue
                            else:
                                best[item] = value
                            back[item, 0] = buckets.item[member]
                            back[item, 1] = right_item
                right_item = cell_next[right_item]
        if unary.present:
            count = _close_best(unary, items, buckets, back, (0, end), count, tolerance)
            if count < 0:
                return False
        normalize(words, items, 0, end)
        column_start[end + 1] = count
        for item in range(column_start[end], count):
            slots[item_symbol[item], item_start[item]] = -1
        fill_buckets(tables, items, buckets, end)
    return True


@kernel
def _close_best(
    unary: UnaryTables,
    items: Items,
    buckets: Buckets,
    back: Ints,
    span: tuple[int, int],
    count: int,
    tolerance: float,
) -> int:
    """Put the best chains of unary rules on a complete cell; return as ``_close_inside`` does."""
    start, end = span
    best, slots, mass = items.inside, buckets.slots, buckets.mass
    newest = items.cell_first[start, end]  # new items come before it
    item = newest
    while item >= 0:
        mass[items.symbol[item]] = best[item]
        back[item, 2] = -1
        item = items.cell_next[item]
    item = newest
    while item >= 0:
        symbol = items.symbol[item]
        for entry in range(unary.start[symbol], unary.start[symbol + 1]):
            top = slots[unary.top[entry], start]
            if top < 0:
                if count == len(best):
                    slots[:] = -1
                    return -1
                top = count
                enter_item(items, slots, (start, end), unary.top[entry], count)
                best[top] = 0
                back[top, 2] = -1
                count += 1
            best[top] = max(best[top], unary.best[entry] * mass[symbol])
        item = items.cell_next[item]
    item = newest
    while item >= 0:
        symbol = items.symbol[item]
        for entry in range(unary.start[symbol], unary.start[symbol + 1]):
            top = slots[unary.top[entry], start]
            if unary.best[entry] * mass[symbol] >= best[top] * (1 - tolerance):
                old = back[top, 2]
                if old >= 0:
                    mine = (unary.length[entry], _split(items, back, item, end), symbol)
                    other = (unary.length[back[top, 3]], _split(items, back, old, end), items.symbol[old])
                    if other < mine:
                        continue
                back[top, 2] = item
                back[top, 3] = entry
        item = items.cell_next[item]
    return count


@kernel
def _split(items: Items, back: Ints, item: int, end: int) -> int:
    """Where an item's best children meet; 0 over a single terminal."""
    start = items.start[item]
    return items.start[back[item, 1]] - start if end - start > 1 else 0


@kernel
def sparse_derivation(
    tables: SparseTables, unary: UnaryTables, words: Words, items: Items, back: Ints, tolerance: float
) -> tuple[Nodes, float]:
    """Read the best derivation off the items, and its log probability.

    Of several nodes over one span the upper ones come first.
    """
    n = len(words.entry_start) - 1
    nodes = Nodes(np.empty(2 * n - 1, np.int32), np.empty(2 * n - 1, np.int32), np.empty(2 * n - 1, np.int32))
    top = 0.0
    item = items.cell_first[0, n]
    while item >= 0:
        top = max(top, tables.root[items.symbol[item]] * items.inside[item])
        item = items.cell_next[item]
    if top <= 0:
        return Nodes(nodes.start[:0], nodes.end[:0], nodes.symbol[:0]), -np.inf
    root = -1
    item = items.cell_first[0, n]
    while item >= 0:
        if tables.root[items.symbol[item]] * items.inside[item] >= top * (1 - tolerance):
            if root < 0 or items.symbol[item] < items.symbol[root]:
                root = item
        item = items.cell_next[item]
    stack = np.empty((n + 1, 2), np.int32)  # item and end
    stack[0, 0], stack[0, 1] = root, n
    depth, count = 1, 0
    while depth > 0:
        depth -= 1
        item, end = stack[depth, 0], stack[depth, 1]
        if unary.present:
            entry = back[item, 3]
            item = back[item, 2]
            while unary.length[entry] > 0:
                nodes = _room(nodes, count, n)
                nodes.start[count] = items.start[item]
                nodes.end[count] = end
                nodes.symbol[count] = unary.top[entry]
                count += 1
                entry = unary.below[entry]
            nodes = _room(nodes, count, n)
        nodes.start[count] = items.start[item]
        nodes.end[count] = end
        nodes.symbol[count] = items.symbol[item]
        count += 1
        if end - items.start[item] > 1:
            right = back[item, 1]
            stack[depth, 0], stack[depth, 1] = right, end
            stack[depth + 1, 0], stack[depth + 1, 1] = back[item, 0], items.start[right]
            depth += 2
    nodes = Nodes(nodes.start[:count], nodes.end[:count], nodes.symbol[:count])
    return nodes, np.log(top) + items.exponent[0, n] * np.log(2.0)


@kernel
def _room(nodes: Nodes, count: int, n: int) -> Nodes:
    """The nodes, with room for one more."""
    if count < len(nodes.start):
        return nodes
    more = np.empty(count + 2 * n, np.int32)
    return Nodes(
        np.concatenate((nodes.start, more)),
        np.concatenate((nodes.end, more)),
        np.concatenate((nodes.symbol, more)),
    )
