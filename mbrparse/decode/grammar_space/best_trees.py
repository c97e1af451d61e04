"""A search of a forest, and the trees that come of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mbrparse.decode.grammar_space.chains import new_chains
from mbrparse.decode.grammar_space.gains import LANES, Gains
from mbrparse.decode.grammar_space.search import EdgeGains, Question, Values, best_tree, search_forest
from mbrparse.grammar.charts.dense_charts import derivation_of
from mbrparse.grammar.charts.forest import Forest, forest_cell
from mbrparse.grammar.charts.tables import Floats, Ints


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
    """Searches forests of one grammar; a tree is asked for by lane."""

    def __init__(self, label: Ints, n_unaries: int, tie: float) -> None:
        """``label`` [symbol] says which symbols share items."""
        self.label = label
        self._chains = new_chains(len(label), n_unaries)
        self._tie = tie
        self._rows: Rows | None = None
        self._sized_for: Forest | None = None

    def rows(self, forest: Forest) -> Rows:
        """Rows that fit a forest; they live until one of another size comes."""
        if self._rows is None or self._sized_for is not forest:
            self._rows, self._sized_for = _new_rows(forest), forest
        return self._rows

    def search(self, forest: Forest, edge_gains: EdgeGains, groups: int, length: int) -> None:
        """Find the best values, the rows of gains and of ``lexical`` being filled."""
        gains, values = self.rows(forest)
        values.split[:groups] = -np.inf
        search_forest(forest, self.label, gains, edge_gains, self._chains, values, length)

    def tree(
        self, forest: Forest, edge_gains: EdgeGains, root_gains: Floats, lane: int, length: int
    ) -> GrammarTree:
        """A lane's best tree after ``search``; ``root_gains`` [symbol] is -inf for what is no root."""
        gains, values = self.rows(forest)
        cell = forest_cell(0, length)
        roots = root_gains[forest.node_symbol[forest.node_first[cell] : forest.node_first[cell + 1]]]
        nodes, score = best_tree(
            forest,
            self.label,
            gains,
            edge_gains,
            self._chains,
            values,
            roots,
            Question(lane, self._tie, length),
        )
        derivation = derivation_of(nodes.start, nodes.end, nodes.symbol, score)
        return GrammarTree(score, derivation.nodes, derivation.preterminals)


def _new_rows(forest: Forest) -> Rows:
    def rows(count: int) -> Floats:
        return np.zeros((count, LANES))

    nodes, unaries = len(forest.node_start), len(forest.unary_rule)
    own = rows(nodes)
    return Rows(
        Gains(
            node=rows(nodes),
            production=rows(len(forest.production_parent)),
            unary=rows(unaries),
            unary_rule=rows(unaries),
            foot=rows(len(forest.node_first)),
        ),
        Values(
            own=own,
            best=rows(nodes) if unaries else own,
            split=rows(len(forest.group_pair)),
            lexical=rows(nodes),
        ),
    )
