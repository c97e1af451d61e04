"""The forests that are searched: parts of a sentence's forest, and their projections to labels.

A search has to look at some cells' nodes, and some edges among them; which these are says a ``Selection``
(``bounds`` makes it). Sums are the whole forest's.

A projected forest holds every tree that is built of projected productions with their splits. Petrov and
Klein's (2007) max-rule objectives search it: the posterior of a production A -> B C over (start, split, end)
is summed over all symbols that have these labels, and a tree may combine whatever productions have a
posterior above zero, whether or not the grammar derives it so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.gains import LANES, Booleans, EdgeGains, Gains, ItemForest, ItemTables
from mbrparse.grammar.charts.base.packed_forest import (
    EDGES,
    GROUPS,
    NODES,
    ONE,
    PRODUCTIONS,
    STOPPED,
    UNARIES,
    Forest,
    Index,
    forest_cell,
)
from mbrparse.grammar.charts.base.rule_tables import Floats, Ints
from mbrparse.grammar.kernel import kernel


class Selection(NamedTuple):
    """What is selected, by cell.

    Where items are looked at, nodes of labels that are expected no less often than ``least_mass`` as
    constituents, all their productions, and all edges to other such cells; and nodes and productions with
    their split whose posterior is not less than ``least``; and nodes whose label's is not less than
    ``least_label``, with all edges among them.
    """

    items: Ints
    least_mass: Floats
    least: Floats
    least_label: Floats


class PrunedForest(NamedTuple):
    """A forest of what is selected, and what else a search takes from it.

    It may be projected: then its symbols are labels and its pairs productions of labels.
    """

    forest: Forest
    left_value: Floats  # the inside values of its left nodes
    weight: Floats  # by group, the sum of outside * probability over its productions
    edge_most: Floats  # by cell, the largest posterior of a production with its split
    # Where it is projected, else empty: the posteriors of its productions.
    edge_mass: Floats  # by edge, of the production with its split
    log_edge_mass: Floats  # the logarithm, which a search fills in
    unary_mass: Floats


class PruningScratch(NamedTuple):
    """Scratch."""

    kept: Ints  # by node of the whole forest: what it is among the kept ones, or -1
    group: Ints  # and by group
    by_label: Ints  # by kept node: whether its label is likely
    label_mass: Floats  # by label, of the cell at work
    largest: Floats  # by kept group, what a production of it has of ``weight`` at most


@kernel
def prune(
    source: Forest,
    known: tuple[Floats, Floats, Ints, int],
    selection: Selection,
    into: PrunedForest,
    scratch: PruningScratch,
    n: int,
    stop: Ints,
) -> int:
    """Fill a forest with what is selected; returns -1, or which of its parts is too small, or STOPPED.

    Nodes without a posterior above zero are never kept. Known are the weights of the source's groups, the
    probabilities of rules, the labels of symbols, and how many groups there are.
    """
    source_weight, rule_prob, label, source_groups = known
    forest = into.forest
    forest.node_first[0], forest.unary_first[0], forest.cell_production[0] = 0, 0, 0
    cells = n * (n + 1) // 2
    into.edge_most[:cells] = 0
    scratch.kept[: source.node_first[cells]], scratch.group[:source_groups] = -1, -1
    groups, edges = 0, 0
    for end in range(1, n + 1):
        if stop[0]:
            return STOPPED
        if not _keep_nodes(source, label, selection, forest, scratch, end):
            return NODES
        groups, full = _keep_groups(source, (source_weight, rule_prob), selection, into, scratch, end, groups)
        if full >= 0:
            return full
        if not _keep_unaries(source, forest, scratch.kept, end):
            return UNARIES
        edges = _keep_edges(source, selection, into, scratch, end, edges)
        if edges < 0:
            return EDGES
    forest.edge_first[forest.node_first[forest_cell(0, n) + 1]] = edges
    return -1


@kernel
def _keep_nodes(
    source: Forest, label: Ints, selection: Selection, forest: Forest, scratch: PruningScratch, end: int
) -> bool:
    """Keep the nodes of a column; false if there is no room."""
    symbol, inside, outside, lexical = source.node_symbol, source.inside, source.outside, source.lexical
    kept, by_label, mass = scratch.kept, scratch.by_label, scratch.label_mass
    into_symbol, into_inside, into_outside = forest.node_symbol, forest.inside, forest.outside
    into_lexical, into_start, into_first = forest.lexical, forest.node_start, forest.node_first
    items, least_of, least_label_of = selection.items, selection.least, selection.least_label
    least_mass_of, node_first = selection.least_mass, source.node_first
    count = into_first[forest_cell(end - 1, end)]
    for start in range(end - 1, -1, -1):
        cell = forest_cell(start, end)
        first, last = node_first[cell], node_first[cell + 1]
        least, least_label = least_of[cell], least_label_of[cell]
        least_mass = least_mass_of[cell] if items[cell] else np.inf
        if least_mass < np.inf or least < np.inf or least_label < np.inf:
            if count + last - first > len(into_start):
                return False
            by_mass = least_label < np.inf or 0 < least_mass < np.inf
            if by_mass:
                for node in range(first, last):
                    mass[label[symbol[node]]] += inside[node] * outside[node]
            for node in range(first, last):
                posterior = inside[node] * outside[node]
                of_label = mass[label[symbol[node]]]
                likely = least_label < np.inf and of_label >= least_label
                if posterior > 0 and (of_label >= least_mass or posterior >= least or likely):
                    kept[node], by_label[count] = count, likely
                    into_symbol[count], into_start[count] = symbol[node], start
                    into_inside[count], into_outside[count] = inside[node], outside[node]
                    into_lexical[count] = lexical[node]
                    count += 1
            if by_mass:
                for node in range(first, last):
                    mass[label[symbol[node]]] = 0
        into_first[cell + 1] = count
    return True


@kernel
def _keep_groups(
    source: Forest,
    known: tuple[Floats, Floats],
    selection: Selection,
    into: PrunedForest,
    scratch: PruningScratch,
    end: int,
    groups: int,
) -> tuple[int, int]:
    """Keep a column's groups and productions; returns the number of groups, and what is too small, or -1."""
    source_weight, rule_prob = known
    forest, kept, group_of, largest = into.forest, scratch.kept, scratch.group, scratch.largest
    outside = forest.outside
    source_first, source_last = source.production_first, source.production_last
    source_parent, source_rule = source.production_parent, source.production_rule
    source_sum, source_next, source_right = source.group_sum, source.group_next, source.group_right
    source_group = source.cell_group
    parent_of, rule_of, group_at = (
        forest.production_parent,
        forest.production_rule,
        forest.production_group,
    )
    production_first, production_last = forest.production_first, forest.production_last
    group_next, group_sum, group_right = forest.group_next, forest.group_sum, forest.group_right
    group_start, node_first, cell_group = forest.group_start, forest.node_first, forest.cell_group
    weight, cell_production = into.weight, forest.cell_production
    items, least_of, least_label_of = selection.items, selection.least, selection.least_label
    productions = cell_production[forest_cell(end - 1, end)]
    for start in range(end - 1, -1, -1):
        cell = forest_cell(start, end)
        least, every = least_of[cell], items[cell] or least_label_of[cell] < np.inf
        newest = -1
        group = source_group[cell] if node_first[cell + 1] > node_first[cell] else -1
        while group >= 0:
            if every or source_weight[group] * source_sum[group] >= least:
                first, last = source_first[group], source_last[group]
                if groups == len(group_sum):
                    return groups, GROUPS
                if productions + last - first > len(parent_of):
                    return groups, PRODUCTIONS
                until, most = productions, 0.0
                for place in range(first, last):
                    parent = kept[source_parent[place]]
                    if parent >= 0:
                        rule = source_rule[place]
                        parent_of[until], rule_of[until], group_at[until] = parent, rule, groups
                        most = max(most, rule_prob[rule] * outside[parent])
                        until += 1
                if until > productions:
                    group_of[group] = groups
                    production_first[groups], production_last[groups] = productions, until
                    group_sum[groups], weight[groups] = source_sum[group], source_weight[group]
                    largest[groups] = most
                    group_right[groups], group_start[groups] = source_right[group], start
                    group_next[groups], newest = newest, groups
                    productions, groups = until, groups + 1
            group = source_next[group]
        cell_group[cell], cell_production[cell + 1] = newest, productions
    return groups, -1


@kernel
def _keep_unaries(source: Forest, forest: Forest, kept: Ints, end: int) -> bool:
    """Keep the unary rules between a column's kept nodes; false if there is no room."""
    for cell in range(forest_cell(end - 1, end), forest_cell(0, end) + 1):
        first, last = source.unary_first[cell], source.unary_first[cell + 1]
        place = forest.unary_first[cell]
        if place + last - first > len(forest.unary_rule):
            return False
        for unary in range(first, last):
            parent, child = kept[source.unary_parent[unary]], kept[source.unary_child[unary]]
            if parent >= 0 and child >= 0:
                forest.unary_parent[place], forest.unary_child[place] = parent, child
                forest.unary_rule[place] = source.unary_rule[unary]
                place += 1
        forest.unary_first[cell + 1] = place
    return True


@kernel
def _keep_edges(
    source: Forest, selection: Selection, into: PrunedForest, scratch: PruningScratch, end: int, edges: int
) -> int:
    """Keep the edges of a column; returns the number of edges, -1 if there is no room."""
    forest, left_value, kept, group_of = into.forest, into.left_value, scratch.kept, scratch.group
    edge_first, edge_group, left_first = source.edge_first, source.edge_group, source.left_first
    left_node, by_label, node_first = source.left_node, scratch.by_label, source.node_first
    inside, group_start, largest = forest.inside, forest.group_start, scratch.largest
    into_first, into_group, into_left = forest.edge_first, forest.edge_group, forest.left_node
    into_left_first, edge_most = forest.left_first, into.edge_most
    items, least, least_label = selection.items, selection.least, selection.least_label
    for split in range(end - 1, -1, -1):
        right_cell = forest_cell(split, end)
        right_items = items[right_cell]
        for right in range(node_first[right_cell], node_first[right_cell + 1]):
            kept_right = kept[right]
            if kept_right < 0:
                continue
            into_first[kept_right], into_left_first[kept_right] = edges, edges
            value, likely = inside[kept_right], by_label[kept_right]
            place = Index(left_first[right])
            if edges + edge_first[right + 1] - edge_first[right] > len(into_group):
                return -1
            for edge in range(Index(edge_first[right]), Index(edge_first[right + 1])):
                group, left = group_of[Index(edge_group[edge])], kept[Index(left_node[place])]
                place = Index(place + ONE)
                if (group | left) < 0:
                    continue
                start = group_start[group]
                cell = forest_cell(start, end)
                posterior = largest[group] * inside[left] * value
                if (
                    posterior >= least[cell]
                    or (right_items and items[cell] and items[forest_cell(start, split)])
                    or (likely and by_label[left] and least_label[cell] < np.inf)
                ):
                    into_group[edges], into_left[edges] = group, left
                    left_value[edges] = inside[left]
                    edge_most[cell] = max(edge_most[cell], posterior)
                    edges += 1
    return edges


class ProjectionScratch(NamedTuple):
    """Which of its parts a forest's parts became; by label and by production -1 between cells."""

    node_of_label: Ints
    group_of_production: Ints
    label_node: Ints  # [node of the forest] its node of the forest of labels, or -1
    label_group: Ints  # [production of the forest] its group there, or -1
    entry_of_group: Ints  # [group] the edge that a right node made with it last
    counts: Ints  # nodes, groups, edges, unaries


@kernel
def project_forest(
    source: ItemForest, labels: PrunedForest, scratch: ProjectionScratch, n: int, stop: Ints
) -> bool:
    """Fill a forest whose symbols are labels and whose pairs are productions.

    False if edges do not fit, or the time is up.

    Its ``lexical`` holds the posteriors of preterminals over their words. Nodes without a posterior
    above zero are left out. An edge's group has one production, whose label parent it is.
    """
    into = labels.forest
    scratch.counts[:] = 0
    into.node_first[0], into.unary_first[0], into.cell_production[0] = 0, 0, 0
    for cell in range(n * (n + 1) // 2):
        if stop[0]:
            return False
        _project_nodes(source, labels, scratch, cell)
        _project_groups(source, labels, scratch, cell)
        _project_unaries(source, labels, scratch, cell)
    into.edge_first[0] = 0
    for end in range(1, n + 1):
        for split in range(end - 1, -1, -1):
            if stop[0] or not _project_edges(source, labels, scratch, forest_cell(split, end)):
                return False
    _find_largest_edges(labels, n)
    return True


@kernel
def _project_nodes(source: ItemForest, labels: PrunedForest, scratch: ProjectionScratch, cell: int) -> None:
    """The cell's nodes, one for each label."""
    forest, items, into = source.forest, source.items, labels.forest
    node_of_label, label_node = scratch.node_of_label, scratch.label_node
    inside, outside, node_symbol = forest.inside, forest.outside, forest.node_symbol
    first, count = scratch.counts[0], scratch.counts[0]
    for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
        label_node[node] = -1
        if not outside[node] * inside[node] > 0:
            continue
        name = items.label[node_symbol[node]]
        projected = node_of_label[name]
        if projected < 0:
            projected = count
            count += 1
            node_of_label[name] = projected
            into.node_symbol[projected] = name
            into.node_start[projected] = forest.node_start[node]
            into.lexical[projected] = 0
        label_node[node] = projected
        into.lexical[projected] += outside[node] * forest.lexical[node]
    for node in range(first, count):
        node_of_label[into.node_symbol[node]] = -1
    into.node_first[cell + 1], scratch.counts[0] = count, count


@kernel
def _project_groups(source: ItemForest, labels: PrunedForest, scratch: ProjectionScratch, cell: int) -> None:
    """The cell's groups, one for each production."""
    forest, items, into, label_node = source.forest, source.items, labels.forest, scratch.label_node
    groups = scratch.counts[1]
    into.cell_group[cell] = -1
    group = forest.cell_group[cell]
    while group >= 0:
        for production in range(forest.production_first[group], forest.production_last[group]):
            scratch.label_group[production] = -1
            parent = forest.production_parent[production]
            rule = forest.production_rule[production]
            if label_node[parent] < 0:
                continue
            name = items.production[rule]
            chosen = scratch.group_of_production[name]
            if chosen < 0:
                chosen = groups
                groups += 1
                scratch.group_of_production[name] = chosen
                scratch.entry_of_group[chosen] = -1
                into.group_pair[chosen] = name
                into.group_right[chosen] = items.production_labels[name, 2]
                into.production_first[chosen], into.production_last[chosen] = chosen, chosen + 1
                into.production_parent[chosen], into.production_group[chosen] = label_node[parent], chosen
                into.group_next[chosen] = into.cell_group[cell]
                into.cell_group[cell] = chosen
            scratch.label_group[production] = chosen
        group = forest.group_next[group]
    into.cell_production[cell + 1], scratch.counts[1] = groups, groups
    group = into.cell_group[cell]
    while group >= 0:
        scratch.group_of_production[into.group_pair[group]] = -1
        group = into.group_next[group]


@kernel
def _project_unaries(source: ItemForest, labels: PrunedForest, scratch: ProjectionScratch, cell: int) -> None:
    """The cell's unaries, each pair of labels once."""
    forest, unaries, into = source.forest, source.unaries, labels.forest
    posterior = labels.unary_mass
    inside, outside, label_node = forest.inside, forest.outside, scratch.label_node
    place = scratch.counts[3]
    begin = place
    for unary in range(forest.unary_first[cell], forest.unary_first[cell + 1]):
        above, below = label_node[forest.unary_parent[unary]], label_node[forest.unary_child[unary]]
        if above < 0 or below < 0:
            continue
        rule = forest.unary_rule[unary]
        mass = (
            unaries.rule_prob[rule] * outside[forest.unary_parent[unary]] * inside[forest.unary_child[unary]]
        )
        if not mass > 0:
            continue
        known = begin
        while known < place and (into.unary_parent[known] != above or into.unary_child[known] != below):
            known += 1
        if known == place:
            into.unary_parent[place], into.unary_child[place], posterior[place] = above, below, 0
            place += 1
        posterior[known] += mass
    into.unary_first[cell + 1] = place
    scratch.counts[3] = place


@kernel
def _project_edges(source: ItemForest, labels: PrunedForest, scratch: ProjectionScratch, cell: int) -> bool:
    """The edges whose right nodes are in the cell; false if they do not fit."""
    forest, tables, into = source.forest, source.tables, labels.forest
    inside, outside, rule_prob = forest.inside, forest.outside, tables.rule_prob
    label_node, label_group, entry_of_group = scratch.label_node, scratch.label_group, scratch.entry_of_group
    edge_first, edge_group, edge_left = into.edge_first, into.edge_group, into.left_node
    mass_of, capacity = labels.edge_mass, len(labels.edge_mass)
    edges = scratch.counts[2]
    for right in range(into.node_first[cell], into.node_first[cell + 1]):
        edge_first[right], into.left_first[right] = edges, edges
        begin = edges
        for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
            if label_node[node] != right:
                continue
            for edge in range(forest.edge_first[node], forest.edge_first[node + 1]):
                group = forest.edge_group[edge]
                left = forest.left_node[forest.left_first[node] + edge - forest.edge_first[node]]
                if label_node[left] < 0:  # its posterior is too small for a number
                    continue
                below = inside[left] * inside[node]
                for production in range(forest.production_first[group], forest.production_last[group]):
                    chosen = label_group[production]
                    if chosen >= 0:
                        rule = forest.production_rule[production]
                        mass = rule_prob[rule] * outside[forest.production_parent[production]] * below
                        if mass > 0:
                            entry = entry_of_group[chosen]
                            if entry < begin:
                                if edges == capacity:
                                    return False
                                entry = edges
                                edges += 1
                                entry_of_group[chosen] = entry
                                edge_group[entry], edge_left[entry] = chosen, label_node[left]
                                mass_of[entry] = 0
                            mass_of[entry] += mass
    edge_first[into.node_first[cell + 1]] = edges
    scratch.counts[2] = edges
    return True


@kernel
def _find_largest_edges(labels: PrunedForest, n: int) -> None:
    """By cell the largest posterior of its edges."""
    forest, posterior, most = labels.forest, labels.edge_mass, labels.edge_most
    node_start, parent, edge_group = forest.node_start, forest.production_parent, forest.edge_group
    most[: n * (n + 1) // 2] = 0
    for end in range(1, n + 1):
        first = forest.node_first[forest_cell(end - 1, end)]
        last = forest.node_first[forest_cell(0, end) + 1]
        for edge in range(forest.edge_first[first], forest.edge_first[last]):
            cell = forest_cell(node_start[parent[edge_group[edge]]], end)
            most[cell] = max(most[cell], posterior[edge])


@kernel
def projected_gains(
    labels: PrunedForest, gains: Gains, edge_gains: EdgeGains, lexical: Floats, items: ItemTables, n: int
) -> None:
    """Fill what edges, unaries and preterminals of a forest of labels earn."""
    forest, weights = labels.forest, edge_gains.weights
    mass, log_mass = edge_gains.mass, edge_gains.log_mass
    cells = n * (n + 1) // 2
    for edge in range(forest.edge_first[forest.node_first[cells]]):
        log_mass[edge] = np.log(mass[edge])
    gains.foot[:n] = 0
    for place in range(forest.unary_first[cells]):
        posterior = labels.unary_mass[place]
        for lane in range(LANES):
            gains.unary_rule[place, lane] = weights[0, lane] * posterior + weights[1, lane] * np.log(
                posterior
            )
    _lexical_gains(forest, weights[0], weights[1], items.terminal, lexical, n)


@kernel
def _lexical_gains(
    forest: Forest, by_mass: Floats, by_log: Floats, free: Booleans, gains: Floats, n: int
) -> None:
    """What preterminals earn, by the posteriors in ``lexical``; 0 for labels that are free."""
    for position in range(n):
        cell = forest_cell(position, position + 1)
        for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
            mass = forest.lexical[node]
            for lane in range(LANES):
                if mass == 0:
                    gains[node, lane] = -np.inf
                elif free[forest.node_symbol[node]]:
                    gains[node, lane] = 0
                else:
                    gains[node, lane] = by_mass[lane] * mass
                    if by_log[lane] != 0:
                        gains[node, lane] += by_log[lane] * np.log(mass)
