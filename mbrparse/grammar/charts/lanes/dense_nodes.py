"""Dense charts as lists of nodes."""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.base.inside_nodes import InsideNodes, powers
from mbrparse.grammar.charts.base.rule_tables import Floats
from mbrparse.grammar.charts.lanes.dense_state import DenseState
from mbrparse.grammar.kernel import kernel


def dense_nodes(state: DenseState, inside: Floats, lane: int, first_word: int) -> InsideNodes:
    """The nodes of a lane; its words are those of the group from ``first_word`` on."""
    group, n = state.group, int(state.group.length[lane])
    entries = int(group.entry_start[lane, n] - group.entry_start[lane, 0])
    cells = n * (n + 1) // 2
    most = entries + cells * state.n_wide
    shift = group.shift[first_word : first_word + n]
    room = InsideNodes(np.empty(cells + 1, np.int32), np.empty(most, np.int32), np.empty(most), powers(shift))
    count = _list_nodes(state, inside, lane, room)
    return room._replace(symbol=room.symbol[:count].copy(), inside=room.inside[:count].copy())


@kernel
def _list_nodes(state: DenseState, inside: Floats, lane: int, nodes: InsideNodes) -> int:
    group, n_wide, least, symbol = state.group, state.n_wide, state.least, state.tables.symbol
    cell, count = 0, 0
    for end in range(1, group.length[lane] + 1):
        for start in range(end - 1, -1, -1):
            nodes.cell_first[cell] = count
            cell += 1
            if end - start == 1:
                for entry in range(group.entry_start[lane, start], group.entry_start[lane, end]):
                    if group.entry_wide[entry] < 0 and group.entry_prob[entry] > 0:
                        nodes.symbol[count] = group.entry_symbol[entry]
                        nodes.inside[count] = group.entry_prob[entry]
                        count += 1
            if end - start >= least:
                base = state.offsets[start] + end * n_wide
                for wide in range(n_wide):
                    value = inside[base + wide, lane]
                    if value > 0:
                        nodes.symbol[count], nodes.inside[count] = symbol[wide], value
                        count += 1
    nodes.cell_first[cell] = count
    return count
