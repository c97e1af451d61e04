"""The forest of a sentence: every derivation, packed.

A *node* is a symbol over a span. Nodes are numbered cell by cell, and cells column by column (a column
is all cells with the same end), each column from its last start to its first: every node comes after
those that it is built of. A *group* is a pair of symbols that rewrites nodes of one cell: its *edges* are
the splits (a left and a right node), its *productions* the rules whose children are this pair. So an edge
is looked at once for all of its group's productions, and a production once for all of its splits. A
*unary* is a unary rule between two nodes of one cell.

Inside values are multiplied by a power of two for each position (``Work.shift``), the same for all cells
that end there, so that no factor stands between a node and its parts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.rule_tables import Floats, Ints, SparseTables
from mbrparse.grammar.kernel import kernel


class ForestUnaries(NamedTuple):
    """The unary rules by child, and their closure by bottom symbol."""

    rule_start: Ints  # by child: its rules rule_start[B] ..
    rule_parent: Ints
    rule_prob: Floats
    closure_start: Ints  # by bottom symbol
    closure_top: Ints
    closure_value: Floats  # how often the bottom symbol is expected in the top's chain


class Words(NamedTuple):
    """The lexical entries of a sentence's positions."""

    entry_start: Ints
    entry_symbol: Ints
    entry_prob: Floats  # times 2 ** shift of its position


class Forest(NamedTuple):
    """Arrays by cell (``forest_cell``), node, group, edge, production and unary.

    ``x_first[c] .. x_first[c + 1]`` are those of cell c. Edges are listed by their right node: the edges
    of node r are ``edge_first[r] .. edge_first[r + 1]``, and their left nodes stand in this order in
    ``left_node`` from ``left_first[r]`` on. (Right nodes of one symbol that begin at one position have the
    same left nodes, listed once.)
    """

    node_first: Ints  # by cell
    node_start: Ints  # where its span begins
    node_symbol: Ints
    inside: Floats
    outside: Floats  # divided by the sentence's probability: inside * outside is its expected number
    lexical: Floats  # the part of inside that is its lexical rule's
    cell_group: Ints  # by cell: its first group, or -1
    group_next: Ints  # the next group of its cell, or -1
    group_start: Ints
    group_pair: Ints
    group_rule: Ints  # the rule of its first production
    group_right: Ints  # the symbol of its right nodes
    group_sum: Floats  # sum over edges of inside * inside
    edge_first: Ints  # by right node
    edge_group: Ints
    left_first: Ints  # by right node
    left_node: Ints
    production_first: Ints  # by group: its productions are production_first[g] .. production_last[g],
    production_last: Ints  # the pair's rules in the same order
    cell_production: Ints  # by cell: its productions are cell_production[c] .. cell_production[c + 1]
    production_parent: Ints
    production_group: Ints
    production_rule: Ints
    unary_first: Ints  # by cell
    unary_parent: Ints
    unary_child: Ints
    unary_rule: Ints


class Work(NamedTuple):
    """Scratch of the kernels."""

    group_slot: (
        Ints  # [pair * length + start]: the group of the column at work, or -1; all -1 between columns
    )
    length: int  # for how long sentences the slots are
    node_slot: Ints  # [symbol]: the node of the cell at work, or -1; all -1 between cells
    partner_list: Ints  # [position, symbol]: the list of a right child's partners, or -1
    partner_first: Ints  # by list: the partners partner_first[l] .. partner_first[l + 1], whose nodes are
    # the left nodes of the forest: they end at the position and make a pair with the symbol
    list_head: Ints  # by position: the newest of its lists, or -1
    list_next: Ints  # by list: an older one of its position, or -1
    partner_pair: Ints
    partner_slot: Ints  # where the group of the pair from the partner's start on is in group_slot
    partner_value: Floats  # the node's inside value
    partner_passed: Floats  # its outside value, as far as it comes from this list's right children
    bucket_first: Ints  # [position, left symbol]: nodes that end there
    bucket_node: Ints
    place: Ints  # by left symbol
    base: Floats  # by node of the cell
    shift: Ints  # by end: powers of two that the column was divided by
    counts: Ints  # of productions, partner lists and groups


# As an index an unsigned number needs no look whether it counts from the end.
Index = np.uint32
ONE = np.uint32(1)

# What may be too small.
NODES, GROUPS, EDGES, PRODUCTIONS, UNARIES, PARTNERS = range(6)


@kernel
def forest_cell(start: int, end: int) -> int:
    """The number of a cell in the order in which cells are completed."""
    return end * (end - 1) // 2 + end - 1 - start


@kernel
def forest_inside(
    tables: SparseTables, unaries: ForestUnaries, words: Words, forest: Forest, work: Work
) -> int:
    """Fill the forest from the words up; returns -1, or which of its parts is too small."""
    n = len(words.entry_start) - 1
    # Names for all arrays of the loops: taken out of the tuple there, each would be counted anew.
    inside, node_first, node_start, node_symbol = (
        forest.inside,
        forest.node_first,
        forest.node_start,
        forest.node_symbol,
    )
    slot, partner_slot, partner_value = work.group_slot, work.partner_slot, work.partner_value
    partner_list, partner_first, partner_pair = work.partner_list, work.partner_first, work.partner_pair
    group_sum, group_pair, group_start = forest.group_sum, forest.group_pair, forest.group_start
    group_right, group_next, cell_group = forest.group_right, forest.group_next, forest.cell_group
    edge_first, edge_group = forest.edge_first, forest.edge_group
    left_first, left_node = forest.left_first, forest.left_node
    node_first[0], forest.unary_first[0], forest.cell_production[0] = 0, 0, 0
    work.counts[:] = 0
    groups, edges = 0, 0
    full = -1
    for end in range(1, n + 1):
        column = groups
        cell_group[forest_cell(end - 1, end) : forest_cell(0, end) + 1] = -1
        for split in range(end - 1, -1, -1):
            full = _complete_cell(tables, unaries, words, forest, work, split, end)
            if full < 0 and split > 0:
                full = _list_partners(tables, forest, work, split, end)
            if full >= 0:
                break
            cell = forest_cell(split, end)
            for right in range(node_first[cell], node_first[cell + 1]):
                edge_first[right] = edges
                symbol = node_symbol[right]
                chosen = partner_list[split, symbol] if split > 0 else -1
                if chosen < 0:
                    continue
                first, last = partner_first[chosen], partner_first[chosen + 1]
                left_first[right] = first
                if max(edges + last - first - len(edge_group), groups + last - first - len(group_sum)) > 0:
                    full = EDGES if edges + last - first > len(edge_group) else GROUPS
                    break
                value = inside[right]
                edge = Index(edges)
                for partner in range(Index(first), Index(last)):
                    place = Index(partner_slot[partner])
                    group = slot[place]
                    if group < 0:
                        group = groups
                        groups += 1
                        slot[place] = group
                        start = node_start[left_node[partner]]
                        into = forest_cell(start, end)
                        group_pair[group] = partner_pair[partner]
                        group_sum[group] = 0
                        group_right[group] = symbol
                        group_start[group] = start
                        group_next[group] = cell_group[into]
                        cell_group[into] = group
                    group_sum[Index(group)] += value * partner_value[partner]
                    edge_group[edge] = group
                    edge = Index(edge + ONE)
                edges += last - first
            if full >= 0:
                break
        for group in range(column, groups):
            slot[group_pair[group] * work.length + group_start[group]] = -1
        if full >= 0:
            return full
        factor = _rescale_column(forest, work, end)
        for group in range(column, groups if factor != 1.0 else column):
            group_sum[group] *= factor
    edge_first[node_first[forest_cell(0, n) + 1]] = edges
    work.counts[2] = groups
    return -1


@kernel
def _list_partners(tables: SparseTables, forest: Forest, work: Work, split: int, end: int) -> int:
    """List, for each symbol of a cell, the nodes before it that make a pair with it.

    What was listed for an earlier end is there already. Returns -1 or what is too small.
    """
    if end == split + 1:
        work.partner_list[split] = -1
        work.list_head[split] = -1
        _fill_bucket(tables, forest, work, split)
    bucket_first, bucket_node = work.bucket_first[split], work.bucket_node
    partner_list, partner_first = work.partner_list[split], work.partner_first
    partner_slot, partner_value, partner_pair = work.partner_slot, work.partner_value, work.partner_pair
    pair_start, pair_left, node_symbol = tables.pair_start, tables.pair_left, forest.node_symbol
    left_node, node_start, inside = forest.left_node, forest.node_start, forest.inside
    list_next, list_head = work.list_next, work.list_head
    most = bucket_first[tables.n_left] - bucket_first[0]
    cell = forest_cell(split, end)
    for right in range(forest.node_first[cell], forest.node_first[cell + 1]):
        symbol = node_symbol[right]
        if partner_list[symbol] >= 0:
            continue
        chosen = work.counts[1]
        if chosen + 1 == len(partner_first):
            return PARTNERS
        place = partner_first[chosen]
        if place + most > len(left_node):
            return PARTNERS
        for pair in range(pair_start[symbol], pair_start[symbol + 1]):
            left = pair_left[pair]
            for member in range(bucket_first[left], bucket_first[left + 1]):
                node = bucket_node[member]
                left_node[place] = node
                partner_pair[place] = pair
                partner_slot[place] = pair * work.length + node_start[node]
                partner_value[place] = inside[node]
                place += 1
        partner_list[symbol] = chosen
        list_next[chosen] = list_head[split]
        list_head[split] = chosen
        work.counts[1] = chosen + 1
        partner_first[chosen + 1] = place
    return -1


@kernel
def _complete_cell(
    tables: SparseTables,
    unaries: ForestUnaries,
    words: Words,
    forest: Forest,
    work: Work,
    start: int,
    end: int,
) -> int:
    """Make the nodes of a cell of which all edges are found; returns -1 or what is too small."""
    cell = forest_cell(start, end)
    begin = forest.node_first[cell]
    inside, slot, node_symbol, lexical = forest.inside, work.node_slot, forest.node_symbol, forest.lexical
    group_pair, group_sum, group_next = forest.group_pair, forest.group_sum, forest.group_next
    production_first, production_last = forest.production_first, forest.production_last
    production_parent, group_rule = forest.production_parent, forest.group_rule
    production_rule, production_group = forest.production_rule, forest.production_group
    rule_start, rule_parent, rule_prob = tables.rule_start, tables.rule_parent, tables.rule_prob
    count, productions = begin, work.counts[0]
    entries = words.entry_start[end] - words.entry_start[end - 1] if end - start == 1 else 0
    # With unary rules every symbol might come.
    spare = len(inside) - (len(slot) if len(unaries.rule_parent) else 0)
    full = NODES if max(begin, begin + entries) > spare else -1
    if full < 0 and end - start == 1:
        for entry in range(words.entry_start[start], words.entry_start[end]):
            slot[words.entry_symbol[entry]] = count
            node_symbol[count] = words.entry_symbol[entry]
            inside[count] = words.entry_prob[entry]
            lexical[count] = words.entry_prob[entry]
            count += 1
    group = forest.cell_group[cell]
    while group >= 0 and full < 0:
        pair = Index(group_pair[group])
        total = group_sum[group]
        first, last = rule_start[pair], rule_start[pair + ONE]
        production_first[group] = productions
        group_rule[group] = first
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
            node = slot[parent]
            if node < 0:
                node = count
                slot[parent] = node
                node_symbol[node] = parent
                inside[node] = 0
                lexical[node] = 0
                count += 1
            inside[Index(node)] += rule_prob[rule] * total
            production_parent[place] = node
            production_rule[place], production_group[place] = rule, group
            place = Index(place + ONE)
        productions += rules
        production_last[group] = productions
        group = group_next[group]
    if full >= 0:
        for node in range(begin, count):
            slot[node_symbol[node]] = -1
        return full
    if len(unaries.rule_parent):
        count = _close(unaries, forest, work, begin, count)
        full = _list_unaries(unaries, forest, work, cell, begin, count)
    else:
        forest.unary_first[cell + 1] = 0
    for node in range(begin, count):
        slot[forest.node_symbol[node]] = -1
        forest.node_start[node] = start
    forest.node_first[cell + 1] = count
    forest.cell_production[cell + 1] = productions
    work.counts[0] = productions
    return full


@kernel
def _close(unaries: ForestUnaries, forest: Forest, work: Work, begin: int, count: int) -> int:
    """Add to a cell's nodes all that derive them by unary rules; returns where its nodes end."""
    inside, slot = forest.inside, work.node_slot
    last = count
    for node in range(begin, last):
        work.base[node - begin] = inside[node]
        inside[node] = 0
    for node in range(begin, last):
        symbol = forest.node_symbol[node]
        for place in range(unaries.closure_start[symbol], unaries.closure_start[symbol + 1]):
            top = unaries.closure_top[place]
            above = slot[top]
            if above < 0:
                above = count
                slot[top] = above
                forest.node_symbol[above] = top
                inside[above] = 0
                forest.lexical[above] = 0
                count += 1
            inside[above] += unaries.closure_value[place] * work.base[node - begin]
    return count


@kernel
def _list_unaries(
    unaries: ForestUnaries, forest: Forest, work: Work, cell: int, begin: int, count: int
) -> int:
    """List the unary rules between the cell's nodes; returns -1 or what is too small."""
    place = forest.unary_first[cell]
    for node in range(begin, count):
        symbol = forest.node_symbol[node]
        first, last = unaries.rule_start[symbol], unaries.rule_start[symbol + 1]
        if place + last - first > len(forest.unary_rule):
            return UNARIES
        for rule in range(first, last):
            # What derives a node is a node itself, by the closure.
            forest.unary_parent[place] = work.node_slot[unaries.rule_parent[rule]]
            forest.unary_child[place] = node
            forest.unary_rule[place] = rule
            place += 1
    forest.unary_first[cell + 1] = place
    return -1


@kernel
def _rescale_column(forest: Forest, work: Work, end: int) -> float:
    """Divide a column by a power of two where its longest nodes stray from one; returns the factor."""
    first = forest.node_first[forest_cell(end - 1, end)]
    last = forest.node_first[forest_cell(0, end) + 1]
    work.shift[end] = 0
    largest = 0.0
    node = last - 1
    while node >= first and forest.node_start[node] == forest.node_start[last - 1]:
        largest = max(largest, forest.inside[node])
        node -= 1
    if largest == 0.0 or 1e-3 < largest < 1e3:
        return 1.0
    shift = int(np.floor(np.log2(largest)))
    factor: float = 2.0**-shift
    work.shift[end] = shift
    for node in range(first, last):
        forest.inside[node] *= factor
        forest.lexical[node] *= factor
    return factor


@kernel
def _fill_bucket(tables: SparseTables, forest: Forest, work: Work, end: int) -> None:
    """Sort a column's nodes by symbol, left children only."""
    first = forest.node_first[forest_cell(end - 1, end)]
    last = forest.node_first[forest_cell(0, end) + 1]
    place = work.place
    place[:] = 0
    for node in range(first, last):
        left = tables.left_index[forest.node_symbol[node]]
        if left >= 0:
            place[left + 1] += 1
    place[0] = first
    for left in range(tables.n_left):
        place[left + 1] += place[left]
    for left in range(tables.n_left + 1):
        work.bucket_first[end, left] = place[left]
    for node in range(first, last):
        left = tables.left_index[forest.node_symbol[node]]
        if left >= 0:
            work.bucket_node[place[left]] = node
            place[left] += 1


@kernel
def forest_outside(
    tables: SparseTables, unaries: ForestUnaries, forest: Forest, work: Work, weight: Floats, n: int
) -> float:
    """Fill ``forest.outside`` from the root down; returns the scaled probability of the sentence.

    ``weight`` [group] becomes what comes down to a group: sum of outside * probability over productions.
    """
    inside, outside = forest.inside, forest.outside
    node_first, edge_first, edge_group = forest.node_first, forest.edge_first, forest.edge_group
    left_first, partner_value, partner_passed = forest.left_first, work.partner_value, work.partner_passed
    cell_production, production_parent = forest.cell_production, forest.production_parent
    production_rule, production_group = forest.production_rule, forest.production_group
    rule_prob = tables.rule_prob
    root = forest_cell(0, n)
    weight[: work.counts[2]] = 0
    outside[: node_first[root + 1]] = 0
    partner_passed[: work.partner_first[work.counts[1]]] = 0
    total = 0.0
    for node in range(node_first[root], node_first[root + 1]):
        total += tables.root[forest.node_symbol[node]] * inside[node]
    if not total > 0:
        return 0.0
    for node in range(node_first[root], node_first[root + 1]):
        outside[node] = tables.root[forest.node_symbol[node]] / total
    for end in range(n, 0, -1):
        if end < n:
            _pass_to_left(forest, work, end)
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
            if forest.unary_first[cell + 1] > forest.unary_first[cell]:
                _close_outside(unaries, forest, work, cell)
            for place in range(Index(cell_production[cell]), Index(cell_production[cell + 1])):
                passed = rule_prob[Index(production_rule[place])] * outside[Index(production_parent[place])]
                weight[Index(production_group[place])] += passed
    return total


@kernel
def _pass_to_left(forest: Forest, work: Work, position: int) -> None:
    """Give to the nodes that end at a position what their right partners have for them."""
    outside, left_node, passed = forest.outside, forest.left_node, work.partner_passed
    chosen = work.list_head[position]
    while chosen >= 0:
        for partner in range(Index(work.partner_first[chosen]), Index(work.partner_first[chosen + 1])):
            outside[Index(left_node[partner])] += passed[partner]
        chosen = work.list_next[chosen]


@kernel
def _close_outside(unaries: ForestUnaries, forest: Forest, work: Work, cell: int) -> None:
    """Pass on to a cell's nodes what comes from above through unary rules."""
    first, last = forest.node_first[cell], forest.node_first[cell + 1]
    for node in range(first, last):
        work.node_slot[forest.node_symbol[node]] = node
        work.base[node - first] = forest.outside[node]
    for node in range(first, last):
        symbol = forest.node_symbol[node]
        received = 0.0
        for place in range(unaries.closure_start[symbol], unaries.closure_start[symbol + 1]):
            above = work.node_slot[unaries.closure_top[place]]
            received += unaries.closure_value[place] * work.base[above - first]
        forest.outside[node] = received
    for node in range(first, last):
        work.node_slot[forest.node_symbol[node]] = -1
