"""What is expected of a given tree's items: how many of them the true tree shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.item_tables import LEFT, NO_ITEM, ONLY, RIGHT, ItemTables
from mbrparse.grammar.charts.closure import UnaryTables
from mbrparse.grammar.charts.forest.forests import Forests
from mbrparse.grammar.charts.forest.packed_forest import Forest, forest_cell
from mbrparse.grammar.charts.rule_tables import Floats, Ints, SparseTables
from mbrparse.grammar.kernel import kernel


class ItemNode(NamedTuple):
    """A node of a tree, preterminals included: label id, and the positions of its children."""

    start: int
    end: int
    label: int
    children: tuple[int, ...]


LabelledIds = Sequence[tuple[int, int, int]]


def item_nodes(spans: LabelledIds, leaves: Sequence[int]) -> list[ItemNode]:
    """The nodes of a tree of (start, end, label id) in preorder over leaves with these label ids."""
    nodes = [ItemNode(position, position + 1, label, ()) for position, label in enumerate(leaves)]
    # As in decode.trees: the largest finished subtree that begins at each position.
    tops = list(range(len(leaves)))
    for start, end, label in reversed(spans):
        children = [tops[start]]
        while nodes[children[-1]].end < end:
            children.append(tops[nodes[children[-1]].end])
        tops[start] = len(nodes)
        nodes.append(ItemNode(start, end, label, tuple(children)))
    return nodes


class ExpectedItems(NamedTuple):
    """Sums of the posteriors of a tree's distinct items."""

    parent_child: float
    productions: float
    split_productions: float


class Expectations:
    """Looks items up in the forest that was filled last."""

    def __init__(self, forests: Forests, items: ItemTables) -> None:
        self._forests = forests
        self._items = items
        self._production = {tuple(row): number for number, row in enumerate(items.production_labels.tolist())}
        children = enumerate(items.child_labels.tolist())
        self._child = {tuple(row): number for number, row in children if not items.terminal[row[2]]}

    def expected(self, nodes: Sequence[ItemNode]) -> ExpectedItems:
        """The expectations of a tree, each distinct item once."""
        child_items: set[tuple[int, int]] = set()
        productions: set[tuple[int, int]] = set()
        splits: set[tuple[int, int, int]] = set()
        lexical: set[tuple[int, int]] = set()
        for node in nodes:
            cell = int(forest_cell(node.start, node.end))
            labels = [nodes[child].label for child in node.children]
            if not labels:
                if not self._items.terminal[node.label]:
                    lexical.add((cell, node.label))
                continue
            sides = (ONLY,) if len(labels) == 1 else (LEFT, RIGHT)
            for side, label in zip(sides, labels, strict=True):
                child_items.add((cell, self._child.get((side, node.label, label), NO_ITEM)))
            left = labels[0] if len(labels) == 2 else NO_ITEM
            production = self._production.get((node.label, left, labels[-1]), NO_ITEM)
            productions.add((cell, production))
            if len(labels) == 2:
                right_cell = int(forest_cell(nodes[node.children[1]].start, node.end))
                splits.add((cell, production, right_cell))
            else:
                splits.add((cell, production, NO_ITEM))
        forests, items = self._forests, self._items
        forest, tables = forests.forest, forests.tables

        def child_mass(cell: int, item: int) -> float:
            sides = items.left_child, items.right_child
            return float(_item_mass(forest, tables, forests.unaries, sides, items.only_child, cell, item))

        def production_mass(cell: int, item: int) -> float:
            of_rule = items.production, items.production
            of_unary = items.unary_production
            return float(_item_mass(forest, tables, forests.unaries, of_rule, of_unary, cell, item))

        def split_mass(cell: int, item: int, right_cell: int) -> float:
            if right_cell == NO_ITEM:
                return production_mass(cell, item)
            return float(_split_mass(forest, tables, items.production, cell, item, right_cell))

        return ExpectedItems(
            sum(child_mass(cell, item) for cell, item in sorted(child_items) if item >= 0),
            sum(production_mass(cell, item) for cell, item in sorted(productions) if item >= 0),
            sum(split_mass(*split) for split in sorted(splits) if split[1] >= 0)
            + sum(_lexical_mass(forest, items, *item) for item in sorted(lexical)),
        )


@kernel
def _item_mass(
    forest: Forest,
    tables: SparseTables,
    unaries: UnaryTables,
    of_rule: tuple[Ints, Ints],
    of_unary: Ints,
    cell: int,
    item: int,
) -> float:
    """The posterior of an item that rules and unary rules have; of rules either of two may be it."""
    one, other = of_rule
    mass = 0.0
    group = forest.cell_group[cell]
    while group >= 0:
        rule = forest.group_rule[group]
        for place in range(forest.production_first[group], forest.production_last[group]):
            if one[rule] == item or other[rule] == item:
                parent = forest.production_parent[place]
                mass += tables.rule_prob[rule] * forest.outside[parent] * forest.group_sum[group]
            rule += 1
        group = forest.group_next[group]
    for place in range(forest.unary_first[cell], forest.unary_first[cell + 1]):
        rule = forest.unary_rule[place]
        if of_unary[rule] == item:
            parent, child = forest.unary_parent[place], forest.unary_child[place]
            mass += unaries.rule_prob[rule] * forest.outside[parent] * forest.inside[child]
    return mass


@kernel
def _split_mass(
    forest: Forest, tables: SparseTables, production: Ints, cell: int, item: int, right_cell: int
) -> float:
    """The posterior of a production whose right child is in a cell."""
    weight: Floats = np.zeros(len(forest.group_rule))
    group = forest.cell_group[cell]
    while group >= 0:
        rule = forest.group_rule[group]
        for place in range(forest.production_first[group], forest.production_last[group]):
            if production[rule] == item:
                weight[group] += tables.rule_prob[rule] * forest.outside[forest.production_parent[place]]
            rule += 1
        group = forest.group_next[group]
    mass = 0.0
    for right in range(forest.node_first[right_cell], forest.node_first[right_cell + 1]):
        for edge in range(forest.edge_first[right], forest.edge_first[right + 1]):
            passed = weight[forest.edge_group[edge]]
            left = forest.left_node[forest.left_first[right] + edge - forest.edge_first[right]]
            mass += passed * forest.inside[right] * forest.inside[left]
    return mass


@kernel
def _lexical_mass(forest: Forest, items: ItemTables, cell: int, label: int) -> float:
    mass = 0.0
    for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
        if items.label[forest.node_symbol[node]] == label:
            mass += forest.lexical[node] * forest.outside[node]
    return mass
