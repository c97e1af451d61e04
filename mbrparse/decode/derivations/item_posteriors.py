"""The items of a grammar's rules, and their posteriors in a forest, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.forest.forests import Forests
from mbrparse.charts.rule_tables import Floats, Indices, Ints
from mbrparse.decode.derivations.gains import ItemTables
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import is_terminal

LEFT, RIGHT, ONLY = 0, 1, 2
NO_ITEM = -1


def item_tables(grammar: PCFG, forests: Forests, label: Ints) -> ItemTables:
    """The items of a grammar whose symbols have these labels (the symbols' own ids: no projection)."""
    tables, unaries = forests.tables, forests.unaries
    count = len(grammar.symbols)
    pair = np.repeat(np.arange(len(tables.pair_left)), _sizes(tables.rule_start))
    left_symbols = np.flatnonzero(tables.left_index >= 0)
    left_of_pair = left_symbols[tables.pair_left]
    right_of_pair = np.repeat(np.arange(count), _sizes(tables.pair_start))
    parent, left, right = tables.rule_parent, left_of_pair[pair], right_of_pair[pair]
    below = np.repeat(np.arange(count), _sizes(unaries.rule_start))
    nonterminal = np.array([not is_terminal(name) for name in grammar.symbols])
    # A terminal shares its name with no label.
    label = np.where(nonterminal, label, label.max(initial=0) + 1 + np.arange(count))
    children = np.concatenate(
        [
            _rows(np.full_like(parent, LEFT), label[parent], label[left]),
            _rows(np.full_like(parent, RIGHT), label[parent], label[right]),
            _rows(np.full_like(below, ONLY), label[unaries.rule_parent], label[below]),
        ]
    )
    child, child_labels = numbered_rows(children)
    child[~nonterminal[np.concatenate([left, right, below])]] = len(child_labels)
    productions = np.concatenate(
        [
            _rows(label[parent], label[left], label[right]),
            _rows(label[unaries.rule_parent], np.full_like(below, -1), label[below]),
        ]
    )
    production, production_labels = numbered_rows(productions)
    terminal = np.zeros(int(label.max(initial=-1)) + 1, np.bool_)
    terminal[label[~nonterminal]] = True
    rules = len(parent)
    with np.errstate(divide="ignore"):
        rule_log_prob, unary_log_prob = np.log(tables.rule_prob), np.log(unaries.rule_prob)
    return ItemTables(
        label=label.astype(np.int32),
        terminal=terminal,
        root=tables.root,
        rule_prob=tables.rule_prob,
        rule_log_prob=rule_log_prob,
        production=production[:rules],
        left_child=child[:rules],
        right_child=child[rules : 2 * rules],
        unary_prob=unaries.rule_prob,
        unary_log_prob=unary_log_prob,
        unary_production=production[rules:],
        only_child=child[2 * rules :],
        production_labels=production_labels,
        child_labels=child_labels,
    )


def _sizes(starts: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    wide = starts.astype(np.int64)
    return wide[1:] - wide[:-1]


def _rows(*columns: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    return np.column_stack([column.astype(np.int64) for column in columns])


def numbered_rows(rows: npt.NDArray[np.int64]) -> tuple[Indices, Ints]:
    """Number rows from 0 on, equal ones alike; also the distinct rows."""
    distinct, number = np.unique(rows, axis=0, return_inverse=True)
    return number.reshape(-1).astype(np.uint32), distinct.astype(np.int32)


class ItemNode(NamedTuple):
    """A node of a tree, preterminals included: label id, and the positions of its children."""

    start: int
    end: int
    label: int
    children: tuple[int, ...]


def item_nodes(spans: Sequence[tuple[int, int, int]], leaves: Sequence[int]) -> list[ItemNode]:
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
        #: By the labels of a parent, its left child (NO_ITEM: it has but one), and its last child.
        self.productions = {tuple(row): number for number, row in enumerate(items.production_labels.tolist())}
        children = enumerate(items.child_labels.tolist())
        #: By the side of a child, its parent's label and its own.
        self.children = {tuple(row): number for number, row in children if not items.terminal[row[2]]}

    def child(self, cell: int, item: int) -> float:
        """The posterior of a parent-child item."""
        items = self.tables
        return self._mass(cell, item, (items.left_child, items.right_child), items.only_child)

    def production(self, cell: int, item: int) -> float:
        """The posterior of a production, wherever its split."""
        items = self.tables
        return self._mass(cell, item, (items.production,), items.unary_production)

    def split_production(self, cell: int, item: int, right_cell: int) -> float:
        """The posterior of a production whose right child is in a cell (NO_ITEM: it has none)."""
        if right_cell == NO_ITEM:
            return self.production(cell, item)
        forest = self._forests.forest
        first, last = forest.node_first[right_cell], forest.node_first[right_cell + 1]
        edge_first = forest.edge_first[first : last + 1]
        groups = forest.edge_group[edge_first[0] : edge_first[-1]]
        places, weights = self._productions(cell, item, (self.tables.production,))
        mass = 0.0
        for group, weight in zip(forest.production_group[places], weights, strict=True):
            edges = np.flatnonzero(groups == group) + edge_first[0]
            right = np.searchsorted(edge_first, edges, "right") - 1 + first
            left = forest.left_node[forest.left_first[right] + edges - forest.edge_first[right]]
            mass += weight * float((forest.inside[left] * forest.inside[right]).sum())
        return mass

    def lexical(self, cell: int, label: int) -> float:
        """The posterior of a label that is rewritten as the word."""
        forest = self._forests.forest
        nodes = slice(forest.node_first[cell], forest.node_first[cell + 1])
        has_label = self.tables.label[forest.node_symbol[nodes]] == label
        return float((forest.lexical[nodes] * forest.outside[nodes])[has_label].sum())

    def _mass(self, cell: int, item: int, of_rule: tuple[Indices, ...], of_unary: Indices) -> float:
        """The posterior of an item that binary rules and unary rules have."""
        forest = self._forests.forest
        places, weights = self._productions(cell, item, of_rule)
        mass = (weights * forest.group_sum[forest.production_group[places]]).sum()
        unaries = slice(forest.unary_first[cell], forest.unary_first[cell + 1])
        rules = forest.unary_rule[unaries]
        masses = self.tables.unary_prob[rules] * forest.outside[forest.unary_parent[unaries]]
        masses *= forest.inside[forest.unary_child[unaries]]
        return float(mass + masses[of_unary[rules] == item].sum())

    def _productions(
        self, cell: int, item: int, of_rule: tuple[Indices, ...]
    ) -> tuple[npt.NDArray[np.intp], Floats]:
        """A cell's productions by rules that have an item, and their outside * probability."""
        forest, first = self._forests.forest, self._forests.forest.cell_production[cell]
        rules = forest.production_rule[first : forest.cell_production[cell + 1]]
        found = np.logical_or.reduce([numbers[rules] == item for numbers in of_rule])
        places = first + np.flatnonzero(found)
        return places, self.tables.rule_prob[rules[found]] * forest.outside[forest.production_parent[places]]
