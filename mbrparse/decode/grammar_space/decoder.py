"""The best trees of a sentence for all objectives that search the grammar's own trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbrparse.decode.grammar_space.best_trees import GrammarTree, TreeSearch
from mbrparse.decode.grammar_space.gains import (
    CHILD,
    CONSTANT,
    LABELLED,
    LANES,
    PRODUCTION,
    RULE,
    SPAN,
    item_gains,
    lexical_gains,
    new_sums,
)
from mbrparse.decode.grammar_space.items import item_tables
from mbrparse.decode.grammar_space.max_rule import MaxRule
from mbrparse.decode.grammar_space.search import EdgeGains
from mbrparse.decode.objectives import Item, Objective, Space
from mbrparse.grammar.charts.forests import Forests
from mbrparse.grammar.charts.tables import Floats, Ints
from mbrparse.grammar.pcfg import PCFG

_ROWS = {
    Item.LABELLED_SPAN: LABELLED,
    Item.SPAN: SPAN,
    Item.PARENT_CHILD: CHILD,
    Item.PRODUCTION: PRODUCTION,
    Item.RULE: RULE,
}


class GrammarDecoder:
    """Decodes one forest after the other; objectives go through the same search, eight at a time."""

    def __init__(
        self, grammar: PCFG, forests: Forests, objectives: Sequence[Objective], label: Ints, tie: float
    ) -> None:
        """``label`` [symbol] projects symbols to the labels of items (their own ids: no projection)."""
        self._forests = forests
        self.items = item_tables(grammar, forests, label)
        self._sums = new_sums(self.items)
        self._search = TreeSearch(self.items.label, len(grammar.unary_parent), tie)
        self._root_log_prob = grammar.root_log_prob
        self._not_free = np.zeros(len(grammar.symbols), np.bool_)
        rows = [i for i, objective in enumerate(objectives) if objective.space is Space.GRAMMAR]
        self._batches = [rows[begin : begin + LANES] for begin in range(0, len(rows), LANES)]
        self._weights = [_weights([objectives[index] for index in batch]) for batch in self._batches]
        max_rule = {i: objective for i, objective in enumerate(objectives) if objective.space is Space.ITEMS}
        self._max_rule = MaxRule(grammar, forests, self.items, max_rule, tie) if max_rule else None
        self._label_of = _representatives(self.items.label, label)

    def trees(self, length: int) -> dict[int, GrammarTree]:
        """By the objective's position, the best tree of the forest that was filled last.

        Nodes and preterminals are symbol ids; in trees of max-rule any symbol that has the label.
        """
        forest = self._forests.forest
        found: dict[int, GrammarTree] = {}
        for batch, weights in zip(self._batches, self._weights, strict=True):
            edge_gains = EdgeGains(np.zeros(0), np.zeros(0), weights)
            gains, values = self._search.rows(forest)
            tables, unaries = self._forests.tables, self._forests.unaries
            item_gains(forest, tables, unaries, self.items, weights, self._sums, gains, length)
            lexical_gains(forest, np.zeros(LANES), weights[RULE], self._not_free, values.lexical, length)
            self._search.search(forest, edge_gains, int(self._forests.work.counts[2]), length)
            for lane, index in enumerate(batch):
                found[index] = self._search.tree(forest, edge_gains, self._roots(weights), lane, length)
        if self._max_rule is not None:
            for index, tree in self._max_rule.trees(length).items():
                nodes = [(start, end, self._label_of[label]) for start, end, label in tree.nodes]
                tags = [self._label_of[label] for label in tree.preterminals]
                found[index] = GrammarTree(tree.score, nodes, tags)
        return found

    def _roots(self, weights: Floats) -> Floats:
        """What each symbol earns at the root [symbol, lane]."""
        is_root = np.isfinite(self._root_log_prob)
        gains: Floats = np.full((len(is_root), LANES), -np.inf)
        gains[is_root] = np.outer(self._root_log_prob[is_root], weights[RULE])
        return gains


def _weights(objectives: Sequence[Objective]) -> Floats:
    """Weights [what earns, lane]; lanes without an objective weigh nothing."""
    weights = np.zeros((6, LANES))
    for lane, objective in enumerate(objectives):
        for item, weight in objective.gains:
            weights[_ROWS[item], lane] = weight
        weights[CONSTANT, lane] = objective.node_constant
    return weights


def _representatives(item_label: Ints, label: Ints) -> list[int]:
    """For each label of items, a symbol that has it."""
    found = np.zeros(int(item_label.max(initial=-1)) + 1, np.int32)
    found[item_label] = np.arange(len(label))
    return found.tolist()
