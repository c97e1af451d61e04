"""Charts of a large grammar within what the projected grammar deems possible (coarse to fine)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mbrparse.errors import TimeLimitError
from mbrparse.grammar.charts.chart import Chart, Wanted
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.factory import ChartFactory, Precision
from mbrparse.grammar.charts.sparse.alive import Alive, alive_labels
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.grammar.projection import projected_grammar

# How much lower a threshold is tried where a sentence loses all its parses to one.
_LOWER = 1e-2
_LOWEST = 1e-12


class Pruned(NamedTuple):
    """What a sentence was pruned at, and the share of its probability under the projected grammar that
    derivations have in which something is pruned."""

    threshold: float
    left_out: float


class PrunedChart(Chart):
    """A chart of the labels that are alive: what it says is of the derivations that are left."""

    threshold = 0.0
    log_projected = 0.0
    """The sentence's log probability under the projected grammar."""
    factory: PrunedCharts

    @property
    def pruned(self) -> Pruned:
        """What was left out."""
        return self.factory.pruned(self)


class PrunedCharts(ChartFactory):
    """Fills charts for one grammar of annotated labels, by the sparse kernel.

    Symbols have no place over a span where the posterior of their label (how often it is expected there)
    under the projected grammar is no more than ``threshold``. In a chain of unary rules this is asked of its
    first and its last symbol. A sentence that would lose all its parses gets a lower threshold, at last none.
    """

    def __init__(
        self,
        grammar: PCFG,
        threshold: float,
        precision: Precision = "double",
        wanted: Wanted = Wanted(),  # noqa: B008  # immutable
        clock: Clock = NO_LIMIT,
    ) -> None:
        super().__init__(grammar, precision, wanted, "sparse", clock)
        self._threshold = threshold
        self._projected = projected_grammar(grammar)
        self._coarse = ChartFactory(self._projected, wanted=Wanted(False, False, True), clock=clock)
        self._within = ChartFactory(self._projected, kernel="sparse", clock=clock)

    def charts(self, sentences: Sequence[IntArray]) -> list[Chart]:
        """One chart for each sentence of known terminals (one or more each)."""
        # The dense kernel takes sentences of like length side by side.
        coarse = self._coarse.charts(sentences)
        return [self._chart(one) for one in coarse]

    def _chart(self, coarse: Chart) -> Chart:
        chart = PrunedChart(self, coarse.terminal_ids)
        chart.factory, chart.spent = self, coarse.spent
        if coarse.refusal is not None:
            chart.give_up(coarse.refusal)
            return chart
        try:
            with self._clock.running(chart.spent):
                for chart.threshold, chart.alive in self._thresholds(coarse):
                    self.fill([chart], self.wanted)
                    if chart.has_parse or chart.refusal is not None:
                        break
        except TimeLimitError as error:
            chart.give_up(error.message)
        else:
            chart.spent += self._clock.counted
        chart.log_projected = coarse.log_prob
        return chart

    def _thresholds(self, coarse: Chart) -> Iterator[tuple[float, Alive | None]]:
        """What is alive, at lower and lower thresholds."""
        threshold = self._threshold
        if coarse.has_parse:
            entries, labels = coarse.span_posteriors(), self.grammar.label_ids
            while threshold > _LOWEST:
                alive = alive_labels(coarse.length, entries, threshold, labels, len(self.grammar.labels))
                yield threshold, alive
                threshold *= _LOWER
        yield 0.0, None

    def pruned(self, chart: PrunedChart) -> Pruned:
        """What a chart was pruned at, and what that left out."""
        if chart.alive is None:
            return Pruned(0.0, 0.0)
        within = Chart(self._within, chart.terminal_ids)
        within.alive = chart.alive._replace(label=self._projected.label_ids)
        return Pruned(chart.threshold, max(-math.expm1(within.log_prob - chart.log_projected), 0.0))
