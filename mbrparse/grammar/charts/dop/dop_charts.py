"""Charts of a DOP grammar: one sentence after the other in the same memory; the probability of trees."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mbrparse.grammar.charts.base.alive import alive_labels
from mbrparse.grammar.charts.base.chart import TOO_LARGE, Cell, Chart, Derivation, Pruned, Wanted
from mbrparse.grammar.charts.base.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.base.columns import derivation_of
from mbrparse.grammar.charts.base.packed_forest import Forest
from mbrparse.grammar.charts.base.rule_tables import Ints
from mbrparse.grammar.charts.base.span_summary import SpanEntries, summarize_entries
from mbrparse.grammar.charts.dop.dop_descent import dop_derivation
from mbrparse.grammar.charts.dop.dop_forest import Memory, dop_forest
from mbrparse.grammar.charts.dop.dop_forest_kernels import DopForest
from mbrparse.grammar.charts.dop.dop_passes import DopValues, dop_inside, dop_outside
from mbrparse.grammar.charts.dop.dop_tables import DopTables, dop_tables
from mbrparse.grammar.charts.factory import TIE, ChartFactory
from mbrparse.grammar.charts.pruning import left_out
from mbrparse.grammar.dop.dop_grammar import DopGrammar
from mbrparse.grammar.pcfg import IntArray
from mbrparse.grammar.rules import quote
from mbrparse.io.errors import ChartOverflowError, TimeLimitError
from mbrparse.treebank.labels import project

# How much lower a threshold is tried where a sentence loses all its parses to one.
_LOWER = 1e-2
_LOWEST = 1e-12


class Filled(NamedTuple):
    """A sentence's forest with inside values, for who goes down it."""

    terminal_ids: IntArray
    tables: DopTables
    forest: DopForest
    values: DopValues
    log_prob: float
    best: bool | None  # as in dop_inside
    symbols: Ints  # of the nodes, the grammar's ids


class DopChart(Chart):
    """A chart of the labels that are alive."""

    def __init__(self, charts: DopCharts, terminal_ids: IntArray) -> None:
        super().__init__(charts, terminal_ids)
        self._charts = charts
        self.threshold = 0.0
        """What labels' posteriors exceed in the end."""

    @property
    def pruned(self) -> Pruned | None:
        """What was left out; None where nothing was to be."""
        return self._charts.pruned(self)


class DopCharts:
    """Fills charts for one DOP grammar.

    Labels are alive over a span where their posterior under the treebank's PCFG exceeds ``prune``; with 0
    nothing is lost. A sentence that would lose all its parses gets a lower threshold.
    """

    def __init__(
        self,
        grammar: DopGrammar,
        wanted: Wanted = Wanted(),  # noqa: B008  # immutable
        prune: float = 0.0,
        clock: Clock = NO_LIMIT,
    ) -> None:
        self.grammar = grammar
        self.wanted = wanted
        self._prune = prune
        self._clock = clock
        self._tie = TIE["double"]
        self._tables = dop_tables(grammar)
        self._filter = ChartFactory(grammar.filter, wanted=Wanted(False, False, True), clock=clock)
        self._within = ChartFactory(grammar.filter, kernel="forest", clock=clock)
        numbers = {f"{place:09}": place for place in range(len(grammar.treebank.labels))}
        self._label_of = np.array([numbers.get(name, -1) for name in grammar.filter.labels], np.int32)
        symbols = {name: place for place, name in enumerate(grammar.pcfg.symbols)}
        names = [*grammar.treebank.labels, *map(quote, grammar.treebank.terminals)]
        self._symbol_of = np.array([symbols.get(name, -1) for name in names], np.int32)
        self._label_of_group = grammar.pcfg.label_ids[self._symbol_of]
        self._memory = Memory(self._tables)
        # The sentence at work, and its chart under the treebank's PCFG.
        self._filtered: tuple[IntArray, Chart] | None = None
        self._threshold = prune  # of the forest last made
        # What the memory holds.
        self._held: Filled | None = None

    def charts(self, sentences: Sequence[IntArray]) -> Iterator[DopChart]:
        """One chart after the other for sentences of known terminals (one or more each)."""
        # Together: the dense kernel takes sentences of like length side by side.
        filters = self._filter.charts(sentences)
        for terminal_ids, of_pcfg in zip(sentences, filters, strict=True):
            chart = DopChart(self, terminal_ids)
            chart.spent = of_pcfg.spent
            self._filtered = terminal_ids, of_pcfg
            self.fill([chart], self.wanted)
            chart.threshold = self._threshold
            yield chart
        self._filtered = None

    def fill(self, charts: Sequence[Chart], wanted: Wanted) -> None:
        """Compute what is wanted of charts."""
        for chart in charts:
            try:
                with self._clock.running(chart.spent):
                    self._fill(chart, wanted)
            except TimeLimitError as error:
                chart.give_up(str(error))
            except ChartOverflowError:
                chart.give_up(TOO_LARGE)
            chart.spent += self._clock.counted

    def cell(self, chart: Chart, start: int, end: int) -> Cell:
        """Of labels over one span: what they make of it, and what the rest of the sentence makes of them.

        With fragments, a label's inside times outside counts those that begin there; its posterior is more.
        """
        forest, values, log_prob = self._inside_outside(chart)
        found = np.flatnonzero((forest.start == start) & (forest.end == end) & (values.inside > 0))
        if log_prob == -math.inf:
            found = found[:0]
        scale = values.exponent[found] * math.log(2.0)
        symbols = self._symbol_of[forest.group[found]]
        with np.errstate(divide="ignore"):
            inside = np.log(values.inside[found]) + scale
            outside = np.log(values.outside[found]) - scale + log_prob
        met = values.outside[found] > 0
        return Cell((symbols, inside), (symbols[met], outside[met]))

    def forest(self, chart: Chart) -> Forest:
        """Not to be had of a DOP grammar's addresses."""
        raise NotImplementedError

    def filled(self, terminal_ids: IntArray, best: bool | None = None) -> Filled:
        """A sentence with its inside values, which stand until others are asked for.

        ``best`` is as in dop_inside. Raises ChartOverflowError or MemoryError where they do not fit,
        TimeLimitError, ValueError where there is no parse.
        """
        held = self._held
        if held is None or held.terminal_ids is not terminal_ids or held.best is not best:
            self._inside(terminal_ids, best, kept=True)
            held = self._held
        if held is None or held.log_prob == -math.inf:
            raise ValueError("a sentence without a derivation")
        return held

    def pruned(self, chart: DopChart) -> Pruned | None:
        """What is left out of a sentence's forest; that takes two passes of the treebank's PCFG."""
        if not self._prune:
            return None
        if not chart.threshold:
            return Pruned(0.0, 0.0)
        of_pcfg = self._of_pcfg(chart.terminal_ids)
        entries = of_pcfg.span_posteriors()
        # Labels over one terminal are not asked.
        asked = np.where(entries.ends - entries.starts > 1, entries.g, math.inf)
        labels = self._filter.grammar.label_ids
        count = len(self._filter.grammar.labels)
        alive = alive_labels(chart.length, entries._replace(g=asked), chart.threshold, labels, count)
        return Pruned(chart.threshold, left_out(self._within, chart.terminal_ids, alive, of_pcfg.log_prob))

    def _fill(self, chart: Chart, wanted: Wanted) -> None:
        if wanted.summaries or wanted.entries:
            forest, values, log_prob = self._inside_outside(chart)
            entries = self._entries(forest, values)
            summary = summarize_entries(chart.length, entries, self._tie)
            chart.put(log_prob=log_prob, summary=summary, entries=entries)
        elif not wanted.derivations:
            chart.put(log_prob=self._inside(chart.terminal_ids, None, kept=True)[2])
        if wanted.derivations:
            chart.put(derivation=self._derivation(chart))

    def _entries(self, forest: DopForest, values: DopValues) -> SpanEntries:
        """Posteriors above zero, summed by projected label, in the order of start, end, label."""
        n, labels = forest.n, len(self.grammar.pcfg.labels)
        nodes = np.flatnonzero(values.posterior > 0)
        starts, ends = forest.start[nodes].astype(np.int64), forest.end[nodes]
        labels_of = self._label_of_group[forest.group[nodes]]
        keys, place = np.unique((starts * (n + 1) + ends) * labels + labels_of, return_inverse=True)
        g = np.bincount(place.reshape(-1), values.posterior[nodes], len(keys))
        spans = keys // labels
        columns = spans // (n + 1), spans % (n + 1), keys % labels
        starts, ends, label_ids = (column.astype(np.int32) for column in columns)
        return SpanEntries(starts, ends, label_ids, g, np.where(ends - starts == 1, g, 0.0))

    def _inside_outside(self, chart: Chart) -> tuple[DopForest, DopValues, float]:
        forest, values, log_prob = self._inside(chart.terminal_ids, None, kept=False)
        if log_prob > -math.inf:
            dop_outside(self._tables, forest, values, self._clock.stop)
            self._clock.check()
        return forest, values, log_prob

    def _inside(
        self, terminal_ids: IntArray, best: bool | None, kept: bool
    ) -> tuple[DopForest, DopValues, float]:
        """``kept``: for going down it by address; else for the derivatives."""
        self._held = None
        for forest in self._forests(terminal_ids, kept):
            values = self._memory.values(forest, outside=not kept)
            log_prob = float(dop_inside(self._tables, forest, values, best, self._clock.stop))
            self._clock.check()
            if log_prob > -math.inf:
                break
        if kept:
            symbols = self._symbol_of[forest.group]
            self._held = Filled(terminal_ids, self._tables, forest, values, log_prob, best, symbols)
        return forest, values, log_prob

    def _forests(self, terminal_ids: IntArray, kept: bool) -> Iterator[DopForest]:
        """The forest of the labels that are alive; where there is no parse, those of lower thresholds."""
        chart = self._of_pcfg(terminal_ids)
        if chart.refusal == TOO_LARGE:
            raise ChartOverflowError("the chart of the treebank's PCFG")
        if chart.refusal is not None:
            raise TimeLimitError(chart.refusal)
        entries = chart.span_posteriors()
        wide = entries.ends - entries.starts > 1
        threshold = self._prune
        while True:
            chosen = wide & (entries.g > threshold)
            labels = self._label_of[entries.label_ids[chosen]]
            self._threshold = threshold
            starts, ends = entries.starts[chosen], entries.ends[chosen]
            yield dop_forest(self._tables, terminal_ids, starts, ends, labels, kept)
            if threshold == 0:
                return
            threshold = threshold * _LOWER if threshold > _LOWEST else 0.0

    def _of_pcfg(self, terminal_ids: IntArray) -> Chart:
        """The chart of the treebank's PCFG, which is kept until that of another sentence is asked for."""
        if self._filtered is None or self._filtered[0] is not terminal_ids:
            self._filtered = terminal_ids, self._filter.charts([terminal_ids])[0]
        return self._filtered[1]

    def _derivation(self, chart: Chart) -> Derivation:
        forest, values, log_prob = self._inside(chart.terminal_ids, True, kept=True)
        nodes = dop_derivation(self._tables, forest, values, self._tie)
        if not nodes:
            return Derivation(-math.inf, [], [])
        start, end, symbol = forest.start[nodes], forest.end[nodes], self._symbol_of[forest.group[nodes]]
        return derivation_of(start, end, symbol, log_prob)


class DopTreeProbability:
    """The probability of binary trees: an inside pass in which nothing but their constituents is alive."""

    serves_nary = False

    def __init__(self, grammar: DopGrammar) -> None:
        self._tables = dop_tables(grammar)
        self._memory = Memory(self._tables)
        self._labels: dict[str, list[int]] = {}
        for label, name in enumerate(grammar.treebank.labels):
            self._labels.setdefault(project(name), []).append(label)

    def log_prob(
        self, spans: Sequence[tuple[int, int, str]], terminal_ids: IntArray, nary: bool = False
    ) -> float:
        """The log probability of a binary tree of (start, end, label) spans; -inf if it has none.

        It is summed over symbols with the labels, and over the preterminals of its words. ``nary`` is never
        true (see ``serves_nary``).
        """
        rows = [
            (start, end, label)
            for start, end, name in spans
            for label in self._labels.get(name, ())
            if end - start > 1
        ]
        starts, ends, labels = np.array(sorted(rows), np.int32).reshape(-1, 3).T.copy()
        if len(spans) != max(len(terminal_ids) - 1, 0):
            return -math.inf
        forest = dop_forest(self._tables, terminal_ids, starts, ends, labels, kept=False)
        log_prob = dop_inside(self._tables, forest, self._memory.values(forest), None, NO_LIMIT.stop)
        NO_LIMIT.check()
        return float(log_prob)
