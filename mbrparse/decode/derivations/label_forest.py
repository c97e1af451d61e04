"""The forest of labels: every tree that is built of projected productions with their splits.

Petrov and Klein's (2007) max-rule objectives search it: the posterior of a production A -> B C over
(start, split, end) is summed over all symbols that have these labels, and a tree may combine whatever
productions have a posterior above zero, whether or not the grammar derives it so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.item_forest import ItemForest
from mbrparse.decode.derivations.item_tables import ItemTables
from mbrparse.errors import ChartOverflowError
from mbrparse.grammar.charts.forest.forests import MAX_SIZE, Forests
from mbrparse.grammar.charts.forest.packed_forest import (
    EDGES,
    Forest,
    empty_forest,
    forest_cell,
    new_floats,
    new_ints,
)
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.kernel import kernel


class LabelForest(NamedTuple):
    """A forest of labels, and the expected numbers of its productions."""

    forest: Forest
    edge_posterior: Floats  # of the production at this split
    log_edge_posterior: Floats  # its logarithm, worked out where it is wanted
    unary_posterior: Floats


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
    source: ItemForest, labels: LabelForest, scratch: ProjectionScratch, n: int, stop: Ints
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
    return True


@kernel
def _project_nodes(source: ItemForest, labels: LabelForest, scratch: ProjectionScratch, cell: int) -> None:
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
def _project_groups(source: ItemForest, labels: LabelForest, scratch: ProjectionScratch, cell: int) -> None:
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
def _project_unaries(source: ItemForest, labels: LabelForest, scratch: ProjectionScratch, cell: int) -> None:
    """The cell's unaries, each pair of labels once."""
    forest, unaries, into = source.forest, source.unaries, labels.forest
    posterior = labels.unary_posterior
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
def _project_edges(source: ItemForest, labels: LabelForest, scratch: ProjectionScratch, cell: int) -> bool:
    """The edges whose right nodes are in the cell; false if they do not fit."""
    forest, tables, into = source.forest, source.tables, labels.forest
    inside, outside, rule_prob = forest.inside, forest.outside, tables.rule_prob
    label_node, label_group, entry_of_group = scratch.label_node, scratch.label_group, scratch.entry_of_group
    edge_first, edge_group, edge_left = into.edge_first, into.edge_group, into.left_node
    mass_of, capacity = labels.edge_posterior, len(labels.edge_posterior)
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


class LabelForests:
    """Projects one forest after the other, in the same memory."""

    def __init__(self, forests: Forests, items: ItemTables) -> None:
        self._forests = forests
        self._items = items
        self._edges = 1 << 14
        self._room: tuple[Forest, LabelForest, ProjectionScratch] | None = None

    def project(self, forest: Forest, length: int) -> LabelForest:
        """The forest of labels of a forest; it lives until the next one.

        Raises ChartOverflowError where memory does not suffice, and TimeLimitError.
        """
        forests = self._forests
        source = ItemForest(forest, forests.tables, forests.unaries, self._items)
        if self._room is None or self._room[0] is not source.forest:
            self._room = self._allocate(source.forest, self._edges)
        while not project_forest(source, *self._room[1:], length, forests.clock.stop):
            forests.clock.check()
            if self._edges >= MAX_SIZE[EDGES]:
                raise ChartOverflowError("a forest of labels too large for memory")
            self._room = self._allocate(source.forest, 2 * self._edges)
            self._edges *= 2
        return self._room[1]

    def _allocate(self, forest: Forest, edges: int) -> tuple[Forest, LabelForest, ProjectionScratch]:
        nodes, productions, unaries = (
            len(forest.node_start),
            len(forest.production_parent),
            len(forest.unary_rule),
        )
        labels = LabelForest(
            empty_forest(len(forest.node_first), nodes, productions, edges, edges, productions, unaries),
            new_floats(edges),
            new_floats(edges),
            new_floats(unaries),
        )
        scratch = ProjectionScratch(
            np.full(self._items.n_labels, -1, np.int32),
            np.full(self._items.n_productions, -1, np.int32),
            new_ints(nodes),
            new_ints(productions),
            new_ints(productions),
            np.zeros(4, np.int32),
        )
        return forest, labels, scratch
