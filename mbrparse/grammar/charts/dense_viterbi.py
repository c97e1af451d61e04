"""The most probable derivation by the dense kernels: maxima for sums.

Of candidates within ``tolerance`` of the best one, the first in order of split, left child, right child
is taken (symbol ids are in order of text).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.dense import Group, row_offsets
from mbrparse.grammar.charts.rule_tables import DenseTables, Floats, Ints, NarrowRules, Offsets
from mbrparse.grammar.charts.vector import load, maximum, multiply, spread, store, zeros
from mbrparse.grammar.kernel import kernel


class Nodes(NamedTuple):
    """Nodes in pre-order, preterminals included; none when there is no parse."""

    start: Ints
    end: Ints
    symbol: Ints


@kernel
def dense_viterbi(tables: DenseTables, group: Group, best: Floats, scratch: Floats, n: int) -> None:
    """Fill ``best`` (zero before) with the probability of each item's best derivation."""
    n_wide = len(tables.symbol)
    offsets = row_offsets(n, n_wide)
    least = 1 if tables.wide_at_one else 2
    for start in range(n - 1, -1, -1):
        if tables.wide_at_one:
            base = offsets[start] + (start + 1) * n_wide
            for lane in range(len(group.length)):
                for entry in range(group.entry_start[lane, start], group.entry_start[lane, start + 1]):
                    if group.entry_wide[entry] >= 0:
                        best[base + group.entry_wide[entry], lane] = group.entry_prob[entry]
        _best_narrow_left(tables.narrow, group, best, offsets, start, n_wide, least)
        for end in range(start + 2, n + 1):
            _best_narrow_right(tables.narrow, group, best, offsets, start, end, n_wide, least)
            if end - start >= 2 * least:
                _best_splits(tables, best, scratch, offsets, start, end, least)
                base = offsets[start] + end * n_wide
                for parent in range(n_wide):
                    value = load(best, base, parent)
                    for rule in range(tables.sum_start[parent], tables.sum_start[parent + 1]):
                        pair = load(scratch, 0, tables.sum_pair[rule])
                        value = maximum(value, multiply(spread(tables.sum_prob, rule), pair))
                    store(best, base, parent, value)


@kernel
def _best_narrow_left(
    narrow: NarrowRules, group: Group, best: Floats, offsets: Offsets, start: int, n_wide: int, least: int
) -> None:
    step = np.uint64(n_wide)
    for lane in range(len(group.length)):
        room = group.length[lane] - start - least
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
                    best[here, column] = max(best[here, column], weight * best[there, column])
                    here += step
                    there += step
            if start + 1 < group.length[lane]:
                base = np.uint64(offsets[start] + (start + 2) * n_wide)
                for rule in range(narrow.both_start[symbol], narrow.both_start[symbol + 1]):
                    for other in range(
                        group.entry_start[lane, start + 1], group.entry_start[lane, start + 2]
                    ):
                        if group.entry_symbol[other] == narrow.both_other[rule]:
                            value = group.entry_prob[entry] * narrow.both_prob[rule] * group.entry_prob[other]
                            here = base + narrow.both_parent[rule]
                            best[here, column] = max(best[here, column], value)


@kernel
def _best_narrow_right(
    narrow: NarrowRules,
    group: Group,
    best: Floats,
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
                weight = group.entry_prob[entry] * narrow.right_prob[rule]
                here = base + narrow.right_parent[rule]
                best[here, column] = max(
                    best[here, column], weight * best[front + narrow.right_other[rule], column]
                )


@kernel
def _best_splits(
    tables: DenseTables, best: Floats, scratch: Floats, offsets: Offsets, start: int, end: int, least: int
) -> None:
    n_wide = len(tables.symbol)
    first = start + least
    count = end - start - 2 * least + 1
    for tile in range(len(tables.tile_left)):
        slot = 4 * tile
        left = tables.tile_left[tile]
        right0, right1 = tables.tile_right[slot], tables.tile_right[slot + 1]
        right2, right3 = tables.tile_right[slot + 2], tables.tile_right[slot + 3]
        best0 = zeros(best)
        best1 = best0
        best2 = best0
        best3 = best0
        here = offsets[start] + first * n_wide
        there = offsets[first] + end * n_wide
        step = offsets[first + 1] - offsets[first]
        for _ in range(count):
            value = load(best, here, left)
            best0 = maximum(best0, multiply(value, load(best, there, right0)))
            best1 = maximum(best1, multiply(value, load(best, there, right1)))
            best2 = maximum(best2, multiply(value, load(best, there, right2)))
            best3 = maximum(best3, multiply(value, load(best, there, right3)))
            here += n_wide
            there += step
            step -= n_wide
        store(scratch, slot, 0, best0)
        store(scratch, slot, 1, best1)
        store(scratch, slot, 2, best2)
        store(scratch, slot, 3, best3)


@kernel
def dense_derivation(
    tables: DenseTables, group: Group, best: Floats, lane: int, n: int, tolerance: float
) -> tuple[Nodes, float]:
    """Read the best derivation of one lane off the chart, and its scaled probability.

    A one-token sentence whose root is narrow is not for this kernel.
    """
    n_wide = len(tables.symbol)
    offsets = row_offsets(n, n_wide)
    length = group.length[lane]
    nodes = Nodes(
        np.empty(2 * length - 1, np.int32),
        np.empty(2 * length - 1, np.int32),
        np.empty(2 * length - 1, np.int32),
    )
    top = best[0, 0] * 0
    root = -1
    base = offsets[0] + length * n_wide
    if length > 1 or tables.wide_at_one:
        for symbol in range(n_wide):
            value = tables.root[symbol] * best[base + symbol, lane]
            if value > top * (1 + tolerance):
                top = value
                root = symbol
    if root < 0:
        return Nodes(nodes.start[:0], nodes.end[:0], nodes.symbol[:0]), 0.0
    # Nodes still to be expanded stand on a stack, as wide ids, or -1 - symbol when narrow.
    stack = np.empty((length + 1, 3), np.int32)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, length, root
    depth, count = 1, 0
    while depth > 0:
        depth -= 1
        start, end, code = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        nodes.start[count] = start
        nodes.end[count] = end
        nodes.symbol[count] = tables.symbol[code] if code >= 0 else -1 - code
        count += 1
        if end - start > 1:
            split, left, right = _find_children(
                tables, group, best, offsets, lane, (start, end, code), tolerance
            )
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = split, end, right
            stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = start, split, left
            depth += 2
    return nodes, float(top)


@kernel
def _find_children(
    tables: DenseTables,
    group: Group,
    best: Floats,
    offsets: Offsets,
    lane: int,
    node: tuple[int, int, int],
    tolerance: float,
) -> tuple[int, int, int]:
    """The first candidate, in order, that reaches the node's value."""
    start, end, parent = node
    n_wide = len(tables.symbol)
    narrow = tables.narrow
    least = 1 if tables.wide_at_one else 2
    bound = best[offsets[start] + end * n_wide + parent, lane] * (1 - tolerance)
    for split in range(start + 1, end):
        here = offsets[start] + split * n_wide
        there = offsets[split] + end * n_wide
        left, right = 0, 0
        first_left, first_right = 1 << 30, 1 << 30  # their symbol ids
        if split - start >= least and end - split >= least:
            for rule in range(tables.sum_start[parent], tables.sum_start[parent + 1]):
                pair = tables.sum_pair[rule]
                one, two = tables.tile_left[pair // 4], tables.tile_right[pair]
                if tables.sum_prob[rule] * (best[here + one, lane] * best[there + two, lane]) >= bound:
                    if (tables.symbol[one], tables.symbol[two]) < (first_left, first_right):
                        first_left, first_right = tables.symbol[one], tables.symbol[two]
                        left, right = int(one), int(two)
        if split == start + 1:
            for entry in range(group.entry_start[lane, start], group.entry_start[lane, split]):
                symbol = group.entry_symbol[entry]
                if group.entry_wide[entry] >= 0 or symbol > first_left:
                    continue
                if end - split >= least:
                    for rule in range(narrow.left_start[symbol], narrow.left_start[symbol + 1]):
                        two = narrow.left_other[rule]
                        if narrow.left_parent[rule] == parent and (symbol, tables.symbol[two]) < (
                            first_left,
                            first_right,
                        ):
                            if (
                                group.entry_prob[entry] * narrow.left_prob[rule] * best[there + two, lane]
                                >= bound
                            ):
                                first_left, first_right = symbol, tables.symbol[two]
                                left, right = -1 - symbol, int(two)
                if end - split == 1:
                    for rule in range(narrow.both_start[symbol], narrow.both_start[symbol + 1]):
                        if narrow.both_parent[rule] != parent:
                            continue
                        for other in range(group.entry_start[lane, split], group.entry_start[lane, end]):
                            second = group.entry_symbol[other]
                            if second == narrow.both_other[rule] and (symbol, second) < (
                                first_left,
                                first_right,
                            ):
                                if (
                                    group.entry_prob[entry] * narrow.both_prob[rule] * group.entry_prob[other]
                                    >= bound
                                ):
                                    first_left, first_right = symbol, second
                                    left, right = -1 - symbol, -1 - second
        if split == end - 1 and split - start >= least:
            for entry in range(group.entry_start[lane, split], group.entry_start[lane, end]):
                symbol = group.entry_symbol[entry]
                if group.entry_wide[entry] >= 0:
                    continue
                for rule in range(narrow.right_start[symbol], narrow.right_start[symbol + 1]):
                    one = narrow.right_other[rule]
                    if narrow.right_parent[rule] == parent and (tables.symbol[one], symbol) < (
                        first_left,
                        first_right,
                    ):
                        if (
                            group.entry_prob[entry] * narrow.right_prob[rule] * best[here + one, lane]
                            >= bound
                        ):
                            first_left, first_right = tables.symbol[one], symbol
                            left, right = int(one), -1 - symbol
        if first_left < 1 << 30:
            return split, left, right
    raise ValueError("the chart does not hold what it was filled from")
