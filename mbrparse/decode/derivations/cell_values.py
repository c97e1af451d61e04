"""The values of a cell's nodes, where its groups are those of needed edges and the rules say the rest.

What items are expected is summed up over all pairs of the cell, whether or not they have groups.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.forest_search import complete
from mbrparse.decode.derivations.gains import (
    SPLIT,
    ItemSums,
    lexical_gains,
    node_gains,
    production_gains,
    weighs_items,
)
from mbrparse.decode.derivations.item_forest import ItemForest
from mbrparse.decode.derivations.item_tables import ItemTables
from mbrparse.decode.derivations.keep_by_rules import RuleScratch
from mbrparse.decode.derivations.lane_search import LaneTables
from mbrparse.decode.derivations.needed_nodes import Needed
from mbrparse.decode.derivations.pair_sums import PairSums
from mbrparse.decode.derivations.search_state import SearchState
from mbrparse.grammar.charts.forest.packed_forest import Index, forest_cell
from mbrparse.grammar.charts.rule_tables import Floats, Ints, SparseTables
from mbrparse.grammar.kernel import kernel


class KeptSearch(NamedTuple):
    """A search of what is kept."""

    state: SearchState
    given: LaneTables
    needed: Needed
    constituents: Floats  # by cell, how many are expected


@kernel
def value_cell(
    search: KeptSearch,
    tables: SparseTables,
    sums: PairSums,
    by_rules: RuleScratch,
    items: Ints,
    start: int,
    end: int,
) -> bool:
    """List a cell's productions and find its nodes' values; false if the productions do not fit."""
    state, given = search.state, search.given
    forest, gains, item_sums = state.forest, state.gains, given.sums
    cell = forest_cell(start, end)
    single = end - start == 1
    fits = _list_productions(state, tables, by_rules, cell, start)
    label_of, symbol, by_label = given.items.label, forest.node_symbol, item_sums.label
    inside, outside, lexical = forest.inside, forest.outside, forest.lexical
    first, last = forest.node_first[cell], forest.node_first[cell + 1]
    for node in range(first, last):
        # A preterminal is no constituent: over a word only what stands above it counts.
        by_label[label_of[symbol[node]]] += outside[node] * (inside[node] - lexical[node])
    gains.span[cell] = search.constituents[cell]
    source = ItemForest(forest, tables, given.unaries, given.items)
    node_gains(source, item_sums, gains, cell)
    for node in range(first, last):
        by_label[label_of[symbol[node]]] = 0
    if weighs_items(gains.weights) and not single:
        # Elsewhere no tree is looked for in lanes that weigh them.
        touched = 0
        if items[cell]:
            place_of = start, cell
            touched = _sum_items(sums, tables, given.items, item_sums, by_rules, forest.outside, place_of)
        production_gains(source, item_sums, gains, cell)
        _clear_items(given.items, item_sums, by_rules.touched, touched)
    if single:
        lexical_gains(forest, given.items, gains.weights, state.values.lexical, start)
    complete(state, cell, single)
    return fits


@kernel
def _list_productions(
    state: SearchState, tables: SparseTables, by_rules: RuleScratch, cell: int, start: int
) -> bool:
    """List the productions of a cell's groups, with the best of each in the lane of shares."""
    forest, shared, share = state.forest, state.values.shared, state.gains.share
    parent_of, rule_of, group_of = (
        forest.production_parent,
        forest.production_rule,
        forest.production_group,
    )
    rule_start, rule_parent, rule_prob, outside = (
        tables.rule_start,
        tables.rule_parent,
        tables.rule_prob,
        forest.outside,
    )
    node_at, lane = by_rules.node_at, state.edge_gains.share_lane
    newest, older, rival_base, rival_below = by_rules.rivals
    group_pair, group_next = forest.group_pair, forest.group_next
    weight = state.gains.weights[SPLIT, lane] if lane >= 0 else 0.0
    place = forest.cell_production[cell]
    group, fits = forest.cell_group[cell], True
    while group >= 0:
        pair = group_pair[group]
        first, last = rule_start[pair], rule_start[pair + 1]
        if place + last - first > len(parent_of):
            fits = False
            break
        for rule in range(first, last):
            parent = node_at[start, rule_parent[rule]]
            if parent >= 0:
                parent_of[place], rule_of[place], group_of[place] = parent, rule, group
                earned, most = weight * rule_prob[rule] * outside[parent], -np.inf
                rival = newest[group]
                while rival >= 0:
                    most = max(most, rival_base[rival] + earned * rival_below[rival])
                    rival = older[rival]
                share[place], shared[place] = earned, most
                place += 1
        group = group_next[group]
    forest.cell_production[cell + 1] = place
    return fits


@kernel
def _sum_items(
    sums: PairSums,
    tables: SparseTables,
    items: ItemTables,
    item_sums: ItemSums,
    by_rules: RuleScratch,
    outside: Floats,
    place_of: tuple[int, int],
) -> int:
    """Sum up the items of a cell's productions, whether or not it has groups of them; returns how many."""
    start, cell = place_of
    rule_start, rule_parent, rule_prob = tables.rule_start, tables.rule_parent, tables.rule_prob
    node_at, touched = by_rules.node_at, by_rules.touched
    production_sum, child_sum, production = item_sums.production, item_sums.child, items.production
    left_child, right_child = item_sums.left_child, item_sums.right_child
    pair_of, value_of = sums.pair, sums.value
    count = 0
    for place in range(sums.first[cell], sums.last[cell]):
        pair, total = pair_of[place], value_of[place]
        for rule in range(rule_start[pair], rule_start[pair + 1]):
            parent = node_at[start, rule_parent[rule]]
            if parent >= 0:
                posterior = rule_prob[rule] * outside[parent] * total
                production_sum[Index(production[rule])] += posterior
                child_sum[left_child[rule]] += posterior
                child_sum[right_child[rule]] += posterior
                touched[count] = rule
                count += 1
    return count


@kernel
def _clear_items(items: ItemTables, item_sums: ItemSums, touched: Ints, count: int) -> None:
    production_sum, child_sum, production = item_sums.production, item_sums.child, items.production
    left_child, right_child = item_sums.left_child, item_sums.right_child
    for place in range(count):
        rule = Index(touched[place])
        production_sum[Index(production[rule])] = 0
        child_sum[left_child[rule]] = 0
        child_sum[right_child[rule]] = 0
