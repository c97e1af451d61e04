"""Charts of a large grammar within what the projected grammar deems possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mbrparse.errors import TimeLimitError
from mbrparse.grammar.charts.chart import Chart, Wanted
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.factory import ChartFactory, Precision
from mbrparse.grammar.charts.pruning import CoarseCharts, Pruned
from mbrparse.grammar.charts.sparse.alive import Alive
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.grammar.projection import projected_grammar

# How much lower the threshold is that is tried where a sentence loses all its parses to one. What has none then
# mostly has none at all.
_LOWER = 1e-3


class PrunedChart(Chart):
    """A chart of the labels that are alive: all that it says is of the derivations that are left."""

    def __init__(self, charts: PrunedCharts, terminal_ids: IntArray, log_projected: float) -> None:
        super().__init__(charts, terminal_ids)
        self._charts = charts
        self._log_projected = log_projected
        self.threshold = 0.0

    @property
    def pruned(self) -> Pruned:
        """What was left out; it takes a pass of the projected grammar within what is alive."""
        if self.alive is None:
            return Pruned(0.0, 0.0)
        coarse = self._charts.coarse
        return Pruned(self.threshold, coarse.left_out(self.terminal_ids, self.alive, self._log_projected))


class PrunedCharts(ChartFactory):
    """Fills charts for one grammar of annotated labels, by the sparse kernel.

    A symbol has no place over a span where the posterior of its label (how often it is expected there) under
    the projected grammar is no more than ``threshold``; of a chain of unary rules this is asked of its last
    symbol only, the one that binary and lexical rules make. A sentence that would lose all its parses gets a lower threshold, and at last none.
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
        self.coarse = CoarseCharts(projected_grammar(grammar), clock)

    def charts(self, sentences: Sequence[IntArray]) -> list[Chart]:
        """One chart for each sentence of known terminals (one or more each)."""
        return [self._chart(coarse) for coarse in self.coarse.charts(sentences)]

    def _chart(self, coarse: Chart) -> Chart:
        if coarse.refusal is not None:
            chart = PrunedChart(self, coarse.terminal_ids, coarse.log_prob)
            chart.give_up(coarse.refusal)
            return chart
        try:
            with self._clock.running(coarse.spent):
                for threshold, alive in self._masks(coarse):
                    chart = PrunedChart(self, coarse.terminal_ids, coarse.log_prob)
                    chart.threshold, chart.alive = threshold, alive
                    self.fill([chart], self.wanted)
                    if chart.has_parse or chart.refusal is not None:
                        break
        except TimeLimitError as error:
            chart.give_up(error.message)
        else:
            chart.spent = coarse.spent + self._clock.counted
        return chart

    def _masks(self, coarse: Chart) -> Iterator[tuple[float, Alive | None]]:
        """Thresholds, and what is alive then; at last anything is."""
        if coarse.has_parse:
            for threshold in (self._threshold, self._threshold * _LOWER):
                alive = self.coarse.alive(coarse.length, coarse.span_posteriors(), threshold)
                yield threshold, alive._replace(label=self.grammar.label_ids)
        yield 0.0, None
