"""The decoder of derived trees: the best ones of a sentence's forest, for all objectives that search it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbrparse.charts.chart import Chart
from mbrparse.charts.factory import TIE
from mbrparse.charts.forest_charts import ForestCharts
from mbrparse.charts.rule_tables import Ints
from mbrparse.charts.spans import Labels, Spans
from mbrparse.decode.decoders import Decoded
from mbrparse.decode.derivations.gains import LANES
from mbrparse.decode.derivations.item_posteriors import ItemPosteriors, item_nodes, item_tables
from mbrparse.decode.derivations.items import expected_items
from mbrparse.decode.derivations.objective_search import GrammarTree, ObjectiveSearch
from mbrparse.decode.objectives import Item, Kind, Objective, Space


class ForestDecoder:
    """Decodes forests for objectives of derived trees, eight side by side in one search."""

    def __init__(self, charts: ForestCharts, objectives: Sequence[Objective], expectations: bool) -> None:
        """``expectations``: what is expected of a tree's items is wanted too."""
        grammar, forests, label, tie = charts.grammar, charts.forests, charts.label, TIE["double"]
        #: What each weighs a derivation's probability by, and whether that is all that it looks at.
        self._rules = [(row.weight(Item.RULE), row.kind is Kind.DERIVATION) for row in objectives]
        self._charts = charts
        self.items = items = item_tables(grammar, forests, label)
        self._name, self._names = grammar.label_ids, grammar.labels
        self._posteriors = ItemPosteriors(forests, items) if expectations else None
        # Where every label is one symbol's, max-rule's space is the grammar's.
        plain = len(np.unique(items.label)) == len(label)
        # The most probable derivation may have a label twice in a chain, if not a symbol.
        symbols: Ints = np.arange(len(label), dtype=np.int32)
        # By whether the forest is projected, and whether a chain may repeat labels.
        kinds: dict[tuple[bool, bool], list[int]] = {}
        for index, row in enumerate(objectives):
            repeats = grammar.has_unaries and row.kind is Kind.DERIVATION
            kind = not plain and row.space is Space.ITEMS, not plain and repeats
            kinds.setdefault(kind, []).append(index)
        self._searches = [
            ObjectiveSearch(
                grammar,
                forests,
                items,
                {index: objectives[index] for index in batch},
                tie,
                symbols if repeats else items.label,
                projected,
            )
            for (projected, repeats), indices in kinds.items()
            for batch in _batched(objectives, indices, projected)
        ]

    def decode(self, chart: Chart, posteriors: object) -> list[Decoded | None]:
        """The best trees.

        Raises ChartOverflowError or MemoryError where the search does not fit, TimeLimitError where it takes
        too long.
        """
        trees = self.trees(chart)
        log_scale = self._charts.forests.log_scale
        return [
            self._decoded(tree, by_rule * log_scale, by_rule if alone else None)
            for tree, (by_rule, alone) in zip(trees, self._rules, strict=True)
        ]

    def _decoded(self, tree: GrammarTree | None, scale: float, per_log: float | None) -> Decoded | None:
        """With its score, but for ``scale``; or its log probability, ``per_log`` of which are the score."""
        if tree is None:
            return None
        nodes, names = tree.nodes, self._names
        spans = Spans(nodes.starts, nodes.ends, self._name[nodes.ids], names)
        preterminals = Labels(self._name[tree.preterminals], names)
        expected = None
        if self._posteriors is not None:
            label = self.items.label
            ids = [(start, end, int(label[symbol])) for start, end, symbol in nodes]
            listed = item_nodes(ids, label[tree.preterminals].tolist())
            expected = expected_items(listed, self._posteriors)
        # Inside values of a forest are scaled, and so is the probability of a derivation.
        score = tree.score - scale
        if per_log is not None:
            return Decoded(spans, preterminals, None, score / per_log, expected)
        return Decoded(spans, preterminals, score, None, expected)

    def trees(self, chart: Chart) -> list[GrammarTree | None]:
        """The best tree of each objective, or None.

        Nodes and preterminals are symbol ids; in trees of max-rule any symbol that has the label.
        """
        forest = chart.forest()
        found: dict[int, GrammarTree | None] = {}
        for search in self._searches:
            found.update(search.trees(forest, chart.length))
        return [found[index] for index in range(len(self._rules))]


def _batched(objectives: Sequence[Objective], chosen: Sequence[int], projected: bool) -> list[list[int]]:
    """Cut them into batches of as many as there are lanes.

    In a forest that is not projected a batch has one that looks at splits at most.
    """
    batches: list[list[int]] = []
    for index in chosen:
        splits = not projected and objectives[index].weight(Item.SPLIT_PRODUCTION) != 0
        for batch in batches:
            taken = any(objectives[other].weight(Item.SPLIT_PRODUCTION) != 0 for other in batch)
            if len(batch) < LANES and not (splits and taken):
                batch.append(index)
                break
        else:
            batches.append([index])
    return batches
