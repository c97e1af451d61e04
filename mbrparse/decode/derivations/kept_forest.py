"""The part of a sentence's forest that a search has to look at: some cells' nodes, and some edges among them.

Which these are says a ``Selection`` (``bounds`` makes it). Sums are the whole forest's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.forest.packed_forest import (
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
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.kernel import kernel


class Selection(NamedTuple):
    """What is kept, by cell.

    Where items are looked at, nodes of labels that are expected no less often than ``least_mass`` as
    constituents, all their productions, and all edges to other such cells; and nodes and productions with
    their split whose posterior is not less than ``least``; and nodes whose label's is not less than
    ``least_label``, with all edges among them.
    """

    items: Ints
    least_mass: Floats
    least: Floats
    least_label: Floats

    def holds(self, other: Selection, cells: int) -> bool:
        """Whether of the first cells it keeps all that another one does."""
        first = slice(cells)
        return bool(
            (self.items[first] >= other.items[first]).all()
            and (self.least_mass[first] <= other.least_mass[first]).all()
            and (self.least[first] <= other.least[first]).all()
            and (self.least_label[first] <= other.least_label[first]).all()
        )


def joined(selections: Sequence[Selection], cells: int) -> Selection:
    """What some selections keep of the first cells; one alone is itself."""
    if len(selections) == 1:
        return selections[0]
    items, *least = (
        np.array([column[:cells] for column in columns]) for columns in zip(*selections, strict=True)
    )
    return Selection(items.max(axis=0), *(column.min(axis=0) for column in least))


class KeptForest(NamedTuple):
    """A forest of what is kept, and what else a search wants to know of it."""

    forest: Forest
    left_value: Floats  # the inside values of its left nodes
    weight: Floats  # by group, the sum of outside * probability over its productions
    edge_most: Floats  # by cell, the largest posterior of a production with its split


class KeepingScratch(NamedTuple):
    """What making a kept forest takes on the way."""

    kept: Ints  # by node of the whole forest: what it is among the kept ones, or -1
    group: Ints  # and by group
    by_label: Ints  # by kept node: whether its label is likely
    label_mass: Floats  # by label, of the cell at work
    largest: Floats  # by kept group, what a production of it has of ``weight`` at most


@kernel
def keep(
    source: Forest,
    known: tuple[Floats, Floats, Ints, int],
    selection: Selection,
    into: KeptForest,
    scratch: KeepingScratch,
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
    source: Forest, label: Ints, selection: Selection, forest: Forest, scratch: KeepingScratch, end: int
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
    into: KeptForest,
    scratch: KeepingScratch,
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
    source: Forest, selection: Selection, into: KeptForest, scratch: KeepingScratch, end: int, edges: int
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
