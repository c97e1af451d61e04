"""Searches of forests of labels, each in one call of a kernel: gains, best values, bounds, trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.backtrace import best_trees, best_values
from mbrparse.decode.derivations.bounds import Cells, Earnings, bound_below, bound_cells, narrow
from mbrparse.decode.derivations.forest_search import search_forest
from mbrparse.decode.derivations.gains import LANES, Booleans, lexical_posterior_gains
from mbrparse.decode.derivations.lane_search import Search
from mbrparse.decode.derivations.search_state import SearchState
from mbrparse.grammar.charts.forest.packed_forest import forest_cell
from mbrparse.grammar.charts.rule_tables import Floats
from mbrparse.grammar.kernel import kernel


class LabelGains(NamedTuple):
    """What gains are worked out of, the forest and the posteriors of its edges aside."""

    unary_posterior: Floats
    terminal: Booleans  # by label: whether it is a terminal's, which earns nothing
    root_gains: Floats  # [node of the root cell, lane]
    edge_most: Floats  # by cell, scratch


@kernel
def search_labels(
    state: SearchState, given: LabelGains, search: Search, earnings: Earnings, cells: Cells, n: int
) -> None:
    """Search a forest of labels."""
    if not search.searched:
        _label_gains(state, given, n)
        search_forest(state, n)
    if state.stop[0]:
        return
    if search.narrows:
        best_values(state, given.root_gains, earnings.lower, n)
        _find_largest_edges(state, given.edge_most, n)
        bound_cells(earnings, cells, given.edge_most, n)
        bound_below(cells.bounds, n, state.stop)
        narrow(earnings, cells, n, state.stop)
    else:
        best_trees(state, given.root_gains, search.lanes, n)


@kernel
def _label_gains(state: SearchState, given: LabelGains, n: int) -> None:
    forest, gains, weights = state.forest, state.gains, state.edge_gains.weights
    mass, log_mass = state.edge_gains.mass, state.edge_gains.log_mass
    cells = n * (n + 1) // 2
    for edge in range(forest.edge_first[forest.node_first[cells]]):
        log_mass[edge] = np.log(mass[edge])
    gains.foot[:n] = 0
    for place in range(forest.unary_first[cells]):
        posterior = given.unary_posterior[place]
        for lane in range(LANES):
            gains.unary_rule[place, lane] = weights[0, lane] * posterior + weights[1, lane] * np.log(
                posterior
            )
    lexical_posterior_gains(forest, weights[0], weights[1], given.terminal, state.values.lexical, n)


@kernel
def _find_largest_edges(state: SearchState, most: Floats, n: int) -> None:
    """By cell the largest posterior of its edges."""
    forest, posterior = state.forest, state.edge_gains.mass
    node_start, parent, edge_group = forest.node_start, forest.production_parent, forest.edge_group
    most[: n * (n + 1) // 2] = 0
    for end in range(1, n + 1):
        first = forest.node_first[forest_cell(end - 1, end)]
        last = forest.node_first[forest_cell(0, end) + 1]
        for edge in range(forest.edge_first[first], forest.edge_first[last]):
            cell = forest_cell(node_start[parent[edge_group[edge]]], end)
            most[cell] = max(most[cell], posterior[edge])
