"""Search of a forest for the tree with the largest sum of gains, for eight objectives side by side.

best(node) = max over productions of the production's gain and the best split of its pair, plus the node's
own gain; over unary rules the best chain.
"""

from __future__ import annotations

import numpy as np

from mbrparse.decode.derivations.gains import CHILD, LANES, PRODUCTION, RULE, SPAN, SPLIT
from mbrparse.decode.derivations.search_state import SearchState
from mbrparse.decode.derivations.unary_chains import close_cell
from mbrparse.grammar.charts.forest.packed_forest import ONE, Index, forest_cell
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.charts.vector import add, load, maximum, multiply, multiply_add, spread, store
from mbrparse.grammar.kernel import kernel


@kernel
def search_forest(state: SearchState, n: int) -> None:
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
        forget(state, end)
        for start in range(end - 1, -1, -1):
            if stop[0]:
                return
            cell = forest_cell(start, end)
            if node_first[cell] == node_first[cell + 1]:
                continue
            complete(state, cell, end - start == 1)
            for right in range(node_first[cell], node_first[cell + 1]):
                if not is_found(best, right):
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
def earned_in_cells(state: SearchState, chosen: Ints, most: Floats, n: int) -> None:
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
            complete(state, cell, end - start == 1)
            best = load(values.best, first, 0)
            for node in range(first + 1, last):
                best = maximum(best, load(values.best, node, 0))
            store(most, cell, 0, best)


@kernel
def forget(state: SearchState, end: int) -> None:
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
def is_found(best: Floats, node: int) -> bool:
    """Whether a node has a value in some lane."""
    for lane in range(LANES):  # noqa: SIM110  # kernels know no generators
        if best[Index(node), lane] > -np.inf:
            return True
    return False


@kernel
def complete(state: SearchState, cell: int, single: bool) -> None:
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
