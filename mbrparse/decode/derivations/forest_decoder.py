"""The best trees of a sentence for all objectives that search the grammar's own trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbrparse.decode.derivations.forest_search import EdgeGains
from mbrparse.decode.derivations.gains import (
    CHILD,
    CONSTANT,
    LABELLED,
    LANES,
    LOG_NODE,
    PRODUCTION,
    RULE,
    SPAN,
    SPLIT,
    WEIGHTS,
    item_gains,
    lexical_gains,
    new_sums,
)
from mbrparse.decode.derivations.item_tables import item_tables
from mbrparse.decode.derivations.max_rule import MaxRule
from mbrparse.decode.derivations.tree_search import GrammarTree, TreeSearch
from mbrparse.decode.objectives import Item, Objective, Space
from mbrparse.grammar.charts.forest.forests import Forests
from mbrparse.grammar.charts.forest.packed_forest import forest_cell
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.pcfg import PCFG

_ROWS = {
    Item.LABELLED_SPAN: LABELLED,
    Item.SPAN: SPAN,
    Item.PARENT_CHILD: CHILD,
    Item.PRODUCTION: PRODUCTION,
    Item.RULE: RULE,
    Item.SPLIT_PRODUCTION: SPLIT,
}
_NO_NUMBERS: Floats = np.zeros(0)
_SMALL = 1e-300  # in place of zero, whose logarithm would only be in the way


class GrammarDecoder:
    """Decodes one forest after the other; objectives go through the same search, eight at a time."""

    def __init__(
        self, grammar: PCFG, forests: Forests, objectives: Sequence[Objective], label: Ints, tie: float
    ) -> None:
        """``label`` [symbol] projects symbols to the labels of items (their own ids: no projection)."""
        for objective in objectives:
            _check(objective)
        self._forests = forests
        self.items = item_tables(grammar, forests, label)
        self._sums = new_sums(self.items)
        self._search = TreeSearch(
            self.items.label, self.items.rule_log_prob, grammar.unary_parent, grammar.unary_child, tie
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

    def trees(self, length: int) -> dict[int, GrammarTree]:
        """By the objective's position, the best tree of the forest that was filled last.

        Nodes and preterminals are symbol ids; in trees of max-rule any symbol that has the label.
        """
        forest = self._forests.forest
        tables, unaries = self._forests.tables, self._forests.unaries
        found: dict[int, GrammarTree] = {}
        for batch, weights, share_lane, roots in self._batches:
            edge_gains = EdgeGains(_NO_NUMBERS, _NO_NUMBERS, weights, share_lane)
            gains, values = self._search.rows(forest, self._forests.partner_value, self._forests.weight)
            gains.weights[:] = weights
            item_gains(forest, tables, unaries, self.items, self._sums, gains, length)
            lexical_gains(forest, self.items, weights, values.lexical, length)
            cell = forest_cell(0, length)
            root = slice(forest.node_first[cell], forest.node_first[cell + 1])
            earned = roots[forest.node_symbol[root]]
            if weights[LOG_NODE].any():
                # What the factors of a product telescope to but for the root's inside value.
                earned -= np.log(np.maximum(forest.inside[root], _SMALL))[:, None] * weights[LOG_NODE]
            trees = self._search.trees(forest, edge_gains, earned, len(batch), length)
            found.update(zip(batch, trees, strict=True))
        for max_rule in self._max_rule:
            for index, tree in max_rule.trees(length).items():
                nodes = [(start, end, self._label_of[label]) for start, end, label in tree.nodes]
                tags = [self._label_of[label] for label in tree.preterminals]
                found[index] = GrammarTree(tree.score, nodes, tags)
        return found


def _check(objective: Objective) -> None:
    """Raise ValueError for a row of the table that the searches here would get wrong."""
    weights = {item: weight for item, weight in objective.gains if weight}
    by_split = weights.pop(Item.SPLIT_PRODUCTION, 0.0)
    mixed = bool(weights) and by_split != 0
    alone = not weights.keys() - {Item.LOG_SPLIT_PRODUCTION} and not objective.node_constant
    if by_split < 0 or mixed or (objective.space is Space.ITEMS and not alone):
        raise ValueError(
            f"{objective.name}: productions with their split stand by themselves, with a positive weight"
        )


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
            if item is Item.LOG_SPLIT_PRODUCTION:
                weights[[RULE, LOG_NODE], lane] += weight
            else:
                weights[_ROWS[item], lane] += weight
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
