"""Search of a forest for the tree with the largest sum of gains, for eight objectives side by side.

best(node) = max over productions of the production's gain and the best split of its pair, plus the node's
own gain; over unary rules the best chain. A search has two rounds: of the core of a forest, which says what
some tree earns and so what of the whole the best trees may need (``bounds``), and of that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.best_trees import SearchState, best_trees, best_values
from mbrparse.decode.derivations.bounds import (
    Cells,
    Lanes,
    bound_below,
    bound_cell,
    bound_cells,
    narrow,
)
from mbrparse.decode.derivations.gains import (
    CHILD,
    LANES,
    LOG_NODE,
    PRODUCTION,
    RULE,
    SPAN,
    SPLIT,
    ItemForest,
    ItemSums,
    ItemTables,
    item_gains,
    lexical_gains,
)
from mbrparse.decode.derivations.pruned_forest import PrunedForest, projected_gains
from mbrparse.decode.derivations.unary_chains import close_cell
from mbrparse.grammar.charts.base.closure import UnaryTables
from mbrparse.grammar.charts.base.packed_forest import ONE, Index, forest_cell
from mbrparse.grammar.charts.base.rule_tables import Floats, Ints, SparseTables
from mbrparse.grammar.charts.base.vector import add, load, maximum, multiply, multiply_add, spread, store
from mbrparse.grammar.kernel import kernel


class SearchTables(NamedTuple):
    """What gains are worked out of, the forest aside."""

    tables: SparseTables
    unaries: UnaryTables
    items: ItemTables
    sums: ItemSums


class Round(NamedTuple):
    """What is wanted of a search."""

    narrows: bool  # to add to the selection what the best trees may need; else to find the best trees
    searched: bool  # the forest's best values are known


@kernel
def search_forest(
    state: SearchState,
    pruned: PrunedForest,
    given: SearchTables,
    wanted: Round,
    lanes: Lanes,
    cells: Cells,
    root_gains: Floats,
    n: int,
) -> None:
    """Search the forest of ``state``, which is the pruned one; nodes of the root cell earn ``root_gains``."""
    if not wanted.searched:
        if lanes.projected:
            projected_gains(pruned, state.gains, state.edge_gains, state.values.lexical, given.items, n)
        else:
            source = ItemForest(state.forest, given.tables, given.unaries, given.items)
            item_gains(source, given.sums, state.gains, cells.masses.constituents, n)
            for position in range(n):
                lexical_gains(state.forest, given.items, state.gains.weights, state.values.lexical, position)
        if wanted.narrows:
            # Before the search, whose values stay.
            if lanes.projected:
                bound_cells(lanes, cells, pruned.edge_most, n)
                bound_below(cells.bounds, n, state.stop)
            else:
                _earned_in_cells(state, cells.core.items, cells.bounds.most, n)
                bound_cells(lanes, cells, pruned.edge_most, n)
                _bound_by_search(state, cells, n)
        _search_nodes(state, n)
    if state.stop[0]:
        return
    if wanted.narrows:
        best_values(state, root_gains, lanes.lower, n)
        narrow(lanes, cells, n, state.stop)
    else:
        best_trees(state, root_gains, lanes.in_use, n)


@kernel
def _search_nodes(state: SearchState, n: int) -> None:
    """Fill the values of all nodes while there is time, the rows of gains and of ``lexical`` being filled."""
    forest, gains, edge_gains, values = state.forest, state.gains, state.edge_gains, state.values
    best, split = values.best, values.split
    node_first, edge_first = forest.node_first, forest.edge_first
    edge_group, left_first, left_node = forest.edge_group, forest.left_first, forest.left_node
    weights = edge_gains.weights
    weighs_splits = len(edge_gains.mass) > 0
    share, group_share, shared, left_value = gains.share, gains.group_share, values.shared, values.left_value
    production_first, production_last = forest.production_first, forest.production_last
    inside, stop = forest.inside, state.stop
    lane = edge_gains.share_lane
    by_split = gains.weights[SPLIT, max(lane, 0)]
    for end in range(1, n + 1):
        _forget(state, end)
        for start in range(end - 1, -1, -1):
            if stop[0]:
                return
            cell = forest_cell(start, end)
            if node_first[cell] == node_first[cell + 1]:
                continue
            _complete(state, cell, end - start == 1)
            for right in range(node_first[cell], node_first[cell + 1]):
                if not _is_found(best, right):
                    continue
                value = load(best, right, 0)
                if lane >= 0:
                    here, factor = best[right, lane], inside[right]
                    most = by_split * factor
                    place = Index(left_first[right])
                    for edge in range(Index(edge_first[right]), Index(edge_first[right + 1])):
                        group = Index(edge_group[edge])
                        left = Index(left_node[place])
                        base = here + best[left, lane]
                        # No production of the group gains by more than this.
                        if base + group_share[group] * (most * left_value[place]) > split[group, lane]:
                            below = factor * left_value[place]
                            first, last = Index(production_first[group]), Index(production_last[group])
                            for production in range(first, last):
                                reached = base + share[production] * below
                                shared[production] = max(shared[production], reached)
                        total = add(value, load(best, left, 0))
                        store(split, group, 0, maximum(load(split, group, 0), total))
                        place = Index(place + ONE)
                    continue
                place = Index(left_first[right])
                for edge in range(Index(edge_first[right]), Index(edge_first[right + 1])):
                    group = Index(edge_group[edge])
                    total = add(value, load(best, Index(left_node[place]), 0))
                    place = Index(place + ONE)
                    if weighs_splits:
                        total = multiply_add(load(weights, 0, 0), spread(edge_gains.mass, edge), total)
                        total = multiply_add(load(weights, 1, 0), spread(edge_gains.log_mass, edge), total)
                    store(split, group, 0, maximum(load(split, group, 0), total))


@kernel
def _earned_in_cells(state: SearchState, chosen: Ints, most: Floats, n: int) -> None:
    """What a tree earns in each of some cells at most [cell, lane], in lanes that do not look at rules.

    Of these cells the forest is to have all productions.
    """
    forest, gains, edge_gains, values = state.forest, state.gains, state.edge_gains, state.values
    share, shared = gains.share, values.shared
    for end in range(1, n + 1):
        for start in range(end):
            cell = forest_cell(start, end)
            first, last = forest.node_first[cell], forest.node_first[cell + 1]
            if not chosen[cell] or first == last or state.stop[0]:
                continue
            group = forest.cell_group[cell]
            while group >= 0:
                for lane in range(LANES):
                    values.split[Index(group), lane] = 0
                if edge_gains.share_lane >= 0:
                    for place in range(forest.production_first[group], forest.production_last[group]):
                        shared[place] = share[place] * forest.group_sum[group]
                group = forest.group_next[group]
            _complete(state, cell, end - start == 1)
            best = load(values.best, first, 0)
            for node in range(first + 1, last):
                best = maximum(best, load(values.best, node, 0))
            store(most, cell, 0, best)


@kernel
def _forget(state: SearchState, end: int) -> None:
    """Nothing is known of the groups of a column."""
    forest, split, shared = state.forest, state.values.split, state.values.shared
    nothing = -np.inf
    first, last = forest_cell(end - 1, end), forest_cell(0, end)
    if state.edge_gains.share_lane >= 0:
        shared[forest.cell_production[first] : forest.cell_production[last + 1]] = nothing
    for cell in range(first, last + 1):
        group = forest.cell_group[cell]
        while group >= 0:
            for lane in range(LANES):
                split[Index(group), lane] = nothing
            group = forest.group_next[group]


@kernel
def _is_found(best: Floats, node: int) -> bool:
    """Whether a node has a value in some lane."""
    for lane in range(LANES):  # noqa: SIM110  # kernels know no generators
        if best[Index(node), lane] > -np.inf:
            return True
    return False


@kernel
def _complete(state: SearchState, cell: int, single: bool) -> None:
    """The values of a cell's nodes, all its splits being found."""
    forest, values = state.forest, state.values
    _value_without_chains(state, cell, single)
    if forest.unary_first[cell + 1] > forest.unary_first[cell]:
        close_cell(forest, state.gains, values.own, values.best, state.chains, cell)
    elif len(forest.unary_rule):
        for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
            store(values.best, node, 0, load(values.own, node, 0))


@kernel
def _value_without_chains(state: SearchState, cell: int, single: bool) -> None:
    forest, gains, values = state.forest, state.gains, state.values
    share_lane = state.edge_gains.share_lane
    own, split, node_gain = values.own, values.split, gains.node
    production, children, weights, log_prob = (
        gains.production,
        gains.children,
        gains.weights,
        gains.rule_log_prob,
    )
    by_production, by_child, by_rule = (
        load(weights, PRODUCTION, 0),
        load(weights, CHILD, 0),
        load(weights, RULE, 0),
    )
    span = multiply(load(weights, SPAN, 0), spread(gains.span, cell))
    shared, production_rule, production_group = values.shared, forest.production_rule, forest.production_group
    production_parent = forest.production_parent
    for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
        if single:
            store(own, node, 0, load(values.lexical, node, 0))
        else:
            for lane in range(LANES):
                own[node, lane] = -np.inf
    for place in range(Index(forest.cell_production[cell]), Index(forest.cell_production[cell + 1])):
        parent = Index(production_parent[place])
        total = add(load(split, Index(production_group[place]), 0), span)
        total = multiply_add(by_production, spread(production, place), total)
        total = multiply_add(by_child, spread(children, place), total)
        total = multiply_add(by_rule, spread(log_prob, Index(production_rule[place])), total)
        store(own, parent, 0, maximum(load(own, parent, 0), total))
    if share_lane >= 0:
        # This lane weighs nothing else of productions.
        for place in range(Index(forest.cell_production[cell]), Index(forest.cell_production[cell + 1])):
            parent = Index(production_parent[place])
            own[parent, share_lane] = max(own[parent, share_lane], shared[place])
    if not single:
        for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
            store(own, node, 0, add(load(own, node, 0), load(node_gain, node, 0)))


@kernel
def _bound_by_search(state: SearchState, cells: Cells, n: int) -> None:
    """Fill ``below`` and ``within``, all lanes at once; ``most`` is known.

    This is a search of the core that knows but bounds of other cells. In cells whose items are looked at the
    core has all nodes, and all edges between such cells. Where a split has another cell below, its bound
    stands for whatever is there, and with that every pair of children is possible.
    """
    forest, bounds, full = state.forest, cells.bounds, cells.core.items
    best, within, weights = state.values.best, bounds.within, state.gains.weights
    found = state.gains.scratch
    for end in range(1, n + 1):
        _forget(state, end)
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
            _complete(state, cell, end - start == 1)
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
