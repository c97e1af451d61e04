"""Filling charts: batches of sentences, and the choice of the kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from mbrparse.grammar.charts.base.chart import Cell, Chart, Wanted
from mbrparse.grammar.charts.base.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.base.packed_forest import Forest
from mbrparse.grammar.charts.base.rule_tables import Ints, Rules, chart_rules, wide_symbols
from mbrparse.grammar.charts.forest.forest_answers import ForestAnswers
from mbrparse.grammar.charts.lanes.dense_charts import DenseCharts
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.io.errors import GrammarError, TimeLimitError

Precision = Literal["double", "single"]
Kernel = Literal["dense", "forest"]

#: How much better a candidate must be to replace an earlier one, relative.
TIE = {"double": 1e-9, "single": 1e-5}
_DTYPES = {"double": np.float64, "single": np.float32}

#: Beyond so many wide symbols most are zero in most cells, unless each has rules with many others.
MAX_DENSE_SYMBOLS = 400
_MAX_SYMBOLS, _MANY_PAIRS = 1024, 16

# What the chart of a longest sentence may take, with as many symbols in a cell as are likely.
_CHART_BYTES = 2 << 30
_NODE_BYTES = 52
_LIKELY_SYMBOLS = 256
# A dense chart of one sentence has all wide symbols everywhere, and the other half of the square.
_DENSE_BYTES = 32


def default_max_length(grammar: PCFG) -> int:
    """The longest sentence that is parsed unless the user says otherwise: about 2 GB of chart."""
    rules = chart_rules(grammar)
    symbols = max(len(wide_symbols(rules)), 1)
    cell = _NODE_BYTES * min(symbols, _LIKELY_SYMBOLS)
    if suits_dense(rules):
        cell = max(cell, _DENSE_BYTES * symbols)
    return math.isqrt(2 * _CHART_BYTES // cell)


def suits_dense(rules: Rules) -> bool:
    """Whether the dense kernel parses by a grammar (two words and more), or forests do.

    It takes few wide symbols, and more of them where all go with many others.
    """
    symbols = len(wide_symbols(rules))
    if MAX_DENSE_SYMBOLS < symbols <= _MAX_SYMBOLS:
        pairs = np.unique(rules.left.astype(np.int64) * rules.n_symbols + rules.right)
        return len(pairs) >= _MANY_PAIRS * symbols
    return symbols <= MAX_DENSE_SYMBOLS


class ChartFactory:
    """Fills charts for one grammar, in batches, with the kernel that suits grammar and length.

    ``kernel`` takes that choice away (for tests and benchmarks); a grammar with unary rules is for forests,
    whatever its size. Values of a sentence do not depend on its batch. Forests' posteriors are of ``label``
    [symbol], by default the projected labels. ``clock`` limits the time of each chart. Charts raise
    GrammarError where unary rules are a cycle of probability one.
    """

    def __init__(
        self,
        grammar: PCFG,
        precision: Precision = "double",
        wanted: Wanted = Wanted(),  # noqa: B008  # immutable
        kernel: Kernel | None = None,
        clock: Clock = NO_LIMIT,
        label: Ints | None = None,
    ) -> None:
        self.grammar = grammar
        self.precision = precision
        self.wanted = wanted
        self._clock = clock
        if grammar.has_unaries and kernel == "dense":
            raise GrammarError(
                "the dense kernel takes no unary rules", remedy="leave the choice to the grammar"
            )
        self._forced: Kernel | None = "forest" if grammar.has_unaries else kernel
        self._is_dense = suits_dense(chart_rules(grammar))
        self._dense_charts: DenseCharts | None = None
        self._double_dense_charts: DenseCharts | None = None
        self._label = grammar.label_ids if label is None else label

    def charts(self, sentences: Sequence[IntArray]) -> list[Chart]:
        """One chart for each sentence of known terminals (one or more each)."""
        charts = [Chart(self, terminal_ids) for terminal_ids in sentences]
        for group in self._groups(charts):
            self._fill_in_time(group)
        return charts

    def each(self, sentences: Sequence[IntArray]) -> Iterator[Chart]:
        """One chart after the other, each filled when it is reached."""
        for terminal_ids in sentences:
            yield from self._fill_in_time([Chart(self, terminal_ids)])

    def fill(self, charts: Sequence[Chart], wanted: Wanted) -> None:
        """Compute what is wanted of charts."""
        for group in self._groups(charts):
            self._fill(group, wanted)

    def _groups(self, charts: Sequence[Chart]) -> Iterator[list[Chart]]:
        """The charts that are filled together, all by one kernel."""
        dense = [chart for chart in charts if self._kernel(chart) == "dense"]
        if dense:
            yield from self._dense.groups(dense)
        for chart in charts:
            if self._kernel(chart) == "forest":
                yield [chart]

    def _fill(self, group: Sequence[Chart], wanted: Wanted) -> None:
        left = group
        if self._kernel(group[0]) == "dense":
            # A lane whose values left the numbers' range is left to wider numbers, then forests.
            left = self._dense.fill(group, wanted)
            if left and self.precision == "single":
                left = [still for chart in left for still in self._double_dense.fill([chart], wanted)]
        if left:
            self.forests.fill(left, wanted)

    def _fill_in_time(self, group: Sequence[Chart]) -> Sequence[Chart]:
        """Fill charts, and return them; where the time of one does not suffice for all, each has its own."""
        try:
            with self._clock.running():
                self._fill(group, self.wanted)
        except TimeLimitError as error:
            if len(group) == 1:
                group[0].give_up(error.message)
                return group
            for chart in group:
                self._fill_in_time([chart])
        else:
            for chart in group:
                chart.spent = self._clock.counted / len(group)
        return group

    def cell(self, chart: Chart, start: int, end: int) -> Cell:
        """Inside and outside of one span's symbols."""
        found = self._dense.cell(chart, start, end) if self._kernel(chart) == "dense" else None
        symbols, inside, outside = found or self.forests.cell(chart, start, end)
        with np.errstate(divide="ignore"):
            log_inside, log_outside = np.log(inside[0]) + inside[1], np.log(outside[0]) + outside[1]
        live, met = inside[0] > 0, (inside[0] > 0) & (outside[0] > 0)
        return Cell((symbols[live], log_inside[live]), (symbols[met], log_outside[met]))

    def forest(self, chart: Chart) -> Forest:
        """The forest of a chart, whoever filled that."""
        return self.forests.forest(chart)

    def _kernel(self, chart: Chart) -> Kernel:
        if self._forced is not None and chart.length > 1:
            return self._forced
        return "dense" if self._is_dense and chart.length > 1 else "forest"

    @property
    def _dense(self) -> DenseCharts:
        if self._dense_charts is None:
            self._dense_charts = self._new_dense(self.precision)
        return self._dense_charts

    @property
    def _double_dense(self) -> DenseCharts:
        """The dense charts of what single precision has no range for."""
        if self._double_dense_charts is None:
            self._double_dense_charts = self._new_dense("double")
        return self._double_dense_charts

    def _new_dense(self, precision: Precision) -> DenseCharts:
        return DenseCharts(self.grammar, _DTYPES[precision], TIE[self.precision], self._clock)

    @cached_property
    def forests(self) -> ForestAnswers:
        """The forests of what lanes do not take."""
        count = int(self._label.max(initial=-1)) + 1
        return ForestAnswers(self.grammar, self._label, count, TIE[self.precision], self._clock)
