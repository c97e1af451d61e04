"""Max-rule objectives: the best trees of the forest of labels (Petrov and Klein 2007)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mbrparse.decode.derivations.backtrace import best_values
from mbrparse.decode.derivations.bounds import (
    Bounds,
    CellMasses,
    bound_cells,
    bound_trees,
    earnings_of,
    select,
)
from mbrparse.decode.derivations.gains import LANES, LOG_NODE, SPLIT, WEIGHTS, lexical_posterior_gains
from mbrparse.decode.derivations.item_tables import ItemTables
from mbrparse.decode.derivations.kept_forest import KeptForest, Selection
from mbrparse.decode.derivations.label_forest import LabelForest, LabelForests, largest_edges
from mbrparse.decode.derivations.search_state import EdgeGains, SearchState
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
        self._chains = grammar.has_unaries
        self._searched: SearchState | None = None
        self._root_symbols = np.isfinite(grammar.root_log_prob)

    def narrow(
        self,
        kept: KeptForest,
        masses: CellMasses,
        core: Selection,
        selection: Selection,
        bounds: Bounds,
        length: int,
    ) -> None:
        """Add to a selection what the best trees may need, by what is found in a core."""
        labels = self._label_forests.project(kept.forest, length)
        state = self._searched = self._state(labels, length)
        self._search.search(state, length)
        values = best_values(state, self._root_gains(state.forest, length), length)
        edges = largest_edges(labels, length)
        weights = np.zeros((WEIGHTS, LANES))
        weights[SPLIT], weights[LOG_NODE] = self._weights
        earned = earnings_of(weights, values, len(self._places), length, 0.0, True, self._chains)
        bound_cells(earned, masses, np.zeros_like(core.items), edges, bounds, length)
        bound_trees(bounds, length, self._forests.clock.stop)
        select(earned, masses, bounds, selection, length)

    def trees(self, kept: KeptForest, length: int, searched: bool) -> dict[int, GrammarTree | None]:
        """By the objective's position, the best tree of a forest's productions, or None.

        The forest may have been searched last. Nodes and preterminals are label ids.
        """
        state = self._searched if searched else None
        if state is None:
            state = self._state(self._label_forests.project(kept.forest, length), length)
            self._search.search(state, length)
        trees = self._search.trees(state, self._root_gains(state.forest, length), len(self._places), length)
        return dict(zip(self._places, trees, strict=True))

    def _state(self, labels: LabelForest, length: int) -> SearchState:
        """What is searched: the forest of labels and its gains."""
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
        return state

    def _root_gains(self, forest: Forest, length: int) -> Floats:
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
