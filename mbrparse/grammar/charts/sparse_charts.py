"""Charts by the sparse kernels: one sentence after the other in the same memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from mbrparse.errors import MbrparseError
from mbrparse.grammar.charts.chart import Chart, Derivation, Wanted
from mbrparse.grammar.charts.closure import unary_tables
from mbrparse.grammar.charts.dense_charts import derivation_of, lexical_entries
from mbrparse.grammar.charts.lexical_summary import summarize_words
from mbrparse.grammar.charts.rule_tables import Floats, Ints, chart_rules, lexicon, sparse_tables
from mbrparse.grammar.charts.span_summary import sparse_entries, sparse_summary
from mbrparse.grammar.charts.sparse import MAX_SHIFT, Buckets, Items, Words, sparse_inside, sparse_outside
from mbrparse.grammar.charts.sparse_viterbi import sparse_derivation, sparse_viterbi
from mbrparse.grammar.pcfg import PCFG, IntArray

Scaled = tuple[npt.NDArray[np.float64], float]


# Items that a chart may hold: some 3.5 GB. A sentence that needs more has no chart.
MAX_ITEMS = 1 << 26


class ChartOverflowError(MbrparseError):
    """A chart outgrows the memory that is meant for one."""


class SparseCharts:
    """Drives the sparse kernels for one grammar in one precision."""

    def __init__(self, grammar: PCFG, dtype: Any, tie: float) -> None:
        rules = chart_rules(grammar)
        self._dtype = np.dtype(dtype)
        self._tie = tie
        self._label_ids = grammar.label_ids
        self._label_count = len(grammar.labels)
        self._symbol_count = len(grammar.symbols)
        self._tables = sparse_tables(rules, dtype)
        self._unary = unary_tables(grammar, dtype, tie)
        self._lexicon = lexicon(rules, len(grammar.terminals))
        with np.errstate(over="ignore"):
            self._powers = np.ldexp(1.0, np.arange(-MAX_SHIFT, MAX_SHIFT + 1)).astype(dtype)
        self._entry_prob = self._lexicon.prob.astype(dtype)
        self._resize(32, 1 << 14)

    def fill(self, chart: Chart, wanted: Wanted) -> None:
        """Fill one chart; a chart that would not fit is left without a parse."""
        try:
            self._fill(chart, wanted)
        except ChartOverflowError:
            chart.put(log_prob=-math.inf, derivation=Derivation(-math.inf, [], []))
            chart.overflown = True

    def _fill(self, chart: Chart, wanted: Wanted) -> None:
        if wanted.summaries or wanted.entries:
            words, log_prob = self._inside_outside(chart.terminal_ids)
            items, labels, count = self._items, self._label_ids, self._label_count
            summary = sparse_summary(items, labels, count, chart.length, self._tie)
            if self._unary.present:
                summarize_words(words, items, labels, count, summary, self._tie)
            chart.put(log_prob=log_prob, summary=summary)
            if wanted.entries:
                chart.put(entries=sparse_entries(words, items, labels, count))
        if wanted.derivations:
            chart.put(derivation=self._derivation(chart.terminal_ids))

    def cell(self, chart: Chart, start: int, end: int) -> tuple[IntArray, Scaled, Scaled]:
        """Symbols of a span, their inside and outside values, each with its log scale."""
        _, log_prob = self._inside_outside(chart.terminal_ids)
        items = self._items
        found: list[int] = []
        item = int(items.cell_first[start, end])
        while item >= 0:
            found.append(item)
            item = int(items.cell_next[item])
        scale = float(items.exponent[start, end]) * math.log(2.0)
        symbols = items.symbol[found]
        order = np.argsort(symbols)
        inside, outside = items.inside[found].astype(np.float64), items.outside[found].astype(np.float64)
        return symbols[order], (inside[order], scale), (outside[order], log_prob - scale)

    def _inside_outside(self, tokens: IntArray) -> tuple[Words, float]:
        """Fill the items, which live until the next sentence; returns also the log probability."""
        words = self._sentence(tokens)
        while not sparse_inside(self._tables, self._unary, words, self._items, self._buckets):
            self._enlarge()
        return words, sparse_outside(self._tables, self._unary, words, self._items, self._buckets)

    def _derivation(self, tokens: IntArray) -> Derivation:
        words = self._sentence(tokens)
        tables, unary, tie = self._tables, self._unary, self._tie
        while not sparse_viterbi(tables, unary, words, self._items, self._buckets, self._back, tie):
            self._enlarge()
        nodes, log_prob = sparse_derivation(tables, unary, words, self._items, self._back, tie)
        return derivation_of(nodes.start, nodes.end, nodes.symbol, log_prob)

    def _sentence(self, tokens: IntArray) -> Words:
        if len(tokens) > self._length:
            self._resize(max(len(tokens), 3 * self._length // 2), self._capacity)
        entries, begin = lexical_entries(self._lexicon, tokens)
        return Words(begin, self._lexicon.symbol[entries], self._entry_prob[entries], self._powers)

    def _enlarge(self) -> None:
        if self._capacity >= MAX_ITEMS:
            raise ChartOverflowError(f"a chart of more than {MAX_ITEMS} items")
        # A first guess from the cells, then doubling: each attempt parses the sentence anew.
        guess = self._length * (self._length + 1) * 8
        self._resize(self._length, min(max(2 * self._capacity, guess), MAX_ITEMS))

    def _resize(self, length: int, capacity: int) -> None:
        def ints(*shape: int) -> Ints:
            return np.zeros(shape, np.int32)

        def floats(size: int) -> Floats:
            return np.zeros(size, self._dtype)

        self._length, self._capacity = length, capacity
        self._items = Items(
            start=ints(capacity),
            symbol=ints(capacity),
            inside=floats(capacity),
            outside=floats(capacity),
            column_start=ints(length + 2),
            cell_first=ints(length + 1, length + 1),
            cell_next=ints(capacity),
            exponent=ints(length + 1, length + 1),
        )
        self._buckets = Buckets(
            first=ints(length + 1, self._tables.n_left + 1),
            item=ints(capacity),
            start=ints(capacity),
            value=floats(capacity),
            factor=floats(length + 1),
            slots=np.full((self._symbol_count, length), -1, np.int32),
            mass=floats(self._symbol_count),
        )
        self._back = ints(capacity, 4 if self._unary.present else 2)
