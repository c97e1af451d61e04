"""The decoder of derived trees: the best ones of a sentence's forest, for all objectives that search it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbrparse.decode.decoders import Decoded
from mbrparse.decode.derivations.expectations import ItemPosteriors, item_nodes
from mbrparse.decode.derivations.forest_charts import ForestChart, ForestCharts
from mbrparse.decode.derivations.gains import (
    CONSTANT,
    LANES,
    LOG_NODE,
    RULE,
    SPLIT,
    WEIGHTS,
    item_gains,
    lexical_gains,
    new_sums,
)
from mbrparse.decode.derivations.item_forest import ItemForest
from mbrparse.decode.derivations.item_kinds import ITEM_KINDS, expected_items
from mbrparse.decode.derivations.item_tables import item_tables
from mbrparse.decode.derivations.max_rule import MaxRule
from mbrparse.decode.derivations.search_state import NO_NUMBERS, EdgeGains
from mbrparse.decode.derivations.tree_search import GrammarTree, TreeSearch
from mbrparse.decode.objectives import Item, Kind, Objective, Space
from mbrparse.grammar.charts.factory import TIE
from mbrparse.grammar.charts.forest.packed_forest import forest_cell
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.pcfg import PCFG

_SMALL = 1e-300  # in place of zero, whose logarithm would only be in the way


class ForestDecoder:
    """Decodes forests for objectives of derived trees, eight side by side in one search."""

    def __init__(self, charts: ForestCharts, objectives: Sequence[Objective], expectations: bool) -> None:
        """``expectations``: what is expected of a tree's items is wanted too."""
        grammar, forests, label, tie = charts.grammar, charts.forests, charts.label, TIE["double"]
        self._objectives = objectives
        self._forests = forests
        self.items = item_tables(grammar, forests, label)
        self._names = [grammar.labels[label_id] for label_id in grammar.label_ids.tolist()]
        self._posteriors = ItemPosteriors(forests, self.items) if expectations else None
        self._sums = new_sums(self.items)
        self._search = TreeSearch(
            self.items.label,
            self.items.rule_log_prob,
            grammar.unary_parent,
            grammar.unary_child,
            tie,
            clock=forests.clock,
        )
        # Where every label is one symbol's, max-rule's space is the grammar's.
        self._plain = len(np.unique(self.items.label)) == len(label)
        together = [
            index
            for index, objective in enumerate(objectives)
            if objective.space is Space.GRAMMAR or (objective.space is Space.ITEMS and self._plain)
        ]
        self._batches = [
            (batch, weights, _share_lane(weights), _roots(grammar, weights))
            for batch in _batched(objectives, together)
            for weights in [_weights([objectives[index] for index in batch])]
        ]
        max_rule = {i: o for i, o in enumerate(objectives) if o.space is Space.ITEMS and i not in together}
        places = list(max_rule)
        self._max_rule = [
            MaxRule(grammar, forests, self.items, {place: max_rule[place] for place in batch}, tie)
            for batch in (places[begin : begin + LANES] for begin in range(0, len(places), LANES))
        ]
        self._label_of = _representatives(self.items.label, label)

    def decode(self, chart: ForestChart, posteriors: object) -> list[Decoded | None]:
        """The best trees.

        Raises ChartOverflowError or MemoryError where the search does not fit, TimeLimitError where it takes
        too long.
        """
        trees = self.trees(chart)
        return [self._decoded(row, tree) for row, tree in zip(self._objectives, trees, strict=True)]

    def _decoded(self, row: Objective, tree: GrammarTree | None) -> Decoded | None:
        if tree is None:
            return None
        names, label = self._names, self.items.label
        spans = [(start, end, names[symbol]) for start, end, symbol in tree.nodes]
        preterminals = [names[symbol] for symbol in tree.preterminals]
        expected = None
        if self._posteriors is not None:
            ids = [(start, end, int(label[symbol])) for start, end, symbol in tree.nodes]
            nodes = item_nodes(ids, label[tree.preterminals].tolist())
            expected = expected_items(nodes, self._posteriors)
        # Inside values of a forest are scaled, and so is the probability of a derivation.
        score = tree.score - row.weight(Item.RULE) * self._forests.log_scale
        if row.kind is Kind.DERIVATION:
            return Decoded(spans, preterminals, None, score / row.weight(Item.RULE), expected)
        return Decoded(spans, preterminals, score, None, expected)

    def trees(self, chart: ForestChart) -> list[GrammarTree | None]:
        """The best tree of each objective, or None.

        Nodes and preterminals are symbol ids; in trees of max-rule any symbol that has the label.
        """
        chart.forest()
        found = self._found(chart.length)
        return [found[index] for index in range(len(self._objectives))]

    def _found(self, length: int) -> dict[int, GrammarTree | None]:
        forest = self._forests.forest
        source = ItemForest(forest, self._forests.tables, self._forests.unaries, self.items)
        found: dict[int, GrammarTree | None] = {}
        for batch, weights, share_lane, roots in self._batches:
            edge_gains = EdgeGains(NO_NUMBERS, NO_NUMBERS, weights, share_lane)
            left_value, group_share = self._forests.partner_value, self._forests.weight
            state = self._search.state(forest, edge_gains, left_value, group_share)
            state.gains.weights[:] = weights
            item_gains(source, self._sums, state.gains, length)
            lexical_gains(forest, self.items, weights, state.values.lexical, length)
            cell = forest_cell(0, length)
            root = slice(forest.node_first[cell], forest.node_first[cell + 1])
            earned = roots[forest.node_symbol[root]]
            if weights[LOG_NODE].any():
                # What the factors of a product telescope to but for the root's inside value.
                earned -= np.log(np.maximum(forest.inside[root], _SMALL))[:, None] * weights[LOG_NODE]
            trees = self._search.trees(state, earned, len(batch), length)
            found.update(zip(batch, trees, strict=True))
        for max_rule in self._max_rule:
            for index, tree in max_rule.trees(length).items():
                if tree is None:
                    found[index] = None
                    continue
                nodes = [(start, end, self._label_of[label]) for start, end, label in tree.nodes]
                tags = [self._label_of[label] for label in tree.preterminals]
                found[index] = GrammarTree(tree.score, nodes, tags)
        return found


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


def _share_lane(weights: Floats) -> int:
    lanes = np.flatnonzero(weights[SPLIT])
    return int(lanes[0]) if len(lanes) else -1


def _weights(objectives: Sequence[Objective]) -> Floats:
    """Weights [what earns, lane]; lanes without an objective weigh nothing."""
    weights = np.zeros((WEIGHTS, LANES))
    for lane, objective in enumerate(objectives):
        for item, weight in objective.gains:
            weights[list(ITEM_KINDS[item].weights), lane] += weight
        weights[CONSTANT, lane] = objective.node_constant
    return weights


def _roots(grammar: PCFG, weights: Floats) -> Floats:
    """What each symbol earns at the root [symbol, lane]; -inf for what is no root."""
    is_root = np.isfinite(grammar.root_log_prob)
    gains: Floats = np.full((len(is_root), LANES), -np.inf)
    # A product of posteriors has none for the root.
    gains[is_root] = np.outer(grammar.root_log_prob[is_root], weights[RULE] - weights[LOG_NODE])
    return gains


def _representatives(item_label: Ints, label: Ints) -> list[int]:
    """For each label of items, a symbol that has it."""
    found = np.zeros(int(item_label.max(initial=-1)) + 1, np.int32)
    found[item_label] = np.arange(len(label))
    return found.tolist()
