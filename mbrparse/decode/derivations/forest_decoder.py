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
from mbrparse.grammar.pcfg import PCFG


class ForestDecoder:
    """Decodes forests for objectives of derived trees."""

    def __init__(self, charts: ForestCharts, objectives: Sequence[Objective], expectations: bool) -> None:
        """With ``expectations`` trees come with what is expected of their items."""
        self._charts, self._objectives, self._expectations = charts, objectives, expectations
        self.items = item_tables(charts.grammar, charts.forests, charts.label)
        self._searches = [self._search(charts.grammar, row) for row in objectives]

    def _search(self, grammar: PCFG, objective: Objective) -> LabelSearch | DerivationSearch:
        label = self.items.label
        if objective.space is Space.ITEMS:
            # Where every label is one symbol's, the space is the grammar's.
            plain = len(np.unique(label)) == len(label)
            kinds = [ITEM_KINDS[item] for item, weight in objective.gains if weight]
            if not plain or any(kind.earn is None for kind in kinds):
                return LabelSearch(self.items, objective)
        if objective.kind is Kind.DERIVATION:
            # The most probable derivation may have a label twice in a chain, if not a symbol.
            label = np.arange(len(label), dtype=np.int32)
        unit = logarithm_unit(objective)
        return DerivationSearch(label, grammar.unary_parent, grammar.unary_child, unit)

    def decode(self, chart: Chart, posteriors: object) -> list[Decoded | None]:
        """The best trees; raises ChartOverflowError or MemoryError where the search does not fit."""
        items = ForestItems(chart.forest(), self.items, chart.length)
        trees = self._trees(items)
        return [self._decoded(*pair, items) for pair in zip(self._objectives, trees, strict=True)]

    def _decoded(self, objective: Objective, tree: GrammarTree | None, items: ForestItems) -> Decoded | None:
        if tree is None:
            return None
        labels, label_ids = self._charts.grammar.labels, self._charts.grammar.label_ids.tolist()
        spans = [(start, end, labels[label_ids[symbol]]) for start, end, symbol in tree.nodes]
        tags = [labels[label_ids[symbol]] for symbol in tree.preterminals]
        expected = None
        if self._expectations:
            label = self.items.label.tolist()
            ids = [(start, end, label[symbol]) for start, end, symbol in tree.nodes]
            expected = expected_items(item_nodes(ids, [label[one] for one in tree.preterminals]), items)
        # Inside values of a forest are scaled, and so is the probability of a derivation.
        by_rule = objective.weight(Item.RULE)
        score = tree.score - by_rule * self._charts.forests.log_scale
        if objective.kind is Kind.DERIVATION:
            return Decoded(spans, tags, None, score / by_rule, expected)
        return Decoded(spans, tags, score, None, expected)

    def trees(self, chart: Chart) -> list[GrammarTree | None]:
        """The best tree of each objective, or None.

        Nodes and preterminals are symbol ids; in trees of max-rule any symbol that has the label.
        """
        return self._trees(ForestItems(chart.forest(), self.items, chart.length))

    def _trees(self, items: ForestItems) -> list[GrammarTree | None]:
        labels: LabelForest | None = None
        graph, trees = graph_of(items.forest), []
        for objective, search in zip(self._objectives, self._searches, strict=True):
            if isinstance(search, LabelSearch):
                labels = labels or project_forest(items.forest, self.items, items.n)
                trees.append(search.best(labels, items.n))
            else:
                gains = items.gains(objective, self._charts.grammar.root_log_prob)
                trees.append(search.best(graph, gains, items.n))
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
        tree = self._search.best(labels.graph, labels.gains(self._objective, self._items.terminal, n), n)
        if tree is None:
            return None
        symbol = self._symbol_of.tolist()
        nodes = [(start, end, symbol[label]) for start, end, label in tree.nodes]
        return GrammarTree(tree.score, nodes, [symbol[label] for label in tree.preterminals])
