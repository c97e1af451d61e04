"""A forest of what is kept by rules and its search in one: nodes that no best tree needs get no edges.

A column's nodes are kept, then its cells are searched one after the other, narrow ones first. A cell's values
say which of its nodes live (``needed_nodes``), and these make the edges to the cells above and the groups
there.
"""

from __future__ import annotations

import numpy as np

from mbrparse.decode.derivations.cell_values import KeptSearch, value_cell
from mbrparse.decode.derivations.gains import SPLIT
from mbrparse.decode.derivations.keep_by_rules import SUMS, Rivals, RuleScratch, leave_column, note_nodes
from mbrparse.decode.derivations.kept_forest import KeepingScratch, KeptForest, Selection, keep_nodes
from mbrparse.decode.derivations.needed_nodes import drop_values
from mbrparse.decode.derivations.pair_sums import PairSums, sum_pairs
from mbrparse.decode.derivations.search_state import SearchState
from mbrparse.grammar.charts.forest.forest_nodes import ForestNodes
from mbrparse.grammar.charts.forest.packed_forest import (
    EDGES,
    GROUPS,
    NODES,
    PRODUCTIONS,
    STOPPED,
    Index,
    forest_cell,
)
from mbrparse.grammar.charts.rule_tables import Floats, Ints, SparseTables
from mbrparse.grammar.charts.vector import add, load, maximum, store
from mbrparse.grammar.kernel import kernel


@kernel
def search_by_rules(
    source: ForestNodes,
    known: tuple[SparseTables, Ints],
    selection: Selection,
    into: KeptForest,
    scratch: KeepingScratch,
    rooms: tuple[PairSums, RuleScratch],
    search: KeptSearch,
    n: int,
) -> int:
    """Fill a forest with what is selected and needed, and its best values.

    Returns -1, or what is too small, or STOPPED. Known is what ``keep_by_rules`` knows.
    """
    tables, label = known
    sums, by_rules = rooms
    state, needed, forest, items, alive = (
        search.state,
        search.needed,
        into.forest,
        selection.items,
        scratch.alive,
    )
    best, stop, rooms_of = state.values.best, state.stop, (by_rules, scratch.largest, alive)
    cells = n * (n + 1) // 2
    forest.node_first[0], forest.cell_production[0] = 0, 0
    forest.unary_first[: cells + 1] = 0
    forest.cell_group[:cells] = -1
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
        for start in range(end - 1, -1, -1):
            cell = forest_cell(start, end)
            forest.cell_production[cell + 1] = forest.cell_production[cell]
            if forest.node_first[cell] == forest.node_first[cell + 1]:
                continue
            if not value_cell(search, tables, sums, by_rules, items, start, end):
                full = PRODUCTIONS
                break
            drop_values(needed, forest, best, alive, cell)
            if start > 0:
                so_far, place_of = (groups, edges), (start, end)
                groups, edges, full = _list_edges(tables, selection, into, rooms_of, state, place_of, so_far)
                if full >= 0:
                    break
        leave_column(forest, tables, by_rules, alive, end, first, groups)
        if full >= 0:
            return full
    return -1


@kernel
def _most_passed(tables: SparseTables, node_at: Ints, outside: Floats, pair: int, start: int) -> float:
    """What comes down to a pair from a node above it at most."""
    most = 0.0
    for rule in range(tables.rule_start[pair], tables.rule_start[pair + 1]):
        parent = node_at[start, tables.rule_parent[rule]]
        if parent >= 0:
            most = max(most, tables.rule_prob[rule] * outside[parent])
    return most


@kernel
def _list_group(group_next: Ints, cell_group: Ints, is_used: Ints, group: int, cell: int) -> None:
    group_next[group], cell_group[cell], is_used[group] = cell_group[cell], group, 1


@kernel
def _add_rival(rivals: Rivals, group: int, edge: int, base: float, below: float) -> None:
    rivals.base[edge], rivals.below[edge] = base, below
    rivals.older[edge], rivals.newest[group] = rivals.newest[group], edge


@kernel
def _list_edges(
    tables: SparseTables,
    selection: Selection,
    into: KeptForest,
    known: tuple[RuleScratch, Floats, Ints],
    state: SearchState,
    place_of: tuple[int, int],
    so_far: tuple[int, int],
) -> tuple[int, int, int]:
    """List the edges whose right nodes are in a cell, and tell their groups what they bring.

    Returns the numbers of groups and edges, which come ``so_far``, and what is too small, or -1.
    """
    (by_rules, largest, alive), (split, end), (groups, edges) = known, place_of, so_far
    forest, rivals = into.forest, by_rules.rivals
    node_first, node_start, inside = forest.node_first, forest.node_start, forest.inside
    pair_start, pair_left, group_at = tables.pair_start, tables.pair_left, by_rules.group_at
    bucket_first, bucket_node, posterior_of = by_rules.bucket_first, by_rules.bucket_node, by_rules.posterior
    items, least_of = selection.items, selection.least
    best, reached, lane = state.values.best, state.values.split, state.edge_gains.share_lane
    by_split = state.gains.weights[SPLIT, lane] if lane >= 0 else 0.0
    above = forest_cell(0, end)  # the cell that begins at a position lies so many before it
    right_cell = forest_cell(split, end)
    right_full = items[right_cell] != 0
    for right in range(node_first[right_cell], node_first[right_cell + 1]):
        forest.edge_first[right], forest.left_first[right] = edges, edges
        if not alive[right]:
            continue
        symbol, factor, posterior, value = (
            forest.node_symbol[right],
            inside[right],
            posterior_of[right],
            load(best, right, 0),
        )
        for pair in range(Index(pair_start[symbol]), Index(pair_start[symbol + 1])):
            left = pair_left[pair]
            for member in range(Index(bucket_first[split, left]), Index(bucket_first[split, left + 1])):
                node = Index(bucket_node[member])
                start = node_start[node]
                cell = Index(above - start)
                least = least_of[cell]
                wanted = right_full and items[cell] and items[forest_cell(start, split)]
                # An edge is no more probable than its nodes.
                most = min(posterior, posterior_of[node])
                if not (wanted or most >= least) or node_first[cell] == node_first[cell + 1]:
                    continue
                group = group_at[start, pair]
                if group < 0:
                    if groups == len(largest):
                        return groups, edges, GROUPS
                    group, groups = groups, groups + 1
                    largest[group] = _most_passed(tables, by_rules.node_at, forest.outside, pair, start)
                    forest.group_pair[group], forest.group_right[group] = pair, symbol
                    forest.group_start[group], group_at[start, pair] = start, group
                    by_rules.is_used[group], rivals.newest[group] = 0, -1
                    reached[group, :] = -np.inf
                place = Index(group)
                below = inside[node] * factor
                if largest[place] == 0 or (not wanted and largest[place] * below < least):
                    continue
                if edges == len(forest.edge_group):
                    return groups, edges, EDGES
                if not by_rules.is_used[place]:
                    _list_group(
                        forest.group_next, forest.cell_group, by_rules.is_used, group, forest_cell(start, end)
                    )
                forest.edge_group[edges], forest.left_node[edges] = group, node
                if lane >= 0:
                    base = best[right, lane] + best[node, lane]
                    if base + by_split * most > reached[place, lane]:
                        _add_rival(rivals, group, edges, base, below)
                both = add(value, load(best, node, 0))
                store(reached, place, 0, maximum(load(reached, place, 0), both))
                edges += 1
    forest.edge_first[node_first[right_cell + 1]] = edges
    return groups, edges, -1
