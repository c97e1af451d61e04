"""Objectives that search the grammar's own derivations, eight side by side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mbrparse.decode.derivations.backtrace import best_values
from mbrparse.decode.derivations.bounds import (
    Bounds,
    CellMasses,
    bound_cells,
    bound_trees,
    can_be_bounded,
    earnings_of,
    select,
)
from mbrparse.decode.derivations.forest_search import earned_in_cells
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
from mbrparse.decode.derivations.item_kinds import ITEM_KINDS
from mbrparse.decode.derivations.item_tables import ItemTables
from mbrparse.decode.derivations.kept_forest import KeptForest, Selection
from mbrparse.decode.derivations.search_state import NO_NUMBERS, EdgeGains, SearchState
from mbrparse.decode.derivations.tree_search import GrammarTree, TreeSearch
from mbrparse.decode.objectives import Objective
from mbrparse.grammar.charts.forest.forests import Forests
from mbrparse.grammar.charts.forest.packed_forest import Forest, forest_cell
from mbrparse.grammar.charts.rule_tables import Floats
from mbrparse.grammar.pcfg import PCFG

_SMALL = 1e-300  # in place of zero, whose logarithm would only be in the way


class GrammarLanes:
    """Decodes for objectives of derived trees, all in one search (eight at most)."""

    def __init__(
        self,
        grammar: PCFG,
        forests: Forests,
        items: ItemTables,
        objectives: Mapping[int, Objective],
        tie: float,
    ) -> None:
        """``objectives`` by their position among all; one may look at splits (``SPLIT``)."""
        self._forests = forests
        self._items = items
        self._places = list(objectives)
        self._weights = _weights(list(objectives.values()))
        self._bounded = can_be_bounded(self._weights)
        split_lanes = np.flatnonzero(self._weights[SPLIT])
        self._share_lane = int(split_lanes[0]) if len(split_lanes) else -1
        self._roots = _roots(grammar, self._weights)
        self._sums = new_sums(items)
        self._search = TreeSearch(
            items.label,
            items.rule_log_prob,
            grammar.unary_parent,
            grammar.unary_child,
            tie,
            clock=forests.clock,
        )
        # Chains of symbols that share labels are not worth their search for a bound.
        self._adds_up = not grammar.has_unaries or len(np.unique(items.label)) == len(items.label)
        self._chains = grammar.has_unaries

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
        if not self._bounded:
            selection.items[:] = 1
            return
        state = self._state(kept, length)
        known = core.items if self._adds_up else np.zeros_like(core.items)
        earned_in_cells(state, known, bounds.most, length)
        self._search.search(state, length)
        values = best_values(state, self._root_gains(kept.forest, length), length)
        log_total = self._forests.log_total
        earned = earnings_of(self._weights, values, len(self._places), length, log_total, False, self._chains)
        bound_cells(earned, masses, known, kept.edge_most, bounds, length)
        bound_trees(bounds, length, self._forests.clock.stop)
        select(earned, masses, bounds, selection, length)

    def trees(self, kept: KeptForest, length: int, searched: bool) -> dict[int, GrammarTree | None]:
        """By the objective's position, the best tree of a forest (that was searched last), or None."""
        state = self._state(kept, length, searched)
        if not searched:
            self._search.search(state, length)
        trees = self._search.trees(state, self._root_gains(kept.forest, length), len(self._places), length)
        return dict(zip(self._places, trees, strict=True))

    def _state(self, kept: KeptForest, length: int, filled: bool = False) -> SearchState:
        """What is searched: the forest and its gains."""
        forest, weights = kept.forest, self._weights
        edge_gains = EdgeGains(NO_NUMBERS, NO_NUMBERS, weights, self._share_lane)
        state = self._search.state(forest, edge_gains, kept.left_value, kept.weight)
        if filled:
            return state
        state.gains.weights[:] = weights
        source = ItemForest(forest, self._forests.tables, self._forests.unaries, self._items)
        item_gains(source, self._sums, state.gains, length)
        lexical_gains(forest, self._items, weights, state.values.lexical, length)
        return state

    def _root_gains(self, forest: Forest, length: int) -> Floats:
        cell = forest_cell(0, length)
        root = slice(forest.node_first[cell], forest.node_first[cell + 1])
        earned = self._roots[forest.node_symbol[root]]
        if self._weights[LOG_NODE].any():
            # What the factors of a product telescope to but for the root's inside value.
            earned -= np.log(np.maximum(forest.inside[root], _SMALL))[:, None] * self._weights[LOG_NODE]
        return earned


def _weights(objectives: list[Objective]) -> Floats:
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
