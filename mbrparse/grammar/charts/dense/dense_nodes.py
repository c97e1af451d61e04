"""The nodes of a dense chart that occur in some parse."""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.dense.dense_state import DenseState
from mbrparse.grammar.charts.live_nodes import NEGLIGIBLE, LiveNodes, live_nodes
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.kernel import kernel


def dense_nodes(state: DenseState, symbol: Ints, inside: Floats, outside: Floats, lane: int) -> LiveNodes:
    """Those of one lane; ``symbol`` has the ids of wide symbols. Tags count as certain."""
    group, length = state.group, int(state.group.length[lane])
    count = int(_list_nodes(state, inside, outside, lane, None))
    rows = np.zeros((count, 3), np.int32)
    values = np.zeros((count, 2), inside.dtype)
    _list_nodes(state, inside, outside, lane, (rows, values))
    first, last = int(group.entry_start[lane, 0]), int(group.entry_start[lane, length])
    words = np.repeat(np.arange(length, dtype=np.int32), np.diff(group.entry_start[lane, : length + 1]))
    # Those of wide symbols have cells.
    narrow = group.entry_wide[first:last] < 0
    words = words[narrow]
    probs = group.entry_prob[first:last][narrow].astype(np.float64)
    g = values[:, 0].astype(np.float64) * values[:, 1]
    with np.errstate(divide="ignore"):
        log_inside = np.log(np.concatenate((values[:, 0].astype(np.float64), probs)))
    return live_nodes(
        np.concatenate((rows[:, 0], words)),
        np.concatenate((rows[:, 1], words + 1)).astype(np.int32),
        np.concatenate((symbol[rows[:, 2]], group.entry_symbol[first:last][narrow])),
        log_inside,
        np.concatenate((g, np.ones(len(words)))),
    )


@kernel
def _list_nodes(
    state: DenseState, inside: Floats, outside: Floats, lane: int, room: tuple[Ints, Floats] | None
) -> int:
    """Enter the nodes of wide symbols into ``room``, if there is any; returns how many there are."""
    place, n_wide, offsets = 0, state.n_wide, state.offsets
    for start in range(state.group.length[lane]):
        for end in range(start + state.least, state.group.length[lane] + 1):
            base = offsets[start] + end * n_wide
            for wide in range(n_wide):
                one, other = inside[base + wide, lane], outside[base + wide, lane]
                if one * other > NEGLIGIBLE:
                    if room is not None:
                        rows, values = room
                        rows[place, 0], rows[place, 1], rows[place, 2] = start, end, wide
                        values[place, 0], values[place, 1] = one, other
                    place += 1
    return place
