"""What a tree earns within a cell at most, by a search of the core that knows but bounds of other cells.

In cells whose items are looked at the core has all nodes, and all edges between such cells. Where a split has
another cell below, its bound stands for whatever is there, and with that every pair of children is possible.
"""

from __future__ import annotations

import numpy as np

from mbrparse.decode.derivations.bounds import Cells, bound_cell
from mbrparse.decode.derivations.forest_search import complete, forget
from mbrparse.decode.derivations.gains import LANES, LOG_NODE, RULE
from mbrparse.decode.derivations.search_state import SearchState
from mbrparse.grammar.charts.forest.packed_forest import ONE, Index, forest_cell
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.charts.vector import add, load, maximum, store
from mbrparse.grammar.kernel import kernel


@kernel
def bound_by_search(state: SearchState, cells: Cells, n: int) -> None:
    """Fill ``below`` and ``within``, all lanes at once; ``most`` is known."""
    forest, bounds, full = state.forest, cells.bounds, cells.core.items
    best, within, weights = state.values.best, bounds.within, state.gains.weights
    found = state.gains.scratch
    for end in range(1, n + 1):
        forget(state, end)
        for start in range(end - 1, -1, -1):
            if state.stop[0]:
                return
            bound_cell(bounds, start, end)
            cell = forest_cell(start, end)
            first, last = forest.node_first[cell], forest.node_first[cell + 1]
            if not full[cell] or first == last:
                continue
            if end - start > 1:
                _relax(state, cells, found, start, end)
            complete(state, cell, end - start == 1)
            for lane in range(LANES):
                # What rules earn in a cell is bounded otherwise.
                if weights[RULE, lane] == 0 and weights[LOG_NODE, lane] == 0:
                    highest = -np.inf
                    for node in range(first, last):
                        highest = max(highest, best[node, lane])
                    within[cell, lane] = min(within[cell, lane], highest)
            _pass_on(state, full, start, end)


@kernel
def _relax(state: SearchState, cells: Cells, found: Floats, start: int, end: int) -> None:
    """Give to a cell's groups what splits bring that have another cell below; ``found`` is scratch, a row."""
    forest, gains, values, full = state.forest, state.gains, state.values, cells.core.items
    split_value, shared, lane = values.split, values.shared, state.edge_gains.share_lane
    cell = forest_cell(start, end)
    for other in range(LANES):
        found[0, other] = -np.inf
    for split in range(start + 1, end):
        left, right = forest_cell(start, split), forest_cell(split, end)
        if not full[left] or not full[right]:
            both = add(load(cells.bounds.within, left, 0), load(cells.bounds.within, right, 0))
            store(found, 0, 0, maximum(load(found, 0, 0), both))
    group = forest.cell_group[cell]
    while group >= 0:
        place = Index(group)
        store(split_value, place, 0, maximum(load(split_value, place, 0), load(found, 0, 0)))
        if lane >= 0:
            for production in range(forest.production_first[place], forest.production_last[place]):
                reached = found[0, lane] + gains.share[production] * forest.group_sum[place]
                shared[production] = max(shared[production], reached)
        group = forest.group_next[place]


@kernel
def _pass_on(state: SearchState, full: Ints, split: int, end: int) -> None:
    """Tell the groups that nodes of a cell are right children of, with left ones of such cells."""
    forest, gains, values, lane = state.forest, state.gains, state.values, state.edge_gains.share_lane
    best, shared = values.best, values.shared
    cell = forest_cell(split, end)
    for right in range(forest.node_first[cell], forest.node_first[cell + 1]):
        value = load(best, right, 0)
        place = Index(forest.left_first[right])
        for edge in range(Index(forest.edge_first[right]), Index(forest.edge_first[right + 1])):
            group, left = Index(forest.edge_group[edge]), Index(forest.left_node[place])
            below = forest.inside[right] * values.left_value[place]
            place = Index(place + ONE)
            start = forest.group_start[group]
            if not full[forest_cell(start, end)] or not full[forest_cell(start, split)]:
                continue
            store(
                values.split, group, 0, maximum(load(values.split, group, 0), add(value, load(best, left, 0)))
            )
            if lane >= 0:
                base = best[right, lane] + best[left, lane]
                first, last = Index(forest.production_first[group]), Index(forest.production_last[group])
                for production in range(first, last):
                    shared[production] = max(shared[production], base + gains.share[production] * below)
