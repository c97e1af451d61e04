"""Searches forests for the best trees of up to eight objectives at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mbrparse.charts.base.packed_forest import Forest
from mbrparse.charts.forest.forests import Forests
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.charts.spans import SYMBOL_IDS, Spans
from mbrparse.decode.derivations.best_trees import BestTrees, SearchState
from mbrparse.decode.derivations.forest_search import search_derivations, search_labels
from mbrparse.decode.derivations.gains import LANES, LOG_NODE, RULE, SPLIT, EdgeGains, ItemTables
from mbrparse.decode.derivations.items import gain_weights
from mbrparse.decode.derivations.label_forest import LabelForest
from mbrparse.decode.derivations.search_memory import (
    LabelForests,
    new_chains,
    new_gains,
    new_sums,
    new_trees,
    new_values,
)
from mbrparse.decode.objectives import Objective
from mbrparse.grammar.pcfg import PCFG

_NO_NUMBERS: Floats = np.zeros(0)


@dataclass(frozen=True, eq=False)
class GrammarTree:
    """A tree and its score: constituents (start, end, symbol id) in preorder, and the ids of preterminals.

    Over a single terminal the lowest node is the preterminal, and no constituent.
    """

    score: float
    nodes: Spans[int]
    preterminals: Ints


class ObjectiveSearch:
    """Searches for the best trees of objectives, eight at most.

    With ``projected`` it searches trees of labels, in which whatever productions have a posterior above zero
    may stand together: those of max-rule.
    """

    def __init__(
        self,
        grammar: PCFG,
        forests: Forests,
        items: ItemTables,
        objectives: Mapping[int, Objective],
        tie: float,
        chain_label: Ints,
        projected: bool = False,
    ) -> None:
        """``objectives`` by their position among all; one may look at splits where it is not ``projected``.

        ``chain_label`` [symbol] is what comes once in a chain of unary rules.
        """
        self._places, self._forests, self._items, self._tie = list(objectives), forests, items, tie
        weights, stop = gain_weights(list(objectives.values())), forests.clock.stop
        if projected:
            weights[RULE] = 0  # posteriors of productions with their split are there as they are
        logarithms = np.abs(weights[[RULE, LOG_NODE]]).sum(axis=0)
        self._unit = np.where(logarithms > 0, np.abs(weights).sum(axis=0), 0.0)
        self._labels: LabelForests | None = None
        if projected:
            self._labels = LabelForests(items, forests.clock)
            self._edge_weights, self._weights = weights[[SPLIT, LOG_NODE]], np.zeros_like(weights)
            self._share_lane = -1
            # A label's symbols share a label by nature: each is its own item.
            names: Ints = np.arange(len(items.terminal), dtype=np.int32)
            self._roots: Floats = np.zeros((len(names), LANES))
            unaries = items.production_labels[items.production_labels[:, 1] < 0]
            self._chains = new_chains(names, unaries[:, 0], unaries[:, 2], stop)
            self._symbol_of = np.zeros_like(names)
            self._symbol_of[items.label] = np.arange(len(items.label))  # one that has the label
        else:
            split_lanes = np.flatnonzero(weights[SPLIT])
            self._share_lane = int(split_lanes[0]) if len(split_lanes) else -1
            self._edge_weights, self._weights = np.zeros((2, LANES)), weights
            self._roots = _roots(grammar, weights)
            self._sums = new_sums(items)
            self._chains = new_chains(chain_label, grammar.unary_parent, grammar.unary_child, stop)
        self._state: SearchState | None = None

    def trees(self, forest: Forest, length: int) -> dict[int, GrammarTree | None]:
        """By the objective's position, the best tree of a forest, or None.

        The forest is the one that was filled last. Raises ChartOverflowError or MemoryError where memory does
        not suffice, and TimeLimitError.
        """
        if self._labels is not None:
            return self.labelled_trees(self._labels.project(forest, length), length)
        state = self._state_of(forest, _NO_NUMBERS)
        groups, stop = self._forests.groups, self._forests.clock.stop
        search_derivations(state, self._items, self._sums, len(self._places), groups, length, stop)
        return self._read(state.trees, length)

    def labelled_trees(self, labels: LabelForest, length: int) -> dict[int, GrammarTree | None]:
        """The same of a forest of labels, for a search that is ``projected``."""
        state, stop = self._state_of(labels.forest, labels.edge_mass), self._forests.clock.stop
        search_labels(state, labels, self._items, len(self._places), length, stop)
        return self._read(state.trees, length)

    def _state_of(self, forest: Forest, edge_mass: Floats) -> SearchState:
        """What is searched, in the same memory as long as forests are filled in the same memory."""
        if self._state is None or self._state.forest is not forest:
            self._state = None  # the old one makes way first
            log_edge_mass, group_weight = np.zeros_like(edge_mass), self._forests.weight
            self._state = SearchState(
                forest,
                new_gains(forest, self._weights, self._roots, self._items.rule_log_prob),
                EdgeGains(edge_mass, log_edge_mass, self._edge_weights, self._share_lane, group_weight),
                self._chains,
                new_values(forest),
                new_trees(forest, len(self._chains.path)),
                self._tie,
                self._unit,
            )
        return self._state

    def _read(self, trees: BestTrees, length: int) -> dict[int, GrammarTree | None]:
        """The best trees of the first lanes; None where no tree has a value."""
        self._forests.clock.check()
        lanes = len(self._places)
        ends = trees.end[:lanes].tolist()
        starts, stops, symbols = trees.nodes[:, : ends[-1]].copy()
        preterminals = trees.preterminals[:lanes, :length].copy()
        if self._labels is not None:
            symbols, preterminals = self._symbol_of[symbols], self._symbol_of[preterminals]
        found: list[GrammarTree | None] = []
        for begin, end, score, tags in zip(
            [0, *ends], ends, trees.value[:lanes].tolist(), preterminals, strict=False
        ):
            nodes = Spans(starts[begin:end], stops[begin:end], symbols[begin:end], SYMBOL_IDS)
            found.append(GrammarTree(score, nodes, tags) if score > -np.inf else None)
        return dict(zip(self._places, found, strict=True))


def _roots(grammar: PCFG, weights: Floats) -> Floats:
    """What each symbol earns at the root [symbol, lane]; -inf for what is no root."""
    is_root = np.isfinite(grammar.root_log_prob)
    gains: Floats = np.full((len(is_root), LANES), -np.inf)
    # A product of posteriors has none for the root.
    gains[is_root] = np.outer(grammar.root_log_prob[is_root], weights[RULE] - weights[LOG_NODE])
    return gains
