"""Making charts: which engine serves a grammar and a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from mbrparse.charts.chart import TOO_LARGE, Chart, Wanted
from mbrparse.charts.dense.dense_answers import DenseAnswers
from mbrparse.charts.forest.forests import Forests
from mbrparse.charts.rule_tables import Ints, Rules, chart_rules, wide_symbols
from mbrparse.errors import ChartOverflowError, GrammarError, NumberRangeError
from mbrparse.grammar.pcfg import PCFG, IntArray

Precision = Literal["double", "single"]
Kernel = Literal["dense", "forest"]

#: How much better a candidate must be to replace an earlier one, relative.
TIE = {"double": 1e-9, "single": 1e-5}
TOLERANCE = 1e-9

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
    """Whether dense charts serve a grammar, or forests do.

    Dense charts take few wide symbols, and more of them where all go with many others.
    """
    symbols = len(wide_symbols(rules))
    if MAX_DENSE_SYMBOLS < symbols <= _MAX_SYMBOLS:
        pairs = np.unique(rules.left.astype(np.int64) * rules.n_symbols + rules.right)
        return len(pairs) >= _MANY_PAIRS * symbols
    return symbols <= MAX_DENSE_SYMBOLS


class ChartFactory:
    """Makes charts for one grammar: dense ones, or forests, as suits the grammar.

    A grammar with unary rules, one word alone, and a sentence whose values leave the range of a dense chart's
    numbers are for forests. ``kernel`` takes the choice away (for tests and benchmarks). Posteriors are of
    ``label`` [symbol], by default the projected labels. Raises GrammarError where unary rules are a cycle of
    probability one.
    """

    def __init__(
        self,
        grammar: PCFG,
        precision: Precision = "double",
        wanted: Wanted = Wanted(),  # noqa: B008  # immutable
        kernel: Kernel | None = None,
        clock: Any = None,
        label: Ints | None = None,
    ) -> None:
        if grammar.has_unaries and kernel == "dense":
            raise GrammarError(
                "the dense kernel takes no unary rules", remedy="leave the choice to the grammar"
            )
        self.grammar = grammar
        self.precision = precision
        self.wanted = wanted
        self._clock = clock
        self._label = grammar.label_ids if label is None else label
        self._is_dense = kernel == "dense" if kernel else self._suits_dense()

    def _suits_dense(self) -> bool:
        return not self.grammar.has_unaries and suits_dense(chart_rules(self.grammar))

    def chart(self, terminal_ids: IntArray) -> Chart:
        """The chart of a sentence of known terminals (one or more)."""
        dense = self._dense if self._is_dense and len(terminal_ids) > 1 else None
        return Chart(self.forests, terminal_ids, dense)

    @cached_property
    def _dense(self) -> DenseAnswers:
        return DenseAnswers(self.grammar, self._label, TOLERANCE)

    @cached_property
    def forests(self) -> Forests:
        """The forests of what dense charts do not take."""
        return Forests(self.grammar, TOLERANCE, self._label)

    # What stands below is for callers that fill charts in batches; it goes with them.

    def charts(self, sentences: Sequence[IntArray]) -> list[Chart]:
        """One chart for each sentence; one that does not fit is without a parse."""
        return [self._tried(self.chart(terminal_ids)) for terminal_ids in sentences]

    def each(self, sentences: Sequence[IntArray]) -> Iterator[Chart]:
        """The same, one after the other."""
        for terminal_ids in sentences:
            yield self._tried(self.chart(terminal_ids))

    def fill(self, charts: Sequence[Chart], wanted: Wanted) -> None:
        """Have charts answer."""
        for chart in charts:
            self._tried(chart, wanted)

    def _tried(self, chart: Chart, wanted: Wanted | None = None) -> Chart:
        wanted = wanted or self.wanted
        try:
            if wanted.forest:
                chart.forest()
            if wanted.derivations and not wanted.summaries:
                chart.viterbi()
            _ = chart.has_parse
        except ChartOverflowError:
            chart.give_up(TOO_LARGE)
        except NumberRangeError as error:
            chart.give_up(error.message)
        return chart
