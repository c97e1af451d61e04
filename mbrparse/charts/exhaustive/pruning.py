"""Coarse to fine: what posteriors of projected grammars leave of a finer one's chart, and such charts."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mbrparse.charts.chart import TOO_LARGE, Chart, Pruned
from mbrparse.charts.exhaustive.factory import TIE, ChartFactory
from mbrparse.charts.forest.forests import Forests
from mbrparse.charts.packed_forest import SpanFilter
from mbrparse.charts.rule_tables import Ints
from mbrparse.errors import ChartOverflowError
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.grammar.projection import projected_grammar, projected_names, pruning_levels

# How much lower the threshold is that is tried where a sentence loses all its parses to one. What has none
# then mostly has none at all.
_LOWER = 1e-3
# Where a chart does not fit, thresholds are sought between its own, or this share of one that loses all
# parses, and that one, until they are so near each other.
_LEAST, _NEAR = 1e-9, 10.0


class Level(NamedTuple):
    """A projected grammar."""

    label: Ints  # by symbol, what its posteriors are of
    n_labels: int
    finer: Ints  # by symbol of the next grammar, the same
    charts: ChartFactory
    within: ChartFactory  # makes forests


class Mask(NamedTuple):
    """What may be over the spans of a sentence (None: anything), and what it comes from."""

    spans: SpanFilter | None = None
    threshold: float = 0.0
    steps: tuple[
        tuple[SpanFilter, float], ...
    ] = ()  # by level: what was left, its chart's log probability before


class Pruning:
    """Says of sentences which symbols are left over their spans: those with a posterior above ``threshold``.

    The posterior of a label over a span is how often it is expected there under a projected grammar: first
    that of labels without annotations, then those with more and more bits of states, each parsing with what
    the one before it left. Of a chain of unary rules this is asked of the last symbol, which binary and
    lexical rules make, and of the first, where a binary rule takes it.
    """

    def __init__(self, grammar: PCFG, threshold: float) -> None:
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
            within = ChartFactory(projected, kernel="forest", label=label)
            charts = within if level else ChartFactory(projected)
            self.levels.append(Level(label, int(label.max()) + 1, names, charts, within))

    def mask(self, chart: Chart, threshold: float) -> Mask | None:
        """What a threshold leaves, of a chart by the coarsest grammar (0: anything).

        None where a level loses all parses.
        """
        if not threshold:
            return Mask()
        steps: list[tuple[SpanFilter, float]] = []
        left: SpanFilter | None = None
        for level in self.levels:
            if left is not None:
                chart = Chart(level.within.forests, chart.terminal_ids, spans=left)
            if not chart.has_parse:
                return None
            entries = chart.span_posteriors()
            if left is not None:  # what was between others alone is not left by itself
                entries = left.entries(entries)
            own = SpanFilter.of_posteriors(chart.length, entries, threshold, level.label, level.n_labels)
            steps.append((own, chart.log_prob))
            left = own._replace(label=level.finer)
        return Mask(left, threshold, tuple(steps))

    def pruned(self, terminal_ids: IntArray, mask: Mask) -> Pruned:
        """What a mask leaves out; that takes a pass of each projected grammar within it."""
        kept = 1.0
        for level, step in zip(self.levels, mask.steps, strict=False):
            kept *= 1.0 - left_out(level.within, terminal_ids, *step)
        return Pruned(mask.threshold, 1.0 - kept)


def left_out(within: ChartFactory, terminal_ids: IntArray, spans: SpanFilter, log_prob: float) -> float:
    """The share of a sentence's probability that is in derivations of which something is not allowed.

    ``within`` makes forests; ``log_prob`` is the sentence's.
    """
    return max(0.0, -math.expm1(Chart(within.forests, terminal_ids, spans=spans).log_prob - log_prob))


class PrunedChart(Chart):
    """A chart of what a mask leaves: all that it says is of the derivations that are left."""

    def __init__(self, forests: Forests, pruning: Pruning, terminal_ids: IntArray, mask: Mask) -> None:
        super().__init__(forests, terminal_ids, spans=mask.spans)
        self._pruning, self._mask = pruning, mask

    @property
    def pruned(self) -> Pruned:
        """What was left out."""
        return self._pruning.pruned(self.terminal_ids, self._mask)


class PrunedCharts:
    """Makes charts for one grammar of annotated labels, by forests.

    A sentence that would lose all its parses gets a lower threshold, and at last none; one whose chart does
    not fit into memory a higher one. Forests' posteriors are of ``label`` [symbol], by default the projected
    labels.
    """

    def __init__(self, grammar: PCFG, pruning: Pruning, label: Ints | None = None) -> None:
        self.grammar, self.pruning = grammar, pruning
        self.forests = Forests(grammar, TIE, grammar.label_ids if label is None else label)

    def chart(self, terminal_ids: IntArray) -> Chart:
        """The chart of a sentence by the first threshold that leaves a parse and fits into memory.

        Raises ChartOverflowError where none does, and NumberRangeError.
        """
        projected = self.pruning.levels[0].charts.chart(terminal_ids)
        lost, threshold = 1.0, self.pruning.threshold if projected.has_parse else 0.0
        too_low: float | None = None
        while True:
            try:
                mask = self.pruning.mask(projected, threshold)
                chart = PrunedChart(self.forests, self.pruning, terminal_ids, mask or Mask())
                if not threshold or (mask is not None and chart.has_parse):
                    return chart
            except (ChartOverflowError, MemoryError):
                too_low = max(threshold, lost * _LEAST)
            else:
                lost = threshold
            if too_low is None:
                threshold = threshold * _LOWER if threshold == self.pruning.threshold else 0.0
            elif too_low * _NEAR > lost:
                raise ChartOverflowError(TOO_LARGE)
            else:
                threshold = math.sqrt(too_low * lost)
