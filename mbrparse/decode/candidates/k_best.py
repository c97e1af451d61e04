"""The k most probable derivations of a sentence, in exact order.

With unary rules derivations go around cycles as often as they like, each time less probable: they come in
their place as all others do. Derivations of one score come in the order of their first split, then of their
children's symbols.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.aside import aside
from mbrparse.decode.candidates.best_ways import SCALE, best_ways, scores_of
from mbrparse.decode.candidates.lazy_forest import LazyForest
from mbrparse.decode.candidates.sampler import Samples
from mbrparse.decode.candidates.ways import ways_of
from mbrparse.decode.derivations.forest_charts import ForestCharts
from mbrparse.grammar.pcfg import FloatArray, IntArray


class KBest(NamedTuple):
    """The most probable derivations, the best first, and the natural logarithms of their probabilities."""

    derivations: Samples
    log_probs: FloatArray


class KBestSearch:
    """Finds the k best derivations of sentences; the forests that it fills may be shared with charts."""

    def __init__(self, charts: ForestCharts) -> None:
        self._charts = charts
        forests = charts.forests
        self._rules = scores_of(forests.tables.rule_prob)
        self._unaries = scores_of(forests.unaries.rule_prob)
        self._roots = scores_of(forests.tables.root)

    def k_best(self, terminal_ids: IntArray, k: int) -> KBest:
        """The k most probable derivations of a sentence, or all if there are fewer.

        Raises ChartOverflowError or MemoryError where its forest does not fit, ValueError where it has none.
        """
        return aside(self._k_best, terminal_ids, k)

    def _k_best(self, terminal_ids: IntArray, k: int) -> KBest:
        self._charts.forest_of(terminal_ids)
        forests = self._charts.forests
        ways = ways_of(forests, len(terminal_ids))
        best = best_ways(ways, self._rules, self._unaries)
        search = LazyForest(ways, best, self._rules, self._unaries, self._roots, self._charts.clock)
        found = search.root(k)
        nodes = [search.nodes(rank) for rank in range(len(found))]
        first = np.cumsum([0, *map(len, nodes)], dtype=np.int32)
        rows = np.array([node for one in nodes for node in one], np.int32).reshape(-1, 3)
        columns = [column.copy() for column in rows.T]
        # Inside values of a forest are scaled, and so is the probability of a derivation.
        log_probs = np.array([-one.cost for one in found], np.float64) / SCALE - forests.log_scale
        return KBest(Samples(first, *columns), log_probs)
