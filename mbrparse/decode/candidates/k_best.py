"""The k most probable derivations of a sentence, in exact order.

With unary rules derivations go around cycles as often as they like, each time less probable: they come in
their place as all others do. Derivations of one score come in the order of their first split, then of their
children's symbols.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.charts.forest.top_down import LEXICAL, UNARY, TopDownForest, top_down_forest
from mbrparse.charts.forest_charts import ForestCharts
from mbrparse.decode.candidates.candidate_kernels import NONE, Best, Scores, best_derivations
from mbrparse.decode.candidates.lazy_search import SCALE, Alternative, LazySearch, Order, scores_of
from mbrparse.decode.candidates.samples import Samples
from mbrparse.grammar.pcfg import FloatArray, IntArray

#: Parts of derivations that are less probable, relatively, may leave the range of a forest's numbers.
LEAST_SHARE = 1e-100


class KBest(NamedTuple):
    """The most probable derivations, the best first, and the natural logarithms of their probabilities."""

    derivations: Samples
    log_probs: FloatArray


class KBestSearch:
    """Finds the k best derivations of sentences; the forests that it fills may be shared with charts."""

    def __init__(self, charts: ForestCharts) -> None:
        self._charts = charts
        tables, unaries = charts.forests.tables, charts.forests.unaries
        # Those of binary and unary rules, and of symbols as roots.
        rules, unary_rules = _of_probabilities(tables.rule_prob), _of_probabilities(unaries.rule_prob)
        self._scores = rules, unary_rules, _of_probabilities(tables.root)

    def k_best(self, terminal_ids: IntArray, k: int) -> KBest:
        """The k most probable derivations of a sentence, or all if there are fewer.

        Those that are less probable than ``LEAST_SHARE`` of the best one are none. Raises ChartOverflowError
        or MemoryError where its forest does not fit, ValueError where it has none, NumberRangeError.
        """
        forest = top_down_forest(self._charts, terminal_ids)
        search = _ForestSearch(forest, *self._scores)
        found = search.root(k)
        most = min((one.cost for one in found), default=0) - int(scores_of(np.log(LEAST_SHARE)))
        found = [one for one in found if one.cost <= most]
        nodes = [
            [vertex for vertex, _ in search.vertices(rank) if vertex < search.nodes]
            for rank in range(len(found))
        ]
        first = np.cumsum([0, *map(len, nodes)], dtype=np.int32)
        listed = np.array([node for one in nodes for node in one], np.int32)
        columns = forest.node_start[listed], forest.node_end[listed], forest.node_symbol[listed]
        # Inside values of a forest are scaled, and so is the probability of a derivation.
        scaled = np.array([-one.cost for one in found], np.float64) / SCALE
        return KBest(Samples(first, *columns), scaled - self._charts.forests.log_scale)


class _ForestSearch(LazySearch[int]):
    """The derivations of one sentence; vertices are its forest's nodes, then its groups, then the root."""

    def __init__(self, forest: TopDownForest, rules: Scores, unaries: Scores, roots: Scores) -> None:
        self.nodes = len(forest.node_symbol)
        count = self.nodes + len(forest.edge_first) - 1
        super().__init__(count)
        self._forest, self._rules, self._unaries, self._roots = forest, rules, unaries, roots
        self._top = Best(np.full(count, NONE, np.int64), np.full(count, -1, np.int32))
        self._lexical = _of_probabilities(forest.lexical)
        best_derivations(forest, rules, unaries, self._lexical, self._top)

    def _best(self, vertex: int) -> tuple[int, Order]:
        cost = -int(self._top.score[vertex])
        # Only groups hand on their order.
        return cost, self._order(int(self._top.place[vertex])) if vertex >= self.nodes else ()

    def _alternatives(self, vertex: int) -> tuple[list[Alternative[int]], int | None]:
        if vertex == self._root:
            return self._of_root(), None
        if vertex >= self.nodes:
            return self._of_group(vertex - self.nodes), None
        return self._of_node(vertex)

    def _of_root(self) -> list[Alternative[int]]:
        forest, roots = self._forest, self._roots
        nodes = np.arange(forest.node_first[-2], forest.node_first[-1])
        symbols = forest.node_symbol[nodes]
        live = (self._top.score[nodes] > NONE) & (roots[symbols] > NONE)
        rows = zip(roots[symbols[live]].tolist(), symbols[live].tolist(), nodes[live].tolist(), strict=True)
        return [Alternative(-score, (symbol,), (node,)) for score, symbol, node in rows]

    def _of_group(self, group: int) -> list[Alternative[int]]:
        forest, score = self._forest, self._top.score
        edges = np.arange(forest.edge_first[group], forest.edge_first[group + 1])
        left, right = forest.edge_left[edges], forest.edge_right[edges]
        live = (score[left] > NONE) & (score[right] > NONE)
        rows = zip(edges[live].tolist(), left[live].tolist(), right[live].tolist(), strict=True)
        return [Alternative(0, self._order(edge), (one, other)) for edge, one, other in rows]

    def _of_node(self, node: int) -> tuple[list[Alternative[int]], int]:
        forest, best = self._forest, 0
        first, last = int(forest.way_first[node]), int(forest.way_first[node + 1])
        found: list[Alternative[int]] = []
        rows = zip(forest.way_to[first:last].tolist(), forest.way_rule[first:last].tolist(), strict=True)
        for way, (to, rule) in enumerate(rows, first):
            if way == self._top.place[node]:
                best = len(found)
            child = UNARY - to if to <= UNARY else self.nodes + to
            if to == LEXICAL:
                found.append(Alternative(-int(self._lexical[node]), (-1,), ()))
            elif self._top.score[child] == NONE:
                continue
            elif to <= UNARY:
                # After all splits: of equal chains the shorter one.
                order = forest.length, int(forest.node_symbol[child])
                found.append(Alternative(-int(self._unaries[rule]), order, (child,)))
            else:
                found.append(Alternative(-int(self._rules[rule]), (), (child,)))
        return found, best

    def _order(self, edge: int) -> Order:
        """By split, then by the children's symbols."""
        forest = self._forest
        left, right = forest.edge_left[edge], forest.edge_right[edge]
        return int(forest.node_start[right]), int(forest.node_symbol[left]), int(forest.node_symbol[right])


def _of_probabilities(probs: FloatArray) -> Scores:
    """The scores of probabilities; ``NONE`` for zero."""
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(probs), -1e5)
    return np.where(probs > 0, scores_of(logs), NONE)
