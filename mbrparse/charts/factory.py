"""Filling charts: batches of sentences, and the choice of the backend (``BACKENDS``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mbrparse.charts.base.clock import NO_LIMIT, Clock
from mbrparse.charts.base.packed_forest import Forest
from mbrparse.charts.chart import Cell, Chart, Wanted
from mbrparse.charts.dense.dense_charts import DenseCharts
from mbrparse.charts.forest.forest_answers import ForestAnswers
from mbrparse.charts.rule_tables import Ints, Rules, chart_rules, wide_symbols
from mbrparse.errors import GrammarError, TimeLimitError
from mbrparse.grammar.pcfg import PCFG, IntArray

Precision = Literal["double", "single"]
Kernel = Literal["dense", "forest"]

#: How much better a candidate must be to replace an earlier one, relative.
TIE = {"double": 1e-9, "single": 1e-5}
Scaled = tuple[NDArray[np.float64], float]
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


class Backend(Protocol):
    """One kind of chart, for one grammar."""

    def groups(self, charts: Sequence[Chart]) -> Iterator[list[Chart]]:
        """Which charts are filled at once."""
        ...

    def fill(self, charts: Sequence[Chart], wanted: Wanted) -> Sequence[Chart]:
        """Fill a group of charts; returns those that need more range. Raises TimeLimitError."""
        ...

    def cell(self, chart: Chart, start: int, end: int) -> tuple[IntArray, Scaled, Scaled] | None:
        """Symbols of a span, inside and outside values, each with its log scale (None: see ``fill``)."""
        ...


class BackendRow(NamedTuple):
    """Which grammars and sentences a kind of chart takes, and what makes it."""

    kernel: Kernel
    precision: Precision
    least_length: int
    suits: Callable[[PCFG], bool] | None  # None: it takes all
    make: Callable[[ChartFactory, Precision], Backend]


class ChartFactory:
    """Fills charts for one grammar, in batches, with the backend that suits grammar and length.

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
        self._label = grammar.label_ids if label is None else label
        self._rows = [row for row in BACKENDS if self._serves(row, kernel)]
        self._backends: dict[BackendRow, Backend] = {}

    def _serves(self, row: BackendRow, kernel: Kernel | None) -> bool:
        if row.suits is None:
            return True
        suits = row.suits(self.grammar) if kernel is None else row.kernel == kernel
        return suits and row.precision in ("double", self.precision)

    @property
    def in_company(self) -> bool:
        """Whether sentences are filled together."""
        return any(row.kernel == "dense" for row in self._rows)

    def chart(self, terminal_ids: IntArray) -> Chart:
        """The chart of a sentence of known terminals (one or more); each answer is computed when asked for.

        Answers raise ChartOverflowError where memory does not suffice, and NumberRangeError where values
        leave the range of a forest's numbers.
        """
        chart = Chart(self, terminal_ids)
        chart.raises = True
        return chart

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
        """The charts that are filled together, all by one backend."""
        for row in self._rows:
            mine = [chart for chart in charts if chart.length >= row.least_length]
            if mine:
                yield from self._backend(row).groups(mine)
                charts = [chart for chart in charts if chart.length < row.least_length]

    def _rows_of(self, chart: Chart) -> list[BackendRow]:
        """The backends of a chart, each of which takes over what those before it have no range for."""
        return [row for row in self._rows if row.least_length <= chart.length]

    def _fill(self, group: Sequence[Chart], wanted: Wanted) -> None:
        first, *others = self._rows_of(group[0])
        left = self._backend(first).fill(group, wanted)
        for row in others:
            if not left:
                return
            backend = self._backend(row)
            left = [chart for part in backend.groups(left) for chart in backend.fill(part, wanted)]

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
        found = (self._backend(row).cell(chart, start, end) for row in self._rows_of(chart))
        symbols, inside, outside = next(values for values in found if values is not None)
        with np.errstate(divide="ignore"):
            log_inside, log_outside = np.log(inside[0]) + inside[1], np.log(outside[0]) + outside[1]
        live, met = inside[0] > 0, (inside[0] > 0) & (outside[0] > 0)
        return Cell((symbols[live], log_inside[live]), (symbols[met], log_outside[met]))

    def forest(self, chart: Chart) -> Forest:
        """The forest of a chart, whoever filled that."""
        return self.forests.forest(chart)

    def _backend(self, row: BackendRow) -> Backend:
        if row not in self._backends:
            self._backends[row] = row.make(self, row.precision)
        return self._backends[row]

    def lanes(self, precision: Precision) -> DenseCharts:
        """Lanes of numbers of a precision; ties are those of the precision that is asked for."""
        return DenseCharts(self.grammar, _DTYPES[precision], TIE[self.precision], self._clock)

    @cached_property
    def forests(self) -> ForestAnswers:
        """The forests of what lanes do not take."""
        count = int(self._label.max(initial=-1)) + 1
        return ForestAnswers(self.grammar, self._label, count, TIE[self.precision], self._clock)


def _suits_lanes(grammar: PCFG) -> bool:
    return not grammar.has_unaries and suits_dense(chart_rules(grammar))


def _forests(factory: ChartFactory, _: Precision) -> Backend:
    return factory.forests


#: In the order in which they are asked. What one has no range for is left to the next; a new kind of chart is
#: a folder and a row.
BACKENDS = (
    BackendRow("dense", "single", 2, _suits_lanes, ChartFactory.lanes),
    BackendRow("dense", "double", 2, _suits_lanes, ChartFactory.lanes),
    BackendRow("forest", "double", 1, None, _forests),
)
