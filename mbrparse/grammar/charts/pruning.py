"""Coarse to fine: what a coarser grammar's posteriors leave of a finer one's chart, and what they rule out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from mbrparse.grammar.charts.chart import Chart, Wanted
from mbrparse.grammar.charts.clock import Clock
from mbrparse.grammar.charts.factory import ChartFactory
from mbrparse.grammar.charts.span_summary import SpanEntries
from mbrparse.grammar.charts.sparse.alive import Alive, alive_labels
from mbrparse.grammar.pcfg import PCFG, IntArray


class Pruned(NamedTuple):
    """The threshold that a sentence was parsed with (0: nothing was left out), and the share of its
    probability under the coarser grammar that is in derivations of which something was left out."""

    threshold: float
    left_out: float


class CoarseCharts:
    """Charts of the coarser grammar."""

    def __init__(self, grammar: PCFG, clock: Clock) -> None:
        self.grammar = grammar
        self._factory = ChartFactory(grammar, wanted=Wanted(False, False, True), clock=clock)
        self._within = ChartFactory(grammar, kernel="sparse", clock=clock)

    def charts(self, sentences: Sequence[IntArray]) -> list[Chart]:
        """One chart for each sentence, with its posteriors; the dense kernel takes several side by side."""
        return self._factory.charts(sentences)

    def alive(self, length: int, entries: SpanEntries, threshold: float) -> Alive:
        """The labels that have more than the threshold."""
        grammar = self.grammar
        return alive_labels(length, entries, threshold, grammar.label_ids, len(grammar.labels))

    def left_out(self, terminal_ids: IntArray, alive: Alive, log_prob: float) -> float:
        """The share of the sentence's probability that is in derivations of what is not alive, too."""
        chart = Chart(self._within, terminal_ids)
        chart.alive = alive._replace(label=self.grammar.label_ids)
        return max(-math.expm1(chart.log_prob - log_prob), 0.0)
