"""Samples of a sentence's derivations by a DOP grammar: independent, each as often as it is probable."""

from __future__ import annotations

import numpy as np

from mbrparse.aside import aside
from mbrparse.decode.candidates.sampler import Samples
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.dop.dop_charts import DopCharts
from mbrparse.grammar.charts.dop.dop_draws import dop_draw, no_sums
from mbrparse.grammar.pcfg import IntArray


class DopSampler:
    """Draws derivations of sentences from charts' inside values."""

    def __init__(self, charts: DopCharts, clock: Clock = NO_LIMIT) -> None:
        self._charts = charts
        self._clock = clock

    def samples(self, terminal_ids: IntArray, count: int, seed: int) -> Samples:
        """So many derivations of a sentence which has one.

        The answer depends on the grammar, the sentence, the charts' threshold and the seed (zero or more),
        and on nothing else. Raises ChartOverflowError or MemoryError where a chart does not fit,
        TimeLimitError, ValueError where there is no derivation.
        """
        return aside(self._samples, terminal_ids, count, seed)

    def _samples(self, terminal_ids: IntArray, count: int, seed: int) -> Samples:
        return self.draws(terminal_ids, seed).more(count)

    def draws(self, terminal_ids: IntArray, seed: int) -> Draws:
        """The same in parts: what is drawn is the same however it is divided."""
        return Draws(self._charts, self._clock, terminal_ids, seed)


class Draws:
    """One sentence's derivations, some at a time."""

    def __init__(self, charts: DopCharts, clock: Clock, terminal_ids: IntArray, seed: int) -> None:
        self._filled = charts.filled(terminal_ids)
        self._clock = clock
        self._length = len(terminal_ids)
        self._sums = no_sums(self._filled.forest)
        self._random = np.random.Generator(np.random.PCG64([seed, self._length, *terminal_ids.tolist()]))

    def more(self, count: int) -> Samples:
        """So many more, while the charts hold the sentence; raises TimeLimitError."""
        filled, forest = self._filled, self._filled.forest
        width = 2 * self._length - 1
        drawn = np.empty((count, width), np.int32)
        self._sums = dop_draw(
            filled.tables, forest, filled.values, self._sums, drawn, self._random, self._clock.stop
        )
        self._clock.check()
        nodes = drawn.ravel()
        first = np.arange(count + 1, dtype=np.int32) * width
        return Samples(first, forest.start[nodes], forest.end[nodes], filled.symbols[nodes])
