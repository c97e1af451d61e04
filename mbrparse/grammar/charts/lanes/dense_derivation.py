"""Reading the most probable derivation off a dense chart.

Of candidates within ``tolerance`` of the best one, the first in order of split, left child, right child
is taken (symbol ids are in order of text).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.base.rule_tables import Floats, Ints
from mbrparse.grammar.charts.lanes.dense_state import DenseState
from mbrparse.grammar.kernel import kernel


class Places(NamedTuple):
    """Where a chart has the values of nodes, in numbers; a lane's are ``lane`` further on."""

    first: int
    start: int  # the next start's are so many further on
    bend: int  # less so many for each start before it
    end: int
    symbol: int


@kernel
def _place_of(places: Places, start: int, end: int) -> int:
    """The place of a cell's first symbol."""
    bent = start * (start - 1) // 2 * places.bend
    return places.first + start * places.start - bent + end * places.end


class LaneNodes(NamedTuple):
    """The derivations of lanes: inner nodes in preorder, and tags; where there is none, ``top`` is 0."""

    start: Ints  # [lane, node]
    end: Ints
    symbol: Ints
    tag: Ints  # [lane, position]: the symbol
    top: Floats  # by lane: the derivation's probability, scaled


def room_for_nodes(lanes: int, longest: int) -> tuple[LaneNodes, Ints]:
    """Room for the derivations of a group, and the scratch for reading them off."""
    start, end, symbol, tag = np.empty((4, lanes, longest), np.int32)
    return LaneNodes(start, end, symbol, tag, np.zeros(lanes)), np.empty((longest + 1, 3), np.int32)


@kernel
def dense_derivations(
    state: DenseState, best: Floats, tolerance: float, stack: Ints, nodes: LaneNodes
) -> None:
    """Read the best derivations of all lanes off the chart [rows, lanes]; ``stack`` is scratch."""
    lanes, row = best.shape[1], state.n_wide * best.shape[1]
    places = Places(-row, (state.longest - 1) * row, row, row, lanes)
    read_derivations(state, best.reshape(-1), places, tolerance, stack, nodes)


@kernel
def read_derivations(
    state: DenseState, best: Floats, places: Places, tolerance: float, stack: Ints, nodes: LaneNodes
) -> None:
    """The same of a chart that lies in any way.

    One-token sentences whose root is narrow are not for this kernel.
    """
    tables, n_wide = state.tables, state.n_wide
    for lane in range(len(nodes.top)):
        length = state.group.length[lane]
        top = best[0] * 0
        root = -1
        base = _place_of(places, 0, length) + lane
        if length > 1 or (length == 1 and tables.wide_at_one):
            for symbol in range(n_wide):
                value = tables.root[symbol] * best[base + symbol * places.symbol]
                if value > top * (1 + tolerance):
                    top = value
                    root = symbol
        nodes.top[lane] = top
        if root < 0:
            continue
        # Nodes still to be expanded stand on a stack, as wide ids, or -1 - symbol when narrow.
        stack[0, 0], stack[0, 1], stack[0, 2] = 0, length, root
        depth, count = 1, 0
        while depth > 0:
            depth -= 1
            start, end, code = stack[depth, 0], stack[depth, 1], stack[depth, 2]
            symbol_id = tables.symbol[code] if code >= 0 else -1 - code
            if end - start == 1:
                nodes.tag[lane, start] = symbol_id
                continue
            nodes.start[lane, count], nodes.end[lane, count] = start, end
            nodes.symbol[lane, count] = symbol_id
            count += 1
            split, left, right = _find_children(state, best, places, lane, (start, end, code), tolerance)
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = split, end, right
            stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = start, split, left
            depth += 2


@kernel
def _find_children(
    state: DenseState,
    best: Floats,
    places: Places,
    lane: int,
    node: tuple[int, int, int],
    tolerance: float,
) -> tuple[int, int, int]:
    """The first candidate, in order, that reaches the node's value."""
    start, end, parent = node
    tables, group, unit = state.tables, state.group, places.symbol
    narrow, least = tables.narrow, state.least
    bound = best[_place_of(places, start, end) + lane + parent * unit] * (1 - tolerance)
    for split in range(start + 1, end):
        here = _place_of(places, start, split) + lane
        there = _place_of(places, split, end) + lane
        left, right = 0, 0
        first_left, first_right = 1 << 30, 1 << 30  # their symbol ids
        if split - start >= least and end - split >= least:
            for rule in range(tables.sum_start[parent], tables.sum_start[parent + 1]):
                pair = tables.sum_pair[rule]
                one, two = tables.tile_left[pair // 4], tables.tile_right[pair]
                if tables.sum_prob[rule] * (best[here + one * unit] * best[there + two * unit]) >= bound:
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
                                group.entry_prob[entry] * narrow.left_prob[rule] * best[there + two * unit]
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
                            group.entry_prob[entry] * narrow.right_prob[rule] * best[here + one * unit]
                            >= bound
                        ):
                            first_left, first_right = tables.symbol[one], symbol
                            left, right = int(one), -1 - symbol
        if first_left < 1 << 30:
            return split, left, right
    raise ValueError("the chart does not hold what it was filled from")
