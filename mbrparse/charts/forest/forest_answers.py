"""What charts are asked for, answered by forests: one sentence after the other in the same memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.base.chart import TOO_IMPROBABLE, TOO_LARGE, Chart, Derivation, Wanted
from mbrparse.charts.base.clock import Clock
from mbrparse.charts.base.packed_forest import Alive, Forest, forest_cell
from mbrparse.charts.base.rule_tables import Ints
from mbrparse.charts.base.span_summary import SpanEntries, empty_summary, no_entries
from mbrparse.charts.forest.forest_outside import list_forest_entries, summarize_forest
from mbrparse.charts.forest.forests import Forests
from mbrparse.errors import ChartOverflowError, NumberRangeError
from mbrparse.grammar.pcfg import PCFG, IntArray

Scaled = tuple[npt.NDArray[np.float64], float]


class _Held(NamedTuple):
    """The sentence whose forest is in memory (a chart would hold this in turn)."""

    terminal_ids: IntArray
    alive: Alive | None
    everything: bool  # also nodes that are not predicted
    log_prob: float

    def is_of(self, chart: Chart) -> bool:
        """Whether it is a chart's."""
        return self.terminal_ids is chart.terminal_ids and self.alive is chart.alive


class ForestAnswers:
    """Fills charts for one grammar by forests; ``label`` [symbol] are those that posteriors are of."""

    def __init__(self, grammar: PCFG, label: Ints, n_labels: int, tie: float, clock: Clock) -> None:
        self.forests = Forests(grammar, clock=clock, tie=tie)
        self._tie = tie
        self._label, self._n_labels = label, n_labels
        self._held: _Held | None = None

    def groups(self, charts: Sequence[Chart]) -> Iterator[list[Chart]]:
        """Each chart by itself."""
        for chart in charts:
            yield [chart]

    def fill(self, charts: Sequence[Chart], wanted: Wanted) -> Sequence[Chart]:
        """Fill charts; one that does not fit is left without a parse. Raises TimeLimitError."""
        for chart in charts:
            try:
                self._fill(chart, wanted)
            except ChartOverflowError:
                chart.give_up(TOO_LARGE)
        return []

    def _fill(self, chart: Chart, wanted: Wanted) -> None:
        if wanted.nodes:
            self._held = None
            chart.nodes = self.forests.inside_nodes(chart.terminal_ids, wanted.nodes == "all")
            if chart.nodes is None:
                chart.give_up(TOO_IMPROBABLE)
            return
        is_held = self._held is not None and self._held.is_of(chart)
        if wanted == Wanted(summaries=False, derivations=True) and not is_held:
            self._held = None
            chart.put(derivation=self.forests.viterbi(chart.terminal_ids, chart.alive))
            return
        forest, n = self._filled(chart), chart.length
        chart.in_logarithms = self.forests.logarithms is not None and chart.has_parse
        # Posteriors do not depend on what was lost, but what searches all derivations may.
        if wanted.forest and (chart.in_logarithms or (chart.has_parse and self.forests.lost_values)):
            chart.give_up(TOO_IMPROBABLE)
            return
        if not chart.has_parse:
            chart.put(None, empty_summary(n), Derivation(-math.inf, [], []), no_entries())
            return
        label, count = self._label, self._n_labels
        if wanted.summaries:
            summary = empty_summary(n)  # over single terminals preterminals alone count
            summarize_forest(forest, label, count, n, self._tie, summary)
            chart.put(summary=summary)
        if wanted.entries:
            chart.put(entries=_forest_entries(forest, label, count, n))
        if wanted.derivations:
            held, self._held = self._held, None  # what ends this early may leave maxima behind
            chart.put(derivation=self.forests.derivation(chart.terminal_ids, chart.alive))
            self._held = held if self.forests.has_sums else None

    def forest(self, chart: Chart) -> Forest:
        """The forest of a chart, which stands until another is asked for.

        Raises ChartOverflowError if memory does not suffice (any longer), TimeLimitError, and
        NumberRangeError.
        """
        forest = self._filled(chart)
        if self.forests.lost_values or self.forests.logarithms is not None:
            raise NumberRangeError(TOO_IMPROBABLE)
        return forest

    def _filled(self, chart: Chart, everything: bool = False) -> Forest:
        """Fill the forest if it is another's: without what is not predicted, or with ``everything``."""
        held = self._held
        # Of nodes that are not predicted some may be out of range which the others are not.
        other = held is not None and held.everything != everything and self.forests.logarithms is not None
        if held is None or not held.is_of(chart) or everything > held.everything or other:
            self._held = None
            _, log_prob = self.forests.fill(chart.terminal_ids, chart.alive, everything)
            self._held = held = _Held(chart.terminal_ids, chart.alive, everything, log_prob)
        if not everything:
            chart.put(log_prob=held.log_prob)
        return self.forests.forest

    def cell(self, chart: Chart, start: int, end: int) -> tuple[IntArray, Scaled, Scaled]:
        """Symbols of a span, in some tree or not, their inside and outside values, each with its scale."""
        forest = self._filled(chart, everything=True)
        cell = forest_cell(start, end)
        found = slice(forest.node_first[cell], forest.node_first[cell + 1])
        order = np.argsort(forest.node_symbol[found])
        if self.forests.logarithms is not None:
            values = self.forests.logarithms.values
            inside, outside = values.inside[found][order], values.outside[found][order]
            return forest.node_symbol[found][order], _scaled(inside), _scaled(outside)
        scale = self.forests.log_scale_of(chart.terminal_ids, start, end)
        log_prob = self._held.log_prob if self._held is not None else -math.inf
        return (
            forest.node_symbol[found][order],
            (forest.inside[found][order], -scale),
            (forest.outside[found][order], scale + log_prob),
        )


def _scaled(logs: npt.NDArray[np.float64]) -> Scaled:
    """Values whose logarithms these are, over the largest, and its logarithm."""
    largest = float(logs.max(initial=-math.inf))
    return (np.exp(logs - largest), largest) if largest > -math.inf else (np.zeros_like(logs), 0.0)


def _forest_entries(forest: Forest, label: Ints, n_labels: int, n: int) -> SpanEntries:
    """Expected numbers above zero of labels over spans, single terminals included; labels in order."""
    count = int(forest.node_first[n * (n + 1) // 2])
    starts, ends, label_ids = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    room = SpanEntries(starts, ends, label_ids, np.empty(count), np.zeros(count))
    found = list_forest_entries(forest, label, n_labels, n, room)
    return SpanEntries(*(values[:found].copy() for values in room))
