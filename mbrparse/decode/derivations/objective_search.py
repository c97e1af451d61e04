"""Searches forests for the best trees of up to eight objectives at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mbrparse.decode.base.objectives import Objective
from mbrparse.decode.derivations.best_trees import BestValues, SearchState
from mbrparse.decode.derivations.bounds import Cells, Lanes
from mbrparse.decode.derivations.forest_search import Round, SearchTables, search_forest
from mbrparse.decode.derivations.gains import (
    LANES,
    LOG_NODE,
    RULE,
    SPLIT,
    EdgeGains,
    ItemTables,
)
from mbrparse.decode.derivations.items import bound_weights, can_be_bounded, gain_weights
from mbrparse.decode.derivations.pruned_forest import PrunedForest
from mbrparse.decode.derivations.search_memory import (
    ProjectedForests,
    new_chains,
    new_gains,
    new_sums,
    new_values,
)
from mbrparse.grammar.charts.base.columns import SYMBOL_IDS, Spans, columns_of
from mbrparse.grammar.charts.base.packed_forest import Forest, forest_cell
from mbrparse.grammar.charts.base.rule_tables import Floats, Ints
from mbrparse.grammar.charts.forest.forests import Forests
from mbrparse.grammar.pcfg import PCFG

_SMALL = 1e-300  # in place of zero, whose logarithm would only be in the way


@dataclass(frozen=True, eq=False)
class GrammarTree:
    """A tree and its score: constituents (start, end, symbol id) in preorder, and the ids of preterminals.

    Over a single terminal the lowest node is the preterminal, and no constituent.
    """

    score: float
    nodes: Sequence[tuple[int, int, int]]
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
        rows = list(objectives.values())
        self._places, self._items, self._clock, self._tie = list(objectives), items, forests.clock, tie
        self._bounded, self._projected = can_be_bounded(rows), projected
        weights = gain_weights(rows)
        if projected:
            weights[RULE] = 0  # posteriors of productions with their split are there as they are
        logarithms, total = np.abs(weights[[RULE, LOG_NODE]]).sum(axis=0), np.abs(weights).sum(axis=0)
        self._unit = np.where(logarithms > 0, total, 0.0)
        self._lanes = Lanes(
            weights=bound_weights(rows),
            magnitude=np.maximum(1.0, total + 16 * logarithms),
            lower=np.zeros(LANES),
            in_use=len(rows),
            log_total=0.0,
            projected=projected,
            chains=grammar.has_unaries,
        )
        self._roots = _roots(grammar, weights)
        self._by_log = weights[LOG_NODE]
        self._given = SearchTables(forests.tables, forests.unaries, items, new_sums(items))
        stop = forests.clock.stop
        if projected:
            self._labels = ProjectedForests(forests, items)
            self._edge_weights, self._weights = weights[[SPLIT, LOG_NODE]], np.zeros_like(weights)
            self._share_lane = -1
            self._rule_log_prob: Floats = np.zeros(1)
            # A label's symbols share a label by nature: each is its own item.
            names: Ints = np.arange(items.n_labels, dtype=np.int32)
            self._chains = new_chains(names, *_unary_labels(forests, items), stop)
            self._symbol_of = _representatives(items.label)
        else:
            split_lanes = np.flatnonzero(weights[SPLIT])
            self._share_lane = int(split_lanes[0]) if len(split_lanes) else -1
            self._edge_weights, self._weights = np.zeros((2, LANES)), weights
            self._rule_log_prob = items.rule_log_prob
            self._chains = new_chains(chain_label, grammar.unary_parent, grammar.unary_child, stop)
        self._searched: tuple[PrunedForest, SearchState] | None = None

    def narrow(self, pruned: PrunedForest, cells: Cells, log_total: float, length: int) -> None:
        """Select what the best trees may need, by what is found in a core.

        ``log_total`` is the sentence's log probability, as inside values are scaled. Raises
        ChartOverflowError where memory does not suffice, TimeLimitError.
        """
        if not self._bounded:
            selection = cells.selection
            selection.items[:], selection.least_mass[:] = 1, 0
            selection.least[:], selection.least_label[:] = np.inf, np.inf
            return
        lanes = self._lanes._replace(log_total=0.0 if self._projected else log_total)
        self._run(pruned, cells, length, lanes, Round(narrows=True, searched=False))

    def trees(
        self, pruned: PrunedForest, cells: Cells, length: int, searched: bool
    ) -> dict[int, GrammarTree | None]:
        """By the objective's position, the best tree of a forest, or None.

        ``searched``: it is the one that was searched last, to ``narrow``. Raises as ``narrow`` does.
        """
        wanted = Round(narrows=False, searched=searched and self._bounded)
        state = self._run(pruned, cells, length, self._lanes, wanted)
        self._clock.check()
        found = list(_read_trees(state.values, len(self._places)))
        if self._projected:
            found = [tree and self._of_symbols(tree) for tree in found]
        return dict(zip(self._places, found, strict=True))

    def _run(
        self, pruned: PrunedForest, cells: Cells, length: int, lanes: Lanes, wanted: Round
    ) -> SearchState:
        if wanted.searched:
            assert self._searched is not None
            searched, state = self._searched
        else:
            searched = self._labels.project(pruned.forest, length) if self._projected else pruned
            state = self._state(searched)
            self._searched = searched, state
        if self._projected:
            root_gains = self._label_roots(pruned.forest, searched.forest, length)
        else:
            root_gains = self._root_gains(pruned.forest, length)
        search_forest(state, searched, self._given, wanted, lanes, cells, root_gains, length)
        return state

    def _state(self, pruned: PrunedForest) -> SearchState:
        """What is searched; in the same memory as long as the same forest is filled."""
        known = self._searched[1] if self._searched is not None else None
        if known is not None and known.forest is pruned.forest:
            return known
        self._searched = None  # the old one makes way first
        gains = new_gains(pruned, self._rule_log_prob, self._weights)
        edge_gains = EdgeGains(pruned.edge_mass, pruned.log_edge_mass, self._edge_weights, self._share_lane)
        return SearchState(
            pruned.forest,
            gains,
            edge_gains,
            self._chains,
            new_values(pruned),
            self._tie,
            self._unit,
            self._clock.stop,
        )

    def _root_gains(self, forest: Forest, length: int) -> Floats:
        """What the nodes of the root cell earn as roots [node, lane]."""
        nodes = _root_nodes(forest, length)
        gains = self._roots[forest.node_symbol[nodes]]
        if self._by_log.any():
            # What the factors of a product telescope to but for the root's inside value.
            gains -= np.outer(np.log(np.maximum(forest.inside[nodes], _SMALL)), self._by_log)
        return gains

    def _label_roots(self, forest: Forest, labels: Forest, length: int) -> Floats:
        """The same of a projected forest: 0 for labels of symbols that are the root of some derivation."""
        symbols = forest.node_symbol[_root_nodes(forest, length)]
        names = labels.node_symbol[_root_nodes(labels, length)]
        roots: Floats = np.full((len(names), LANES), -np.inf)
        roots[np.isin(names, self._items.label[symbols[self._roots[symbols, 0] > -np.inf]])] = 0.0
        return roots

    def _of_symbols(self, tree: GrammarTree) -> GrammarTree:
        """A tree of labels, as symbols that have them."""
        nodes = columns_of(tree.nodes)
        spans = Spans(nodes.starts, nodes.ends, self._symbol_of[nodes.ids], SYMBOL_IDS)
        return GrammarTree(tree.score, spans, self._symbol_of[tree.preterminals])


def _root_nodes(forest: Forest, length: int) -> slice:
    cell = forest_cell(0, length)
    return slice(forest.node_first[cell], forest.node_first[cell + 1])


def _read_trees(values: BestValues, lanes: int) -> Sequence[GrammarTree | None]:
    """The best trees of the first lanes; None where no tree has a value."""
    ends = values.tree_end[:lanes]
    starts, stops, symbols = values.tree_nodes[:, : ends[-1]]
    # Of the nodes over a single terminal the lowest is the preterminal.
    inner = stops - starts > 1
    inner[:-1] |= (starts[1:] == starts[:-1]) & (stops[1:] == stops[:-1])
    inner[ends[ends > 0] - 1] = False
    inner_ends = np.append(0, inner.cumsum())[ends]
    tags, leaf_ends = symbols[~inner], (ends - inner_ends).tolist()
    starts, stops, symbols = starts[inner], stops[inner], symbols[inner]
    found: list[GrammarTree | None] = []
    begin = leaf = 0
    for end, leaf_end, score in zip(
        inner_ends.tolist(), leaf_ends, values.tree_value[:lanes].tolist(), strict=True
    ):
        if leaf_end == leaf:
            found.append(None)
            continue
        spans = Spans(starts[begin:end], stops[begin:end], symbols[begin:end], SYMBOL_IDS)
        found.append(GrammarTree(score, spans, tags[leaf:leaf_end]))
        begin, leaf = end, leaf_end
    return found


def _roots(grammar: PCFG, weights: Floats) -> Floats:
    """What each symbol earns at the root [symbol, lane]; -inf for what is no root."""
    is_root = np.isfinite(grammar.root_log_prob)
    gains: Floats = np.full((len(is_root), LANES), -np.inf)
    # A product of posteriors has none for the root.
    gains[is_root] = np.outer(grammar.root_log_prob[is_root], weights[RULE] - weights[LOG_NODE])
    return gains


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
