"""The decoders of derived trees: the best ones of a sentence's forest, for all objectives that search it.

Max-rule of several grammars (Petrov 2010): one forest of labels is made of those of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mbrparse.charts.chart import Chart
from mbrparse.charts.exhaustive.factory import ForestCharts
from mbrparse.charts.rule_tables import Ints
from mbrparse.decode.derivations.items import (
    ITEM_KINDS,
    ForestItems,
    ItemTables,
    expected_items,
    item_nodes,
    item_tables,
    logarithm_unit,
    numbered_rows,
)
from mbrparse.decode.derivations.label_forest import LabelForest, joined_forest, project_forest
from mbrparse.decode.derivations.search import DerivationSearch, GrammarTree, graph_of
from mbrparse.decode.objectives import Item, Kind, Objective, Space
from mbrparse.decode.trees import Decoded, LabelledSpans
from mbrparse.grammar import pcfg, projection, rules


class ForestDecoder:
    """Decodes forests for objectives of derived trees."""

    def __init__(self, charts: ForestCharts, objectives: Sequence[Objective], expectations: bool) -> None:
        """With ``expectations`` trees come with what is expected of their items."""
        grammar = charts.grammar
        self._forests, self._objectives, self._expectations = charts.forests, objectives, expectations
        self._names = [grammar.labels[label] for label in grammar.label_ids.tolist()]
        self.items = item_tables(charts)
        self._searches: list[LabelSearch | DerivationSearch] = []
        for row in objectives:
            label = self.items.label
            # Where every label is one symbol's, the space of items is the grammar's.
            plain = len(np.unique(label)) == len(label)
            kinds = [ITEM_KINDS[item] for item, weight in row.gains if weight]
            if row.space is Space.ITEMS and not (plain and all(kind.earn for kind in kinds)):
                self._searches.append(LabelSearch(self.items, row))
                continue
            if row.kind is Kind.DERIVATION:
                # The most probable derivation may have a label twice in a chain, if not a symbol.
                label = np.arange(len(label), dtype=np.int32)
            unaries = grammar.unary_parent, grammar.unary_child
            self._searches.append(DerivationSearch(label, *unaries, logarithm_unit(row)))

    def decode(self, chart: Chart, posteriors: object) -> list[Decoded | None]:
        """The best trees; raises ChartOverflowError or MemoryError where the search does not fit."""
        items = ForestItems(chart.forest(), self.items, chart.length, chart.occurrences())
        return [
            None if tree is None else self._decoded(row, tree, items)
            for row, tree in zip(self._objectives, self.trees(items), strict=True)
        ]

    def _decoded(self, objective: Objective, tree: GrammarTree, items: ForestItems) -> Decoded:
        spans = [(start, end, self._names[symbol]) for start, end, symbol in tree.nodes]
        tags = [self._names[symbol] for symbol in tree.preterminals]
        expected = None
        if self._expectations:
            label = self.items.label.tolist()
            ids = [(start, end, label[symbol]) for start, end, symbol in tree.nodes]
            expected = expected_items(item_nodes(ids, [label[one] for one in tree.preterminals]), items)
        # Inside values of a forest are scaled, and so is the probability of a derivation.
        by_rule = objective.weight(Item.RULE)
        score = tree.score - by_rule * items.forest.log_scale
        if objective.kind is Kind.DERIVATION:
            return Decoded(spans, tags, None, score / by_rule, expected)
        return Decoded(spans, tags, score, None, expected)

    def trees(self, items: ForestItems) -> list[GrammarTree | None]:
        """The best tree of each objective in a sentence's forest, or None.

        Nodes and preterminals are symbol ids; in trees of max-rule any symbol that has the label.
        """
        labels: LabelForest | None = None
        graph, trees = graph_of(**items.forest._asdict()), []
        for objective, search in zip(self._objectives, self._searches, strict=True):
            if isinstance(search, LabelSearch):
                labels = labels or project_forest(items)
                trees.append(search.best(labels, items.n))
            else:
                trees.append(search.best(graph, items.gains(objective), items.n))
        return trees


_NO_LABEL = -2  # of no rule; -1 stands for a child that is not there


class ExpectedItems:
    """Looks the items of binary trees up in forests, whoever made the trees."""

    def __init__(self, charts: ForestCharts) -> None:
        grammar = charts.grammar
        self._tables = tables = item_tables(charts)
        label: list[int] = tables.label.tolist()
        self._labels = {
            grammar.labels[grammar.label_ids[symbol]]: label[symbol]
            for symbol, name in enumerate(grammar.symbols)
            if not rules.is_terminal(name)
        }
        #: By terminal id, and whether it is an only child, the labels of what may stand over it.
        self._over: dict[tuple[int, bool], set[int]] = {}
        only, others = {*grammar.unary_child.tolist()}, {*grammar.left.tolist(), *grammar.right.tolist()}
        pairs = zip(grammar.lexical_terminal.tolist(), grammar.lexical_symbol.tolist(), strict=True)
        for terminal, symbol in pairs:
            for alone, below in ((True, only), (False, others)):
                if symbol in below:
                    self._over.setdefault((terminal, alone), set()).add(label[symbol])

    def expected(
        self, chart: Chart, spans: LabelledSpans, tags: Sequence[str | None]
    ) -> dict[str, float] | None:
        """How many of a binary tree's items are expected to be right, by kind.

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
        found = self._over.get((terminal, alone), {_NO_LABEL})
        return min(found) if len(found) == 1 else None


class LabelSearch:
    """Searches forests of labels for one objective of the space of items."""

    def __init__(self, items: ItemTables, objective: Objective) -> None:
        self._items, self._objective = items, objective
        unaries = items.production_labels[items.production_labels[:, 1] < 0]
        label: Ints = np.arange(len(items.terminal), dtype=np.int32)
        unit = logarithm_unit(objective)
        self._search = DerivationSearch(label, unaries[:, 0], unaries[:, 2], unit)
        self._symbol_of = np.zeros_like(label)
        self._symbol_of[items.label] = np.arange(len(items.label))  # one that has the label

    def best(self, labels: LabelForest, n: int) -> GrammarTree | None:
        """The best tree of a sentence of n terminals, None where there is none."""
        tree = self._search.best(labels.graph, labels.gains(self._objective, self._items.terminal), n)
        if tree is None:
            return None
        symbol = self._symbol_of.tolist()
        nodes = [(start, end, symbol[label]) for start, end, label in tree.nodes]
        return GrammarTree(tree.score, nodes, [symbol[label] for label in tree.preterminals])


#: What a posterior counts as at least where posteriors are multiplied: that of a production which a grammar
#: rules out, too.
FLOOR = 1e-10


class JointDecoder:
    """Decodes for max-rule with the posteriors of several grammars."""

    def __init__(self, charts: Sequence[ForestCharts], objectives: Sequence[Objective]) -> None:
        """``charts`` of each grammar."""
        named = [projection.projected_names(one.grammar) for one in charts]
        names = sorted(set().union(*named), key=lambda name: (rules.is_terminal(name), name))
        self._items = _common_items(charts, named, names)
        own = replace(self._items[0], label=np.arange(len(names), dtype=np.int32))
        self._searches = [(logarithm_unit(row) > 0, LabelSearch(own, row)) for row in objectives]
        self._names = [rules.unquote(name) if rules.is_terminal(name) else name for name in names]

    def decode(self, chart: Any, posteriors: object) -> list[Decoded | None]:
        """The best trees of a sentence's charts (``MixedChart``), by which scores are means, too.

        Raises as ``ForestDecoder.decode``.
        """
        n, names = chart.length, self._names
        pairs = zip(self._items, chart.members, strict=True)
        known = [
            project_forest(ForestItems(one.forest(), items, n)) for items, one in pairs if one is not None
        ]
        joined, masses = joined_forest(known, self._items[0], n)
        decoded: list[Decoded | None] = []
        for by_log, search in self._searches:
            # Of posteriors and of their logarithms, each with its own mean.
            lexical, edge_mass, unary_mass = (_mean(mass, chart.shares, by_log) for mass in masses)
            labels = joined._replace(lexical=lexical, edge_mass=edge_mass, unary_mass=unary_mass)
            tree = search.best(labels, n)
            if tree is None:
                decoded.append(None)
                continue
            spans = [(start, end, names[label]) for start, end, label in tree.nodes]
            decoded.append(Decoded(spans, [names[label] for label in tree.preterminals], tree.score))
        return decoded


def _common_items(
    charts: Sequence[ForestCharts], named: Sequence[Sequence[str]], names: Sequence[str]
) -> list[ItemTables]:
    """What each grammar's forests are projected to: labels, by their places in ``names``, and productions."""
    ids = {name: place for place, name in enumerate(names)}
    labels = [np.array([ids[name] for name in mine], np.int32) for mine in named]
    tables = list(map(item_tables, charts))
    rows = []
    for items, label in zip(tables, labels, strict=True):
        renamed = np.full(len(items.terminal) + 1, -1)  # the last is of the child that is not there
        renamed[items.label] = label
        rows.append(renamed[items.production_labels])
    number, distinct = numbered_rows(*np.concatenate(rows).T)
    numbers = np.split(number, np.cumsum(list(map(len, rows)))[:-1])
    terminal = np.array(list(map(rules.is_terminal, names)))
    return [
        replace(
            one, label=label, terminal=terminal, production=mine[one.production], production_labels=distinct
        )
        for one, label, mine in zip(tables, labels, numbers, strict=True)
    ]


def _mean(mass: pcfg.FloatArray, weights: pcfg.FloatArray, by_log: bool) -> pcfg.FloatArray:
    """The weighted mean of posteriors [forest, part]; ``by_log`` that of logarithms, but 0 where all are."""
    mean: pcfg.FloatArray = weights @ (np.log(np.maximum(mass, FLOOR)) if by_log else mass)
    return np.exp(mean) * mass.any(axis=0) if by_log else mean
