"""The decoder of derived trees: the best ones of a sentence's forest, for all objectives that search it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mbrparse.decode.base.decoders import Decoded
from mbrparse.decode.base.objectives import Item, Kind, Objective, Space
from mbrparse.decode.derivations.bounds import LIKELY_NODE, Cells, ItemLabels, survey
from mbrparse.decode.derivations.gains import LANES
from mbrparse.decode.derivations.item_posteriors import ItemPosteriors, item_nodes, item_tables
from mbrparse.decode.derivations.items import expected_items
from mbrparse.decode.derivations.objective_search import GrammarTree, ObjectiveSearch
from mbrparse.decode.derivations.pruned_forest import Selection
from mbrparse.decode.derivations.search_memory import PrunedForests, new_cells
from mbrparse.grammar.charts.base.chart import Chart
from mbrparse.grammar.charts.base.columns import Labels, Spans, columns_of
from mbrparse.grammar.charts.base.packed_forest import Forest
from mbrparse.grammar.charts.base.rule_tables import Ints
from mbrparse.grammar.charts.factory import TIE
from mbrparse.grammar.charts.forest_charts import ForestCharts


class ForestDecoder:
    """Decodes forests for objectives of derived trees, eight side by side in one search."""

    def __init__(self, charts: ForestCharts, objectives: Sequence[Objective], expectations: bool) -> None:
        """``expectations``: what is expected of a tree's items is wanted too."""
        grammar, forests, label, tie = charts.grammar, charts.forests, charts.label, TIE["double"]
        #: What each weighs a derivation's probability by, and whether that is all that it looks at.
        self._rules = [(row.weight(Item.RULE), row.kind is Kind.DERIVATION) for row in objectives]
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
        # The most probable derivation may have a label twice in a chain, if not a symbol.
        symbols: Ints = np.arange(len(label), dtype=np.int32)
        probable = (
            [] if plain or not grammar.has_unaries else [index for index in together if self._rules[index][1]]
        )
        others = [index for index in together if index not in probable]
        # (which objectives, what comes once in a chain, whether the forest is projected)
        kinds = (
            (others, self.items.label, False),
            (probable, symbols, False),
            (labelled, self.items.label, True),
        )
        self._searches = [
            ObjectiveSearch(
                grammar,
                forests,
                self.items,
                {index: objectives[index] for index in batch},
                tie,
                chain_label,
                projected,
            )
            for indices, chain_label, projected in kinds
            for batch in _batched(objectives, indices, projected)
        ]
        # Labels' nodes are wanted where something looks at labels.
        self._least_label = LIKELY_NODE if labelled else math.inf
        self._pruned = PrunedForests(forests, self.items.label, self.items.n_labels)
        self._item_labels = ItemLabels(self.items.label, self.items.terminal, np.zeros(self.items.n_labels))
        self._cells: list[Cells] = new_cells(0, len(self._searches))

    def decode(self, chart: Chart, posteriors: object) -> list[Decoded | None]:
        """The best trees.

        Raises ChartOverflowError or MemoryError where the search does not fit, TimeLimitError where it takes
        too long.
        """
        trees = self.trees(chart)
        if self._posteriors is not None:
            chart.forest()
        log_scale = self._charts.forests.log_scale
        return [
            self._decoded(tree, by_rule * log_scale, by_rule if alone else None)
            for tree, (by_rule, alone) in zip(trees, self._rules, strict=True)
        ]

    def _decoded(self, tree: GrammarTree | None, scale: float, per_log: float | None) -> Decoded | None:
        """With its score, but for ``scale``; or its log probability, ``per_log`` of which are the score."""
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
        score = tree.score - scale
        if per_log is not None:
            return Decoded(spans, preterminals, None, score / per_log, expected)
        return Decoded(spans, preterminals, score, None, expected)

    def trees(self, chart: Chart) -> list[GrammarTree | None]:
        """The best tree of each objective, or None.

        Nodes and preterminals are symbol ids; in trees of max-rule any symbol that has the label.
        """
        found = self._found(chart.forest(), chart.length)
        return [found[index] for index in range(len(self._rules))]

    def _found(self, forest: Forest, length: int) -> dict[int, GrammarTree | None]:
        count, log_total = length * (length + 1) // 2, self._charts.forests.log_total
        if len(self._cells[0].masses.nodes) < count:
            self._cells = new_cells(count, len(self._searches))
        masses, core = self._cells[0].masses, self._cells[0].core
        survey(forest, self._item_labels, masses, core, self._least_label, length)
        # What is best in the core says how much of the rest could be better.
        pruned = self._pruned.prune(core, length)
        found: dict[int, GrammarTree | None] = {}
        rest = []
        for search, cells in zip(self._searches, self._cells, strict=True):
            search.narrow(pruned, cells, log_total, length)
            self._charts.clock.check()
            if _holds(core, cells.selection, count):
                found.update(search.trees(pruned, cells, length, searched=True))
            else:
                rest.append((search, cells))
        if rest:
            # Many edges are looked at for each that is kept: once for all.
            pruned = self._pruned.prune(_joined([cells.selection for _, cells in rest], count), length)
            for search, cells in rest:
                found.update(search.trees(pruned, cells, length, searched=False))
        return found


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


def _holds(selection: Selection, other: Selection, cells: int) -> bool:
    """Whether of the first cells one keeps all that another one does."""
    first = slice(cells)
    return bool(
        (selection.items[first] >= other.items[first]).all()
        and (selection.least_mass[first] <= other.least_mass[first]).all()
        and (selection.least[first] <= other.least[first]).all()
        and (selection.least_label[first] <= other.least_label[first]).all()
    )


def _joined(selections: Sequence[Selection], cells: int) -> Selection:
    """What some selections keep of the first cells; one alone is itself."""
    if len(selections) == 1:
        return selections[0]
    items, *least = (
        np.array([column[:cells] for column in columns]) for columns in zip(*selections, strict=True)
    )
    return Selection(items.max(axis=0), *(column.min(axis=0) for column in least))
