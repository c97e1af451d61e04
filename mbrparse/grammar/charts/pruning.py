"""Coarse to fine: what posteriors of a projected grammar leave of a finer one's chart, and such charts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mbrparse.grammar.charts.base.alive import alive_labels
from mbrparse.grammar.charts.base.chart import Chart, Pruned, Wanted
from mbrparse.grammar.charts.base.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.base.packed_forest import Alive
from mbrparse.grammar.charts.base.rule_tables import Ints
from mbrparse.grammar.charts.factory import ChartFactory, Precision
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.grammar.projection import projected_grammar
from mbrparse.io.errors import TimeLimitError

# How much lower the threshold is that is tried where a sentence loses all its parses to one. What has none
# then mostly has none at all.
_LOWER = 1e-3


class Mask(NamedTuple):
    """What may stand in a sentence's chart (None: anything), and what it comes from."""

    alive: Alive | None
    threshold: float
    log_projected: float  # the sentence's log probability under the projected grammar


class Pruning:
    """Says of sentences which labels are alive: those with more posterior than ``threshold``.

    The posterior of a label over a span is how often it is expected there under the projected grammar. Of a
    finer grammar's chain of unary rules this is asked of the last symbol only, which binary and lexical rules
    make.
    """

    def __init__(self, grammar: PCFG, threshold: float, clock: Clock) -> None:
        self._labels = grammar.label_ids
        self._threshold = threshold
        self._projected = projected_grammar(grammar)
        self._factory = ChartFactory(self._projected, wanted=Wanted(False, False, True), clock=clock)
        self._within = ChartFactory(self._projected, kernel="forest", clock=clock)

    def charts(self, sentences: Sequence[IntArray]) -> list[Chart]:
        """The projected grammar's charts; its dense kernel takes several sentences side by side."""
        return self._factory.charts(sentences)

    def masks(self, chart: Chart) -> Iterator[Mask]:
        """What is alive by lower and lower thresholds, until the sentence has a parse; at last anything."""
        if chart.has_parse:
            entries, count = chart.span_posteriors(), len(self._projected.labels)
            for threshold in (self._threshold, self._threshold * _LOWER):
                alive = alive_labels(chart.length, entries, threshold, self._labels, count)
                yield Mask(alive, threshold, chart.log_prob)
        yield Mask(None, 0.0, chart.log_prob)

    def pruned(self, terminal_ids: IntArray, mask: Mask) -> Pruned:
        """What a mask leaves out; that takes a pass of the projected grammar within it."""
        if mask.alive is None:
            return Pruned(0.0, 0.0)
        alive = mask.alive._replace(label=self._projected.label_ids)
        return Pruned(mask.threshold, left_out(self._within, terminal_ids, alive, mask.log_projected))


def left_out(within: ChartFactory, terminal_ids: IntArray, alive: Alive, log_prob: float) -> float:
    """The share of a sentence's probability that is in derivations of which something is not alive.

    ``within`` fills forests; ``log_prob`` is the sentence's.
    """
    chart = Chart(within, terminal_ids)
    chart.alive = alive
    return max(0.0, -math.expm1(chart.log_prob - log_prob))


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
