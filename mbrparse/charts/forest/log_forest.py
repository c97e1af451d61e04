"""A forest's values in logarithms: slow, and exact in any range of numbers.

The structure of a forest (nodes, groups, edges, productions) does not depend on its values. Where some of
these leave the range that scaled values are exact in (``packed_forest.LEAST_VALUE``), they are computed again
here: log-sum-exp takes the place of sums, and maxima of logarithms that of maxima.
"""

from __future__ import annotations

import numpy as np

from mbrparse.charts.base.packed_forest import ForestState, forest_cell
from mbrparse.charts.base.rule_tables import Floats, Words
from mbrparse.charts.forest.forest_derivation import BestPaths
from mbrparse.charts.forest.log_passes import (
    LogTables,
    LogValues,
    log_best,
    log_inside,
    log_outside,
    normalize,
)

# Sums in logarithms and scaled sums differ by less.
_ROUNDING = 1e-10


class LogForest:
    """The values of one sentence's forest."""

    def __init__(self, state: ForestState, words: Words) -> None:
        """``words`` have unscaled probabilities."""
        self._state, self._words = state, words
        self._n = len(words.entry_start) - 1
        self._tables = _tables(state, state.unary.closure_value)
        #: Logarithms of inside and outside probabilities, by node.
        self.values = self._inside(self._tables, maximize=False)
        #: The natural logarithm of the sentence's probability.
        self.log_prob = float(log_outside(state, self._tables, self.values, self._n))

    def agrees(self) -> bool:
        """Whether the forest's own values give the same posteriors."""
        forest, nodes = self._state.forest, slice(self._state.forest.node_first[self._n * (self._n + 1) // 2])
        with np.errstate(invalid="ignore", over="ignore"):
            g = forest.inside[nodes] * forest.outside[nodes]
        exact = np.exp(self.values.inside[nodes] + self.values.outside[nodes] - self.log_prob)
        return bool((np.abs(g - exact) <= _ROUNDING * np.maximum(exact, 1.0)).all())

    def normalize(self) -> None:
        """Replace the forest's own values by such whose products are the posteriors."""
        normalize(self._state.forest, self.values, self.log_prob, self._n)

    def best_root(self, best: BestPaths) -> tuple[int, float]:
        """The root of the best derivation, which is kept in ``best``, and its log probability."""
        state = self._state
        values = self._inside(_tables(state, best.chains.prob), maximize=True)
        log_best(state, values, best, self._n)
        cell = forest_cell(0, self._n)
        roots = np.arange(state.forest.node_first[cell], state.forest.node_first[cell + 1])
        symbols = state.forest.node_symbol[roots]
        scores = self._tables.root[symbols] + values.inside[roots]
        equal = np.flatnonzero(scores >= scores.max() + np.log(best.least_share))
        return int(roots[equal[np.argmin(symbols[equal])]]), float(scores.max())

    def _inside(self, tables: LogTables, maximize: bool) -> LogValues:
        state = self._state
        nodes, groups = len(state.forest.inside), len(state.forest.group_sum)
        inside, outside, lexical, own = np.zeros((4, nodes))
        values = LogValues(inside, outside, lexical, own, *np.zeros((2, groups)))
        log_inside(state, tables, self._words, values, maximize)
        return values


def _tables(state: ForestState, chains: Floats) -> LogTables:
    with np.errstate(divide="ignore"):
        return LogTables(np.log(state.tables.rule_prob), np.log(state.tables.root), np.log(chains))
