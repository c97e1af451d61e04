"""A search of a forest, and the trees that come of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mbrparse.decode.derivations.chains import new_chains, ranks
from mbrparse.decode.derivations.forest_search import EdgeGains, Question, Values, best_trees, search_forest
from mbrparse.decode.derivations.gains import LANES, WEIGHTS, Gains
from mbrparse.grammar.charts.forest.packed_forest import Forest
from mbrparse.grammar.charts.nodes import derivation_of
from mbrparse.grammar.charts.rule_tables import Floats, Ints

_NO_NUMBERS: Floats = np.zeros(0)


@dataclass(frozen=True)
class GrammarTree:
    """A tree and its score: constituents (start, end, symbol id) in preorder, and preterminals.

    Over a single terminal the lowest node is the preterminal, and no constituent.
    """

    score: float
    nodes: list[tuple[int, int, int]]
    preterminals: list[int]


class Rows(NamedTuple):
    """Rows of gains and values for forests of one size."""

    gains: Gains
    values: Values


class TreeSearch:
    """Searches forests of one grammar."""

    def __init__(
        self, label: Ints, rule_log_prob: Floats, unary_parent: Ints, unary_child: Ints, tie: float
    ) -> None:
        """``label`` [symbol] says which symbols share items; also the symbols of the unary rules."""
        self.label = label
        adds_up = len(np.unique(label)) == len(label)
        rank = ranks(len(label), unary_parent, unary_child) if adds_up else np.zeros(0, np.int32)
        self._chains = new_chains(len(label), len(unary_parent), rank)
        self._tie = tie
        self._rule_log_prob = rule_log_prob
        self._rows: Rows | None = None
        self._sized_for: Forest | None = None

    def rows(
        self, forest: Forest, left_value: Floats = _NO_NUMBERS, group_share: Floats = _NO_NUMBERS
    ) -> Rows:
        """Rows that fit a forest; they live until one of another size comes.

        ``left_value`` are the inside values of the forest's left nodes, ``group_share`` what comes down to
        its groups, if a lane looks at them.
        """
        if self._rows is None or self._sized_for is not forest:
            self._rows, self._sized_for = (
                _new_rows(forest, left_value, group_share, self._rule_log_prob),
                forest,
            )
        return self._rows

    def trees(
        self, forest: Forest, edge_gains: EdgeGains, root_gains: Floats, lanes: int, length: int
    ) -> list[GrammarTree]:
        """The best trees of the first lanes, the rows of gains and of ``lexical`` being filled.

        ``root_gains`` [node of the root cell, lane] is -inf for what is no root.
        """
        gains, values = self.rows(forest)
        search_forest(forest, self.label, gains, edge_gains, self._chains, values, length)
        question = Question(lanes, self._tie, length)
        best_trees(forest, self.label, gains, edge_gains, self._chains, values, root_gains, question)
        ends = values.tree_end[:lanes].tolist()
        starts, stops, symbols = values.tree_nodes[:, : ends[-1]]
        found, begin = [], 0
        for end, score in zip(ends, values.tree_value[:lanes].tolist(), strict=True):
            derivation = derivation_of(starts[begin:end], stops[begin:end], symbols[begin:end], score)
            found.append(GrammarTree(score, derivation.nodes, derivation.preterminals))
            begin = end
        return found


def _new_rows(forest: Forest, left_value: Floats, group_share: Floats, rule_log_prob: Floats) -> Rows:
    def rows(count: int) -> Floats:
        return np.zeros((count, LANES))

    nodes, unaries = len(forest.node_start), len(forest.unary_rule)
    own = rows(nodes)
    return Rows(
        Gains(
            node=rows(nodes),
            unary=rows(unaries),
            unary_rule=rows(unaries),
            foot=rows(len(forest.node_first)),
            production=np.zeros(len(forest.production_parent)),
            children=np.zeros(len(forest.production_parent)),
            span=np.zeros(len(forest.node_first)),
            rule_log_prob=rule_log_prob,
            weights=np.zeros((WEIGHTS, LANES)),
            share=np.zeros(len(forest.production_parent)),
            group_share=group_share,
        ),
        Values(
            own=own,
            best=rows(nodes) if unaries else own,
            split=rows(len(forest.group_pair)),
            lexical=rows(nodes),
            shared=np.zeros(len(forest.production_parent)),
            left_value=left_value,
            # A tree has a node no more than once.
            tree_nodes=np.empty((3, LANES * nodes), np.int32),
            tree_end=np.zeros(LANES, np.int32),
            tree_value=np.zeros(LANES),
        ),
    )
