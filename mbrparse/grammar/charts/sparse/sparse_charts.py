"""Charts by the sparse kernels: one sentence after the other in the same memory."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.errors import ChartOverflowError
from mbrparse.grammar.charts.chart import TOO_LARGE, Chart, Derivation, Wanted
from mbrparse.grammar.charts.clock import Clock
from mbrparse.grammar.charts.closure import best_chains, unary_tables
from mbrparse.grammar.charts.lexicon import Words, lexicon, words_of
from mbrparse.grammar.charts.nodes import derivation_of
from mbrparse.grammar.charts.prediction import prediction
from mbrparse.grammar.charts.rule_tables import Floats, Ints, chart_rules, sparse_tables
from mbrparse.grammar.charts.span_summary import empty_summary
from mbrparse.grammar.charts.sparse.alive import Alive, alive_words
from mbrparse.grammar.charts.sparse.probable_derivation import PairRules, pair_rules, probable_derivation
from mbrparse.grammar.charts.sparse.sparse_derivation import sparse_derivation
from mbrparse.grammar.charts.sparse.sparse_entries import sparse_entries
from mbrparse.grammar.charts.sparse.sparse_inside import sparse_inside, sparse_viterbi
from mbrparse.grammar.charts.sparse.sparse_nodes import sparse_nodes
from mbrparse.grammar.charts.sparse.sparse_outside import sparse_outside
from mbrparse.grammar.charts.sparse.sparse_state import (
    MAX_SHIFT,
    BestPaths,
    Buckets,
    SparseChart,
    SparseState,
)
from mbrparse.grammar.charts.sparse.sparse_summary import sparse_summary, summarize_words
from mbrparse.grammar.pcfg import PCFG, IntArray

Scaled = tuple[npt.NDArray[np.float64], float]

# Nodes that a chart may hold: some 3.5 GB. A sentence that needs more has no chart.
MAX_NODES = 1 << 26
_FIRST_NODES = 1 << 14


class _Memory(NamedTuple):
    """What sentences up to a length and a number of nodes are parsed in."""

    length: int
    capacity: int
    chart: SparseChart
    buckets: Buckets
    back: Ints


class _Held(NamedTuple):
    """The sentence whose nodes are in memory (a chart would hold this in turn)."""

    terminal_ids: IntArray
    alive: Alive | None
    everything: bool  # also nodes that are not predicted
    log_prob: float

    def is_of(self, chart: Chart) -> bool:
        """Whether they are a chart's."""
        return self.terminal_ids is chart.terminal_ids and self.alive is chart.alive


class SparseCharts:
    """Drives the sparse kernels for one grammar in one precision."""

    def __init__(self, grammar: PCFG, dtype: Any, tie: float, clock: Clock) -> None:
        rules = chart_rules(grammar)
        self._clock = clock
        self._dtype = np.dtype(dtype)
        self._tie = tie
        self._label_ids = grammar.label_ids
        self._label_count = len(grammar.labels)
        self._symbol_count = len(grammar.symbols)
        self._tables = sparse_tables(rules, dtype)
        self._unary = unary_tables(grammar, dtype)
        self._prediction = prediction(
            rules, grammar.unary_parent, grammar.unary_child, self._tables.left_index, self._tables.n_left
        )
        self._everything = self._prediction._replace(is_selective=False)
        self._chains = best_chains(grammar, self._unary, tie)
        self._lexicon = lexicon(rules, len(grammar.terminals))
        self._rules = rules
        self._pairs: PairRules | None = None
        self._entry_prob = self._lexicon.prob.astype(dtype)
        with np.errstate(over="ignore"):
            self._powers = np.ldexp(1.0, np.arange(-MAX_SHIFT, MAX_SHIFT + 1)).astype(dtype)
        self._memory = self._allocated(32, _FIRST_NODES)
        self._held: _Held | None = None

    def fill(self, chart: Chart, wanted: Wanted) -> None:
        """Fill one chart; a chart that would not fit is left without a parse. Raises TimeLimitError."""
        try:
            self._fill(chart, wanted)
        except ChartOverflowError:
            chart.give_up(TOO_LARGE)

    def _fill(self, chart: Chart, wanted: Wanted) -> None:
        if wanted.summaries or wanted.entries or wanted.nodes:
            log_prob = self._inside_outside(chart)
            words, nodes = self._words(chart), self._memory.chart
            labels, count = self._label_ids, self._label_count
            summary = empty_summary(chart.length, self._dtype)
            sparse_summary(nodes, labels, count, chart.length, self._tie, summary)
            if len(self._unary.rule_parent):
                summarize_words(words, nodes, labels, count, summary, self._tie)
            chart.put(log_prob=log_prob, summary=summary)
            if wanted.entries:
                chart.put(entries=sparse_entries(words, nodes, labels, count))
            if wanted.nodes:
                chart.put(nodes=sparse_nodes(nodes, chart.length))
        if wanted.derivations:
            chart.put(derivation=self._probable(chart) or self._derivation(chart))

    def cell(self, chart: Chart, start: int, end: int) -> tuple[IntArray, Scaled, Scaled]:
        """Symbols of a span, in some tree or not, their inside and outside values, each with its scale."""
        log_prob = self._inside_outside(chart, everything=True)
        nodes = self._memory.chart
        found: list[int] = []
        node = int(nodes.cell_first[start, end])
        while node >= 0:
            found.append(node)
            node = int(nodes.cell_next[node])
        scale = float(nodes.exponent[start, end]) * math.log(2.0)
        symbols = nodes.symbol[found]
        order = np.argsort(symbols)
        inside, outside = nodes.inside[found].astype(np.float64), nodes.outside[found].astype(np.float64)
        return symbols[order], (inside[order], scale), (outside[order], log_prob - scale)

    def _inside_outside(self, chart: Chart, everything: bool = False) -> float:
        """Fill in a chart's nodes, which live until the next one's; returns its log probability.

        Unless ``everything`` is asked for, nodes are left out that are not predicted.
        """
        held = self._held
        if held is not None and held.is_of(chart) and (held.everything or not everything):
            return held.log_prob
        self._held = None
        state = self._state(chart, everything)
        while not sparse_inside(state, chart.alive, self._clock.stop):
            self._clock.check()
            self._enlarge()
            state = self._state(chart, everything)
        log_prob = float(sparse_outside(state, chart.alive, self._clock.stop))
        self._clock.check()
        self._held = _Held(chart.terminal_ids, chart.alive, everything, log_prob)
        return log_prob

    def _probable(self, chart: Chart) -> Derivation | None:
        """The derivation that follows from the sums, if those of this chart are in memory."""
        held = self._held
        if held is None or not held.is_of(chart) or len(self._unary.rule_parent):
            return None
        if held.log_prob == -math.inf:
            return Derivation(-math.inf, [], [])
        if self._pairs is None:
            self._pairs = pair_rules(self._rules)
        words, nodes = self._words(chart), self._memory.chart
        found, log_prob = probable_derivation(self._pairs, words, nodes, held.log_prob, self._tie)
        return derivation_of(*found, log_prob) if len(found.symbol) else None

    def _derivation(self, chart: Chart) -> Derivation:
        self._held = None
        state = self._state(chart)
        while not sparse_viterbi(state, self._best(), chart.alive, self._clock.stop):
            self._clock.check()
            self._enlarge()
            state = self._state(chart)
        nodes, log_prob = sparse_derivation(state, self._best())
        return derivation_of(*nodes, log_prob)

    def _words(self, chart: Chart) -> Words:
        words = words_of(self._lexicon, self._entry_prob, chart.terminal_ids)
        return words if chart.alive is None else alive_words(words, chart.alive)

    def _state(self, chart: Chart, everything: bool = False) -> SparseState:
        if chart.length > self._memory.length:
            length = max(chart.length, 3 * self._memory.length // 2)
            self._memory = self._allocated(length, self._memory.capacity)
        return SparseState(
            self._tables,
            self._unary,
            self._everything if everything else self._prediction,
            self._words(chart),
            self._memory.chart,
            self._memory.buckets,
        )

    def _best(self) -> BestPaths:
        return BestPaths(self._memory.back, self._chains, self._tie)

    def _enlarge(self) -> None:
        length, capacity = self._memory.length, self._memory.capacity
        if capacity >= MAX_NODES:
            raise ChartOverflowError(f"a chart of more than {MAX_NODES} nodes")
        # A first guess from the cells, then doubling: each attempt parses the sentence anew.
        guess = length * (length + 1) * 8
        self._memory = self._allocated(length, min(max(2 * capacity, guess), MAX_NODES))

    def _allocated(self, length: int, capacity: int) -> _Memory:
        """New memory; it is taken into use when all of it is there."""

        def ints(*shape: int) -> Ints:
            return np.zeros(shape, np.int32)

        def floats(size: int) -> Floats:
            return np.zeros(size, self._dtype)

        chart = SparseChart(
            start=ints(capacity),
            symbol=ints(capacity),
            inside=floats(capacity),
            outside=floats(capacity),
            column_start=ints(length + 2),
            cell_first=ints(length + 1, length + 1),
            cell_next=ints(capacity),
            exponent=ints(length + 1, length + 1),
            powers=self._powers,
        )
        buckets = Buckets(
            first=ints(length + 1, self._tables.n_left + 1),
            node=ints(capacity),
            start=ints(capacity),
            value=floats(capacity),
            factor=floats(length + 1),
            slots=np.full((self._symbol_count, length), -1, np.int32),
            mass=floats(self._symbol_count),
            predicted=np.zeros((length, self._symbol_count), np.uint8),
            row=np.zeros_like(self._prediction.first),
        )
        back = ints(capacity, 4 if len(self._unary.rule_parent) else 2)
        return _Memory(length, capacity, chart, buckets, back)
