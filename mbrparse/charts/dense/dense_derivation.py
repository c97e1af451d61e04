"""Reading the most probable derivation off a dense chart.

Of candidates within ``tolerance`` of the best one, the first in order of split, left child, right child
is taken (symbol ids are in order of text).
"""

from __future__ import annotations

from typing import NamedTuple

from mbrparse.charts.dense.dense_state import DenseState
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats, Ints


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


@kernel
def read_derivations(
    state: DenseState, best: Floats, places: Places, tolerance: float, stack: Ints, nodes: LaneNodes
) -> None:
    """Read the best derivations of all lanes off a chart of any layout; ``stack`` is scratch.

    One-token sentences whose root is narrow are not for this kernel.
    """
    n_wide, lengths, root_prob, symbols = (
        state.n_wide,
        state.group.length,
        state.tables.root,
        state.tables.symbol,
    )
    node_start, node_end, node_symbol, tags, tops = nodes
    for lane in range(len(tops)):
        length = lengths[lane]
        top = best[0] * 0
        root = -1
        base = _place_of(places, 0, length) + lane
        if length > 1 or (length == 1 and state.tables.wide_at_one):
            for symbol in range(n_wide):
                value = root_prob[symbol] * best[base + symbol * places.symbol]
                if value > top * (1 + tolerance):
                    top = value
                    root = symbol
        tops[lane] = top
        if root < 0:
            continue
        # Nodes still to be expanded stand on a stack, as wide ids, or -1 - symbol when narrow.
        stack[0, 0], stack[0, 1], stack[0, 2] = 0, length, root
        depth, count = 1, 0
        while depth > 0:
            depth -= 1
            start, end, code = stack[depth, 0], stack[depth, 1], stack[depth, 2]
            symbol_id = symbols[code] if code >= 0 else -1 - code
            if end - start == 1:
                tags[lane, start] = symbol_id
                continue
            node_start[lane, count], node_end[lane, count] = start, end
            node_symbol[lane, count] = symbol_id
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
    unit, least, symbols = places.symbol, state.least, state.tables.symbol
    tile_left, tile_right = state.tables.tiles
    rule_start, rule_pair, rule_prob = state.tables.by_parent
    _, entry_start, entry_symbol, entry_prob, entry_wide, _, _ = state.group
    left_start, left_parent, left_other, left_prob = state.tables.narrow_left
    right_start, right_parent, right_other, right_prob = state.tables.narrow_right
    both_start, both_parent, both_other, both_prob = state.tables.narrow_both
    bound = best[_place_of(places, start, end) + lane + parent * unit] * (1 - tolerance)
    for split in range(start + 1, end):
        here = _place_of(places, start, split) + lane
        there = _place_of(places, split, end) + lane
        left, right = 0, 0
        first_left, first_right = 1 << 30, 1 << 30  # their symbol ids
        if split - start >= least and end - split >= least:
            for rule in range(rule_start[parent], rule_start[parent + 1]):
                pair = rule_pair[rule]
                one, two = tile_left[pair // 4], tile_right[pair]
                if rule_prob[rule] * (best[here + one * unit] * best[there + two * unit]) >= bound:
                    if (symbols[one], symbols[two]) < (first_left, first_right):
                        first_left, first_right = symbols[one], symbols[two]
                        left, right = int(one), int(two)
        if split == start + 1:
            for entry in range(entry_start[lane, start], entry_start[lane, split]):
                symbol = entry_symbol[entry]
                if entry_wide[entry] >= 0 or symbol > first_left:
                    continue
                if end - split >= least:
                    for rule in range(left_start[symbol], left_start[symbol + 1]):
                        two = left_other[rule]
                        if left_parent[rule] == parent and (symbol, symbols[two]) < (
                            first_left,
                            first_right,
                        ):
                            if entry_prob[entry] * left_prob[rule] * best[there + two * unit] >= bound:
                                first_left, first_right = symbol, symbols[two]
                                left, right = -1 - symbol, int(two)
                if end - split == 1:
                    for rule in range(both_start[symbol], both_start[symbol + 1]):
                        if both_parent[rule] != parent:
                            continue
                        for other in range(entry_start[lane, split], entry_start[lane, end]):
                            second = entry_symbol[other]
                            if second == both_other[rule] and (symbol, second) < (
                                first_left,
                                first_right,
                            ):
                                if entry_prob[entry] * both_prob[rule] * entry_prob[other] >= bound:
                                    first_left, first_right = symbol, second
                                    left, right = -1 - symbol, -1 - second
        if split == end - 1 and split - start >= least:
            for entry in range(entry_start[lane, split], entry_start[lane, end]):
                symbol = entry_symbol[entry]
                if entry_wide[entry] >= 0:
                    continue
                for rule in range(right_start[symbol], right_start[symbol + 1]):
                    one = right_other[rule]
                    if right_parent[rule] == parent and (symbols[one], symbol) < (
                        first_left,
                        first_right,
                    ):
                        if entry_prob[entry] * right_prob[rule] * best[here + one * unit] >= bound:
                            first_left, first_right = symbols[one], symbol
                            left, right = int(one), -1 - symbol
        if first_left < 1 << 30:
            return split, left, right
    raise ValueError("the chart does not hold what it was filled from")
