"""Charts of a DOP grammar, one sentence after the other in the same memory; the probability of trees."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mbrparse.charts.base.chart import TOO_LARGE, Cell, Chart, Derivation, Pruned, Wanted
from mbrparse.charts.base.clock import NO_LIMIT, Clock
from mbrparse.charts.base.columns import derivation_of
from mbrparse.charts.base.rule_tables import Ints
from mbrparse.charts.base.span_summary import (
    SpanEntries,
    SpanSummary,
    cell_of,
    entries_without_unaries,
    summarize_entries,
)
from mbrparse.charts.dop.dop_descent import DopDescent
from mbrparse.charts.dop.dop_forest import Memory, dop_forest, inside_pass, outside_pass
from mbrparse.charts.dop.dop_forest_kernels import DopForest
from mbrparse.charts.dop.dop_passes import DopValues
from mbrparse.charts.dop.dop_tables import DopTables, dop_tables
from mbrparse.charts.factory import TIE, ChartFactory
from mbrparse.charts.forest.forest import Forest, SpanFilter
from mbrparse.charts.pruning import left_out
from mbrparse.errors import ChartOverflowError, TimeLimitError
from mbrparse.grammar.dop.dop_grammar import DopGrammar
from mbrparse.grammar.pcfg import IntArray
from mbrparse.grammar.rules import quote
from mbrparse.treebank.labels import project

# How much lower a threshold is tried where a sentence loses all its parses to one.
_LOWER = 1e-2
_LOWEST = 1e-12


class Filled(NamedTuple):
    """A sentence's forest with inside values."""

    terminal_ids: IntArray
    tables: DopTables
    forest: DopForest
    values: DopValues
    log_prob: float
    best: bool  # as in inside_pass
    symbols: Ints  # of the nodes, the grammar's ids


class DopChart(Chart):
    """A chart of the labels that are alive."""

    def __init__(self, charts: DopCharts, terminal_ids: IntArray) -> None:
        super().__init__(charts, terminal_ids)
        self._charts = charts
        self.threshold = 0.0
        """What posteriors of labels exceed that are alive."""

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
        self.clock = clock
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
        # The last sentence, and its chart under the treebank's PCFG.
        self._filtered: tuple[IntArray, Chart] | None = None
        self._threshold = prune  # of the forest last made
        # The sentence whose values are in the memory.
        self._held: Filled | None = None

    def charts(self, sentences: Sequence[IntArray]) -> Iterator[DopChart]:
        """One chart after the other for sentences of known terminals (one or more each)."""
        # Together: the dense kernels take sentences of similar length side by side.
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
                with self.clock.running(chart.spent):
                    self._fill(chart, wanted)
            except TimeLimitError as error:
                chart.give_up(str(error))
            except ChartOverflowError:
                chart.give_up(TOO_LARGE)
            chart.spent += self.clock.counted

    def log_prob(self, chart: Chart) -> float:
        """As ``fill`` does."""
        self._fill(chart, Wanted(summaries=False))
        return chart.log_prob

    def summary(self, chart: Chart) -> SpanSummary:
        """As ``fill`` does."""
        self._fill(chart, Wanted())
        return chart.span_summary()

    def entries(self, chart: Chart) -> SpanEntries:
        """As ``fill`` does."""
        self._fill(chart, Wanted())
        return chart.span_posteriors()

    def viterbi(self, chart: Chart) -> Derivation:
        """As ``fill`` does."""
        self._fill(chart, Wanted(summaries=False, derivations=True))
        return chart.viterbi()

    def cell(self, chart: Chart, start: int, end: int) -> Cell:
        """Not available: inside and outside values are those of addresses."""
        raise NotImplementedError

    def forest(self, chart: Chart) -> Forest:
        """Not available: addresses are no nodes of a forest."""
        raise NotImplementedError

    def filled(self, terminal_ids: IntArray, best: bool = False) -> Filled:
        """A sentence with its inside values, which are valid until those of another are computed.

        ``best`` is as in inside_pass. Raises ChartOverflowError or MemoryError where they do not fit,
        TimeLimitError, ValueError where there is no parse.
        """
        held = self._held
        if held is None or held.terminal_ids is not terminal_ids or held.best is not best:
            held = self._held = self._inside(terminal_ids, best, kept=True)
        if held.log_prob == -math.inf:
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
        # Labels over one terminal are always alive.
        wide = np.where(entries.ends - entries.starts > 1, entries.g, math.inf)
        labels = self._filter.grammar.label_ids
        count = len(self._filter.grammar.labels)
        alive = SpanFilter.of_posteriors(
            chart.length, entries._replace(g=wide), chart.threshold, labels, count
        )
        return Pruned(chart.threshold, left_out(self._within, chart.terminal_ids, alive, of_pcfg.log_prob))

    def _fill(self, chart: Chart, wanted: Wanted) -> None:
        if wanted.summaries or wanted.entries:
            filled = self._inside(chart.terminal_ids, best=False, kept=False)
            if filled.log_prob > -math.inf:
                outside_pass(self._tables, filled.forest, filled.values)
            entries = self._entries(filled)
            summary = summarize_entries(chart.length, entries, self._tie)
            chart.put(log_prob=filled.log_prob, summary=summary, entries=entries)
        elif not wanted.derivations:
            self._held = self._inside(chart.terminal_ids, best=False, kept=True)
            chart.put(log_prob=self._held.log_prob)
        if wanted.derivations:
            self._held = self._inside(chart.terminal_ids, best=True, kept=True)
            chart.put(derivation=self._derivation(self._held))

    def _entries(self, filled: Filled) -> SpanEntries:
        """Posteriors above zero, summed by projected label, in the order of start, end, label."""
        forest, posterior = filled.forest, filled.values.posterior
        nodes = np.flatnonzero(posterior > 0)
        cells = cell_of(forest.n, forest.start[nodes], forest.end[nodes])
        label_ids = self._label_of_group[forest.group[nodes]]
        keys = cells.astype(np.int64) * len(self.grammar.pcfg.labels) + label_ids
        keys, first, place = np.unique(keys, return_index=True, return_inverse=True)
        g = np.bincount(place.reshape(-1), posterior[nodes], len(keys))
        starts, ends = forest.start[nodes[first]], forest.end[nodes[first]]
        return entries_without_unaries(starts, ends, label_ids[first], g)

    def _inside(self, terminal_ids: IntArray, best: bool, kept: bool) -> Filled:
        """Fill inside values; ``kept``: with those of addresses, for derivations, instead of an outside pass.

        The forest is that of the labels that are alive; where it has no parse, that of a lower threshold.
        """
        self._held = None
        chart = self._of_pcfg(terminal_ids)
        if chart.refusal == TOO_LARGE:
            raise ChartOverflowError("the chart of the treebank's PCFG")
        if chart.refusal is not None:
            raise TimeLimitError(chart.refusal)
        starts, ends, label_ids, g, _ = chart.span_posteriors()
        threshold = self._prune
        while True:
            self._threshold = threshold
            chosen = (ends - starts > 1) & (g > threshold)
            labels = self._label_of[label_ids[chosen]]
            wide = starts[chosen], ends[chosen], labels
            forest = dop_forest(self._tables, terminal_ids, *wide)
            values = self._memory.values(forest, kept, outside=not kept)
            log_prob = inside_pass(self._tables, forest, values, best)
            if log_prob > -math.inf or threshold == 0:
                symbols = self._symbol_of[forest.group]
                return Filled(terminal_ids, self._tables, forest, values, log_prob, best, symbols)
            threshold = threshold * _LOWER if threshold > _LOWEST else 0.0

    def _of_pcfg(self, terminal_ids: IntArray) -> Chart:
        """The chart of the treebank's PCFG, which is kept until that of another sentence is made."""
        if self._filtered is None or self._filtered[0] is not terminal_ids:
            self._filtered = terminal_ids, self._filter.charts([terminal_ids])[0]
        return self._filtered[1]

    def _derivation(self, filled: Filled) -> Derivation:
        forest = filled.forest
        nodes = DopDescent(self._tables, forest, filled.values).derivation(self._tie)
        if not nodes:
            return Derivation(-math.inf, [], [])
        return derivation_of(forest.start[nodes], forest.end[nodes], filled.symbols[nodes], filled.log_prob)


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
        forest = dop_forest(self._tables, terminal_ids, starts, ends, labels)
        values = self._memory.values(forest)
        return inside_pass(self._tables, forest, values, False)
