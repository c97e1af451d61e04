"""The posteriors of items, one by one: what is expected of a given tree's (``item_kinds``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mbrparse.decode.derivations.item_forest import ItemForest
from mbrparse.decode.derivations.item_tables import NO_ITEM, ItemTables
from mbrparse.grammar.charts.forest.forests import Forests
from mbrparse.grammar.charts.rule_tables import Ints
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


class ItemPosteriors:
    """Looks items up in the forest that was filled last.

    Items are numbered as in ``ItemTables``; NO_ITEM is one that no rule of the grammar has, and a key of a
    tree's item begins with its cell.
    """

    def __init__(self, forests: Forests, items: ItemTables) -> None:
        self._forests = forests
        self.tables = items
        self._production = {tuple(row): number for number, row in enumerate(items.production_labels.tolist())}
        children = enumerate(items.child_labels.tolist())
        self._child = {tuple(row): number for number, row in children if not items.terminal[row[2]]}

    def production_item(self, parent: int, left: int, last: int) -> int:
        """The production of labels: a parent, its left child (NO_ITEM: it has but one), its last child."""
        return self._production.get((parent, left, last), NO_ITEM)

    def child_item(self, side: int, parent: int, child: int) -> int:
        """The item of a parent's label, and a child's on this side."""
        return self._child.get((side, parent, child), NO_ITEM)

    def child(self, cell: int, item: int) -> float:
        """The posterior of a parent-child item."""
        items = self.tables
        return self._mass((items.left_child, items.right_child), items.only_child, cell, item)

    def production(self, cell: int, item: int) -> float:
        """The posterior of a production, wherever its split."""
        items = self.tables
        return self._mass((items.production, items.production), items.unary_production, cell, item)

    def split_production(self, cell: int, item: int, right_cell: int) -> float:
        """The posterior of a production whose right child is in a cell (NO_ITEM: it has none)."""
        if right_cell == NO_ITEM:
            return self.production(cell, item)
        first = self._forests.forest.node_first
        if first[cell] == first[cell + 1]:  # a tree from elsewhere may have spans that no derivation has
            return 0.0
        return float(_split_mass(self._source(), cell, item, right_cell))

    def lexical(self, cell: int, label: int) -> float:
        """The posterior of a label that is rewritten as the word."""
        return float(_lexical_mass(self._source(), cell, label))

    def _mass(self, of_rule: tuple[Ints, Ints], of_unary: Ints, cell: int, item: int) -> float:
        return float(_item_mass(self._source(), of_rule, of_unary, cell, item))

    def _source(self) -> ItemForest:
        forests = self._forests
        return ItemForest(forests.forest, forests.tables, forests.unaries, self.tables)


@kernel
def _item_mass(source: ItemForest, of_rule: tuple[Ints, Ints], of_unary: Ints, cell: int, item: int) -> float:
    """The posterior of an item that rules and unary rules have; of rules either of two may be it."""
    forest, tables, unaries = source.forest, source.tables, source.unaries
    one, other = of_rule
    mass = 0.0
    group = forest.cell_group[cell]
    while group >= 0:
        for place in range(forest.production_first[group], forest.production_last[group]):
            rule = forest.production_rule[place]
            if one[rule] == item or other[rule] == item:
                parent = forest.production_parent[place]
                mass += tables.rule_prob[rule] * forest.outside[parent] * forest.group_sum[group]
        group = forest.group_next[group]
    for place in range(forest.unary_first[cell], forest.unary_first[cell + 1]):
        rule = forest.unary_rule[place]
        if of_unary[rule] == item:
            parent, child = forest.unary_parent[place], forest.unary_child[place]
            mass += unaries.rule_prob[rule] * forest.outside[parent] * forest.inside[child]
    return mass


@kernel
def _split_mass(source: ItemForest, cell: int, item: int, right_cell: int) -> float:
    """The posterior of a production whose right child is in a cell."""
    forest, items = source.forest, source.items
    start = forest.node_start[forest.node_first[cell]]
    right_label = items.production_labels[item, 2]
    mass = 0.0
    for right in range(forest.node_first[right_cell], forest.node_first[right_cell + 1]):
        if items.label[forest.node_symbol[right]] != right_label:
            continue
        for edge in range(forest.edge_first[right], forest.edge_first[right + 1]):
            group = forest.edge_group[edge]
            if forest.group_start[group] != start:
                continue
            passed = 0.0
            for place in range(forest.production_first[group], forest.production_last[group]):
                rule = forest.production_rule[place]
                if items.production[rule] == item:
                    passed += source.tables.rule_prob[rule] * forest.outside[forest.production_parent[place]]
            left = forest.left_node[forest.left_first[right] + edge - forest.edge_first[right]]
            mass += passed * forest.inside[right] * forest.inside[left]
    return mass


@kernel
def _lexical_mass(source: ItemForest, cell: int, label: int) -> float:
    forest, items = source.forest, source.items
    mass = 0.0
    for node in range(forest.node_first[cell], forest.node_first[cell + 1]):
        if items.label[forest.node_symbol[node]] == label:
            mass += forest.lexical[node] * forest.outside[node]
    return mass
