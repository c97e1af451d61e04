"""Dense charts as lists of nodes."""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.base.inside_nodes import InsideNodes, powers
from mbrparse.grammar.charts.base.rule_tables import Floats
from mbrparse.grammar.charts.lanes.dense_state import DenseState


def dense_nodes(state: DenseState, inside: Floats) -> InsideNodes:
    """The nodes of a sentence that is alone in its group."""
    group, n = state.group, int(state.group.length[0])
    last, back = np.tril_indices(n)  # cells in the order of ``forest_cell``
    cells = np.zeros((len(last), len(state.tables.narrow_left.start) - 1))
    if state.n_wide > 0:
        row = state.offsets[last - back] // state.n_wide + last + 1
        values = inside[: len(last) * state.n_wide, 0].reshape(-1, state.n_wide)[row]
        cells[:, state.tables.symbol] = np.where(back[:, None] + 1 >= state.least, values, 0)
    word = np.arange(n).repeat(np.diff(group.entry_start[0, : n + 1]))
    narrow = np.flatnonzero(group.entry_wide[: len(word)] < 0)
    place = word[narrow] * (word[narrow] + 1) // 2
    cells[place, group.entry_symbol[narrow]] = group.entry_prob[narrow]
    place = np.flatnonzero(cells > 0)
    cell, symbol = np.divmod(place, cells.shape[1])
    first = np.searchsorted(cell, np.arange(len(cells) + 1)).astype(np.int32)
    return InsideNodes(first, symbol.astype(np.int32), cells.ravel()[place], powers(group.shift[:n]))
