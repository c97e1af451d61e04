"""Max-rule objectives: the best trees of the forest of labels (Petrov and Klein 2007)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mbrparse.decode.derivations.bounds import Cells, Earnings
from mbrparse.decode.derivations.gains import LANES, LOG_NODE, SPLIT, WEIGHTS
from mbrparse.decode.derivations.item_tables import ItemTables
from mbrparse.decode.derivations.kept_forest import KeptForest
from mbrparse.decode.derivations.label_forest import LabelForest, LabelForests
from mbrparse.decode.derivations.label_search import LabelGains, search_labels
from mbrparse.decode.derivations.lane_search import Search
from mbrparse.decode.derivations.search_state import EdgeGains, SearchState
from mbrparse.decode.derivations.tree_search import GrammarTree, TreeSearch
from mbrparse.decode.objectives import Item, Objective
from mbrparse.grammar.charts.columns import Spans
from mbrparse.grammar.charts.forest.forests import Forests
from mbrparse.grammar.charts.forest.packed_forest import Forest, forest_cell
from mbrparse.grammar.charts.nodes import SYMBOL_IDS, columns_of
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
        self._label_forests = LabelForests(forests, items)
        self._places = list(objectives)
        self._weights: Floats = np.zeros((2, LANES))
        for lane, objective in enumerate(objectives.values()):
            self._weights[0, lane] = objective.weight(Item.SPLIT_PRODUCTION)
            self._weights[1, lane] = objective.weight(Item.LOG_SPLIT_PRODUCTION)
        self._item_weights: Floats = np.zeros((WEIGHTS, LANES))
        self._item_weights[SPLIT], self._item_weights[LOG_NODE] = self._weights
        self._lower: Floats = np.zeros(LANES)
        # A label's symbols share a label by nature: each is its own item.
        names: Ints = np.arange(items.n_labels, dtype=np.int32)
        self._search = TreeSearch(names, np.zeros(1), *_unary_labels(forests, items), tie, forests.clock)
        self._terminal = items.terminal
        self._label = items.label
        self._chains = grammar.has_unaries
        self._searched: tuple[SearchState, LabelGains] | None = None
        self._root_symbols = np.isfinite(grammar.root_log_prob)
        self._symbol_of = _representatives(items.label)

    def narrow(self, kept: KeptForest, cells: Cells, log_total: float, length: int) -> None:
        """Select what the best trees may need, by what is found in a core."""
        self._run(kept, cells, length, narrows=True, searched=False)

    def trees(
        self, kept: KeptForest, cells: Cells, length: int, searched: bool
    ) -> dict[int, GrammarTree | None]:
        """By the objective's position, the best tree of a forest's productions, or None.

        ``searched``: it is the forest that was searched last, to ``narrow``.
        """
        state = self._run(kept, cells, length, narrows=False, searched=searched)
        found = (self._of_symbols(tree) for tree in self._search.trees(state, len(self._places)))
        return dict(zip(self._places, found, strict=True))

    def _of_symbols(self, tree: GrammarTree | None) -> GrammarTree | None:
        """A tree of labels, as symbols that have them."""
        if tree is None:
            return None
        nodes = columns_of(tree.nodes)
        spans = Spans(nodes.starts, nodes.ends, self._symbol_of[nodes.ids], SYMBOL_IDS)
        return GrammarTree(tree.score, spans, self._symbol_of[tree.preterminals])

    def _run(self, kept: KeptForest, cells: Cells, length: int, narrows: bool, searched: bool) -> SearchState:
        known = self._searched if searched else None
        if known is None:
            labels = self._label_forests.project(kept.forest, length)
            known = self._searched = self._state(labels), self._gains(kept.forest, labels, length)
        state, lanes = known[0], len(self._places)
        earnings = Earnings(
            self._item_weights,
            self._lower,
            lanes,
            log_total=0.0,
            projected=True,
            chains=self._chains,
        )
        search_labels(*known, Search(narrows, searched, lanes), earnings, cells, length)
        return state

    def _state(self, labels: LabelForest) -> SearchState:
        """What is searched: the forest of labels."""
        edge_gains = EdgeGains(labels.edge_posterior, labels.log_edge_posterior, self._weights, -1)
        return self._search.state(labels.forest, edge_gains)

    def _gains(self, kept: Forest, labels: LabelForest, length: int) -> LabelGains:
        root_gains = self._root_gains(kept, labels.forest, length)
        edge_most = np.zeros(forest_cell(0, length) + 1)
        return LabelGains(labels.unary_posterior, self._terminal, root_gains, edge_most)

    def _root_gains(self, kept: Forest, forest: Forest, length: int) -> Floats:
        """0 for the labels of symbols that are the root of some derivation, else -inf [node, lane]."""
        cell = forest_cell(0, length)
        nodes = kept.node_symbol[kept.node_first[cell] : kept.node_first[cell + 1]]
        labels = self._label[nodes[self._root_symbols[nodes]]]
        names = forest.node_symbol[forest.node_first[cell] : forest.node_first[cell + 1]]
        roots: Floats = np.full((len(names), LANES), -np.inf)
        roots[np.isin(names, labels)] = 0.0
        return roots


def _representatives(label: Ints) -> Ints:
    """For each label of items, a symbol that has it."""
    found: Ints = np.zeros(int(label.max(initial=-1)) + 1, np.int32)
    found[label] = np.arange(len(label))
    return found


def _unary_labels(forests: Forests, items: ItemTables) -> tuple[Ints, Ints]:
    """The labels of the unary rules' parents and children."""
    unaries = forests.unaries
    below = np.repeat(np.arange(len(unaries.rule_start) - 1), np.diff(unaries.rule_start))
    return items.label[unaries.rule_parent], items.label[below]
