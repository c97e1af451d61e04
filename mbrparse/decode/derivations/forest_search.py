"""Search of a forest for the tree with the largest sum of gains, for eight objectives side by side.

best(node) = max over productions of the production's gain and the best split of its pair, plus the node's
own gain; over unary rules the best chain.
"""

from __future__ import annotations

import numpy as np

from mbrparse.charts.base.packed_forest import ONE, Index, forest_cell
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Ints
from mbrparse.charts.vector import (
    add,
    largest_of,
    load,
    maximum,
    multiply,
    multiply_add,
    repeated,
    spread,
    store,
)
from mbrparse.decode.derivations.best_trees import SearchState, best_trees
from mbrparse.decode.derivations.gains import (
    CHILD,
    LANES,
    PRODUCTION,
    RULE,
    SPAN,
    SPLIT,
    ItemSums,
    ItemTables,
    lexical_gains,
    node_gains,
    production_gains,
    unary_gains,
)
from mbrparse.decode.derivations.label_forest import LabelForest, label_gains
from mbrparse.decode.derivations.unary_chains import close_cell


@kernel
def search_derivations(
    state: SearchState, items: ItemTables, sums: ItemSums, lanes: int, groups: int, n: int, stop: Ints
) -> None:
    """Find the first lanes' best trees among the derivations of a forest that has so many groups."""
    forest, gains = state.forest, state.gains
    if stop[0]:
        return
    node_gains(forest, items, sums, gains, n)
    production_gains(forest, items, sums, gains, n)
    unary_gains(forest, items, sums, gains, n)
    lexical_gains(forest, items, gains.weights, state.values.own, n)
    _search(state, groups, n, stop)
    if not stop[0]:
        best_trees(state, lanes, n)


@kernel
def search_labels(
    state: SearchState, labels: LabelForest, items: ItemTables, lanes: int, n: int, stop: Ints
) -> None:
    """Find the first lanes' best trees of a forest of labels."""
    label_gains(labels, state.gains, state.edge_gains, state.values.own, items.terminal, n)
    _search(state, labels.forest.cell_production[n * (n + 1) // 2], n, stop)
    if not stop[0]:
        best_trees(state, lanes, n)


@kernel
def _search(state: SearchState, groups: int, n: int, stop: Ints) -> None:
    """Fill the values of all nodes while there is time; those of preterminals are known."""
    forest, gains, edge_gains, values = state.forest, state.gains, state.edge_gains, state.values
    own, best, split, shared = values.own, values.best, values.split, values.shared
    node_first, unary_first, inside = forest.node_first, forest.unary_first, forest.inside
    edge_first, edge_group = forest.edge_first, forest.edge_group
    left_first, left_node = forest.left_first, forest.left_node
    cell_production, parent_of = forest.cell_production, forest.production_parent
    rule_of, group_of = forest.production_rule, forest.production_group
    production_first, production_last = forest.production_first, forest.production_last
    weights, span, node_gain = gains.weights, gains.span, gains.node
    production, children, log_prob, share = gains.production, gains.children, gains.rule_log_prob, gains.share
    mass, log_mass, edge_weights = edge_gains.mass, edge_gains.log_mass, edge_gains.weights
    group_weight, lane = edge_gains.group_weight, edge_gains.share_lane
    by_span, by_production = load(weights, SPAN, 0), load(weights, PRODUCTION, 0)
    by_child, by_rule = load(weights, CHILD, 0), load(weights, RULE, 0)
    by_mass, by_log_mass = load(edge_weights, 0, 0), load(edge_weights, 1, 0)
    by_split = weights[SPLIT, max(lane, 0)]
    has_masses, has_unaries = len(mass) > 0, len(forest.unary_rule) > 0
    has_rules = False
    for other in range(LANES):
        has_rules = has_rules or weights[RULE, other] != 0
    nothing = repeated(weights, -np.inf)
    for row in range(groups):
        store(split, row, 0, nothing)
    if lane >= 0:
        shared[: cell_production[n * (n + 1) // 2]] = -np.inf
    for end in range(1, n + 1):
        for start in range(end - 1, -1, -1):
            if stop[0]:
                return
            cell = forest_cell(start, end)
            first, last = Index(node_first[cell]), Index(node_first[cell + 1])
            if first == last:
                continue
            if end - start > 1:
                for node in range(first, last):
                    store(own, node, 0, nothing)
                of_span = multiply(by_span, spread(span, cell))
                for place in range(Index(cell_production[cell]), Index(cell_production[cell + 1])):
                    parent = Index(parent_of[place])
                    total = add(load(split, Index(group_of[place]), 0), of_span)
                    total = multiply_add(by_production, spread(production, place), total)
                    total = multiply_add(by_child, spread(children, place), total)
                    if has_rules:
                        total = multiply_add(by_rule, spread(log_prob, Index(rule_of[place])), total)
                    store(own, parent, 0, maximum(load(own, parent, 0), total))
                    if lane >= 0:  # this lane weighs nothing else of productions
                        own[parent, lane] = max(own[parent, lane], shared[place])
                for node in range(first, last):
                    store(own, node, 0, add(load(own, node, 0), load(node_gain, node, 0)))
            if unary_first[cell + 1] > unary_first[cell]:
                close_cell(forest, gains, own, best, state.chains, cell)
            elif has_unaries:
                for node in range(first, last):
                    store(best, node, 0, load(own, node, 0))
            for right in range(first, last):
                value = load(best, right, 0)
                if largest_of(value) == -np.inf:
                    continue
                partner = Index(left_first[right])
                for edge in range(Index(edge_first[right]), Index(edge_first[right + ONE])):
                    group, left = Index(edge_group[edge]), Index(left_node[partner])
                    partner = Index(partner + ONE)
                    total = add(value, load(best, left, 0))
                    if has_masses:
                        total = multiply_add(by_mass, spread(mass, edge), total)
                        total = multiply_add(by_log_mass, spread(log_mass, edge), total)
                    if lane >= 0:
                        both = best[right, lane] + best[left, lane]
                        below = inside[right] * inside[left]
                        # No production of the group earns more than this.
                        if both + by_split * group_weight[group] * below > split[group, lane]:
                            for place in range(Index(production_first[group]), Index(production_last[group])):
                                shared[place] = max(shared[place], both + share[place] * below)
                    store(split, group, 0, maximum(load(split, group, 0), total))
