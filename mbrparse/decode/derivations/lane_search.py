"""Searches for objectives of derived trees, each in one call of a kernel: gains, values, bounds, trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.backtrace import best_trees, best_values
from mbrparse.decode.derivations.bounds import Cells, Earnings, bound_cells, narrow
from mbrparse.decode.derivations.forest_search import earned_in_cells, search_forest
from mbrparse.decode.derivations.gains import LANES, LOG_NODE, ItemSums, item_gains, lexical_gains
from mbrparse.decode.derivations.item_forest import ItemForest
from mbrparse.decode.derivations.item_tables import ItemTables
from mbrparse.decode.derivations.relaxed_search import bound_by_search
from mbrparse.decode.derivations.search_state import SearchState
from mbrparse.grammar.charts.closure import UnaryTables
from mbrparse.grammar.charts.forest.packed_forest import forest_cell
from mbrparse.grammar.charts.rule_tables import Floats, SparseTables
from mbrparse.grammar.kernel import kernel

_SMALL = 1e-300  # in place of zero, whose logarithm would only be in the way


class LaneTables(NamedTuple):
    """What gains are worked out of, the forest aside."""

    tables: SparseTables
    unaries: UnaryTables
    items: ItemTables
    sums: ItemSums
    roots: Floats  # [symbol, lane] what it earns at the root, -inf for what is no root
    root_gains: Floats  # scratch, the same by node of the root cell


class Search(NamedTuple):
    """What a search is for."""

    narrows: bool  # to add to the selection what the best trees may need; else to find the best trees
    searched: bool  # the forest's best values are known
    lanes: int  # how many are in use


@kernel
def search_lanes(
    state: SearchState,
    given: LaneTables,
    search: Search,
    earnings: Earnings,
    cells: Cells,
    edge_most: Floats,
    n: int,
) -> None:
    """Search a forest, in whose cells the largest posteriors of edges are ``edge_most``."""
    if not search.searched:
        source = ItemForest(state.forest, given.tables, given.unaries, given.items)
        item_gains(source, given.sums, state.gains, cells.masses.constituents, n)
        for position in range(n):
            lexical_gains(state.forest, given.items, state.gains.weights, state.values.lexical, position)
        if search.narrows:
            # Before the search, whose values stay.
            earned_in_cells(state, cells.core.items, cells.bounds.most, n)
            bound_cells(earnings, cells, edge_most, n)
            bound_by_search(state, cells, n)
        search_forest(state, n)
    if state.stop[0]:
        return
    root_gains = given.root_gains
    _set_root_gains(state, given.roots, root_gains, n)
    if search.narrows:
        best_values(state, root_gains, earnings.lower, n)
        narrow(earnings, cells, n, state.stop)
    else:
        best_trees(state, root_gains, search.lanes, n)


@kernel
def _set_root_gains(state: SearchState, roots: Floats, earned: Floats, n: int) -> None:
    """Set what the nodes of the root cell earn as roots [node, lane]."""
    forest, weights = state.forest, state.gains.weights
    cell = forest_cell(0, n)
    first, last = forest.node_first[cell], forest.node_first[cell + 1]
    for node in range(first, last):
        for lane in range(LANES):
            gain = roots[forest.node_symbol[node], lane]
            if weights[LOG_NODE, lane] != 0:
                # What the factors of a product telescope to but for the root's inside value.
                gain -= np.log(max(forest.inside[node], _SMALL)) * weights[LOG_NODE, lane]
            earned[node - first, lane] = gain
