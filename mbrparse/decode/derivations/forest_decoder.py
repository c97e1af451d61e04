"""The decoder of derived trees: the best ones of a sentence's forest, for all objectives that search it."""

from __future__ import annotations

from collections.abc import Sequence

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
)
from mbrparse.decode.derivations.label_forest import LabelForest, project_forest
from mbrparse.decode.derivations.search import DerivationSearch, GrammarTree, graph_of
from mbrparse.decode.objectives import Item, Kind, Objective, Space
from mbrparse.decode.trees import Decoded


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
        items = ForestItems(chart.forest(), self.items, chart.length)
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
                labels = labels or project_forest(items.forest, self.items)
                trees.append(search.best(labels, items.n))
            else:
                trees.append(search.best(graph, items.gains(objective), items.n))
        return trees


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
