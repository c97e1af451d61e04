"""The forest of what is kept, where only the nodes of the whole one are known: the rules say the rest.

A cell whose items are looked at has the sums of all its pairs (``pair_sums``), whatever is kept of their
splits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.kept_forest import KeepingScratch, KeptForest, Selection, keep_nodes
from mbrparse.decode.derivations.pair_sums import PairSums, sum_pairs
from mbrparse.grammar.charts.forest.forest_nodes import ForestNodes
from mbrparse.grammar.charts.forest.packed_forest import (
    EDGES,
    GROUPS,
    NODES,
    PRODUCTIONS,
    STOPPED,
    Forest,
    Index,
    forest_cell,
)
from mbrparse.grammar.charts.rule_tables import Floats, Ints, SparseTables
from mbrparse.grammar.kernel import kernel, steady

_SLACK = 1 + 1e-9  # what is rounded is no less than what it bounds

#: What may be too small besides the parts of forests.
SUMS = 7


class Rivals(NamedTuple):
    """Edges that may be the best of their group in the lane of shares, by edge but for the first."""

    newest: Ints  # by group: an edge, or -1
    older: Ints  # the next older one of its group, or -1
    base: Floats  # what its nodes earn
    below: Floats  # the product of their inside values


@steady
class RuleScratch(NamedTuple):
    """What making a forest by rules takes on the way; all -1 between columns but for the buckets."""

    node_at: Ints  # [start, symbol] the column's kept node
    group_at: Ints  # [start, pair] the column's group
    bucket_first: Ints  # [position, left symbol] kept nodes that end there
    bucket_node: Ints
    posterior: Floats  # by kept node
    is_used: Ints  # by group: whether it has edges, or its cell's items are looked at
    touched: Ints  # rules of the cell at work
    rivals: Rivals
    pair_right: Ints  # by pair, its right symbol


@kernel
def keep_by_rules(
    source: ForestNodes,
    known: tuple[SparseTables, Ints],
    selection: Selection,
    into: KeptForest,
    scratch: KeepingScratch,
    rooms: tuple[PairSums, RuleScratch],
    n: int,
    stop: Ints,
) -> int:
    """Fill a forest with what is selected, as ``keep`` does; returns -1, or what is too small, or STOPPED.

    Known are the rules, none of them unary, and the labels of symbols.
    """
    tables, label = known
    sums, by_rules = rooms
    forest = into.forest
    cells = n * (n + 1) // 2
    forest.node_first[0], forest.cell_production[0] = 0, 0
    forest.unary_first[: cells + 1] = 0
    forest.cell_group[:cells] = -1
    into.edge_most[:cells] = 0
    if not sum_pairs(source, tables, selection, sums, n, stop):
        return SUMS
    groups, edges, full = 0, 0, -1
    for end in range(1, n + 1):
        if stop[0]:
            return STOPPED
        if not keep_nodes(source, label, selection, forest, scratch, end):
            return NODES
        note_nodes(forest, by_rules, end)
        first = groups
        groups, fits = _full_groups(tables, selection, into, (sums, by_rules, scratch.largest), end, groups)
        full = -1 if fits else GROUPS
        if full < 0:
            given = by_rules, scratch.largest, scratch.by_label
            groups, edges, full = _list_edges(tables, selection, into, given, end, groups, edges)
        if full < 0 and not _list_productions(tables, forest, by_rules, end):
            full = PRODUCTIONS
        leave_column(forest, tables, by_rules, scratch.alive, end, first, groups)
        if full >= 0:
            return full
    forest.edge_first[forest.node_first[cells]] = edges
    return -1


@kernel
def note_nodes(forest: Forest, by_rules: RuleScratch, end: int) -> None:
    """Note where a column's kept nodes are."""
    last = forest.node_first[forest_cell(0, end) + 1]
    for node in range(forest.node_first[forest_cell(end - 1, end)], last):
        by_rules.node_at[forest.node_start[node], forest.node_symbol[node]] = node
        by_rules.posterior[node] = forest.inside[node] * forest.outside[node] * _SLACK


@kernel
def leave_column(
    forest: Forest,
    tables: SparseTables,
    by_rules: RuleScratch,
    alive: Ints,
    end: int,
    first_group: int,
    groups: int,
) -> None:
    """Sort a column's live nodes by symbol, and forget where its nodes and groups are."""
    for group in range(first_group, groups):
        by_rules.group_at[forest.group_start[group], forest.group_pair[group]] = -1
    first = forest.node_first[forest_cell(end - 1, end)]
    last = forest.node_first[forest_cell(0, end) + 1]
    place, bucket = by_rules.bucket_first[end], by_rules.bucket_node
    place[:] = 0
    for node in range(first, last):
        by_rules.node_at[forest.node_start[node], forest.node_symbol[node]] = -1
        left = tables.left_index[forest.node_symbol[node]]
        if left >= 0 and alive[node]:
            place[left] += 1
    until = first
    for left in range(tables.n_left + 1):
        until += place[left]
        place[left] = until
    # From the last one down, which leaves in each place where its nodes begin.
    for node in range(last - 1, first - 1, -1):
        left = tables.left_index[forest.node_symbol[node]]
        if left >= 0 and alive[node]:
            place[left] -= 1
            bucket[place[left]] = node


@kernel
def _new_group(
    tables: SparseTables,
    into: KeptForest,
    by_rules: RuleScratch,
    largest_of: Floats,
    pair: int,
    cell: tuple[int, int, int],
) -> None:
    """Make a group, the cell's newest; cell and group are numbers, and the cell's start."""
    start, place, group = cell
    forest = into.forest
    largest, weight = 0.0, 0.0
    for rule in range(tables.rule_start[pair], tables.rule_start[pair + 1]):
        parent = by_rules.node_at[start, tables.rule_parent[rule]]
        if parent >= 0:
            passed = tables.rule_prob[rule] * forest.outside[parent]
            largest = max(largest, passed)
            weight += passed
    largest_of[group], into.weight[group] = largest, weight
    forest.group_pair[group], forest.group_right[group] = pair, by_rules.pair_right[pair]
    forest.group_start[group], forest.group_sum[group] = start, 0
    forest.group_next[group], forest.cell_group[place] = forest.cell_group[place], group
    by_rules.group_at[start, pair], by_rules.is_used[group] = group, 0


@kernel
def _full_groups(
    tables: SparseTables,
    selection: Selection,
    into: KeptForest,
    rooms: tuple[PairSums, RuleScratch, Floats],
    end: int,
    groups: int,
) -> tuple[int, bool]:
    """Make the groups of cells whose items are looked at; returns the number of groups, and if they fit."""
    sums, by_rules, largest = rooms
    forest = into.forest
    for start in range(end - 2, -1, -1):
        cell = forest_cell(start, end)
        if not selection.items[cell] or forest.node_first[cell] == forest.node_first[cell + 1]:
            continue
        if groups + sums.last[cell] - sums.first[cell] > len(forest.group_sum):
            return groups, False
        for place in range(sums.first[cell], sums.last[cell]):
            _new_group(tables, into, by_rules, largest, sums.pair[place], (start, cell, groups))
            forest.group_sum[groups], by_rules.is_used[groups] = sums.value[place], 1
            groups += 1
    return groups, True


@kernel
def _list_edges(
    tables: SparseTables,
    selection: Selection,
    into: KeptForest,
    rooms: tuple[RuleScratch, Floats, Ints],
    end: int,
    groups: int,
    edges: int,
) -> tuple[int, int, int]:
    """List the edges of a column; returns the numbers of groups and edges, and what is too small, or -1."""
    by_rules, largest, by_label = rooms
    forest, left_value, edge_most = into.forest, into.left_value, into.edge_most
    node_first, node_start, node_symbol, inside = (
        forest.node_first,
        forest.node_start,
        forest.node_symbol,
        forest.inside,
    )
    pair_start, pair_left, group_at = tables.pair_start, tables.pair_left, by_rules.group_at
    bucket_first, bucket_node, posterior_of = by_rules.bucket_first, by_rules.bucket_node, by_rules.posterior
    edge_group, left_node, weight, group_sum = (
        forest.edge_group,
        forest.left_node,
        into.weight,
        forest.group_sum,
    )
    items, least_of, least_label = selection.items, selection.least, selection.least_label
    above = forest_cell(0, end)  # the cell that begins at a position lies so many before it
    for split in range(end - 1, -1, -1):
        right_cell = forest_cell(split, end)
        right_full = items[right_cell] != 0
        for right in range(node_first[right_cell], node_first[right_cell + 1]):
            forest.edge_first[right], forest.left_first[right] = edges, edges
            symbol, value, likely, posterior = (
                node_symbol[right],
                inside[right],
                by_label[right] != 0,
                posterior_of[right],
            )
            for pair in range(Index(pair_start[symbol]), Index(pair_start[symbol + 1] if split > 0 else 0)):
                left = pair_left[pair]
                for member in range(Index(bucket_first[split, left]), Index(bucket_first[split, left + 1])):
                    node = Index(bucket_node[member])
                    start = node_start[node]
                    cell = Index(above - start)
                    least = least_of[cell]
                    wanted = (right_full and items[cell] and items[forest_cell(start, split)]) or (
                        likely and by_label[node] and least_label[cell] < np.inf
                    )
                    # An edge is no more probable than its nodes.
                    if not wanted and (posterior < least or posterior_of[node] < least):
                        continue
                    if node_first[cell] == node_first[cell + 1]:
                        continue
                    group = group_at[start, pair]
                    if group < 0:
                        if groups == len(group_sum):
                            return groups, edges, GROUPS
                        group = groups
                        _new_group(tables, into, by_rules, largest, pair, (start, above - start, group))
                        groups += 1
                    place = Index(group)
                    below = inside[node] * value
                    if weight[place] > 0 and (wanted or not largest[place] * below < least):
                        if edges == len(edge_group):
                            return groups, edges, EDGES
                        edge_group[edges], left_node[edges] = group, node
                        left_value[edges] = inside[node]
                        edge_most[cell] = max(edge_most[cell], largest[place] * below)
                        if not items[cell]:
                            group_sum[place] += below
                            by_rules.is_used[place] = 1
                        edges += 1
    return groups, edges, -1


@kernel
def _list_productions(tables: SparseTables, forest: Forest, by_rules: RuleScratch, end: int) -> bool:
    """List the productions of a column's groups, and drop groups without use; false if there is no room."""
    parent_of, rule_of, group_of = (
        forest.production_parent,
        forest.production_rule,
        forest.production_group,
    )
    place = forest.cell_production[forest_cell(end - 1, end)]
    for start in range(end - 1, -1, -1):
        cell = forest_cell(start, end)
        group, newest = forest.cell_group[cell], -1
        while group >= 0:
            following = forest.group_next[group]
            if by_rules.is_used[group]:
                pair = forest.group_pair[group]
                first, last = tables.rule_start[pair], tables.rule_start[pair + 1]
                if place + last - first > len(parent_of):
                    return False
                forest.production_first[group] = place
                for rule in range(first, last):
                    parent = by_rules.node_at[start, tables.rule_parent[rule]]
                    if parent >= 0:
                        parent_of[place], rule_of[place], group_of[place] = parent, rule, group
                        place += 1
                forest.production_last[group] = place
                if forest.production_first[group] < place:
                    forest.group_next[group], newest = newest, group
            group = following
        forest.cell_group[cell], forest.cell_production[cell + 1] = newest, place
    return True
