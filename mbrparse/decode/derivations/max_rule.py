"""Max-rule objectives: the best trees of the forest of labels (Petrov and Klein 2007)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mbrparse.decode.derivations.gains import LANES, lexical_posterior_gains
from mbrparse.decode.derivations.item_tables import ItemTables
from mbrparse.decode.derivations.label_forest import LabelForests
from mbrparse.decode.derivations.search_state import EdgeGains
from mbrparse.decode.derivations.tree_search import GrammarTree, TreeSearch
from mbrparse.decode.objectives import Item, Objective
from mbrparse.grammar.charts.forest.forests import Forests
from mbrparse.grammar.charts.forest.packed_forest import Forest, forest_cell
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.pcfg import PCFG


class MaxRule:
    """Decodes for max-rule objectives, all in one search (eight at most)."""

    def __init__(
        self,
        grammar: PCFG,
        forests: Forests,
        items: ItemTables,
        objectives: Mapping[int, Objective],
        tie: float,
    ) -> None:
        """``objectives`` by their position among all."""
        self._forests = forests
        self._label_forests = LabelForests(forests, items)
        self._places = list(objectives)
        self._weights: Floats = np.zeros((2, LANES))
        for lane, objective in enumerate(objectives.values()):
            self._weights[0, lane] = objective.weight(Item.SPLIT_PRODUCTION)
            self._weights[1, lane] = objective.weight(Item.LOG_SPLIT_PRODUCTION)
        # A label's symbols share a label by nature: each is its own item.
        names: Ints = np.arange(items.n_labels, dtype=np.int32)
        self._search = TreeSearch(
            names, np.zeros(1), *_unary_labels(forests, items), tie, len(grammar.symbols), forests.clock
        )
        self._terminal = items.terminal
        self._items = items
        self._root_symbols = np.isfinite(grammar.root_log_prob)

    def trees(self, length: int) -> dict[int, GrammarTree | None]:
        """By the objective's position, the best tree of the forest that was filled last, or None.

        Its nodes and preterminals are label ids.
        """
        labels = self._label_forests.project(length)
        forest, mass = labels.forest, labels.edge_posterior
        state = self._search.state(
            forest, EdgeGains(mass, np.log(mass), self._weights, -1), times=labels.times
        )
        state.gains.foot[:length] = 0
        unary = labels.unary_posterior[:, None]
        state.gains.unary_rule[: len(unary)] = unary * self._weights[0] + np.log(unary) * self._weights[1]
        lexical_posterior_gains(
            forest, self._weights[0], self._weights[1], self._terminal, state.values.lexical, length
        )
        roots = self._roots(forest, length)
        trees = self._search.trees(state, roots, len(self._places), length)
        return dict(zip(self._places, trees, strict=True))

    def _roots(self, forest: Forest, length: int) -> Floats:
        """0 for the labels of symbols that are the root of some derivation, else -inf [node, lane]."""
        nodes = self._forests.root_symbols(length)
        labels = self._items.label[nodes[self._root_symbols[nodes]]]
        cell = forest_cell(0, length)
        names = forest.node_symbol[forest.node_first[cell] : forest.node_first[cell + 1]]
        roots: Floats = np.full((len(names), LANES), -np.inf)
        roots[np.isin(names, labels)] = 0.0
        return roots


def _unary_labels(forests: Forests, items: ItemTables) -> tuple[Ints, Ints]:
    """The labels of the unary rules' parents and children."""
    unaries = forests.unaries
    below = np.repeat(np.arange(len(unaries.rule_start) - 1), np.diff(unaries.rule_start))
    return items.label[unaries.rule_parent], items.label[below]
