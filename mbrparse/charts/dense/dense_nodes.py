"""Dense charts as lists of nodes."""

from __future__ import annotations

import numpy as np

from mbrparse.charts.base.inside_nodes import InsideNodes, powers
from mbrparse.charts.dense.dense_state import DenseState
from mbrparse.charts.rule_tables import Floats


def dense_nodes(state: DenseState, inside: Floats) -> InsideNodes:
    """The nodes of a sentence that is alone in its group."""
    group, n = state.group, int(state.group.length[0])
    last, back = np.tril_indices(n)  # cells in the order of ``forest_cell``
    word = np.arange(n).repeat(np.diff(group.entry_start[0, : n + 1]))
    narrow = np.flatnonzero((group.entry_wide[: len(word)] < 0) & (group.entry_prob[: len(word)] > 0))
    cell, symbol = word[narrow] * (word[narrow] + 1) // 2, group.entry_symbol[narrow]
    values = group.entry_prob[narrow]
    if state.n_wide > 0:
        row = state.offsets[last - back] // state.n_wide + last + 1
        wide = inside[: len(last) * state.n_wide, 0].reshape(-1, state.n_wide)[row]
        wide[back + 1 < state.least] = 0
        cells, places = np.nonzero(wide)
        cell, symbol = np.append(cell, cells), np.append(symbol, state.tables.symbol[places])
        values = np.append(values, wide[cells, places])
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], np.arange(len(last) + 1)).astype(np.int32)
    return InsideNodes(first, symbol[order].astype(np.int32), values[order], powers(group.shift[:n]))
