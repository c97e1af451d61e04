"""What charts are asked for, answered by forests: one sentence after the other in the same memory."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mbrparse.charts.base.inside_nodes import InsideNodes
from mbrparse.charts.base.packed_forest import Alive, Forest, forest_cell
from mbrparse.charts.chart import TOO_IMPROBABLE, Cell, Chart, Derivation, log_cell
from mbrparse.charts.forest.forest_outside import list_forest_entries, summarize_forest
from mbrparse.charts.forest.forests import Forests
from mbrparse.charts.rule_tables import Floats, Ints
from mbrparse.charts.spans import SpanEntries, SpanSummary, empty_summary, no_entries
from mbrparse.errors import NumberRangeError
from mbrparse.grammar.pcfg import PCFG, IntArray


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
    """Answers for charts of one grammar by forests; ``label`` [symbol] are those that posteriors are of.

    What is asked raises ChartOverflowError where memory does not suffice.
    """

    def __init__(self, grammar: PCFG, label: Ints, n_labels: int, tie: float) -> None:
        self.forests = Forests(grammar, tie=tie)
        self._tie = tie
        self._label, self._n_labels = label, n_labels
        self._held: _Held | None = None

    def log_prob(self, chart: Chart) -> float:
        """The natural logarithm of the sentence's probability, -inf without a parse."""
        self._filled(chart)
        assert self._held is not None
        return self._held.log_prob

    def summary(self, chart: Chart) -> SpanSummary:
        """The best label of each cell, its posterior, and the sum of all."""
        forest, n = self._filled(chart), chart.length
        summary = empty_summary(n)  # over single terminals preterminals alone count
        if chart.has_parse:
            summarize_forest(forest, self._label, self._n_labels, n, self._tie, summary)
        return summary

    def entries(self, chart: Chart) -> SpanEntries:
        """Expected numbers above zero of labels over spans, single terminals included; labels in order."""
        forest, n = self._filled(chart), chart.length
        if not chart.has_parse:
            return no_entries()
        count = int(forest.node_first[n * (n + 1) // 2])
        starts, ends, label_ids = (np.empty(count, np.int32) for _ in range(3))
        room = SpanEntries(starts, ends, label_ids, np.empty(count), np.zeros(count))
        listed = list_forest_entries(forest, self._label, self._n_labels, n, room)
        return SpanEntries(*(values[:listed].copy() for values in room))

    def viterbi(self, chart: Chart) -> Derivation:
        """The most probable derivation."""
        held, self._held = self._held, None  # what ends this early may leave maxima behind
        if held is None or not held.is_of(chart):
            return self.forests.viterbi(chart.terminal_ids, chart.alive)
        if held.log_prob == -math.inf:
            return Derivation(-math.inf, [], [])
        if held.everything:
            self._filled(chart)
            held, self._held = self._held, None
        derivation = self.forests.derivation(chart.terminal_ids, chart.alive)
        self._held = held if self.forests.has_sums else None
        return derivation

    def forest(self, chart: Chart) -> Forest:
        """The forest of a chart, which stands until another is asked for; raises NumberRangeError."""
        forest = self._filled(chart)
        if self.forests.lost_values or self.forests.logarithms is not None:
            raise NumberRangeError(TOO_IMPROBABLE)
        return forest

    def inside_nodes(self, terminal_ids: IntArray, everything: bool) -> InsideNodes:
        """The inside values of a sentence; of what its left context predicts, or ``everything``.

        Raises NumberRangeError.
        """
        self._held = None
        nodes = self.forests.inside_nodes(terminal_ids, everything)
        if nodes is None:
            raise NumberRangeError(TOO_IMPROBABLE)
        return nodes

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
            chart.in_logarithms = self.forests.logarithms is not None and held.log_prob > -math.inf
        return self.forests.forest

    def cell(self, chart: Chart, start: int, end: int) -> Cell:
        """Symbols of a span, in some tree or not."""
        forest = self._filled(chart, everything=True)
        cell = forest_cell(start, end)
        nodes = slice(forest.node_first[cell], forest.node_first[cell + 1])
        order = np.argsort(forest.node_symbol[nodes])
        symbols = forest.node_symbol[nodes][order]
        if self.forests.logarithms is not None:
            values = self.forests.logarithms.values
            inside, log_inside = _scaled(values.inside[nodes][order])
            outside, log_outside = _scaled(values.outside[nodes][order])
            return log_cell(symbols, inside, log_inside, outside, log_outside)
        scale = self.forests.log_scale_of(chart.terminal_ids, start, end)
        log_prob = self._held.log_prob if self._held is not None else -math.inf
        inside, outside = forest.inside[nodes][order], forest.outside[nodes][order]
        return log_cell(symbols, inside, -scale, outside, scale + log_prob)


def _scaled(logs: Floats) -> tuple[Floats, float]:
    """Values whose logarithms these are, over the largest, and its logarithm."""
    largest = float(logs.max(initial=-math.inf))
    return (np.exp(logs - largest), largest) if largest > -math.inf else (np.zeros_like(logs), 0.0)
