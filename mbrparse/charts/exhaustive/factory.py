"""Making charts: which engine serves a grammar and a sentence.

Charts whose forests are asked for, one sentence after the other.

Coarse to fine: what posteriors of projected grammars leave of a finer one's chart, and such charts.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from mbrparse.charts import rule_tables
from mbrparse.charts.chart import TOO_LARGE, Chart, Pruned
from mbrparse.charts.exhaustive.dense_answers import DenseAnswers
from mbrparse.charts.exhaustive.forests import Forests
from mbrparse.charts.packed_forest import Forest, SpanFilter
from mbrparse.errors import ChartOverflowError, GrammarError
from mbrparse.grammar import pcfg, projection

# How much lower the threshold is that is tried where a sentence loses all its parses to one. What has none
# then mostly has none at all.
_LOWER = 1e-3
# Where a chart does not fit, thresholds are sought between its own, or this share of one that loses all
# parses, and that one, until they are so near each other.
_LEAST, _NEAR = 1e-9, 10.0


class Level(NamedTuple):
    """A projected grammar."""

    label: rule_tables.Ints  # by symbol, what its posteriors are of
    n_labels: int
    finer: rule_tables.Ints  # by symbol of the next grammar, the same
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

    def __init__(self, grammar: pcfg.PCFG, threshold: float) -> None:
        self.threshold = threshold
        self.levels: list[Level] = []
        chosen = projection.pruning_levels(grammar)
        grammars = [projection.projected_grammar(grammar, level) for level in chosen]
        for level, projected, finer in zip(chosen, grammars, (*grammars[1:], grammar), strict=True):
            label, names = projected.label_ids, finer.label_ids
            if level:
                ids = {name: place for place, name in enumerate(projected.symbols)}
                label = np.arange(len(ids), dtype=np.int32)
                names = np.array([ids[name] for name in projection.projected_names(finer, level)], np.int32)
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
                chart = level.within.chart(chart.terminal_ids, left)
            if not chart.has_parse:
                return None
            entries = chart.span_posteriors()
            if left is not None:  # what was between others alone is not left by itself
                entries = left.entries(entries)
            own = SpanFilter.of_posteriors(chart.length, entries, threshold, level.label, level.n_labels)
            steps.append((own, chart.log_prob))
            left = own._replace(label=level.finer, taken=level.finer)
        return Mask(left, threshold, tuple(steps))

    def pruned(self, terminal_ids: pcfg.IntArray, mask: Mask) -> Pruned:
        """What a mask leaves out; that takes a pass of each projected grammar within it."""
        kept = 1.0
        for level, step in zip(self.levels, mask.steps, strict=False):
            kept *= 1.0 - left_out(level.within, terminal_ids, *step)
        return Pruned(mask.threshold, 1.0 - kept)


def left_out(within: ChartFactory, terminal_ids: pcfg.IntArray, spans: SpanFilter, log_prob: float) -> float:
    """The share of a sentence's probability that is in derivations of which something is not allowed.

    ``within`` makes forests; ``log_prob`` is the sentence's.
    """
    return max(0.0, -math.expm1(within.chart(terminal_ids, spans).log_prob - log_prob))


class PrunedChart(Chart):
    """A chart of what a mask leaves: all that it says is of the derivations that are left."""

    def __init__(self, charts: PrunedCharts, terminal_ids: pcfg.IntArray, mask: Mask) -> None:
        super().__init__(lambda: charts.forests, terminal_ids, spans=mask.spans)
        self._pruning, self._mask = charts.pruning, mask

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

    def __init__(self, grammar: pcfg.PCFG, pruning: Pruning, label: rule_tables.Ints | None = None) -> None:
        self.grammar, self.pruning = grammar, pruning
        self.forests = Forests(grammar, TIE, grammar.label_ids if label is None else label)

    def chart(self, terminal_ids: pcfg.IntArray) -> Chart:
        """The chart of a sentence by the first threshold that leaves a parse and fits into memory.

        Raises ChartOverflowError where none does, and NumberRangeError.
        """
        projected = self.pruning.levels[0].charts.chart(terminal_ids)
        lost, threshold = 1.0, self.pruning.threshold if projected.has_parse else 0.0
        too_low: float | None = None
        while True:
            try:
                mask = self.pruning.mask(projected, threshold)
                chart = PrunedChart(self, terminal_ids, mask or Mask())
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


class ForestCharts:
    """Makes charts for one grammar, one after the other as they are asked for."""

    def __init__(
        self,
        grammar: pcfg.PCFG,
        items: Literal["projected", "symbol"] = "projected",
        pruning: Pruning | None = None,
    ) -> None:
        """Posteriors are those of ``labels``, projected or a symbol's own: ``label`` [symbol] says which.

        With ``pruning`` forests are of the derivations that it leaves.
        """
        self.grammar = grammar
        self.label: rule_tables.Ints = grammar.label_ids
        self.labels = grammar.labels
        if items == "symbol":
            self.label = np.arange(len(grammar.symbols), dtype=np.int32)
            self.labels = tuple(grammar.labels[label_id] for label_id in grammar.label_ids)
        self._factory: ChartFactory | PrunedCharts
        if pruning is None:
            self._factory = ChartFactory(grammar, kernel="forest", label=self.label)
        else:
            self._factory = PrunedCharts(grammar, pruning, self.label)
        self.forests = self._factory.forests
        #: What may be over the spans of the next sentence (None: anything).
        self.spans: SpanFilter | None = None
        self._last: Chart | None = None

    def chart(self, terminal_ids: pcfg.IntArray) -> Chart:
        """The chart of a sentence of known terminals that has a forest; raises as its answers do."""
        if self.spans is None:
            self._last = chart = self._factory.chart(terminal_ids)
        else:
            self._last = chart = Chart(lambda: self.forests, terminal_ids, spans=self.spans)
        return chart

    def forest_of(self, terminal_ids: pcfg.IntArray) -> Forest:
        """The forest of a sentence, as ``Chart.forest`` has it; raises as that does."""
        if self._last is None or self._last.terminal_ids is not terminal_ids:
            return self.chart(terminal_ids).forest()
        return self._last.forest()


Kernel = Literal["dense", "forest"]

#: How much better a candidate must be to replace an earlier one, relative.
TIE = 1e-9

#: Beyond so many wide symbols most are zero in most cells, unless each has rules with many others.
MAX_DENSE_SYMBOLS = 400
_MAX_SYMBOLS, _MANY_PAIRS = 1024, 16

# What the chart of a longest sentence may take, with as many symbols in a cell as are likely.
_CHART_BYTES = 2 << 30
_NODE_BYTES = 52
_LIKELY_SYMBOLS = 256
# A dense chart of one sentence has all wide symbols everywhere, and the other half of the square.
_DENSE_BYTES = 32


def default_max_length(grammar: pcfg.PCFG) -> int:
    """The longest sentence that is parsed unless the user says otherwise: about 2 GB of chart."""
    rules = rule_tables.chart_rules(grammar)
    symbols = max(len(rule_tables.wide_symbols(rules)), 1)
    cell = _NODE_BYTES * min(symbols, _LIKELY_SYMBOLS)
    if suits_dense(rules):
        cell = max(cell, _DENSE_BYTES * symbols)
    return math.isqrt(2 * _CHART_BYTES // cell)


def suits_dense(rules: rule_tables.Rules) -> bool:
    """Whether dense charts serve a grammar, or forests do.

    Dense charts take few wide symbols, and more of them where all go with many others.
    """
    symbols = len(rule_tables.wide_symbols(rules))
    if MAX_DENSE_SYMBOLS < symbols <= _MAX_SYMBOLS:
        pairs = np.unique(rules.left.astype(np.int64) * rules.n_symbols + rules.right)
        return len(pairs) >= _MANY_PAIRS * symbols
    return symbols <= MAX_DENSE_SYMBOLS


class ChartFactory:
    """Makes charts for one grammar: dense ones, or forests, as suits the grammar.

    A grammar with unary rules, one word alone, and a sentence whose values leave the range of a dense chart's
    numbers are for forests.

    Parameters
    ----------
    grammar
        Its charts are made one by one (``chart``).
    kernel
        Takes the choice away, for tests and benchmarks.
    label : Ints, [symbol]
        What posteriors are of; by default the projected labels.

    Raises
    ------
    GrammarError
        Unary rules are a cycle of probability one (when the first forest is made).
    """

    def __init__(
        self,
        grammar: pcfg.PCFG,
        kernel: Kernel | None = None,
        label: rule_tables.Ints | None = None,
    ) -> None:
        if grammar.has_unaries and kernel == "dense":
            raise GrammarError(
                "the dense kernel takes no unary rules", remedy="leave the choice to the grammar"
            )
        self.grammar = grammar
        self._label = grammar.label_ids if label is None else label
        self._is_dense = kernel == "dense" if kernel else self._suits_dense()

    def _suits_dense(self) -> bool:
        return not self.grammar.has_unaries and suits_dense(rule_tables.chart_rules(self.grammar))

    def chart(self, terminal_ids: pcfg.IntArray, spans: SpanFilter | None = None) -> Chart:
        """The chart of a sentence of known terminals (one or more); ``spans``, if given, are for forests."""
        dense = self._dense if self._is_dense and len(terminal_ids) > 1 else None
        return Chart(lambda: self.forests, terminal_ids, dense, spans)

    @cached_property
    def _dense(self) -> DenseAnswers:
        return DenseAnswers(self.grammar, self._label, TIE)

    @cached_property
    def forests(self) -> Forests:
        """The forests of what dense charts do not take."""
        return Forests(self.grammar, TIE, self._label)
