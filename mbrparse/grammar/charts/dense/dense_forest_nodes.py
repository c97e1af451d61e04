"""The nodes of dense charts in the order of forests, for searches that make their forest of a few of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.dense.dense_state import DenseState
from mbrparse.grammar.charts.dense.dense_words import dense_words
from mbrparse.grammar.charts.forest.forest_nodes import ForestNodes
from mbrparse.grammar.charts.forest.packed_forest import forest_cell
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.kernel import array_kernel, kernel


class _Room(NamedTuple):
    """Nodes by lane."""

    first: Ints  # [lane, cell]
    start: Ints  # [lane, node]
    symbol: Ints
    inside: Floats
    outside: Floats
    lexical: Floats


def dense_forest_nodes(
    state: DenseState, symbol: Ints, inside: Floats, outside: Floats, total: Floats
) -> list[ForestNodes]:
    """The nodes with a posterior above zero, by lane; ``symbol`` has the ids of wide symbols."""
    group, lanes, cells = state.group, len(state.group.length), state.longest * (state.longest + 1) // 2
    words = int((group.entry_start[:, -1] - group.entry_start[:, 0]).max())
    most = cells * state.n_wide + words
    # Memory that is not written is not taken.
    room = _Room(
        np.zeros((lanes, cells + 1), np.int32),
        *np.empty((2, lanes, most), np.int32),
        *np.empty((3, lanes, most)),
    )
    _list_nodes(state, symbol, inside, outside, dense_words(state, inside, outside, total), room)
    found = []
    for lane, n in enumerate(group.length.tolist()):
        first = room.first[lane, : n * (n + 1) // 2 + 1]
        columns = (column[lane, : first[-1]].copy() for column in room[1:])
        found.append(ForestNodes(first.copy(), *columns))
    return found


@array_kernel
def _list_nodes(
    state: DenseState, symbol: Ints, inside: Floats, outside: Floats, words: Floats, room: _Room
) -> None:
    """Fill the room; ``words`` are the posteriors of the group's entries of narrow symbols."""
    length, n_wide, least, offsets = state.group.length, state.n_wide, state.least, state.offsets
    count = np.zeros(len(length), np.int32)
    for end in range(1, state.longest + 1):
        for start in range(end - 1, -1, -1):
            if end - start == 1:
                _list_words(state, words, room, count, start)
            base = offsets[start] + end * n_wide
            for wide in range(n_wide if end - start >= least else 0):
                for lane in range(len(length)):
                    below, above = inside[base + wide, lane], outside[base + wide, lane]
                    if end <= length[lane] and below * above > 0:
                        node = count[lane]
                        room.start[lane, node], room.symbol[lane, node] = start, symbol[wide]
                        room.inside[lane, node], room.outside[lane, node] = below, above
                        room.lexical[lane, node] = 0
                        count[lane] = node + 1
            if end - start == 1 and least == 1:
                _share_words(state, symbol, room, count, start)
            for lane in range(len(length)):
                if end <= length[lane]:
                    room.first[lane, forest_cell(start, end) + 1] = count[lane]


@kernel
def _list_words(state: DenseState, words: Floats, room: _Room, count: Ints, position: int) -> None:
    """List the narrow symbols over a word."""
    group = state.group
    for lane in range(len(group.length)):
        if position >= group.length[lane]:
            continue
        for entry in range(group.entry_start[lane, position], group.entry_start[lane, position + 1]):
            if group.entry_wide[entry] < 0 and words[entry] > 0:
                node, prob = count[lane], group.entry_prob[entry]
                room.start[lane, node], room.symbol[lane, node] = position, group.entry_symbol[entry]
                room.inside[lane, node], room.lexical[lane, node] = prob, prob
                room.outside[lane, node] = words[entry] / prob
                count[lane] = node + 1


@kernel
def _share_words(state: DenseState, symbol: Ints, room: _Room, count: Ints, position: int) -> None:
    """What of the wide symbols over a word is their lexical rules'."""
    group = state.group
    for lane in range(len(group.length)):
        if position >= group.length[lane]:
            continue
        first = room.first[lane, forest_cell(position, position + 1)]
        for entry in range(group.entry_start[lane, position], group.entry_start[lane, position + 1]):
            wide = group.entry_wide[entry]
            for node in range(first, count[lane]):
                if wide >= 0 and room.symbol[lane, node] == symbol[wide]:
                    room.lexical[lane, node] = group.entry_prob[entry]
