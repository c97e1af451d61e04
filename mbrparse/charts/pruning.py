"""Coarse to fine: what posteriors of projected grammars leave of a finer one's chart, and such charts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mbrparse.charts.base.alive import alive_labels, still_alive
from mbrparse.charts.base.chart import TOO_LARGE, Chart, Pruned, Wanted
from mbrparse.charts.base.clock import NO_LIMIT, Clock
from mbrparse.charts.base.packed_forest import Alive
from mbrparse.charts.base.rule_tables import Ints
from mbrparse.charts.factory import ChartFactory, Precision
from mbrparse.errors import ChartOverflowError, NumberRangeError, TimeLimitError
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.grammar.projection import projected_grammar, projected_names, pruning_levels

# How much lower the threshold is that is tried where a sentence loses all its parses to one. What has none
# then mostly has none at all.
_LOWER = 1e-3
# Where a chart does not fit, thresholds are sought between its own, or this share of one that loses all
# parses, and that one, until they are so near each other.
_LEAST, _NEAR = 1e-9, 10.0
_ENTRIES = Wanted(summaries=False, entries=True)


class Level(NamedTuple):
    """A projected grammar."""

    grammar: PCFG
    label: Ints  # by symbol, what its posteriors are of
    n_labels: int
    finer: Ints  # by symbol of the next grammar, the same
    charts: ChartFactory
    within: ChartFactory  # fills forests


class Mask(NamedTuple):
    """What may stand in a sentence's chart (None: anything), and what it comes from."""

    alive: Alive | None = None
    threshold: float = 0.0
    steps: tuple[
        tuple[Alive, float], ...
    ] = ()  # by level: what was alive, its chart's log probability before


class Pruning:
    """Says of sentences which symbols are alive: those with more posterior than ``threshold``.

    The posterior of a label over a span is how often it is expected there under a projected grammar: first
    that of labels without annotations, then those with more and more bits of states, each parsing with what
    the one before it left. Of a chain of unary rules this is asked of the last symbol, which binary and
    lexical rules make, and of the first, where a binary rule takes it.
    """

    def __init__(self, grammar: PCFG, threshold: float, clock: Clock) -> None:
        self.threshold = threshold
        self.levels: list[Level] = []
        chosen = pruning_levels(grammar)
        grammars = [projected_grammar(grammar, level) for level in chosen]
        for level, projected, finer in zip(chosen, grammars, (*grammars[1:], grammar), strict=True):
            label, names = projected.label_ids, finer.label_ids
            if level:
                ids = {name: place for place, name in enumerate(projected.symbols)}
                label = np.arange(len(ids), dtype=np.int32)
                names = np.array([ids[name] for name in projected_names(finer, level)], np.int32)
            within = ChartFactory(projected, "double", _ENTRIES, "forest", clock, label)
            charts = within if level else ChartFactory(projected, wanted=_ENTRIES, clock=clock)
            self.levels.append(Level(projected, label, int(label.max()) + 1, names, charts, within))

    def charts(self, sentences: Sequence[IntArray]) -> list[Chart]:
        """The coarsest grammar's charts; its dense kernel takes several sentences side by side."""
        return self.levels[0].charts.charts(sentences)

    def mask(self, chart: Chart, threshold: float) -> Mask | str | None:
        """What is alive by a threshold, of a chart by the coarsest grammar (0: anything).

        None where a level loses all parses; or why its chart was given up.
        """
        if not threshold:
            return Mask()
        steps: list[tuple[Alive, float]] = []
        alive: Alive | None = None
        for level in self.levels:
            if alive is not None:
                chart = Chart(level.within.forests, chart.terminal_ids, alive=alive)
            if not chart.has_parse:
                return chart.refusal
            entries = chart.span_posteriors()
            if alive is not None:  # what stood between others alone is not alive by itself
                entries = still_alive(alive, entries)
            own = alive_labels(chart.length, entries, threshold, level.label, level.n_labels)
            steps.append((own, chart.log_prob))
            alive = own._replace(label=level.finer)
        return Mask(alive, threshold, tuple(steps))

    def pruned(self, terminal_ids: IntArray, mask: Mask) -> Pruned:
        """What a mask leaves out; that takes a pass of each projected grammar within it."""
        kept = 1.0
        for level, step in zip(self.levels, mask.steps, strict=False):
            kept *= 1.0 - left_out(level.within, terminal_ids, *step)
        return Pruned(mask.threshold, 1.0 - kept)


def left_out(within: ChartFactory, terminal_ids: IntArray, alive: Alive, log_prob: float) -> float:
    """The share of a sentence's probability that is in derivations of which something is not alive.

    ``within`` fills forests; ``log_prob`` is the sentence's.
    """
    chart = Chart(within.forests, terminal_ids, alive=alive)
    return max(0.0, -math.expm1(chart.log_prob - log_prob))


class PrunedChart(Chart):
    """A chart of the labels that are alive: all that it says is of the derivations that are left."""

    def __init__(self, charts: PrunedCharts, terminal_ids: IntArray, mask: Mask) -> None:
        super().__init__(charts.forests, terminal_ids, alive=mask.alive)
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

    def chart(self, terminal_ids: IntArray) -> Chart:
        """The chart of a sentence; raises as its answers would."""
        [chart] = self.charts([terminal_ids])
        if chart.refusal is not None:
            raise (ChartOverflowError if chart.refusal == TOO_LARGE else NumberRangeError)(chart.refusal)
        return chart

    def charts(self, sentences: Sequence[IntArray]) -> list[Chart]:
        """One chart for each sentence of known terminals (one or more each)."""
        return list(self.each(sentences))

    def each(self, sentences: Sequence[IntArray]) -> Iterator[Chart]:
        """The same, each filled when it is reached."""
        return map(self._chart, self.pruning.charts(sentences))

    def _chart(self, projected: Chart) -> Chart:
        chart = Chart(self.forests, projected.terminal_ids)
        if projected.refusal is not None:
            chart.give_up(projected.refusal)
            return chart
        try:
            with self._clock.running(projected.spent):
                chart = self._fitting(projected)
        except TimeLimitError as error:
            chart.give_up(error.message)
        else:
            chart.spent = projected.spent + self._clock.counted
        return chart

    def _fitting(self, projected: Chart) -> Chart:
        """The chart by the first threshold that leaves a parse, and one that fits into memory."""
        lost, threshold = 1.0, self.pruning.threshold if projected.has_parse else 0.0
        too_low: float | None = None
        while True:
            chart = self._by(projected, threshold)
            if chart.refusal == TOO_LARGE:
                too_low = max(threshold, lost * _LEAST)
            elif chart.has_parse or chart.refusal is not None or not threshold:
                return chart
            else:
                lost = threshold
            if too_low is None:
                threshold = threshold * _LOWER if threshold == self.pruning.threshold else 0.0
            elif too_low * _NEAR > lost:
                chart.give_up(TOO_LARGE)
                return chart
            else:
                threshold = math.sqrt(too_low * lost)

    def _by(self, projected: Chart, threshold: float) -> Chart:
        """The chart by a threshold; without a parse where a level loses all."""
        chart = Chart(self.forests, projected.terminal_ids)
        try:
            mask = self.pruning.mask(projected, threshold)
            if isinstance(mask, Mask):
                chart = PrunedChart(self, projected.terminal_ids, mask)
                self.fill([chart], self.wanted)
            elif mask is None:
                chart.put(log_prob=-math.inf)
            else:
                chart.give_up(mask)
        except (ChartOverflowError, MemoryError):
            chart.give_up(TOO_LARGE)
        return chart
