"""Charts of a large grammar within what the projected grammar deems possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mbrparse.grammar.charts.base.chart import Chart, Pruned, Wanted
from mbrparse.grammar.charts.base.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.base.rule_tables import Ints
from mbrparse.grammar.charts.factory import ChartFactory, Precision
from mbrparse.grammar.charts.pruning import Mask, Pruning
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.io.errors import TimeLimitError


class PrunedChart(Chart):
    """A chart of the labels that are alive: all that it says is of the derivations that are left."""

    def __init__(self, charts: PrunedCharts, terminal_ids: IntArray, mask: Mask) -> None:
        super().__init__(charts, terminal_ids)
        self.alive = mask.alive
        self._mask = mask
        self._pruning = charts.pruning

    @property
    def pruned(self) -> Pruned:
        """What was left out."""
        return self._pruning.pruned(self.terminal_ids, self._mask)


class PrunedCharts(ChartFactory):
    """Fills charts for one grammar of annotated labels, by forests.

    A sentence that would lose all its parses gets a lower threshold, and at last none.
    """

    def __init__(
        self,
        grammar: PCFG,
        pruning: Pruning,
        precision: Precision = "double",
        wanted: Wanted = Wanted(),  # noqa: B008  # immutable
        clock: Clock = NO_LIMIT,
        label: Ints | None = None,
    ) -> None:
        super().__init__(grammar, precision, wanted, "forest", clock, label)
        self.pruning = pruning

    def charts(self, sentences: Sequence[IntArray]) -> list[Chart]:
        """One chart for each sentence of known terminals (one or more each)."""
        return list(self.each(sentences))

    def each(self, sentences: Sequence[IntArray]) -> Iterator[Chart]:
        """The same, each filled when it is reached."""
        return map(self._chart, self.pruning.charts(sentences))

    def _chart(self, projected: Chart) -> Chart:
        chart = Chart(self, projected.terminal_ids)
        if projected.refusal is not None:
            chart.give_up(projected.refusal)
            return chart
        try:
            with self._clock.running(projected.spent):
                for mask in self.pruning.masks(projected):
                    chart = PrunedChart(self, projected.terminal_ids, mask)
                    self.fill([chart], self.wanted)
                    if chart.has_parse or chart.refusal is not None:
                        break
        except TimeLimitError as error:
            chart.give_up(error.message)
        else:
            chart.spent = projected.spent + self._clock.counted
        return chart
