"""The items of derived trees: what each earns, how it is weighed, and how many of a tree's are expected.

Sima'an (2003): <i, A_B^side, j> says that A over i..j has the child B on that side (here also as its only
child), <i, A -> B C, j> that A is so rewritten, wherever the split. The posterior of an item is summed over
the symbols, rules and splits that share it.

A new item is a member of ``decode.objectives.Item`` and a row of ``ITEM_KINDS``, with its naive twin in
tests/naive_objectives.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.chart import Chart
from mbrparse.charts.exhaustive.factory import ForestCharts
from mbrparse.charts.forest.forests import Forests
from mbrparse.charts.kernel import kernel
from mbrparse.charts.packed_forest import Forest, forest_cell
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.decode.derivations.search import Gains
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.trees import LabelledSpans
from mbrparse.grammar.pcfg import PCFG, FloatArray
from mbrparse.grammar.rules import is_terminal

LEFT, RIGHT, ONLY = 0, 1, 2
NO_ITEM = -1
_SMALL = 1e-300  # in place of zero, whose logarithm would only be in the way


class ItemTables(NamedTuple):
    """Items by symbol, binary rule and unary rule, in the order of the forest's tables.

    A child that is a terminal is no item: its number is that of the child items, one more than the last.
    """

    label: Ints  # by symbol
    terminal: npt.NDArray[np.bool_]  # by label: whether it is a terminal's
    root: Floats  # by symbol: the probability as the root
    rule_prob: Floats  # by binary rule
    production: Ints
    left_child: Ints
    right_child: Ints
    unary_prob: Floats  # by unary rule
    unary_production: Ints
    only_child: Ints
    production_labels: Ints  # [production, 3]: parent, left child (-1: none), right or only child
    child_labels: Ints  # [child item, 3]: side (LEFT, RIGHT, ONLY), parent, child


def item_tables(grammar: PCFG, forests: Forests, label: Ints) -> ItemTables:
    """The items of a grammar whose symbols have these labels (the symbols' own ids: no projection)."""
    tables, unaries = forests.tables, forests.unaries
    count = len(grammar.symbols)
    pair = np.repeat(np.arange(len(tables.pair_left)), _sizes(tables.rule_start))
    left_symbols = np.flatnonzero(tables.left_index >= 0)
    left = left_symbols[tables.pair_left][pair]
    right = np.repeat(np.arange(count), _sizes(tables.pair_start))[pair]
    below = np.repeat(np.arange(count), _sizes(unaries.rule_start))
    nonterminal = np.array([not is_terminal(name) for name in grammar.symbols])
    # A terminal shares its name with no label.
    label = np.where(nonterminal, label, label.max(initial=0) + 1 + np.arange(count))
    above, parent = label[unaries.rule_parent], label[tables.rule_parent]
    sides = np.repeat([LEFT, RIGHT, ONLY], [len(pair), len(pair), len(below)])
    children = np.concatenate([left, right, below])
    child, child_labels = numbered_rows(sides, np.concatenate([parent, parent, above]), label[children])
    child[~nonterminal[children]] = len(child_labels)
    production, production_labels = numbered_rows(
        np.concatenate([parent, above]),
        np.concatenate([label[left], np.full(len(below), NO_ITEM)]),
        label[np.concatenate([right, below])],
    )
    terminal = np.zeros(int(label.max(initial=-1)) + 1, np.bool_)
    terminal[label[~nonterminal]] = True
    left_child, right_child, only_child = np.split(child, [len(pair), 2 * len(pair)])
    of_rule, of_unary = np.split(production, [len(pair)])
    return ItemTables(
        label.astype(np.int32),
        terminal,
        tables.root,
        tables.rule_prob,
        of_rule,
        left_child,
        right_child,
        unaries.rule_prob,
        of_unary,
        only_child,
        production_labels,
        child_labels,
    )


def _sizes(starts: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    wide = starts.astype(np.int64)
    return wide[1:] - wide[:-1]


def numbered_rows(*columns: npt.NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Number rows from 0 on, equal ones alike; also the distinct rows."""
    rows = np.column_stack([column.astype(np.int64) for column in columns])
    distinct, number = np.unique(rows, axis=0, return_inverse=True)
    return number.reshape(-1).astype(np.int32), distinct.astype(np.int32)


class _Parts(NamedTuple):
    """The nodes, productions or unaries of a forest: where each cell's begin, and their symbols or rules."""

    first: Ints
    kind: Ints
    mass: FloatArray  # the expected number of each


class ForestItems:
    """The items in the forest of one sentence."""

    def __init__(self, forest: Forest, tables: ItemTables, n: int) -> None:
        self.forest, self.tables, self.n = forest, tables, n
        self._cells = n * (n + 1) // 2

    @cached_property
    def nodes(self) -> _Parts:
        """The nodes as constituents: over a word only what stands above a preterminal counts."""
        first = self.forest.node_first[: self._cells + 1]
        return _Parts(first, self.forest.node_symbol, self._masses[0])

    @cached_property
    def productions(self) -> _Parts:
        """The productions, each with all its splits."""
        first = self.forest.cell_production[: self._cells + 1]
        return _Parts(first, self.forest.production_rule, self._masses[1])

    @cached_property
    def unaries(self) -> _Parts:
        """The uses of unary rules."""
        first = self.forest.unary_first[: self._cells + 1]
        return _Parts(first, self.forest.unary_rule, self._masses[2])

    @cached_property
    def _masses(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        forest, cells = self.forest, self._cells
        firsts = forest.node_first, forest.cell_production, forest.unary_first
        nodes, productions, unaries = (np.empty(first[cells]) for first in firsts)
        expect_parts(forest, self.tables.rule_prob, self.tables.unary_prob, nodes, productions, unaries)
        return nodes, productions, unaries

    @cached_property
    def spans(self) -> FloatArray:
        """By cell, the expected number of constituents."""
        cells = np.repeat(np.arange(self._cells), np.diff(self.nodes.first))
        return np.bincount(cells, self.nodes.mass, self._cells).astype(np.float64)

    def gains(self, objective: Objective, root_log_prob: FloatArray) -> Gains:
        """What an objective of the space of derivations weighs; roots have log probabilities by symbol."""
        forest, nodes = self.forest, slice(self.nodes.first[-1])
        roots = slice(self.nodes.first[-2], self.nodes.first[-1])
        inside, lexical = forest.inside[nodes], forest.lexical[nodes]
        known = inside * forest.outside[nodes] > 0
        by_rule = objective.weight(Item.RULE)
        is_root = np.isfinite(root_log_prob)
        root = np.where(is_root, by_rule * np.where(is_root, root_log_prob, 0.0), -np.inf)
        root = np.where(inside[roots] > 0, root[forest.node_symbol[roots]], -np.inf)
        gains = Gains(
            node=np.full(len(inside), objective.node_constant),
            word=np.where(known & (lexical > 0), 0.0, -np.inf),
            production=np.zeros(self.productions.first[-1]),
            unary=np.zeros(self.unaries.first[-1]),
            foot=np.zeros(self._cells),
            edge=np.zeros(0),
            root=root,
        )
        for item, weight in objective.gains:
            earn = ITEM_KINDS[item].earn
            if weight and earn is not None:
                earn(self, gains, weight)
        gains.node[~known] = -np.inf
        gains.unary[:] += gains.node[forest.unary_parent[: len(gains.unary)]]
        return gains

    def add(self, parts: _Parts, item: Ints, count: int, weight: float, gains: FloatArray) -> None:
        """Add to the gains of parts the posteriors of their items, which are given by symbol or rule.

        There are ``count`` items; what has another number is none.
        """
        add_sums(parts.first, parts.kind, item, parts.mass, np.zeros(count), weight, gains)

    def posterior(self, parts: _Parts, item: Ints, cell: int, number: int) -> float:
        """The posterior of an item in a cell, as far as these parts have it."""
        here = slice(parts.first[cell], parts.first[cell + 1])
        return float(parts.mass[here][item[parts.kind[here]] == number].sum())

    @cached_property
    def production_numbers(self) -> dict[tuple[int, ...], int]:
        """By the labels of a parent, its left child (NO_ITEM: it has but one), and its last child."""
        return {tuple(row): number for number, row in enumerate(self.tables.production_labels.tolist())}

    @cached_property
    def child_numbers(self) -> dict[tuple[int, ...], int]:
        """By the side of a child, its parent's label and its own."""
        children = enumerate(self.tables.child_labels.tolist())
        return {tuple(row): number for number, row in children if not self.tables.terminal[row[2]]}


@kernel
def expect_parts(
    forest: Forest, rule_prob: Floats, unary_prob: Floats, nodes: Floats, productions: Floats, unaries: Floats
) -> None:
    """Fill in the expected numbers of nodes as constituents, of productions and of unaries."""
    inside, outside = forest.inside, forest.outside
    for node in range(len(nodes)):
        nodes[node] = outside[node] * (inside[node] - forest.lexical[node])
    for place in range(len(productions)):
        above = rule_prob[forest.production_rule[place]] * outside[forest.production_parent[place]]
        productions[place] = above * forest.group_sum[forest.production_group[place]]
    for place in range(len(unaries)):
        above = unary_prob[forest.unary_rule[place]] * outside[forest.unary_parent[place]]
        unaries[place] = above * inside[forest.unary_child[place]]


@kernel
def add_sums(
    first: Ints, kind: Ints, item: Ints, mass: Floats, sums: Floats, weight: float, gains: Floats
) -> None:
    """Add to the gain of each part the weighted mass of all parts of its cell that share its item."""
    count = len(sums)
    for cell in range(len(first) - 1):
        for part in range(first[cell], first[cell + 1]):
            if item[kind[part]] < count:
                sums[item[kind[part]]] += mass[part]
        for part in range(first[cell], first[cell + 1]):
            if item[kind[part]] < count:
                gains[part] += weight * sums[item[kind[part]]]
        for part in range(first[cell], first[cell + 1]):
            if item[kind[part]] < count:
                sums[item[kind[part]]] = 0.0


class ItemNode(NamedTuple):
    """A node of a tree, preterminals included: label id, and the positions of its children."""

    start: int
    end: int
    label: int
    children: tuple[int, ...]

    @property
    def cell(self) -> int:
        """The number of its span's cell."""
        return int(forest_cell(self.start, self.end))


Nodes = Sequence[ItemNode]


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


@dataclass(frozen=True)
class ItemKind:
    """What is known of a kind of item.

    ``earn`` adds what it earns to the gains of a forest's parts, weighed. Items of a production with its
    split are searched in the forest of labels (but with ``earn``, if each label is one symbol's):
    ``by_split`` is what they earn by their posterior.
    """

    earn: Callable[[ForestItems, Gains, float], None] | None = None
    by_split: Callable[[FloatArray], FloatArray] | None = None
    is_logarithm: bool = False
    name: str | None = None  #: of its expectation in ``--details``
    expected: Callable[[Nodes, ForestItems], float] | None = None


def _earn_labels(items: ForestItems, gains: Gains, weight: float) -> None:
    items.add(items.nodes, items.tables.label, len(items.tables.terminal), weight, gains.node)


def _earn_spans(items: ForestItems, gains: Gains, weight: float) -> None:
    # A chain of unary rules earns its span once: with the production, or over a word at its foot.
    gains.production[:] += weight * np.repeat(items.spans, np.diff(items.productions.first))
    words = np.arange(items.n) * np.arange(1, items.n + 1) // 2
    gains.foot[words] += weight * items.spans[words]


def _earn_children(items: ForestItems, gains: Gains, weight: float) -> None:
    tables, count = items.tables, len(items.tables.child_labels)
    items.add(items.productions, tables.left_child, count, weight, gains.production)
    items.add(items.productions, tables.right_child, count, weight, gains.production)
    items.add(items.unaries, tables.only_child, count, weight, gains.unary)


def _earn_productions(items: ForestItems, gains: Gains, weight: float) -> None:
    tables, count = items.tables, len(items.tables.production_labels)
    items.add(items.productions, tables.production, count, weight, gains.production)
    items.add(items.unaries, tables.unary_production, count, weight, gains.unary)


def _earn_rules(items: ForestItems, gains: Gains, weight: float) -> None:
    tables, lexical = items.tables, items.forest.lexical[: len(gains.word)]
    with np.errstate(divide="ignore"):
        binary, unary = np.log(tables.rule_prob), np.log(tables.unary_prob)
    gains.production[:] += weight * binary[items.productions.kind[: len(gains.production)]]
    gains.unary[:] += weight * unary[items.unaries.kind[: len(gains.unary)]]
    words = np.isfinite(gains.word) & (lexical > 0)
    gains.word[words] += weight * np.log(lexical[words])


def _earn_log_splits(items: ForestItems, gains: Gains, weight: float) -> None:
    """The product of a tree's posteriors telescopes to rules and posteriors of nodes.

    So it does where each label is one symbol's; a root is below no production.
    """
    forest, nodes = items.forest, slice(len(gains.node))
    inside, outside, symbol = forest.inside[nodes], forest.outside[nodes], forest.node_symbol[nodes]
    _earn_rules(items, gains, weight)
    log_posterior = weight * np.log(np.maximum(inside * outside, _SMALL))
    gains.node[:] += log_posterior
    gains.word[:] += np.where(items.tables.terminal[items.tables.label[symbol]], 0.0, log_posterior)
    gains.root[:] -= weight * np.log(np.maximum(inside[-len(gains.root) :], _SMALL))


def _expected_children(nodes: Nodes, items: ForestItems) -> float:
    """The posteriors of a tree's distinct parent-child items."""
    tables, productions, unaries = items.tables, items.productions, items.unaries
    sides = {1: (ONLY,), 2: (LEFT, RIGHT)}
    keys = {
        (node.cell, items.child_numbers.get((side, node.label, nodes[child].label), NO_ITEM))
        for node in _inner(nodes)
        for side, child in zip(sides[len(node.children)], node.children, strict=True)
    }
    return sum(
        items.posterior(productions, tables.left_child, *key)
        + items.posterior(productions, tables.right_child, *key)
        + items.posterior(unaries, tables.only_child, *key)
        for key in sorted(keys)
        if key[1] != NO_ITEM
    )


def _expected_productions(nodes: Nodes, items: ForestItems) -> float:
    """Those of its distinct productions."""
    keys = {(node.cell, _production(node, nodes, items)) for node in _inner(nodes)}
    return sum(_production_posterior(items, *key) for key in sorted(keys) if key[1] != NO_ITEM)


def _production_posterior(items: ForestItems, cell: int, number: int) -> float:
    binary = items.posterior(items.productions, items.tables.production, cell, number)
    return binary + items.posterior(items.unaries, items.tables.unary_production, cell, number)


def _expected_splits(nodes: Nodes, items: ForestItems) -> float:
    """Those of its distinct productions with their splits, lexical ones too."""
    keys = {
        (node.cell, _production(node, nodes, items), nodes[node.children[-1]].cell) for node in _inner(nodes)
    }
    forest, tables, total = items.forest, items.tables, 0.0
    for cell, number, right_cell in sorted(keys):
        if number == NO_ITEM:
            continue
        if cell == right_cell:  # an only child
            total += _production_posterior(items, cell, number)
            continue
        first = forest.cell_production[cell]
        rules = forest.production_rule[first : forest.cell_production[cell + 1]]
        places = first + np.flatnonzero(tables.production[rules] == number)
        weights = tables.rule_prob[forest.production_rule[places]]
        weights = weights * forest.outside[forest.production_parent[places]]
        begin, end = forest.node_first[right_cell], forest.node_first[right_cell + 1]
        edge_first = forest.edge_first[begin : end + 1]
        groups = forest.edge_group[edge_first[0] : edge_first[-1]]
        for group, weight in zip(forest.production_group[places], weights, strict=True):
            edges = np.flatnonzero(groups == group) + edge_first[0]
            right = np.searchsorted(edge_first, edges, "right") - 1 + begin
            left = forest.left_node[forest.left_first[right] + edges - forest.edge_first[right]]
            total += weight * float((forest.inside[left] * forest.inside[right]).sum())
    words = {node[:3] for node in nodes if not node.children and node.label >= 0}
    for start, end, label in sorted(words):
        if not tables.terminal[label]:
            cell = int(forest_cell(start, end))
            here = slice(forest.node_first[cell], forest.node_first[cell + 1])
            chosen = tables.label[forest.node_symbol[here]] == label
            total += float((forest.lexical[here] * forest.outside[here])[chosen].sum())
    return total


def _inner(nodes: Nodes) -> Iterator[ItemNode]:
    return (node for node in nodes if node.children)


def _production(node: ItemNode, nodes: Nodes, items: ForestItems) -> int:
    labels = [nodes[child].label for child in node.children]
    left = labels[0] if len(labels) == 2 else NO_ITEM
    return items.production_numbers.get((node.label, left, labels[-1]), NO_ITEM)


ITEM_KINDS = {
    Item.LABELLED_SPAN: ItemKind(_earn_labels),
    Item.SPAN: ItemKind(_earn_spans),
    Item.PARENT_CHILD: ItemKind(_earn_children, name="parent_child", expected=_expected_children),
    Item.PRODUCTION: ItemKind(_earn_productions, name="productions", expected=_expected_productions),
    Item.RULE: ItemKind(_earn_rules, is_logarithm=True),
    Item.SPLIT_PRODUCTION: ItemKind(
        by_split=np.positive, name="split_productions", expected=_expected_splits
    ),
    Item.LOG_SPLIT_PRODUCTION: ItemKind(_earn_log_splits, by_split=np.log, is_logarithm=True),
}


def logarithm_unit(objective: Objective) -> float:
    """The sum of all weights where logarithms are summed up, else 0."""
    has_logarithms = any(weight and ITEM_KINDS[item].is_logarithm for item, weight in objective.gains)
    constant = abs(objective.node_constant)
    return sum((abs(weight) for _, weight in objective.gains), constant) if has_logarithms else 0.0


def expected_items(nodes: Nodes, items: ForestItems) -> dict[str, float]:
    """How many of a tree's distinct items of each kind are expected to be right."""
    return {
        kind.name: kind.expected(nodes, items)
        for kind in ITEM_KINDS.values()
        if kind.name is not None and kind.expected is not None
    }


_NO_LABEL = -2  # of no rule; -1 stands for a child that is not there


class ExpectedItems:
    """Looks the items of binary trees up in forests, whoever made the trees."""

    def __init__(self, charts: ForestCharts) -> None:
        grammar = charts.grammar
        self._tables = tables = item_tables(grammar, charts.forests, charts.label)
        label: list[int] = tables.label.tolist()
        self._labels = {
            grammar.labels[grammar.label_ids[symbol]]: label[symbol]
            for symbol, name in enumerate(grammar.symbols)
            if not is_terminal(name)
        }
        # By terminal id, the labels of what may stand over it: below a node of one child, and of two.
        self._over: dict[bool, dict[int, set[int]]] = {True: {}, False: {}}
        below = {
            True: {*grammar.unary_child.tolist()},
            False: {*grammar.left.tolist(), *grammar.right.tolist()},
        }
        pairs = zip(grammar.lexical_terminal.tolist(), grammar.lexical_symbol.tolist(), strict=True)
        for terminal, symbol in pairs:
            for alone, over in self._over.items():
                if symbol in below[alone]:
                    over.setdefault(terminal, set()).add(label[symbol])

    def expected(
        self, chart: Chart, spans: LabelledSpans, tags: Sequence[str | None]
    ) -> dict[str, float] | None:
        """How many of a binary tree's distinct items are expected to be right, by kind.

        ``tags`` are the labels over its terminals, None where the tree shows none: it is then the only one
        that the grammar has for the terminal. None if it has several, or the tree is not binary, or no
        constituent.
        """
        if not spans:
            return None
        over = {(start, end) for start, end, _ in spans}
        leaves: list[int] = []
        for position, (terminal, tag) in enumerate(zip(chart.terminal_ids.tolist(), tags, strict=True)):
            found = self._leaf(terminal, tag, (position, position + 1) in over)
            if found is None:
                return None
            leaves.append(found)
        ids = [(start, end, self._labels.get(label, _NO_LABEL)) for start, end, label in spans]
        nodes = item_nodes(ids, leaves)
        if any(len(node.children) > 2 for node in nodes):
            return None
        return expected_items(nodes, ForestItems(chart.forest(), self._tables, chart.length))

    def _leaf(self, terminal: int, tag: str | None, alone: bool) -> int | None:
        """The item label over a terminal that is an only child, or is not."""
        if tag is not None:
            return self._labels.get(tag, _NO_LABEL)
        found = self._over[alone].get(terminal, {_NO_LABEL})
        return min(found) if len(found) == 1 else None
