"""Charts of a DOP grammar, and the probability of trees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from mbrparse.charts import packed_forest, rule_tables
from mbrparse.charts.chart import Chart, Derivation, Pruned, derivation_of
from mbrparse.charts.dop.dop_forest import LANES, DopForest, DopTables, dop_forest, dop_tables
from mbrparse.charts.dop.dop_passes import DopValues, inside_pass, outside_pass, root_masses
from mbrparse.charts.exhaustive.factory import TIE, ChartFactory, left_out
from mbrparse.charts.spans import (
    SpanEntries,
    SpanSummary,
    entries_without_unaries,
    summarize_entries,
    summed_entries,
)
from mbrparse.grammar import dop_grammar, pcfg
from mbrparse.grammar.rules import quote
from mbrparse.treebank.labels import project

# How much lower a threshold is tried where a sentence loses all its parses to one.
_LOWER = 1e-2
_LOWEST = 1e-12
#: The address of a node where a fragment begins.
BEGINS = -1


class Filled(NamedTuple):
    """A sentence's forest with inside values."""

    terminal_ids: pcfg.IntArray
    tables: DopTables
    forest: DopForest
    values: DopValues
    log_prob: float
    best: bool  # as in inside_pass
    symbols: rule_tables.Ints  # of the nodes, the grammar's ids


class DopChart(Chart):
    """A chart of the labels that a threshold leaves."""

    def __init__(self, charts: DopCharts, terminal_ids: pcfg.IntArray, of_pcfg: Chart) -> None:
        super().__init__(lambda: cast("Any", charts), terminal_ids)
        self._charts = charts
        self.of_pcfg = of_pcfg
        """The sentence's chart under the treebank's PCFG."""
        self.threshold: float | None = None
        """What posteriors of labels exceed that are left (None: not known yet)."""

    @property
    def has_parse(self) -> bool:
        """Whether the grammar derives the sentence: what the treebank's PCFG derives."""
        return self.of_pcfg.has_parse

    def note(self, log_prob: float, threshold: float) -> None:
        """Take in what every pass says."""
        self.threshold = threshold
        self._log_prob = log_prob

    @property
    def pruned(self) -> Pruned | None:
        """What was left out; None where nothing was to be."""
        return self._charts.pruned(self)


class DopCharts:
    """Makes charts for one DOP grammar.

    Labels are left over a span where their posterior under the treebank's PCFG exceeds ``prune``; with 0
    nothing is lost. A sentence that would lose all its parses gets a lower threshold. What is asked raises
    ChartOverflowError or MemoryError where it does not fit.
    """

    def __init__(self, grammar: dop_grammar.DopGrammar, prune: float = 0.0) -> None:
        self.grammar, self._prune = grammar, prune
        self._tables = dop_tables(grammar)
        self._filter = ChartFactory(grammar.filter)
        self._within = ChartFactory(grammar.filter, kernel="forest")
        numbers = {f"{place:09}": place for place in range(len(grammar.treebank.labels))}
        self._label_of = np.array([numbers.get(name, -1) for name in grammar.filter.labels], np.int32)
        symbols = {name: place for place, name in enumerate(grammar.pcfg.symbols)}
        names = [*grammar.treebank.labels, *map(quote, grammar.treebank.terminals)]
        self._symbol_of = np.array([symbols.get(name, -1) for name in names], np.int32)
        self._label_of_group = grammar.pcfg.label_ids[self._symbol_of]
        self._last: DopChart | None = None
        # The last sentence whose values were computed for derivations: they take much memory.
        self._held: Filled | None = None

    def chart(self, terminal_ids: pcfg.IntArray) -> DopChart:
        """The chart of a sentence of known terminals (one or more)."""
        self._last = DopChart(self, terminal_ids, self._filter.chart(terminal_ids))
        return self._last

    def log_prob(self, chart: DopChart) -> float:
        """The natural logarithm of the sentence's probability."""
        return self._values(chart, best=False).log_prob

    def entries(self, chart: DopChart) -> SpanEntries:
        """Posteriors above zero, summed by projected label, in the order of start, end, label."""
        filled = self._inside(chart, best=False, kept=False)
        forest, values = filled.forest, filled.values
        if filled.log_prob > -math.inf:
            outside_pass(self._tables, forest, values)
        label_ids, g = self._label_of_group[forest.group], values.posterior
        return summed_entries(forest.n, *entries_without_unaries(forest.start, forest.end, label_ids, g))

    def summary(self, chart: DopChart) -> SpanSummary:
        """The best label of each cell, its posterior, and the sum of all."""
        return summarize_entries(chart.length, chart.span_posteriors(), TIE)

    def viterbi(self, chart: DopChart) -> Derivation:
        """The most probable derivation."""
        filled = self._values(chart, best=True)
        nodes = DopDescent(self._tables, filled.forest, filled.values).derivation(TIE)
        if not nodes:
            return Derivation(-math.inf, [], [])
        starts, ends = filled.forest.start[nodes], filled.forest.end[nodes]
        return derivation_of(starts, ends, filled.symbols[nodes], filled.log_prob)

    def filled(self, terminal_ids: pcfg.IntArray, best: bool = False) -> Filled:
        """A sentence with its inside values.

        ``best`` is as in inside_pass. Raises ValueError where there is no parse.
        """
        chart = self._last
        if chart is None or chart.terminal_ids is not terminal_ids:
            chart = self.chart(terminal_ids)
        filled = self._values(chart, best)
        if filled.log_prob == -math.inf:
            raise ValueError("a sentence without a derivation")
        return filled

    def pruned(self, chart: DopChart) -> Pruned | None:
        """What is left out of a sentence's forest; that takes two passes of the treebank's PCFG."""
        if not self._prune:
            return None
        if chart.threshold is None:
            self._values(chart, best=False)
        if not chart.threshold:
            return Pruned(0.0, 0.0)
        entries = chart.of_pcfg.span_posteriors()
        # Labels over one terminal are always left.
        always = np.where(entries.ends - entries.starts > 1, 0.0, math.inf)
        labels = self._filter.grammar.label_ids
        count = len(self._filter.grammar.labels)
        spans = packed_forest.SpanFilter.of_posteriors(
            chart.length, entries._replace(preterminals=always), chart.threshold, labels, count
        )
        lost = left_out(self._within, chart.terminal_ids, spans, chart.of_pcfg.log_prob)
        return Pruned(chart.threshold, lost)

    def _values(self, chart: DopChart, best: bool) -> Filled:
        """Inside values with those of addresses, for derivations."""
        held = self._held
        if held is None or held.terminal_ids is not chart.terminal_ids or held.best is not best:
            self._held = held = self._inside(chart, best, kept=True)
        return held

    def _inside(self, chart: DopChart, best: bool, kept: bool) -> Filled:
        """Fill inside values; ``kept``: with those of addresses, instead of an outside pass.

        The forest is that of the labels that are left; where it has no parse, that of a lower threshold.
        """
        self._held = None
        starts, ends, label_ids, g, _ = chart.of_pcfg.span_posteriors()  # of constituents
        threshold = self._prune
        while True:
            chosen = (ends - starts > 1) & (g > threshold)
            labels = self._label_of[label_ids[chosen]]
            forest = dop_forest(self._tables, chart.terminal_ids, starts[chosen], ends[chosen], labels)
            values, log_prob = inside_pass(self._tables, forest, best, kept, outside=not kept)
            if log_prob > -math.inf or threshold == 0:
                if not best:
                    chart.note(log_prob, threshold)
                symbols = self._symbol_of[forest.group]
                return Filled(chart.terminal_ids, self._tables, forest, values, log_prob, best, symbols)
            threshold = threshold * _LOWER if threshold > _LOWEST else 0.0


class Side(NamedTuple):
    """The children on one side of an address, by split, and how the fragment may go on there.

    ``logs`` [split, 2] are of the best derivation where the fragment ends at the child, and where it goes on
    at ``address``; ``log_cut`` is the weight of its ending.
    """

    nodes: rule_tables.Ints
    address: int
    logs: pcfg.FloatArray
    log_cut: float

    @property
    def scores(self) -> pcfg.FloatArray:
        """The logarithms with the weight."""
        found: pcfg.FloatArray = self.logs + np.array([self.log_cut, 0.0])
        return found


class DopDescent:
    """What one sentence's nodes and addresses may be made of, after a pass of maxima. Logarithms are natural.

    At a node a fragment begins, at any of its label's addresses, or goes on, at one that is known. An address
    may be split anywhere; at each child the fragment ends there, and another begins, or it goes on.
    """

    def __init__(self, tables: DopTables, forest: DopForest, values: DopValues) -> None:
        self._tables, self._forest, self._values = tables, forest, values
        self._value, self._cut = values.value.reshape(-1), tables.cut.reshape(-1)
        self._up, self._keep = tables.up.reshape(-1), tables.keep.reshape(-1)
        nodes = np.repeat(np.arange(len(forest.group)), np.diff(forest.expansion_start))
        self._rules = len(tables.rule_left)
        self._expansions = nodes * self._rules + forest.rule  # ascending

    def is_leaf(self, node: int) -> bool:
        """Whether a node is over a single terminal."""
        return bool(self._forest.end[node] - self._forest.start[node] == 1)

    def roots(self) -> tuple[pcfg.IntArray, pcfg.FloatArray, pcfg.FloatArray]:
        """Nodes that may be the root, the logarithms of their weights, and of their best derivations."""
        nodes, _, _ = root_masses(self._tables, self._forest, self._values)
        weights = np.log(self._tables.root[self._forest.group[nodes]])
        return nodes, weights, self._logs(self._values.inside[nodes], nodes)

    def fragments(self, node: int, most: int) -> tuple[pcfg.IntArray, pcfg.FloatArray, pcfg.FloatArray]:
        """The best addresses where a fragment may begin at a node, no more than so many; the best first.

        With the logarithms of their weights, and of their best derivations. Of equal ones the lesser address
        comes first.
        """
        tables, forest = self._tables, self._forest
        begin, end = forest.expansion_start[node : node + 2]
        rules, rows = forest.rule[begin:end], forest.value_row[begin : end + 1]
        shifts = np.repeat(tables.first[rules] - LANES * rows[:-1], LANES * np.diff(rows))
        places = np.arange(LANES * rows[0], LANES * rows[-1])
        masses, addresses = self._value[places], places + shifts
        weights = self._up[addresses] / self._keep[addresses]
        scores = weights * masses
        order = np.argsort(-scores, kind="stable")[:most]
        order = order[scores[order] > 0]
        logs = self._logs(masses[order], np.full(len(order), node))
        return addresses[order], np.log(weights[order]), logs

    def log_keep(self, address: int) -> float:
        """The weight by which an address's own derivations count where a fragment goes on there."""
        return math.log(self._keep[address])

    def sides(self, node: int, address: int) -> tuple[Side, Side]:
        """What an address may be split into over a node's span."""
        forest = self._forest
        expansion = self._find(np.array([node]), address)[0]
        first, last = forest.production_start[expansion : expansion + 2]
        right_place = len(self._keep) + address
        return self._side(forest.left[first:last], address), self._side(forest.right[first:last], right_place)

    def derivation(self, tie: float) -> list[int]:
        """The nodes of the best derivation in preorder, terminals and preterminals too; none without a parse.

        Ties as in the other charts: the first split, then the children's labels in order, then the address.
        """
        log_tie = math.log1p(-tie)
        nodes, weights, logs = self.roots()
        if not len(nodes):
            return []
        scores = weights + logs
        found: list[int] = []
        stack = [(int(nodes[np.flatnonzero(scores >= scores.max() + log_tie)[0]]), BEGINS)]
        while stack:
            node, address = stack.pop()
            found.append(node)
            if self.is_leaf(node):
                continue
            for side, split in reversed(self._best_split(node, address, log_tie)):
                ends, goes_on = side.scores[split]
                stack.append((int(side.nodes[split]), side.address if goes_on >= ends + log_tie else BEGINS))
        return found

    def _best_split(self, node: int, address: int, log_tie: float) -> list[tuple[Side, int]]:
        """Both sides of the best address (or of this one), and the place of its best split."""
        addresses = [address]
        if address == BEGINS:
            best, weights, logs = self.fragments(node, len(self._keep))
            scores = weights + logs
            addresses = best[scores >= scores[0] + log_tie].tolist()
        choices = []
        for one in addresses:
            left, right = self.sides(node, one)
            scores = left.scores.max(axis=1) + right.scores.max(axis=1)
            split = int(np.flatnonzero(scores >= scores.max() + log_tie)[0])
            order = int(self._forest.start[right.nodes[split]]), one
            choices.append((order, [(left, split), (right, split)]))
        return min(choices, key=lambda choice: choice[0])[1]

    def _find(self, nodes: pcfg.IntArray, address: int) -> pcfg.IntArray:
        """By node the expansion that an address is of; -1 where there is none."""
        wanted = nodes.astype(np.int64) * self._rules + self._tables.rule_of[address // LANES]
        found = np.searchsorted(self._expansions, wanted)
        known = np.append(self._expansions, -1)[found] == wanted
        return np.where(known, found, -1)

    def _side(self, nodes: rule_tables.Ints, place: int) -> Side:
        """The children on a side; ``place`` is that of the address there in the tables' ``child``."""
        tables, forest, values = self._tables, self._forest, self._values
        address = int(tables.child[place])
        goes_on = np.zeros(len(nodes))
        if address >= tables.first_word:
            word = address - tables.first_word
            goes_on[forest.words[nodes] == word] = tables.word_keep[word]
        elif address:
            expansions = self._find(nodes, address)
            known = expansions >= 0
            offset = address - tables.first[tables.rule_of[address // LANES]]
            goes_on[known] = self._value[LANES * forest.value_row[expansions[known]] + offset]
        logs = np.stack([self._logs(values.inside[nodes], nodes), self._logs(goes_on, nodes)], axis=1)
        return Side(nodes, address, logs, math.log(self._cut[place]))

    def _logs(self, scaled: pcfg.FloatArray, nodes: pcfg.IntArray) -> pcfg.FloatArray:
        with np.errstate(divide="ignore"):
            logs: pcfg.FloatArray = np.log(scaled) + self._values.exponent[nodes] * math.log(2.0)
        return logs


class DopTreeProbability:
    """The probability of binary trees: an inside pass over nothing but their constituents."""

    serves_nary = False

    def __init__(self, grammar: dop_grammar.DopGrammar) -> None:
        self._tables = dop_tables(grammar)
        self._labels: dict[str, list[int]] = {}
        for label, name in enumerate(grammar.treebank.labels):
            self._labels.setdefault(project(name), []).append(label)

    def log_prob(
        self, spans: Sequence[tuple[int, int, str]], terminal_ids: pcfg.IntArray, nary: bool = False
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
        return inside_pass(self._tables, forest, best=False)[1]
