"""The decoder of derived trees: the best ones of a sentence's forest, for all objectives that search it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mbrparse.decode.decoders import Decoded
from mbrparse.decode.derivations.bounds import Cells, new_cells
from mbrparse.decode.derivations.cell_masses import LIKELY_NODE, ItemLabels, survey
from mbrparse.decode.derivations.expectations import ItemPosteriors, item_nodes
from mbrparse.decode.derivations.forest_charts import ForestChart, ForestCharts
from mbrparse.decode.derivations.gains import LANES
from mbrparse.decode.derivations.grammar_lanes import GrammarLanes
from mbrparse.decode.derivations.item_kinds import expected_items
from mbrparse.decode.derivations.item_tables import item_tables
from mbrparse.decode.derivations.kept_forests import KeptForests
from mbrparse.decode.derivations.max_rule import MaxRule
from mbrparse.decode.derivations.tree_search import GrammarTree
from mbrparse.decode.objectives import Item, Kind, Objective, Space
from mbrparse.grammar.charts.columns import Labels, Spans
from mbrparse.grammar.charts.factory import TIE
from mbrparse.grammar.charts.forest.forest_nodes import SentenceNodes
from mbrparse.grammar.charts.nodes import SYMBOL_IDS, columns_of
from mbrparse.grammar.charts.rule_tables import Ints


class ForestDecoder:
    """Decodes forests for objectives of derived trees, eight side by side in one search."""

    def __init__(self, charts: ForestCharts, objectives: Sequence[Objective], expectations: bool) -> None:
        """``expectations``: what is expected of a tree's items is wanted too."""
        grammar, forests, label, tie = charts.grammar, charts.forests, charts.label, TIE["double"]
        self._objectives = objectives
        self._charts = charts
        self.items = item_tables(grammar, forests, label)
        self._name, self._names = grammar.label_ids, grammar.labels
        self._posteriors = ItemPosteriors(forests, self.items) if expectations else None
        # Where every label is one symbol's, max-rule's space is the grammar's.
        plain = len(np.unique(self.items.label)) == len(label)
        together = [
            index
            for index, objective in enumerate(objectives)
            if objective.space is Space.GRAMMAR or (objective.space is Space.ITEMS and plain)
        ]
        labelled = [
            index
            for index, row in enumerate(objectives)
            if row.space is Space.ITEMS and index not in together
        ]
        self._lanes = [
            GrammarLanes(grammar, forests, self.items, {index: objectives[index] for index in batch}, tie)
            for batch in _batched(objectives, together)
        ]
        self._max_rule = [
            MaxRule(grammar, forests, self.items, {index: objectives[index] for index in batch}, tie)
            for batch in (labelled[begin : begin + LANES] for begin in range(0, len(labelled), LANES))
        ]
        self._symbol_of = _representatives(self.items.label, label)
        self._kept = KeptForests(forests, self.items.label, self.items.n_labels)
        self._item_labels = ItemLabels(self.items.label, self.items.terminal, np.zeros(self.items.n_labels))
        self._cells: Cells = new_cells(0)

    def decode(self, chart: ForestChart, posteriors: object) -> list[Decoded | None]:
        """The best trees.

        Raises ChartOverflowError or MemoryError where the search does not fit, TimeLimitError where it takes
        too long.
        """
        trees, log_scale = self.trees(chart), chart.nodes().log_scale
        if self._posteriors is not None:
            chart.forest()
        rows = zip(self._objectives, trees, strict=True)
        return [self._decoded(row, tree, log_scale) for row, tree in rows]

    def _decoded(self, row: Objective, tree: GrammarTree | None, log_scale: float) -> Decoded | None:
        if tree is None:
            return None
        nodes, names = columns_of(tree.nodes), self._names
        spans = Spans(nodes.starts, nodes.ends, self._name[nodes.ids], names)
        preterminals = Labels(self._name[tree.preterminals], names)
        expected = None
        if self._posteriors is not None:
            label = self.items.label
            ids = [(start, end, int(label[symbol])) for start, end, symbol in tree.nodes]
            listed = item_nodes(ids, label[tree.preterminals].tolist())
            expected = expected_items(listed, self._posteriors)
        # Inside values of a forest are scaled, and so is the probability of a derivation.
        score = tree.score - row.weight(Item.RULE) * log_scale
        if row.kind is Kind.DERIVATION:
            return Decoded(spans, preterminals, None, score / row.weight(Item.RULE), expected)
        return Decoded(spans, preterminals, score, None, expected)

    def trees(self, chart: ForestChart) -> list[GrammarTree | None]:
        """The best tree of each objective, or None.

        Nodes and preterminals are symbol ids; in trees of max-rule any symbol that has the label.
        """
        known = chart.nodes()
        by_rules = self._charts.knows_nodes(chart.terminal_ids)
        found = self._found(known, by_rules, chart.length)
        return [found[index] for index in range(len(self._objectives))]

    def _found(self, known: SentenceNodes, by_rules: bool, length: int) -> dict[int, GrammarTree | None]:
        count = length * (length + 1) // 2
        if len(self._cells.masses.nodes) < count:
            self._cells = new_cells(count)
        cells, core, selection = self._cells, self._cells.core, self._cells.selection
        # Labels' nodes are wanted where something looks at labels.
        least_label = LIKELY_NODE if self._max_rule else math.inf
        source = known.nodes if by_rules else None
        survey(known.nodes, self._item_labels, cells.masses, core, selection, least_label, length)
        # What is best in the core says how much of the rest could be better.
        kept = self._kept.keep(core, length, source)
        for lanes in self._lanes:
            lanes.narrow(kept, cells, known.log_total, length)
        for max_rule in self._max_rule:
            max_rule.narrow(kept, cells, length)
        self._charts.clock.check()
        enough = core.holds(selection, count)
        if not enough:
            kept = self._kept.keep(selection, length, source)
        found: dict[int, GrammarTree | None] = {}
        for lanes in self._lanes:
            found.update(lanes.trees(kept, cells, length, enough))
        for max_rule in self._max_rule:
            for index, tree in max_rule.trees(kept, cells, length, enough).items():
                found[index] = None if tree is None else self._of_symbols(tree)
        return found

    def _of_symbols(self, tree: GrammarTree) -> GrammarTree:
        """A tree of labels, as symbols that have them."""
        nodes = columns_of(tree.nodes)
        spans = Spans(nodes.starts, nodes.ends, self._symbol_of[nodes.ids], SYMBOL_IDS)
        return GrammarTree(tree.score, spans, self._symbol_of[tree.preterminals].tolist())


def _batched(objectives: Sequence[Objective], chosen: Sequence[int]) -> list[list[int]]:
    """Cut them into batches of as many as there are lanes, one that looks at splits in each at most."""
    batches: list[list[int]] = []
    for index in chosen:
        splits = objectives[index].weight(Item.SPLIT_PRODUCTION) != 0
        for batch in batches:
            taken = any(objectives[other].weight(Item.SPLIT_PRODUCTION) != 0 for other in batch)
            if len(batch) < LANES and not (splits and taken):
                batch.append(index)
                break
        else:
            batches.append([index])
    return batches


def _representatives(item_label: Ints, label: Ints) -> Ints:
    """For each label of items, a symbol that has it."""
    found: Ints = np.zeros(int(item_label.max(initial=-1)) + 1, np.int32)
    found[item_label] = np.arange(len(label))
    return found
