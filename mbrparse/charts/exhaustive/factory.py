"""Making charts: which engine serves a grammar and a sentence."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import cached_property
from typing import Literal

import numpy as np

from mbrparse.charts.chart import Chart
from mbrparse.charts.dense.dense_answers import DenseAnswers
from mbrparse.charts.forest.forests import Forests, InsideNodes
from mbrparse.charts.rule_tables import Ints, Rules, chart_rules, wide_symbols
from mbrparse.errors import GrammarError, NumberRangeError
from mbrparse.grammar.pcfg import PCFG, IntArray

Kernel = Literal["dense", "forest"]

#: How much better a candidate must be to replace an earlier one, relative.
TIE = 1e-9

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
    numbers are for forests.

    Parameters
    ----------
    grammar
        Its charts are made one by one (``chart``).
    kernel
        Takes the choice away, for tests and benchmarks.
    label : Ints, [symbol]
        What posteriors are of; by default the projected labels.

    Raises
    ------
    GrammarError
        Unary rules are a cycle of probability one (when the first forest is made).
    """

    def __init__(
        self,
        grammar: PCFG,
        kernel: Kernel | None = None,
        label: Ints | None = None,
    ) -> None:
        if grammar.has_unaries and kernel == "dense":
            raise GrammarError(
                "the dense kernel takes no unary rules", remedy="leave the choice to the grammar"
            )
        self.grammar = grammar
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
        return DenseAnswers(self.grammar, self._label, TIE)

    @cached_property
    def forests(self) -> Forests:
        """The forests of what dense charts do not take."""
        return Forests(self.grammar, TIE, self._label)

    def inside_nodes(self, terminal_ids: IntArray, everything: bool) -> InsideNodes:
        """The inside values of a sentence as a list: of what its left context predicts, or ``everything``.

        A dense chart's are always of everything. Raises as charts do, and NumberRangeError.
        """
        if self._is_dense and len(terminal_ids) > 1:
            with suppress(NumberRangeError):
                return self._dense.inside_nodes(terminal_ids)
        return self.forests.inside_nodes(terminal_ids, everything)
