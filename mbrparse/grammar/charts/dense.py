"""Inside and outside for grammars whose symbols fit into every cell.

A group of sentences (one a lane, see ``vector``) is parsed at once.  Row
``cell * n_wide + symbol`` of a chart belongs to a cell of the upper triangle.
Shorter sentences leave the cells beyond their end empty, so that sentences of
different length may share a group; no lane ever sees another one, hence the
values of a sentence do not depend on its company.

All products of a pair of children are summed over the splits first, TILE
pairs with the same left child side by side; then each rule is applied once a
cell.  Rules with a narrow child (a tag) depend on the lane's word and are
applied lane by lane.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mbrparse.grammar.charts.rule_tables import DenseTables, Floats, Ints, NarrowRules, Offsets
from mbrparse.grammar.charts.vector import (
    add,
    any_positive,
    load,
    maximum,
    multiply,
    multiply_add,
    spread,
    store,
    zeros,
)
from mbrparse.grammar.kernel import kernel


class Group(NamedTuple):
    """The sentences of one group, by lane."""

    length: Ints  # of each sentence; 0 for an empty lane
    entry_start: Ints  # [lane, position]: lexical entries of a token
    entry_symbol: Ints
    entry_prob: Floats  # scaled
    entry_wide: Ints  # wide id of the symbol, or -1


@kernel
def row_offsets(n: int, n_rows: int) -> Offsets:
    """Where each start's cells begin: cell (start, end) has the rows from
    ``offsets[start] + end * n_rows``."""
    offsets = np.empty(n + 1, np.int64)
    for start in range(n + 1):
        offsets[start] = (start * n - start * (start - 1) // 2 - start - 1) * n_rows
    return offsets


@kernel
def dense_inside(tables: DenseTables, group: Group, inside: Floats, scratch: Floats, n: int) -> None:
    """Fill ``inside``, which must be zero before; ``scratch`` holds a row for each pair."""
    n_wide = len(tables.symbol)
    offsets = row_offsets(n, n_wide)
    least = 1 if tables.wide_at_one else 2  # the narrowest cell with wide symbols
    for start in range(n - 1, -1, -1):
        if tables.wide_at_one:
            _enter_words(group, inside, offsets[start] + (start + 1) * n_wide, start)
        _join_narrow_left(tables.narrow, group, inside, offsets, start, n_wide, least)
        for end in range(start + 2, n + 1):
            _join_narrow_right(tables.narrow, group, inside, offsets, start, end, n_wide, least)
            if end - start >= 2 * least:
                _sum_splits(tables, inside, scratch, offsets, start, end, least)
                base = offsets[start] + end * n_wide
                for parent in range(n_wide):
                    total = load(inside, base, parent)
                    for rule in range(tables.sum_start[parent], tables.sum_start[parent + 1]):
                        pair = load(scratch, 0, tables.sum_pair[rule])
                        total = multiply_add(spread(tables.sum_prob, rule), pair, total)
                    store(inside, base, parent, total)


@kernel
def _enter_words(group: Group, inside: Floats, base: int, position: int) -> None:
    """Enter the symbols that a word may have and that also have binary rules."""
    for lane in range(len(group.length)):
        for entry in range(group.entry_start[lane, position], group.entry_start[lane, position + 1]):
            if group.entry_wide[entry] >= 0:
                inside[base + group.entry_wide[entry], lane] += group.entry_prob[entry]


@kernel
def _join_narrow_left(
    narrow: NarrowRules, group: Group, inside: Floats, offsets: Offsets, start: int, n_wide: int, least: int
) -> None:
    """Combine the word at ``start`` with all that follows it."""
    step = np.uint64(n_wide)
    for lane in range(len(group.length)):
        room = group.length[lane] - start - least  # how many ends there are
        column = np.uint64(lane)
        for entry in range(group.entry_start[lane, start], group.entry_start[lane, start + 1]):
            if group.entry_wide[entry] >= 0:
                continue
            symbol = group.entry_symbol[entry]
            end = start + 1 + least
            base = np.uint64(offsets[start] + end * n_wide)
            rest = np.uint64(offsets[start + 1] + end * n_wide)
            for rule in range(narrow.left_start[symbol], narrow.left_start[symbol + 1]):
                weight = group.entry_prob[entry] * narrow.left_prob[rule]
                here = base + narrow.left_parent[rule]
                there = rest + narrow.left_other[rule]
                for _ in range(room):
                    inside[here, column] += weight * inside[there, column]
                    here += step
                    there += step
            if start + 1 < group.length[lane]:
                base = np.uint64(offsets[start] + (start + 2) * n_wide)
                for rule in range(narrow.both_start[symbol], narrow.both_start[symbol + 1]):
                    for other in range(
                        group.entry_start[lane, start + 1], group.entry_start[lane, start + 2]
                    ):
                        if group.entry_symbol[other] == narrow.both_other[rule]:
                            weight = narrow.both_prob[rule] * group.entry_prob[other]
                            inside[base + narrow.both_parent[rule], column] += (
                                group.entry_prob[entry] * weight
                            )


@kernel
def _join_narrow_right(
    narrow: NarrowRules,
    group: Group,
    inside: Floats,
    offsets: Offsets,
    start: int,
    end: int,
    n_wide: int,
    least: int,
) -> None:
    """Combine what goes before with the last word."""
    if end - start <= least:
        return
    base = np.uint64(offsets[start] + end * n_wide)
    front = base - np.uint64(n_wide)
    for lane in range(len(group.length)):
        if end > group.length[lane]:
            continue
        column = np.uint64(lane)
        for entry in range(group.entry_start[lane, end - 1], group.entry_start[lane, end]):
            if group.entry_wide[entry] >= 0:
                continue
            symbol = group.entry_symbol[entry]
            for rule in range(narrow.right_start[symbol], narrow.right_start[symbol + 1]):
                inside[base + narrow.right_parent[rule], column] += (
                    group.entry_prob[entry]
                    * narrow.right_prob[rule]
                    * inside[front + narrow.right_other[rule], column]
                )


@kernel
def _sum_splits(
    tables: DenseTables, inside: Floats, scratch: Floats, offsets: Offsets, start: int, end: int, least: int
) -> None:
    """Sum the products of each pair of children over the splits."""
    n_wide = len(tables.symbol)
    first = start + least
    count = end - start - 2 * least + 1
    for tile in range(len(tables.tile_left)):
        slot = 4 * tile
        left = tables.tile_left[tile]
        right0, right1 = tables.tile_right[slot], tables.tile_right[slot + 1]
        right2, right3 = tables.tile_right[slot + 2], tables.tile_right[slot + 3]
        sum0 = zeros(inside)
        sum1 = sum0
        sum2 = sum0
        sum3 = sum0
        here = offsets[start] + first * n_wide
        there = offsets[first] + end * n_wide
        step = offsets[first + 1] - offsets[first]
        for _ in range(count):
            value = load(inside, here, left)
            sum0 = multiply_add(value, load(inside, there, right0), sum0)
            sum1 = multiply_add(value, load(inside, there, right1), sum1)
            sum2 = multiply_add(value, load(inside, there, right2), sum2)
            sum3 = multiply_add(value, load(inside, there, right3), sum3)
            here += n_wide
            there += step
            step -= n_wide  # the rows of the triangle grow shorter
        store(scratch, slot, 0, sum0)
        store(scratch, slot, 1, sum1)
        store(scratch, slot, 2, sum2)
        store(scratch, slot, 3, sum3)


@kernel
def dense_roots(tables: DenseTables, group: Group, inside: Floats, n: int) -> Floats:
    """The scaled probability of each sentence (narrow symbols as roots apart)."""
    n_wide = len(tables.symbol)
    offsets = row_offsets(n, n_wide)
    total = np.zeros(len(group.length), inside.dtype)
    for lane in range(len(group.length)):
        length = group.length[lane]
        if length > 1 or (length == 1 and tables.wide_at_one):
            for symbol in range(n_wide):
                total[lane] += tables.root[symbol] * inside[offsets[0] + length * n_wide + symbol, lane]
    return total


@kernel
def dense_outside(
    tables: DenseTables, group: Group, inside: Floats, outside: Floats, total: Floats, peak: Floats, n: int
) -> None:
    """Fill ``outside`` (zero before) with outside / probability of the sentence.

    inside * outside is then the posterior of an item.  Items without an
    inside value pass nothing on; a lane without a parse stays zero.  The one
    row of ``peak`` (zero before) takes the largest outside value of each lane:
    far below the largest number, it shows that nothing of weight underflowed.
    """
    n_wide = len(tables.symbol)
    offsets = row_offsets(n, n_wide)
    least = 1 if tables.wide_at_one else 2
    for lane in range(len(group.length)):
        if total[lane] > 0:
            for symbol in range(n_wide):
                outside[offsets[0] + group.length[lane] * n_wide + symbol, lane] = (
                    tables.root[symbol] / total[lane]
                )
    for start in range(n - 1):
        for end in range(n, start + 1, -1):
            _pass_wide(tables, inside, outside, peak, offsets, (start, end), least)
            _pass_narrow_right(tables.narrow, group, outside, offsets, start, end, n_wide, least)
        _pass_narrow_left(tables.narrow, group, outside, offsets, start, n_wide, least)


@kernel
def _pass_wide(
    tables: DenseTables,
    inside: Floats,
    outside: Floats,
    peak: Floats,
    offsets: Offsets,
    span: tuple[int, int],
    least: int,
) -> None:
    start, end = span
    n_wide = len(tables.symbol)
    base = offsets[start] + end * n_wide
    live = False
    largest = load(peak, 0, 0)
    for symbol in range(n_wide):
        value = load(outside, base, symbol)
        largest = maximum(largest, value)
        if any_positive(multiply(value, load(inside, base, symbol))):
            live = True
    store(peak, 0, 0, largest)
    first = start + least
    count = end - start - 2 * least + 1
    if not live or count <= 0:
        return
    for tile in range(len(tables.tile_left)):
        slot = 4 * tile
        weight0 = _receive(tables, outside, base, slot)
        weight1 = _receive(tables, outside, base, slot + 1)
        weight2 = _receive(tables, outside, base, slot + 2)
        weight3 = _receive(tables, outside, base, slot + 3)
        if not any_positive(add(add(weight0, weight1), add(weight2, weight3))):
            continue
        left = tables.tile_left[tile]
        right0, right1 = tables.tile_right[slot], tables.tile_right[slot + 1]
        right2, right3 = tables.tile_right[slot + 2], tables.tile_right[slot + 3]
        here = offsets[start] + first * n_wide
        there = offsets[first] + end * n_wide
        step = offsets[first + 1] - offsets[first]
        for _ in range(count):
            value = load(inside, here, left)
            total = load(outside, here, left)
            total = multiply_add(weight0, load(inside, there, right0), total)
            total = multiply_add(weight1, load(inside, there, right1), total)
            total = multiply_add(weight2, load(inside, there, right2), total)
            total = multiply_add(weight3, load(inside, there, right3), total)
            store(outside, here, left, total)
            store(outside, there, right0, multiply_add(weight0, value, load(outside, there, right0)))
            store(outside, there, right1, multiply_add(weight1, value, load(outside, there, right1)))
            store(outside, there, right2, multiply_add(weight2, value, load(outside, there, right2)))
            store(outside, there, right3, multiply_add(weight3, value, load(outside, there, right3)))
            here += n_wide
            there += step
            step -= n_wide


@kernel
def _receive(tables: DenseTables, outside: Floats, base: int, pair: int) -> Any:
    """What a pair of children receives from its parents in this cell."""
    total = zeros(outside)
    for rule in range(tables.pair_start[pair], tables.pair_start[pair + 1]):
        parent = load(outside, base, tables.pair_parent[rule])
        total = multiply_add(spread(tables.pair_prob, rule), parent, total)
    return total


@kernel
def _pass_narrow_left(
    narrow: NarrowRules, group: Group, outside: Floats, offsets: Offsets, start: int, n_wide: int, least: int
) -> None:
    step = np.uint64(n_wide)
    for lane in range(len(group.length)):
        room = group.length[lane] - start - least
        if room <= 0:
            continue
        column = np.uint64(lane)
        end = start + 1 + least
        base = np.uint64(offsets[start] + end * n_wide)
        rest = np.uint64(offsets[start + 1] + end * n_wide)
        for entry in range(group.entry_start[lane, start], group.entry_start[lane, start + 1]):
            if group.entry_wide[entry] >= 0:
                continue
            symbol = group.entry_symbol[entry]
            for rule in range(narrow.left_start[symbol], narrow.left_start[symbol + 1]):
                weight = group.entry_prob[entry] * narrow.left_prob[rule]
                here = base + narrow.left_parent[rule]
                there = rest + narrow.left_other[rule]
                for _ in range(room):
                    outside[there, column] += weight * outside[here, column]
                    here += step
                    there += step


@kernel
def _pass_narrow_right(
    narrow: NarrowRules,
    group: Group,
    outside: Floats,
    offsets: Offsets,
    start: int,
    end: int,
    n_wide: int,
    least: int,
) -> None:
    if end - start <= least:
        return
    base = np.uint64(offsets[start] + end * n_wide)
    front = base - np.uint64(n_wide)
    for lane in range(len(group.length)):
        if end > group.length[lane]:
            continue
        column = np.uint64(lane)
        for entry in range(group.entry_start[lane, end - 1], group.entry_start[lane, end]):
            if group.entry_wide[entry] >= 0:
                continue
            symbol = group.entry_symbol[entry]
            for rule in range(narrow.right_start[symbol], narrow.right_start[symbol + 1]):
                outside[front + narrow.right_other[rule], column] += (
                    group.entry_prob[entry]
                    * narrow.right_prob[rule]
                    * outside[base + narrow.right_parent[rule], column]
                )
