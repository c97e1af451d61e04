"""The part of a sentence's forest that a search has to look at: some cells' nodes, and some edges among them.

Which these are says a ``Selection`` (``bounds`` makes it). Sums are the whole forest's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.errors import ChartOverflowError
from mbrparse.grammar.charts.forest.forests import MAX_SIZE, Forests
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
    empty_forest,
    forest_cell,
    new_floats,
    new_ints,
)
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.kernel import kernel


class Selection(NamedTuple):
    """What is kept, by cell.

    All nodes and productions, and all edges to other such cells, where items are looked at; and nodes and
    edges whose posterior is not less than this; and nodes whose label's is not, with all edges among them.
    """

    items: Ints
    least: Floats
    least_label: Floats


class KeptForest(NamedTuple):
    """A forest of what is kept, and what else a search wants to know of it."""

    forest: Forest
    left_value: Floats  # the inside values of its left nodes
    weight: Floats  # by group, the sum of outside * probability over its productions
    edge_most: Floats  # by cell, the largest posterior of its kept edges
    edge_sum: Floats  # by cell, the sum of theirs and of its kept unaries'


class _Scratch(NamedTuple):
    kept: Ints  # by node of the whole forest: what it is among the kept ones, or -1
    group: Ints  # and by group
    by_label: Ints  # by kept node: whether its label is likely
    label_mass: Floats  # by label, of the cell at work


@kernel
def keep(
    source: Forest,
    known: tuple[Floats, Floats, Ints],
    selection: Selection,
    into: KeptForest,
    scratch: _Scratch,
    n: int,
    stop: Ints,
) -> int:
    """Fill a forest with what is selected; returns -1, or which of its parts is too small, or STOPPED.

    Known are the weights of its groups, the probabilities of unary rules, and the labels of symbols.

    Nodes without a posterior above zero are never kept.
    """
    source_weight, unary_prob, label = known
    forest, kept = into.forest, scratch.kept
    forest.node_first[0], forest.unary_first[0], forest.cell_production[0] = 0, 0, 0
    cells = n * (n + 1) // 2
    into.edge_most[:cells], into.edge_sum[:cells] = 0, 0
    kept[: source.node_first[cells]] = -1
    items, least, least_label = selection.items, selection.least, selection.least_label
    groups, edges = 0, 0
    for end in range(1, n + 1):
        if stop[0]:
            return STOPPED
        for start in range(end - 1, -1, -1):
            cell = forest_cell(start, end)
            if not (items[cell] or least[cell] < np.inf or least_label[cell] < np.inf):
                forest.node_first[cell + 1] = forest.node_first[cell]
                forest.unary_first[cell + 1] = forest.unary_first[cell]
                forest.cell_production[cell + 1] = forest.cell_production[cell]
                forest.cell_group[cell] = -1
                continue
            if not _keep_nodes(source, label, selection, forest, scratch, cell):
                return NODES
            groups, full = _keep_groups(source, source_weight, selection, into, scratch, cell, groups)
            if full >= 0:
                return full
            if not _keep_unaries(source, unary_prob, into, kept, cell):
                return UNARIES
        edges = _keep_edges(source, source_weight, selection, into, scratch, end, edges)
        if edges < 0:
            return EDGES
    forest.edge_first[forest.node_first[forest_cell(0, n) + 1]] = edges
    return -1


@kernel
def _keep_nodes(
    source: Forest, label: Ints, selection: Selection, forest: Forest, scratch: _Scratch, cell: int
) -> bool:
    """Keep a cell's nodes; false if there is no room."""
    first, last = source.node_first[cell], source.node_first[cell + 1]
    symbol, inside, outside, lexical = source.node_symbol, source.inside, source.outside, source.lexical
    kept, by_label, mass = scratch.kept, scratch.by_label, scratch.label_mass
    into_symbol, into_inside, into_outside = forest.node_symbol, forest.inside, forest.outside
    into_lexical, into_start, node_start = forest.lexical, forest.node_start, source.node_start
    count = forest.node_first[cell]
    if count + last - first > len(into_start):
        return False
    every, least, least_label = selection.items[cell], selection.least[cell], selection.least_label[cell]
    if least_label < np.inf:
        for node in range(first, last):
            mass[label[symbol[node]]] += inside[node] * outside[node]
    for node in range(first, last):
        posterior = inside[node] * outside[node]
        likely = least_label < np.inf and mass[label[symbol[node]]] >= least_label
        if posterior > 0 and (every or posterior >= least or likely):
            kept[node], by_label[count] = count, likely
            into_symbol[count], into_start[count] = symbol[node], node_start[node]
            into_inside[count], into_outside[count] = inside[node], outside[node]
            into_lexical[count] = lexical[node]
            count += 1
    if least_label < np.inf:
        for node in range(first, last):
            mass[label[symbol[node]]] = 0
    forest.node_first[cell + 1] = count
    return True


@kernel
def _keep_groups(
    source: Forest,
    source_weight: Floats,
    selection: Selection,
    into: KeptForest,
    scratch: _Scratch,
    cell: int,
    groups: int,
) -> tuple[int, int]:
    """Keep a cell's groups and productions; returns the number of groups, and what is too small, or -1."""
    forest, kept, group_of = into.forest, scratch.kept, scratch.group
    source_first, source_last = source.production_first, source.production_last
    source_parent, source_rule, source_sum = (
        source.production_parent,
        source.production_rule,
        source.group_sum,
    )
    parent_of, rule_of, group_at = (
        forest.production_parent,
        forest.production_rule,
        forest.production_group,
    )
    production_first, production_last = forest.production_first, forest.production_last
    group_next, group_sum, group_right = forest.group_next, forest.group_sum, forest.group_right
    weight = into.weight
    least = selection.least[cell]
    every = selection.items[cell] or selection.least_label[cell] < np.inf
    some = forest.node_first[cell + 1] > forest.node_first[cell]
    newest, productions, full = -1, forest.cell_production[cell], -1
    group = source.cell_group[cell]
    while group >= 0:
        group_of[group] = -1
        if some and (every or source_weight[group] * source_sum[group] >= least):
            first, last = source_first[group], source_last[group]
            if groups == len(group_sum) or productions + last - first > len(parent_of):
                full = GROUPS if groups == len(group_sum) else PRODUCTIONS
                break
            until = productions
            for place in range(first, last):
                parent = kept[source_parent[place]]
                if parent >= 0:
                    parent_of[until], rule_of[until], group_at[until] = parent, source_rule[place], groups
                    until += 1
            if until > productions:
                group_of[group] = groups
                production_first[groups], production_last[groups] = productions, until
                group_sum[groups], weight[groups] = source_sum[group], source_weight[group]
                group_right[groups] = source.group_right[group]
                group_next[groups], newest = newest, groups
                productions, groups = until, groups + 1
        group = source.group_next[group]
    forest.cell_group[cell], forest.cell_production[cell + 1] = newest, productions
    return groups, full


@kernel
def _keep_unaries(source: Forest, unary_prob: Floats, into: KeptForest, kept: Ints, cell: int) -> bool:
    """Keep the unary rules between a cell's kept nodes; false if there is no room."""
    forest, edge_sum = into.forest, into.edge_sum
    first, last = source.unary_first[cell], source.unary_first[cell + 1]
    place = forest.unary_first[cell]
    if place + last - first > len(forest.unary_rule):
        return False
    for unary in range(first, last):
        parent, child = kept[source.unary_parent[unary]], kept[source.unary_child[unary]]
        if parent >= 0 and child >= 0:
            forest.unary_parent[place], forest.unary_child[place] = parent, child
            rule = source.unary_rule[unary]
            forest.unary_rule[place] = rule
            edge_sum[cell] += unary_prob[rule] * forest.outside[parent] * forest.inside[child]
            place += 1
    forest.unary_first[cell + 1] = place
    return True


@kernel
def _keep_edges(
    source: Forest,
    source_weight: Floats,
    selection: Selection,
    into: KeptForest,
    scratch: _Scratch,
    end: int,
    edges: int,
) -> int:
    """Keep the edges of a column; returns the number of edges, -1 if there is no room."""
    forest, left_value, kept, group_of = into.forest, into.left_value, scratch.kept, scratch.group
    edge_first, edge_group, left_first = source.edge_first, source.edge_group, source.left_first
    left_node, inside, group_start = source.left_node, source.inside, source.group_start
    by_label, node_first = scratch.by_label, source.node_first
    into_first, into_group, into_left = forest.edge_first, forest.edge_group, forest.left_node
    into_left_first, cell_group = forest.left_first, forest.cell_group
    items, least, least_label = selection.items, selection.least, selection.least_label
    edge_most, edge_sum = into.edge_most, into.edge_sum
    for split in range(end - 1, -1, -1):
        right_cell = forest_cell(split, end)
        for right in range(node_first[right_cell], node_first[right_cell + 1]):
            kept_right = kept[right]
            if kept_right < 0:
                continue
            into_first[kept_right], into_left_first[kept_right] = edges, edges
            place = Index(left_first[right])
            if edges + edge_first[right + 1] - edge_first[right] > len(into_group):
                return -1
            for edge in range(Index(edge_first[right]), Index(edge_first[right + 1])):
                source_group, left = edge_group[edge], left_node[place]
                place = Index(place + ONE)
                kept_left = kept[left]
                if kept_left < 0:
                    continue
                start = group_start[source_group]
                cell = forest_cell(start, end)
                # Groups of a cell with none are not numbered.
                group = group_of[source_group] if cell_group[cell] >= 0 else -1
                if group < 0:
                    continue
                posterior = source_weight[source_group] * inside[left] * inside[right]
                if (
                    posterior >= least[cell]
                    or (items[cell] and items[right_cell] and items[forest_cell(start, split)])
                    or (least_label[cell] < np.inf and by_label[kept_right] and by_label[kept_left])
                ):
                    into_group[edges], into_left[edges] = group, kept_left
                    left_value[edges] = inside[left]
                    edge_most[cell] = max(edge_most[cell], posterior)
                    edge_sum[cell] += posterior
                    edges += 1
    return edges


# Room for so many at first.
_FIRST_SIZE = {NODES: 1 << 11, GROUPS: 1 << 12, EDGES: 1 << 14, PRODUCTIONS: 1 << 13, UNARIES: 1 << 12}


class KeptForests:
    """Makes one forest of what is kept after the other, in the same memory."""

    def __init__(self, forests: Forests, label: Ints, n_labels: int) -> None:
        self._forests, self._label, self._n_labels = forests, label, n_labels
        self._size = dict(_FIRST_SIZE)
        self._source = (0, 0, 0)
        self._room: tuple[KeptForest, _Scratch] | None = None

    def keep(self, selection: Selection, length: int) -> KeptForest:
        """What is selected of the forest that was filled last; it lives until the next call.

        Raises ChartOverflowError where it is too much, and TimeLimitError.
        """
        forests, forest = self._forests, self._forests.forest
        source = len(forest.node_first), len(forest.node_start), len(forest.group_sum)
        if source != self._source:
            self._source, self._room = source, None
        while True:
            if self._room is None:
                self._room = self._allocated()
            stop = forests.clock.stop
            known = forests.weight, forests.unaries.rule_prob, self._label
            full = int(keep(forest, known, selection, *self._room, length, stop))
            if full < 0:
                return self._room[0]
            forests.clock.check()
            if self._size[full] >= MAX_SIZE[full]:
                raise ChartOverflowError("a forest too large for memory")
            self._size[full] *= 2
            self._room = None

    def _allocated(self) -> tuple[KeptForest, _Scratch]:
        size = self._size
        nodes, edges = size[NODES], size[EDGES]
        unaries = size[UNARIES] if len(self._forests.unaries.rule_parent) else 0
        cells, source_nodes, source_groups = self._source
        kept = KeptForest(
            empty_forest(cells, nodes, size[GROUPS], edges, edges, size[PRODUCTIONS], unaries),
            new_floats(edges),
            new_floats(size[GROUPS]),
            new_floats(cells),
            new_floats(cells),
        )
        scratch = _Scratch(
            new_ints(source_nodes), new_ints(source_groups), new_ints(nodes), new_floats(self._n_labels)
        )
        return kept, scratch
