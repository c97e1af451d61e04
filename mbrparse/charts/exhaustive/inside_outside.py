"""The passes of forests: nodes, edges, productions and inside values on the way up, outside values on the way
down.

What may stand before a right child, the left nodes that end where it begins, is in lists by its symbol. A
list is made when its symbol comes first at a position, and serves all right children of that symbol there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mbrparse.charts.kernel import inner_kernel, kernel
from mbrparse.charts.packed_forest import (
    EDGES,
    GROUPS,
    LEAST_VALUE,
    MOST_VALUE,
    NODES,
    ONE,
    OUT_OF_RANGE,
    PARTNERS,
    PRODUCTIONS,
    UNARIES,
    Columns,
    Forest,
    Index,
    Partners,
    SpanFilter,
    forest_cell,
)
from mbrparse.charts.rule_tables import Floats, Ints, SparseTables, UnaryTables, Words


@inner_kernel
def allows(spans: SpanFilter, label_of: Ints, symbol: int, start: int, end: int) -> bool:
    """Whether a symbol is allowed over a span, by one of its labels."""
    if spans.bits.size == 0:
        return True
    label = label_of[symbol]
    return bool(spans.bits[end, start, label >> 6] >> np.uint64(label & 63) & np.uint64(1))


@inner_kernel
def _sort_column(tables: SparseTables, forest: Forest, columns: Columns, spans: SpanFilter, end: int) -> None:
    """Sort the nodes that end at a position by symbol: left children only, and what is allowed."""
    bucket, members = columns.bucket_first[end], columns.bucket_node
    node_start, node_symbol, node_first = forest.node_start, forest.node_symbol, forest.node_first
    first, last = node_first[forest_cell(end - 1, end)], node_first[forest_cell(0, end) + 1]
    left_index, n_left = tables.left_index, tables.n_left
    bucket[:] = 0
    for node in range(first, last):
        left = left_index[node_symbol[node]]
        if left >= 0 and allows(spans, spans.taken, node_symbol[node], node_start[node], end):
            bucket[left] += 1
    bucket[n_left] = first
    for left in range(n_left):
        bucket[n_left] += bucket[left]
        bucket[left] = bucket[n_left]
    # Each begins where it would end, and moves down with each of its nodes.
    for node in range(last - 1, first - 1, -1):
        left = left_index[node_symbol[node]]
        if left >= 0 and allows(spans, spans.taken, node_symbol[node], node_start[node], end):
            bucket[left] -= 1
            members[bucket[left]] = node


@kernel
def forest_inside(
    tables: SparseTables,
    unary: UnaryTables,
    forest: Forest,
    partners: Partners,
    columns: Columns,
    words: Words,
    spans: SpanFilter,
) -> int:
    """Fill the forest from the words up; returns -1, or which of its parts is too small.

    Binary rules make, and take, nothing but what ``spans`` allows. (Words do not make it, either; unary rules
    do.)

    ``counts[OUT_OF_RANGE]`` says whether a value left the range of ``LEAST_VALUE`` to ``MOST_VALUE``; the
    structure of the forest is complete all the same. Where a part is too small, ``node_slot`` is to be
    cleared.
    """
    # All loops are here, and all arrays have names: a call for each cell would count references to each.
    rule_start, rule_parent, rule_prob = tables.rule_start, tables.rule_parent, tables.rule_prob
    pair_start, pair_left, n_left = tables.pair_start, tables.pair_left, tables.n_left
    entry_start, entry_symbol, entry_prob = words.entry_start, words.entry_symbol, words.entry_prob
    inside, lexical, node_first = forest.inside, forest.lexical, forest.node_first
    node_start, node_symbol, left_first = forest.node_start, forest.node_symbol, forest.left_first
    group_sum, group_right = forest.group_sum, forest.group_right
    group_pair, group_next, cell_group = columns.group_pair, columns.group_next, columns.cell_group
    edge_first, edge_group, left_node = forest.edge_first, forest.edge_group, forest.left_node
    production_parent, cell_production = forest.production_parent, forest.cell_production
    production_rule, production_group = forest.production_rule, forest.production_group
    partner_list, partner_first = partners.listed, partners.first
    partner_place, partner_value = partners.place, partners.value
    partner_head, partner_older = partners.head, partners.older
    place_at, place_group = columns.place_at, columns.place_group
    place_pair, place_start = columns.place_pair, columns.place_start
    bucket_first, bucket_node = columns.bucket_first, columns.bucket_node
    slot, counts = columns.node_slot, columns.counts
    length = Index(columns.length)
    n = len(entry_start) - 1
    has_unaries, filtered = len(unary.rule_parent) > 0, spans.bits.size > 0
    # With unary rules every symbol might come.
    spare = len(inside) - (len(slot) if has_unaries else 0)
    unary_first = forest.unary_first
    node_first[0], unary_first[0], cell_production[0] = 0, 0, 0
    counts[:] = 0
    # No literal: what is called with it would be compiled for that, too.
    count: Any = np.int64(0)
    productions, groups, edges, lists, places = 0, 0, 0, 0, Index(0)
    for end in range(1, n + 1):
        partner_list[end - 1], partner_head[end - 1] = -1, -1
        if end > 1:
            _sort_column(tables, forest, columns, spans, end - 1)
        column = groups
        cell_group[forest_cell(end - 1, end) : forest_cell(0, end) + 1] = -1
        for start in range(end - 1, -1, -1):
            # The cell's nodes: of its words, then of its groups, whose edges are all found.
            cell, begin = forest_cell(start, end), count
            if end - start == 1:
                if begin + entry_start[end] - entry_start[start] > spare:
                    return NODES
                for entry in range(entry_start[start], entry_start[end]):
                    slot[entry_symbol[entry]] = count
                    node_symbol[count] = entry_symbol[entry]
                    inside[count] = lexical[count] = entry_prob[entry]
                    count += 1
            group = cell_group[cell]
            while group >= 0:
                total, children = group_sum[group], Index(group_pair[group])
                first_rule, last_rule = rule_start[children], rule_start[children + ONE]
                rules = int(last_rule) - int(first_rule)
                if productions + rules > len(production_parent):
                    return PRODUCTIONS
                if count + rules > spare:
                    return NODES
                product_place = Index(productions)
                for rule in range(first_rule, last_rule):
                    parent = rule_parent[rule]
                    if filtered and not allows(spans, spans.label, parent, start, end):
                        continue
                    node = slot[parent]
                    if node < 0:
                        node = count
                        slot[parent] = node
                        node_symbol[node] = parent
                        inside[node] = 0
                        lexical[node] = 0
                        count += 1
                    inside[Index(node)] += rule_prob[rule] * total
                    production_parent[product_place] = node
                    production_rule[product_place], production_group[product_place] = rule, group
                    product_place = Index(product_place + ONE)
                productions = int(product_place)
                group = group_next[group]
            if has_unaries:
                count = _close(unary, forest, slot, columns.base, cell, begin, count)
                if count < 0:
                    return UNARIES
            for node in range(begin, count):
                slot[node_symbol[node]] = -1
                node_start[node] = start
            node_first[cell + 1], cell_production[cell + 1] = count, productions
            # The nodes' edges, with what ends where they begin.
            listed = partner_list[start]
            bucket = bucket_first[start]
            for right in range(Index(begin), Index(count)):
                edge_first[right] = edges
                symbol = Index(node_symbol[right])
                taken = not filtered or allows(spans, spans.taken, node_symbol[right], start, end)
                if start == 0 or not taken:
                    continue
                if listed[symbol] < 0:
                    added, most = Index(partner_first[lists]), bucket[n_left] - bucket[0]
                    if lists + 1 == len(partner_first) or max(added, places) + most > len(left_node):
                        return PARTNERS
                    for pair in range(pair_start[symbol], pair_start[Index(symbol + ONE)]):
                        left = pair_left[pair]
                        for member in range(Index(bucket[left]), Index(bucket[Index(left + ONE)])):
                            sister = Index(bucket_node[member])
                            at = Index(node_start[sister])
                            key = Index(pair * length + at)
                            place = Index(place_at[key])
                            if place >= places or place_pair[place] != pair or place_start[place] != at:
                                place = places
                                place_at[key], place_group[place] = place, -1
                                place_pair[place], place_start[place] = pair, at
                                places = Index(places + ONE)
                            left_node[added], partner_place[added] = sister, place
                            partner_value[added] = inside[sister]
                            added = Index(added + ONE)
                    listed[symbol] = lists
                    partner_older[lists] = partner_head[start]
                    partner_head[start] = lists
                    lists += 1
                    partner_first[lists] = added
                chosen = Index(listed[symbol])
                first, last = partner_first[chosen], partner_first[Index(chosen + ONE)]
                left_first[right] = first
                if max(edges + last - first - len(edge_group), groups + last - first - len(group_sum)) > 0:
                    return EDGES if edges + last - first > len(edge_group) else GROUPS
                right_value = inside[right]
                edge = Index(edges)
                for partner in range(Index(first), Index(last)):
                    place = Index(partner_place[partner])
                    group = place_group[place]
                    if group < column:
                        group = groups
                        groups += 1
                        place_group[place] = group
                        into = Index(forest_cell(place_start[place], end))
                        group_pair[group], group_right[group] = place_pair[place], symbol
                        group_sum[group] = 0
                        group_next[group] = cell_group[into]
                        cell_group[into] = group
                    group_sum[Index(group)] += right_value * partner_value[partner]
                    edge_group[edge] = group
                    edge = Index(edge + ONE)
                edges += last - first
        first, last = node_first[forest_cell(end - 1, end)], node_first[forest_cell(0, end) + 1]
        factor, kept = _rescale_column(inside, lexical, node_start, columns.shift, first, last, end)
        if not kept:
            counts[OUT_OF_RANGE] = 1
        for group in range(column, groups if factor != 1.0 else column):
            group_sum[group] *= factor
    edge_first[count] = edges
    counts[0], counts[1], counts[2], counts[3] = productions, lists, groups, places
    return -1


@inner_kernel
def _close(
    unary: UnaryTables,
    forest: Forest,
    slot: Ints,
    base: Floats,
    cell: int,
    begin: int,
    count: int,
) -> int:
    """Add to a cell's nodes all that derive them by unary rules, and list these rules.

    Returns where the cell's nodes end; -1 where there is no room for the rules.
    """
    inside, lexical, node_symbol = forest.inside, forest.lexical, forest.node_symbol
    start, tops, share = unary.closure_start, unary.closure_top, unary.closure_value
    last = count
    for node in range(begin, last):
        base[node - begin] = inside[node]
        inside[node] = 0
    for node in range(begin, last):
        symbol = node_symbol[node]
        for place in range(start[symbol], start[symbol + 1]):
            above = slot[tops[place]]
            if above < 0:
                above = count
                slot[tops[place]] = above
                node_symbol[above] = tops[place]
                inside[above] = 0
                lexical[above] = 0
                count += 1
            inside[above] += share[place] * base[node - begin]
    rule_start, rule_parent, unary_first = unary.rule_start, unary.rule_parent, forest.unary_first
    unary_parent, unary_child, unary_rule = forest.unary_parent, forest.unary_child, forest.unary_rule
    place = unary_first[cell]
    for node in range(begin, count):
        first, last = rule_start[node_symbol[node]], rule_start[node_symbol[node] + 1]
        if place + last - first > len(unary_rule):
            return -1
        for rule in range(first, last):
            # What derives a node is a node itself, by the closure.
            unary_parent[place], unary_child[place] = slot[rule_parent[rule]], node
            unary_rule[place] = rule
            place += 1
    unary_first[cell + 1] = place
    return count


@inner_kernel
def _rescale_column(
    inside: Floats, lexical: Floats, node_start: Ints, shift: Ints, first: int, last: int, end: int
) -> tuple[float, bool]:
    """Divide a column by a power of two where its longest nodes stray from one.

    Returns the factor, and whether all values are in the range, before and after.
    """
    shift[end] = 0
    largest = 0.0
    node = last - 1
    while node >= first and node_start[node] == node_start[last - 1]:
        largest = max(largest, inside[node])
        node -= 1
    factor = 1.0
    if 0.0 < largest < np.inf and not 1e-3 < largest < 1e3:
        power = min(max(int(np.floor(np.log2(largest))), -1000), 1000)
        shift[end] = power
        factor = 2.0**-power
    least, most = np.inf, 0.0
    for node in range(first, last):
        value = inside[node]
        least, most = min(least, value), max(most, value)
        inside[node] = value * factor
        lexical[node] *= factor
    kept = min(least, least * factor) >= LEAST_VALUE and max(most, most * factor) <= MOST_VALUE
    return factor, first == last or kept


@kernel
def forest_outside(
    tables: SparseTables,
    unary: UnaryTables,
    forest: Forest,
    partners: Partners,
    columns: Columns,
    n: int,
) -> float:
    """Fill ``forest.outside`` from the root down; returns the scaled probability of the sentence.

    0 where there is no parse.
    """
    inside, outside, node_symbol = forest.inside, forest.outside, forest.node_symbol
    unary_first, slot, base = forest.unary_first, columns.node_slot, columns.base
    start_of, top_of, share_of = unary.closure_start, unary.closure_top, unary.closure_value
    node_first, edge_first, edge_group = forest.node_first, forest.edge_first, forest.edge_group
    left_first, left_node = forest.left_first, forest.left_node
    partner_first, partner_older = partners.first, partners.older
    partner_value, partner_passed = partners.value, partners.passed
    cell_production, production_parent = forest.cell_production, forest.production_parent
    production_rule, production_group = forest.production_rule, forest.production_group
    rule_prob, root_prob, root, partner_head = tables.rule_prob, tables.root, forest_cell(0, n), partners.head
    weight = columns.group_weight
    weight[: columns.counts[2]] = 0
    outside[: node_first[root + 1]] = 0
    partner_passed[: partner_first[columns.counts[1]]] = 0
    total = 0.0
    for node in range(node_first[root], node_first[root + 1]):
        total += root_prob[node_symbol[node]] * inside[node]
    if not total > 0:
        return 0.0
    for node in range(node_first[root], node_first[root + 1]):
        outside[node] = root_prob[node_symbol[node]] / total
    for end in range(n, 0, -1):
        # What the right partners of the nodes that end here have for them.
        chosen = partner_head[end] if end < n else -1
        while chosen >= 0:
            for place in range(Index(partner_first[chosen]), Index(partner_first[chosen + 1])):
                outside[Index(left_node[place])] += partner_passed[place]
            chosen = partner_older[chosen]
        for start in range(end):
            cell = forest_cell(start, end)
            for right in range(node_first[cell], node_first[cell + 1]):
                value = inside[right]
                received = outside[right]
                partner = Index(left_first[right])
                for edge in range(Index(edge_first[right]), Index(edge_first[right + 1])):
                    passed = weight[Index(edge_group[edge])]
                    partner_passed[partner] += passed * value
                    received += passed * partner_value[partner]
                    partner = Index(partner + ONE)
                outside[right] = received
            if unary_first[cell + 1] > unary_first[cell]:
                # What comes from above is passed on through unary rules.
                first, last = node_first[cell], node_first[cell + 1]
                for node in range(first, last):
                    slot[node_symbol[node]] = node
                    base[node - first] = outside[node]
                for node in range(first, last):
                    received = 0.0
                    for place in range(start_of[node_symbol[node]], start_of[node_symbol[node] + 1]):
                        received += share_of[place] * base[slot[top_of[place]] - first]
                    outside[node] = received
                for node in range(first, last):
                    slot[node_symbol[node]] = -1
            for place in range(Index(cell_production[cell]), Index(cell_production[cell + 1])):
                passed = rule_prob[Index(production_rule[place])] * outside[Index(production_parent[place])]
                weight[Index(production_group[place])] += passed
    return total


@kernel
def add_productions(rule_prob: Floats, forest: Forest, count: int, total: Floats) -> None:
    """Add the expected numbers of the first productions to their parents' in ``total`` [node]."""
    parent, rule, group = forest.production_parent, forest.production_rule, forest.production_group
    for place in range(count):
        above = rule_prob[rule[place]] * forest.outside[parent[place]]
        total[parent[place]] += above * forest.group_sum[group[place]]
