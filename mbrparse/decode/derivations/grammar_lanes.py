"""Objectives that search the grammar's own derivations, eight side by side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mbrparse.decode.derivations.bounds import Cells, Earnings, can_be_bounded
from mbrparse.decode.derivations.gains import CONSTANT, LANES, LOG_NODE, RULE, SPLIT, WEIGHTS, new_sums
from mbrparse.decode.derivations.item_kinds import ITEM_KINDS
from mbrparse.decode.derivations.item_tables import ItemTables
from mbrparse.decode.derivations.kept_forest import KeptForest
from mbrparse.decode.derivations.lane_search import LaneTables, Search, search_lanes
from mbrparse.decode.derivations.search_state import NO_NUMBERS, EdgeGains, SearchState
from mbrparse.decode.derivations.tree_search import GrammarTree, TreeSearch
from mbrparse.decode.objectives import Objective
from mbrparse.grammar.charts.forest.forests import Forests
from mbrparse.grammar.charts.rule_tables import Floats, Ints
from mbrparse.grammar.pcfg import PCFG


class GrammarLanes:
    """Decodes for objectives of derived trees, all in one search (eight at most)."""

    def __init__(
        self,
        grammar: PCFG,
        forests: Forests,
        items: ItemTables,
        objectives: Mapping[int, Objective],
        tie: float,
        chain_label: Ints,
    ) -> None:
        """``objectives`` by their position among all; one may look at splits (``SPLIT``).

        ``chain_label`` [symbol] is what comes once in a chain of unary rules.
        """
        self._places = list(objectives)
        self._weights = _weights(list(objectives.values()))
        self._state: SearchState | None = None
        self._bounded = can_be_bounded(self._weights)
        split_lanes = np.flatnonzero(self._weights[SPLIT])
        self._share_lane = int(split_lanes[0]) if len(split_lanes) else -1
        roots = _roots(grammar, self._weights)
        root_gains = np.zeros_like(roots)
        self._given = LaneTables(forests.tables, forests.unaries, items, new_sums(items), roots, root_gains)
        self._lower: Floats = np.zeros(LANES)
        self._search = TreeSearch(
            chain_label,
            items.rule_log_prob,
            grammar.unary_parent,
            grammar.unary_child,
            tie,
            clock=forests.clock,
        )
        self._chains = grammar.has_unaries

    def narrow(self, kept: KeptForest, cells: Cells, log_total: float, length: int) -> None:
        """Select what the best trees may need, by what is found in a core.

        ``log_total`` is the sentence's log probability, as inside values are scaled.
        """
        if not self._bounded:
            selection = cells.selection
            selection.items[:], selection.least_mass[:] = 1, 0
            selection.least[:], selection.least_label[:] = np.inf, np.inf
            return
        self._run(kept, cells, log_total, narrows=True, searched=False, length=length)

    def trees(
        self, kept: KeptForest, cells: Cells, length: int, searched: bool
    ) -> dict[int, GrammarTree | None]:
        """By the objective's position, the best tree of a forest, or None.

        ``searched``: it is the one that was searched last, to ``narrow``.
        """
        searched = searched and self._bounded
        state = self._run(kept, cells, 0.0, narrows=False, searched=searched, length=length)
        return dict(zip(self._places, self._search.trees(state, len(self._places)), strict=True))

    def _run(
        self, kept: KeptForest, cells: Cells, log_total: float, narrows: bool, searched: bool, length: int
    ) -> SearchState:
        state = self._state_of(kept)
        search = Search(narrows, searched, len(self._places))
        earnings = self._earnings(log_total)
        search_lanes(state, self._given, search, earnings, cells, kept.edge_most, length)
        return state

    def _earnings(self, log_total: float) -> Earnings:
        return Earnings(
            self._weights,
            self._lower,
            len(self._places),
            log_total,
            projected=False,
            chains=self._chains,
        )

    def _state_of(self, kept: KeptForest) -> SearchState:
        """What is searched; the same as long as the same forest is filled."""
        if self._state is not None and self._state.forest is kept.forest:
            return self._state
        edge_gains = EdgeGains(NO_NUMBERS, NO_NUMBERS, self._weights, self._share_lane)
        state = self._search.state(kept.forest, edge_gains, kept.left_value, kept.weight)
        state.gains.weights[:] = self._weights
        self._state = state
        return state


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
