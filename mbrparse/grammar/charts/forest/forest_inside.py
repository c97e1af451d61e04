"""The inside pass of forests: nodes, edges, productions and inside values, cell by cell.

One text serves both semirings. Where ``best`` is None, products are added up, and edges and unary rules are
listed. Else their maximum is taken, where it came from is kept in ``best``, and nothing else is listed. numba
compiles it once for each and drops the branches that are not its own.

What may stand before a right child, the left nodes that end where it begins, is in lists by its symbol. A
list is made when its symbol comes first at a position, and serves all right children of that symbol there.
"""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.base.alive import Alive, is_alive
from mbrparse.grammar.charts.base.closure import UnaryTables
from mbrparse.grammar.charts.base.packed_forest import (
    EDGES,
    GROUPS,
    LEAST_VALUE,
    MOST_VALUE,
    NODES,
    ONE,
    OUT_OF_RANGE,
    PARTNERS,
    PRODUCTIONS,
    STOPPED,
    UNARIES,
    Columns,
    Forest,
    ForestState,
    Index,
    forest_cell,
)
from mbrparse.grammar.charts.base.prediction import Flags, predict
from mbrparse.grammar.charts.base.rule_tables import Indices, Ints, SparseTables, Words
from mbrparse.grammar.charts.forest.forest_derivation import BestPaths, improve_node, keep_chains
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


@kernel
def forest_inside(
    state: ForestState, words: Words, alive: Alive | None, best: BestPaths | None, stop: Ints
) -> int:
    """Fill the forest from the words up; returns -1, or which of its parts is too small.

    With ``alive`` binary rules make nothing else. (Words do not, either; and unary rules are above what is.)
    With ``best`` inside values are those of the best derivations. Of equally good ones (within its tolerance)
    the first in order of splits is kept, then of the symbols of the children; of chains of unary rules the
    one with the fewest nodes, then the one over the earliest split, then the first in order of symbols.

    STOPPED is what it returns where ``stop`` (``Clock.stop``) is set. ``counts[OUT_OF_RANGE]`` says whether
    a value left the range of ``LEAST_VALUE`` to ``MOST_VALUE``; the structure of the forest is complete all
    the same.
    """
    forest, partners, columns = state.forest, state.partners, state.columns
    n = len(words.entry_start) - 1
    # Names for all arrays of the loops: taken out of the tuple there, each would be counted anew.
    inside, node_first, node_symbol = forest.inside, forest.node_first, forest.node_symbol
    place_group, place_pair, place_start = columns.place_group, columns.place_pair, columns.place_start
    partner_list, partner_first = partners.listed, partners.first
    partner_place, partner_value = partners.place, partners.value
    group_sum, group_pair, group_start = forest.group_sum, forest.group_pair, forest.group_start
    group_right, group_next, cell_group = forest.group_right, forest.group_next, forest.cell_group
    edge_first, edge_group = forest.edge_first, forest.edge_group
    left_first, left_node = forest.left_first, forest.left_node
    best_left, best_right, least_share = node_symbol, node_symbol, 1.0
    if best is not None:
        best_left, best_right, least_share = best.group_left, best.group_right, best.least_share
    node_first[0], forest.unary_first[0], forest.cell_production[0] = 0, 0, 0
    columns.counts[:] = 0
    groups, edges = 0, 0
    full = -1
    for end in range(1, n + 1):
        open_position(state, end - 1)
        column = groups
        cell_group[forest_cell(end - 1, end) : forest_cell(0, end) + 1] = -1
        for split in range(end - 1, -1, -1):
            full = STOPPED if stop[0] else _complete_cell(state, words, alive, best, split, end)
            if full < 0 and split > 0:
                full = list_partners(state, split, end)
            if full >= 0:
                break
            cell = forest_cell(split, end)
            listed = partner_list[split]
            for right in range(Index(node_first[cell]), Index(node_first[cell + 1])):
                edge_first[right] = edges
                symbol = Index(node_symbol[right])
                if split == 0 or listed[symbol] < 0:
                    continue
                chosen = Index(listed[symbol])
                first, last = partner_first[chosen], partner_first[Index(chosen + ONE)]
                left_first[right] = first
                if max(edges + last - first - len(edge_group), groups + last - first - len(group_sum)) > 0:
                    full = EDGES if edges + last - first > len(edge_group) else GROUPS
                    break
                value = inside[right]
                edge = Index(edges)
                for partner in range(Index(first), Index(last)):
                    place = Index(partner_place[partner])
                    group = place_group[place]
                    if group < column:
                        group = groups
                        groups += 1
                        place_group[place] = group
                        start = place_start[place]
                        into = Index(forest_cell(start, end))
                        group_pair[group] = place_pair[place]
                        group_sum[group] = 0
                        group_right[group] = symbol
                        group_start[group] = start
                        group_next[group] = cell_group[into]
                        cell_group[into] = group
                    if best is None:
                        group_sum[Index(group)] += value * partner_value[partner]
                        edge_group[edge] = group
                        edge = Index(edge + ONE)
                    else:
                        product = value * partner_value[partner]
                        # Splits come in descending order, and a group has one edge at each.
                        if product >= group_sum[Index(group)] * least_share:
                            group_sum[Index(group)] = max(group_sum[Index(group)], product)
                            best_left[Index(group)] = left_node[partner]
                            best_right[Index(group)] = right
                if best is None:
                    edges += last - first
            if full >= 0:
                break
        if full >= 0:
            return full
        factor = _rescale_column(forest, columns, end)
        for group in range(column, groups if factor != 1.0 else column):
            group_sum[group] *= factor
    edge_first[node_first[forest_cell(0, n) + 1]] = edges
    columns.counts[2] = groups
    return -1


@kernel
def _complete_cell(
    state: ForestState, words: Words, alive: Alive | None, best: BestPaths | None, start: int, end: int
) -> int:
    """Make the nodes of a cell of which all edges are found; returns -1 or what is too small."""
    tables, unary, forest, columns = state.tables, state.unary, state.forest, state.columns
    predicted = columns.predicted[start]
    cell = forest_cell(start, end)
    begin = forest.node_first[cell]
    inside, slot, node_symbol, lexical = forest.inside, columns.node_slot, forest.node_symbol, forest.lexical
    group_pair, group_sum, group_next = forest.group_pair, forest.group_sum, forest.group_next
    production_first, production_last = forest.production_first, forest.production_last
    production_parent = forest.production_parent
    production_rule, production_group = forest.production_rule, forest.production_group
    rule_start, rule_parent, rule_prob = tables.rule_start, tables.rule_parent, tables.rule_prob
    count, productions = begin, columns.counts[0]
    node_group, least_share = node_symbol, 1.0
    if best is not None:
        node_group, least_share = best.node_group, best.least_share
    entries = words.entry_start[end] - words.entry_start[end - 1] if end - start == 1 else 0
    # With unary rules every symbol might come.
    spare = len(inside) - (len(slot) if len(unary.rule_parent) else 0)
    full = NODES if begin + entries > spare else -1
    if full < 0 and end - start == 1:
        for entry in range(words.entry_start[start], words.entry_start[end]):
            if not predicted[words.entry_symbol[entry]]:
                continue
            slot[words.entry_symbol[entry]] = count
            node_symbol[count] = words.entry_symbol[entry]
            inside[count] = words.entry_prob[entry]
            lexical[count] = words.entry_prob[entry]
            if best is not None:
                node_group[count] = -1
            count += 1
    group = forest.cell_group[cell]
    while group >= 0 and full < 0:
        pair = Index(group_pair[group])
        total = group_sum[group]
        first, last = rule_start[pair], rule_start[pair + ONE]
        production_first[group] = productions
        rules = int(last) - int(first)
        if productions + rules > len(production_parent):
            full = PRODUCTIONS
            break
        if count + rules > spare:
            full = NODES
            break
        place = Index(productions)
        for rule in range(first, last):
            parent = rule_parent[rule]
            if not predicted[parent]:
                continue
            if alive is not None:
                if not is_alive(alive, start, end, parent):
                    continue
            node = slot[parent]
            if node < 0:
                node = count
                slot[parent] = node
                node_symbol[node] = parent
                inside[node] = 0
                lexical[node] = 0
                if best is not None:
                    node_group[node] = -1
                count += 1
            if best is None:
                inside[Index(node)] += rule_prob[rule] * total
            else:
                value = rule_prob[rule] * total
                if value * least_share > inside[Index(node)]:
                    inside[Index(node)] = value
                    node_group[Index(node)] = group
                elif value >= inside[Index(node)] * least_share:
                    improve_node(forest, best, inside, node, group, value)
            production_parent[place] = node
            production_rule[place], production_group[place] = rule, group
            place = Index(place + ONE)
        productions = int(place)
        production_last[group] = productions
        group = group_next[group]
    if full >= 0:
        for node in range(begin, count):
            slot[node_symbol[node]] = -1
        return full
    forest.unary_first[cell + 1] = 0
    if len(unary.rule_parent):
        bottoms = count
        count = _close(unary, forest, columns, best, begin, count)
        if best is None:
            full = _list_unaries(unary, forest, columns, cell, begin, count)
        else:
            keep_chains(state, best, inside, begin, bottoms)
    for node in range(begin, count):
        slot[forest.node_symbol[node]] = -1
        forest.node_start[node] = start
    forest.node_first[cell + 1] = count
    forest.cell_production[cell + 1] = productions
    columns.counts[0] = productions
    return full


@kernel
def _close(
    unary: UnaryTables, forest: Forest, columns: Columns, best: BestPaths | None, begin: int, count: int
) -> int:
    """Add to a cell's nodes all that derive them by unary rules; returns where its nodes end."""
    inside, slot = forest.inside, columns.node_slot
    last = count
    for node in range(begin, last):
        columns.base[node - begin] = inside[node]
        inside[node] = 0
    for node in range(begin, last):
        symbol = forest.node_symbol[node]
        for place in range(unary.closure_start[symbol], unary.closure_start[symbol + 1]):
            top = unary.closure_top[place]
            above = slot[top]
            if above < 0:
                above = count
                slot[top] = above
                forest.node_symbol[above] = top
                inside[above] = 0
                forest.lexical[above] = 0
                count += 1
            if best is None:
                inside[above] += unary.closure_value[place] * columns.base[node - begin]
            else:
                inside[above] = max(inside[above], best.chains.prob[place] * columns.base[node - begin])
    return count


@kernel
def _list_unaries(
    unary: UnaryTables, forest: Forest, columns: Columns, cell: int, begin: int, count: int
) -> int:
    """List the unary rules between the cell's nodes; returns -1 or what is too small."""
    place = forest.unary_first[cell]
    for node in range(begin, count):
        symbol = forest.node_symbol[node]
        first, last = unary.rule_start[symbol], unary.rule_start[symbol + 1]
        if place + last - first > len(forest.unary_rule):
            return UNARIES
        for rule in range(first, last):
            # What derives a node is a node itself, by the closure.
            forest.unary_parent[place] = columns.node_slot[unary.rule_parent[rule]]
            forest.unary_child[place] = node
            forest.unary_rule[place] = rule
            place += 1
    forest.unary_first[cell + 1] = place
    return -1


@kernel
def _rescale_column(forest: Forest, columns: Columns, end: int) -> float:
    """Divide a column by a power of two where its longest nodes stray from one; returns the factor.

    Notes whether a value leaves the range, before or after.
    """
    first = forest.node_first[forest_cell(end - 1, end)]
    last = forest.node_first[forest_cell(0, end) + 1]
    columns.shift[end] = 0
    largest = 0.0
    node = last - 1
    while node >= first and forest.node_start[node] == forest.node_start[last - 1]:
        largest = max(largest, forest.inside[node])
        node -= 1
    factor = 1.0
    if 0.0 < largest < np.inf and not 1e-3 < largest < 1e3:
        shift = min(max(int(np.floor(np.log2(largest))), -1000), 1000)
        columns.shift[end] = shift
        factor = 2.0**-shift
    least, most = np.inf, 0.0
    for node in range(first, last):
        value = forest.inside[node]
        least, most = min(least, value), max(most, value)
        forest.inside[node] = value * factor
        forest.lexical[node] *= factor
    kept = min(least, least * factor) >= LEAST_VALUE and max(most, most * factor) <= MOST_VALUE
    if first < last and not kept:
        columns.counts[OUT_OF_RANGE] = 1
    return factor
