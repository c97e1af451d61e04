"""What may stand before a right child: the left nodes that end where it begins, in lists by its symbol.

A list is made when its symbol comes first at a position, and serves all right children of that symbol there.
"""

from __future__ import annotations

from mbrparse.grammar.charts.base.packed_forest import (
    ONE,
    PARTNERS,
    Columns,
    Forest,
    ForestState,
    Index,
    forest_cell,
)
from mbrparse.grammar.charts.base.prediction import Flags, predict
from mbrparse.grammar.charts.base.rule_tables import Indices, SparseTables
from mbrparse.grammar.kernel import kernel


@kernel
def open_position(state: ForestState, position: int) -> None:
    """Prepare a position, up to which all nodes are made, for those that begin there."""
    columns = state.columns
    state.partners.listed[position] = -1
    state.partners.head[position] = -1
    columns.bucket_first[position] = 0
    if position > 0:
        _fill_bucket(state.tables, state.forest, columns, position)
    predict(columns.predicted, state.prediction, columns.row, columns.bucket_first[position], position)


@kernel
def _fill_bucket(tables: SparseTables, forest: Forest, columns: Columns, end: int) -> None:
    """Sort a column's nodes by symbol, left children only."""
    first = forest.node_first[forest_cell(end - 1, end)]
    last = forest.node_first[forest_cell(0, end) + 1]
    place = columns.bucket_place
    place[:] = 0
    for node in range(first, last):
        left = tables.left_index[forest.node_symbol[node]]
        if left >= 0:
            place[left + 1] += 1
    place[0] = first
    for left in range(tables.n_left):
        place[left + 1] += place[left]
    for left in range(tables.n_left + 1):
        columns.bucket_first[end, left] = place[left]
    for node in range(first, last):
        left = tables.left_index[forest.node_symbol[node]]
        if left >= 0:
            columns.bucket_node[place[left]] = node
            place[left] += 1


@kernel
def list_partners(state: ForestState, split: int, end: int) -> int:
    """List, for each symbol of a cell, the nodes before it that make a pair with it.

    What was listed for an earlier end is there already. Returns -1 or what is too small.
    """
    tables, forest, partners, columns = state.tables, state.forest, state.partners, state.columns
    predicted, length = columns.predicted, Index(columns.length)
    bucket_first, bucket_node = columns.bucket_first[split], columns.bucket_node
    partner_list, partner_first = partners.listed[split], partners.first
    partner_place, partner_value = partners.place, partners.value
    place_at, place_pair, place_start = columns.place_at, columns.place_pair, columns.place_start
    place_group = columns.place_group
    pair_start, pair_left, node_symbol = tables.pair_start, tables.pair_left, forest.node_symbol
    rule_start, rule_parent = tables.rule_start, tables.rule_parent
    left_node, node_start, inside = forest.left_node, forest.node_start, forest.inside
    most = bucket_first[tables.n_left] - bucket_first[0]
    cell = forest_cell(split, end)
    for right in range(Index(forest.node_first[cell]), Index(forest.node_first[cell + 1])):
        symbol = Index(node_symbol[right])
        if partner_list[symbol] >= 0:
            continue
        chosen = columns.counts[1]
        if chosen + 1 == len(partner_first):
            return PARTNERS
        partner, places = Index(partner_first[chosen]), Index(columns.counts[3])
        if max(partner, places) + most > len(left_node):
            return PARTNERS
        for pair in range(pair_start[symbol], pair_start[Index(symbol + ONE)]):
            left = pair_left[pair]
            for member in range(Index(bucket_first[left]), Index(bucket_first[Index(left + ONE)])):
                node = Index(bucket_node[member])
                start = Index(node_start[node])
                if not _has_parent(
                    rule_parent, predicted[start], rule_start[pair], rule_start[Index(pair + ONE)]
                ):
                    continue
                key = Index(pair * length + start)
                place = Index(place_at[key])
                if place >= places or place_pair[place] != pair or place_start[place] != start:
                    place = places
                    place_at[key], place_group[place] = place, -1
                    place_pair[place], place_start[place] = pair, start
                    places = Index(places + ONE)
                left_node[partner], partner_place[partner] = node, place
                partner_value[partner] = inside[node]
                partner = Index(partner + ONE)
        partner_list[symbol] = chosen
        partners.older[chosen] = partners.head[split]
        partners.head[split] = chosen
        columns.counts[1], columns.counts[3] = chosen + 1, places
        partner_first[chosen + 1] = partner
    return -1


@kernel
def _has_parent(rule_parent: Indices, predicted: Flags, first: int, last: int) -> bool:
    """Whether some parent of rules is predicted."""
    for rule in range(first, last):  # noqa: SIM110
        if predicted[rule_parent[rule]]:
            return True
    return False
