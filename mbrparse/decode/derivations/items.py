"""The items of derived trees: what each earns, how it is weighed, and how many of a tree's are expected.

Sima'an (2003): <i, A_B^side, j> says that A over i..j has the child B on that side (here also as its only
child), <i, A -> B C, j> that A is so rewritten, wherever the split. The posterior of an item is summed over
the symbols, rules and splits that share it. A chain of unary rules may use one of an item's more than once:
the item's posterior is the probability of one use at least, and its second copy in a tree is right with that
of two.

A new item is a member of ``decode.objectives.Item`` and a row of ``ITEM_KINDS``, with its naive twin in
tests/naive_objectives.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.exhaustive.factory import ForestCharts
from mbrparse.charts.kernel import kernel
from mbrparse.charts.occurrences import Occurrences, RuleSets, last_ones, rule_sets
from mbrparse.charts.packed_forest import Forest, Index, forest_cell
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.decode.derivations.search import Gains
from mbrparse.decode.objectives import Item, Objective
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.grammar.rules import is_terminal

LEFT, RIGHT, ONLY = 0, 1, 2
NO_ITEM = -1
_SMALL = 1e-300  # in place of zero, whose logarithm would only be in the way


@dataclass(frozen=True, eq=False)
class ItemTables:
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
    unary_sets: RuleSets  # of the unary rules of each production
    production_labels: Ints  # [production, 3]: parent, left child (NO_ITEM: none), right or only child
    child_labels: Ints  # [child item, 3]: side (LEFT, RIGHT, ONLY), parent, child

    @cached_property
    def logarithms(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of the probabilities of binary rules, unary rules and roots."""
        with np.errstate(divide="ignore"):
            return np.log(self.rule_prob), np.log(self.unary_prob), np.log(self.root)

    @cached_property
    def production_numbers(self) -> dict[tuple[int, ...], int]:
        """By the labels of a parent, its left child (NO_ITEM: it has but one), and its last child."""
        return {tuple(row): number for number, row in enumerate(self.production_labels.tolist())}

    @cached_property
    def child_numbers(self) -> dict[tuple[int, ...], int]:
        """By the side of a child, its parent's label and its own."""
        return {tuple(row): number for number, row in enumerate(self.child_labels.tolist())}


def item_tables(charts: ForestCharts) -> ItemTables:
    """The items of a grammar whose symbols have the charts' labels."""
    tables, unaries, symbols = charts.forests.tables, charts.forests.unaries, charts.grammar.symbols
    count, label = len(symbols), charts.label
    pair = np.repeat(np.arange(len(tables.pair_left)), np.diff(tables.rule_start).astype(np.int64))
    left = np.flatnonzero(tables.left_index >= 0)[tables.pair_left][pair]
    right = np.repeat(np.arange(count), np.diff(tables.pair_start).astype(np.int64))[pair]
    below = np.repeat(np.arange(count), np.diff(unaries.rule_start).astype(np.int64))
    nonterminal = np.array([not is_terminal(name) for name in symbols])
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
        rule_sets(charts.grammar, unaries, of_unary),
        production_labels,
        child_labels,
    )


def numbered_rows(*columns: npt.NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Number rows from 0 on, equal ones alike; also the distinct rows."""
    rows = np.column_stack([column.astype(np.int64) for column in columns])
    distinct, number = np.unique(rows, axis=0, return_inverse=True)
    return number.reshape(-1).astype(np.int32), distinct.astype(np.int32)


class Parts(NamedTuple):
    """The nodes, productions or unaries of a forest: where each cell's begin, and their symbols or rules."""

    first: Ints
    kind: Ints
    mass: FloatArray  # the expected number of each

    def posterior(self, item: Ints, cell: int, number: int) -> float:
        """The posterior of an item in a cell, as far as these parts have it; ``item`` is by kind."""
        here = slice(self.first[cell], self.first[cell + 1])
        return float(self.mass[here][item[self.kind[here]] == number].sum())


class ForestItems:
    """The items in the forest of one sentence, which is read as long as no other takes its memory."""

    def __init__(
        self, forest: Forest, tables: ItemTables, n: int, occurrences: Occurrences | None = None
    ) -> None:
        """With ``occurrences``, of a grammar with unary rules, nodes share probabilities of constituents."""
        self.forest, self.tables, self.n = forest, tables, n
        self.known = forest.inside * forest.outside > 0
        self._occurrences = occurrences
        self._more_unaries, self._unaries = unary_uses(forest, tables.unary_sets), list[FloatArray]()

    @cached_property
    def nodes(self) -> Parts:
        """The nodes as constituents: over a word only what stands above a preterminal counts."""
        by_label = self._expected[0] if self._occurrences is None else self._occurrences.by_label()
        return Parts(self.forest.node_first, self.forest.node_symbol, by_label)

    @cached_property
    def of_span(self) -> FloatArray:
        """Of each node its part of the probability that a constituent is over the span."""
        return self._expected[0] if self._occurrences is None else self._occurrences.by_span()

    @property
    def productions(self) -> Parts:
        """The productions, each with all its splits."""
        return Parts(self.forest.cell_production, self.forest.production_rule, self._expected[1])

    @cached_property
    def _expected(self) -> tuple[FloatArray, FloatArray]:
        expected = np.empty(len(self.known)), np.empty(len(self.forest.production_rule))
        expect_parts(self.forest, *expected)
        return expected

    @property
    def unaries(self) -> Parts:
        """The uses of unary rules, each with its part of the probability that its production is there."""
        return self._copies(1)

    def _copies(self, k: int) -> Parts:
        """The same of the k-th copy of a production."""
        while len(self._unaries) < k:
            self._unaries.append(next(self._more_unaries))
        return Parts(self.forest.unary_first, self.forest.unary_rule, self._unaries[k - 1])

    def unary_matches(self, item: Ints, cell: int, number: int, copies: int) -> float:
        """How many of ``copies`` of an item of unary rules over a span are expected to be right."""
        return sum(self._copies(k).posterior(item, cell, number) for k in range(1, copies + 1))

    def gains(self, objective: Objective) -> Gains:
        """What an objective of the space of derivations weighs."""
        forest, known = self.forest, self.known
        roots = forest.node_symbol[forest.node_first[-2] :]
        gains = Gains(
            node=np.where(known, objective.node_constant, -np.inf),
            word=np.where(known & (forest.lexical > 0), 0.0, -np.inf),
            production=np.zeros(len(forest.production_rule)),
            unary=np.zeros(len(forest.unary_rule)),
            foot=np.zeros(len(forest.node_first) - 1),
            edge=np.zeros(0),
            root=np.where(known[-len(roots) :] & (self.tables.root[roots] > 0), 0.0, -np.inf),
        )
        for item, weight in objective.gains:
            earn = ITEM_KINDS[item].earn
            if weight and earn is not None:
                earn(self, gains, weight)
        gains.unary[:] += gains.node[forest.unary_parent]
        return gains


@kernel
def expect_parts(forest: Forest, nodes: Floats, productions: Floats) -> None:
    """The expected numbers of the first nodes and productions of a forest, as many as these are."""
    inside, outside = forest.inside, forest.outside
    for node in range(len(nodes)):
        nodes[node] = outside[node] * (inside[node] - forest.lexical[node])
    for place in range(len(productions)):
        above = forest.rule_prob[forest.prob_place[place]] * outside[forest.production_parent[place]]
        productions[place] = above * forest.group_sum[forest.production_group[place]]


def unary_uses(forest: Forest, sets: RuleSets) -> Iterator[FloatArray]:
    """Yield of each unary its part of the probability that one of its rule's set is used over the span.

    Then of the probability of two uses at least, and so on.
    """
    expected = forest.unary_prob * forest.outside[forest.unary_parent] * forest.inside[forest.unary_child]
    row, chains = sets.place[forest.unary_rule], sets.returns
    again = (chains.stays < 1.0) | (np.diff(chains.links.start) > 0)
    again[chains.links.top] = True
    several = np.flatnonzero(again[row])  # all others are used once at most
    cells = np.repeat(np.arange(len(forest.unary_first) - 1), np.diff(forest.unary_first))[several]
    keys = cells * len(again) + row[several]
    _, first, same = np.unique(keys, return_index=True, return_inverse=True)
    cell, child = cells[first], forest.unary_child[several[first]]
    # By child: what is used over it, of one.
    log_above = -np.log(np.maximum(forest.inside[child], _SMALL)) - forest.log_unit[child]
    one, share = np.ones(len(child)), np.ones_like(expected)
    for found in last_ones(chains, cell.astype(np.int32), row[several[first]], log_above, one):
        share[several] = found[same]
        yield expected * share
        share = np.zeros_like(expected)


@kernel
def add_sums(parts: Parts, item: Ints, sums: Floats, weight: float, gains: Floats) -> None:
    """Add to the gain of each part the weighted mass of all parts of its cell that share its item.

    ``sums`` has a place for each item, and one more for what is none; all are zero between cells.
    """
    first, kind, mass, none = parts.first, parts.kind, parts.mass, len(sums) - 1
    for cell in range(len(first) - 1):
        for part in range(Index(first[cell]), Index(first[cell + 1])):
            sums[Index(item[Index(kind[part])])] += mass[part]
        sums[none] = 0.0
        for part in range(Index(first[cell]), Index(first[cell + 1])):
            gains[part] += weight * sums[Index(item[Index(kind[part])])]
        for part in range(Index(first[cell]), Index(first[cell + 1])):
            sums[Index(item[Index(kind[part])])] = 0.0


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
    add_sums(items.nodes, items.tables.label, np.zeros(len(items.tables.terminal) + 1), weight, gains.node)


def _earn_spans(items: ForestItems, gains: Gains, weight: float) -> None:
    # A chain of unary rules earns its span once: with the production, or over a word at its foot.
    cells = np.arange(len(gains.foot))
    spans = np.bincount(np.repeat(cells, np.diff(items.nodes.first)), items.of_span, len(cells))
    gains.production[:] += weight * np.repeat(spans, np.diff(items.productions.first))
    words = np.arange(items.n) * np.arange(1, items.n + 1) // 2
    gains.foot[words] += weight * spans[words]


def _earn_children(items: ForestItems, gains: Gains, weight: float) -> None:
    tables, none = items.tables, len(items.tables.child_labels)
    add_sums(items.productions, tables.left_child, np.zeros(none + 1), weight, gains.production)
    add_sums(items.productions, tables.right_child, np.zeros(none + 1), weight, gains.production)
    add_sums(items.unaries, tables.only_child, np.zeros(none + 1), weight, gains.unary)


def _earn_productions(items: ForestItems, gains: Gains, weight: float) -> None:
    tables, none = items.tables, len(items.tables.production_labels)
    add_sums(items.productions, tables.production, np.zeros(none + 1), weight, gains.production)
    add_sums(items.unaries, tables.unary_production, np.zeros(none + 1), weight, gains.unary)


def _earn_rules(items: ForestItems, gains: Gains, weight: float) -> None:
    binary, unary, root = items.tables.logarithms
    lexical, unit = items.forest.lexical, items.forest.log_unit
    roots = slice(items.forest.node_first[-2], None)
    gains.production[:] += (weight * binary)[items.productions.kind]
    gains.unary[:] += (weight * unary)[items.unaries.kind]
    words = gains.word > -np.inf
    gains.word[words] += weight * (np.log(lexical[words]) + unit[words])
    gains.root[:] += weight * root[items.nodes.kind[roots]]


def _earn_log_splits(items: ForestItems, gains: Gains, weight: float) -> None:
    """The product of a tree's posteriors telescopes to rules and posteriors of nodes.

    So it does where each label is one symbol's; a root is below no production.
    """
    forest, tables, roots = items.forest, items.tables, slice(items.forest.node_first[-2], None)
    symbol, is_root = forest.node_symbol, gains.root > -np.inf
    _earn_rules(items, gains, weight)
    log_posterior = weight * np.log(np.maximum(forest.inside * forest.outside, _SMALL))
    gains.node[:] += log_posterior
    gains.word[:] += np.where(tables.terminal[tables.label[symbol]], 0.0, log_posterior)
    log_inside = np.log(forest.inside[roots]) + forest.log_unit[roots]
    gains.root[is_root] = -weight * log_inside[is_root]
    # Each unary rule is a set of its own: a use is the last with the same probability wherever it is.
    gains.unary[:] += (
        weight * np.log(tables.unary_sets.returns.stays[tables.unary_sets.place])[items.unaries.kind]
    )


_SIDES = (), (ONLY,), (LEFT, RIGHT)  # of children, by their number


def _expected_children(nodes: Nodes, items: ForestItems) -> float:
    """The posteriors of a tree's parent-child items."""
    tables, numbers = items.tables, items.tables.child_numbers
    keys = Counter(
        (node.cell, numbers.get((side, node.label, nodes[child].label), NO_ITEM))
        for node in nodes
        for side, child in zip(_SIDES[len(node.children)], node.children, strict=True)
    )
    return sum(
        items.productions.posterior(tables.left_child, *key)
        + items.productions.posterior(tables.right_child, *key)
        + items.unary_matches(tables.only_child, *key, copies)
        for key, copies in sorted(keys.items())
        if key[1] != NO_ITEM
    )


def _production_keys(nodes: Nodes, items: ForestItems) -> list[tuple[tuple[int, int, int], int]]:
    """The cell, number and last child's cell of a tree's productions, and how often each comes."""
    keys = Counter[tuple[int, int, int]]()
    for node in nodes:
        if node.children:
            labels = [nodes[child].label for child in node.children]
            left = labels[0] if len(labels) == 2 else NO_ITEM
            number = items.tables.production_numbers.get((node.label, left, labels[-1]), NO_ITEM)
            keys[node.cell, number, nodes[node.children[-1]].cell] += 1
    return sorted((key, copies) for key, copies in keys.items() if key[1] != NO_ITEM)


def _expected_productions(nodes: Nodes, items: ForestItems) -> float:
    """Those of its productions."""
    found = _production_keys(nodes, items)
    return sum(_production_matches(items, cell, number, copies) for (cell, number, _), copies in found)


def _production_matches(items: ForestItems, cell: int, number: int, copies: int) -> float:
    binary = items.productions.posterior(items.tables.production, cell, number)
    return binary + items.unary_matches(items.tables.unary_production, cell, number, copies)


def _expected_splits(nodes: Nodes, items: ForestItems) -> float:
    """Those of its productions with their splits, lexical ones too."""
    forest, tables, total = items.forest, items.tables, 0.0
    for (cell, number, right_cell), copies in _production_keys(nodes, items):
        if cell == right_cell:  # an only child
            total += _production_matches(items, cell, number, copies)
            continue
        first = forest.cell_production[cell]
        rules = forest.production_rule[first : forest.cell_production[cell + 1]]
        places = first + np.flatnonzero(tables.production[rules] == number)
        made = forest.rule_prob[forest.prob_place[places]]
        weights = made * forest.outside[forest.production_parent[places]]
        begin, end = forest.node_first[right_cell], forest.node_first[right_cell + 1]
        edge_first = forest.edge_first[begin : end + 1]
        groups = forest.edge_group[edge_first[0] : edge_first[-1]]
        for group, weight in zip(forest.production_group[places], weights, strict=True):
            edges = np.flatnonzero(groups == group) + edge_first[0]
            right = np.searchsorted(edge_first, edges, "right") - 1 + begin
            left = forest.left_node[forest.left_first[right] + edges - forest.edge_first[right]]
            value = forest.inside[left] * forest.inside[right]
            total += weight * float((forest.edge_value[edges] if len(forest.edge_value) else value).sum())
    for node in nodes:
        if not node.children and node.label >= 0 and not tables.terminal[node.label]:
            here = slice(forest.node_first[node.cell], forest.node_first[node.cell + 1])
            chosen = tables.label[forest.node_symbol[here]] == node.label
            total += float((forest.lexical[here] * forest.outside[here])[chosen].sum())
    return total


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
    """How many of a tree's items of each kind are expected to be right."""
    return {
        kind.name: kind.expected(nodes, items)
        for kind in ITEM_KINDS.values()
        if kind.name is not None and kind.expected is not None
    }
