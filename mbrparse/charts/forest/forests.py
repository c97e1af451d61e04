"""Forests for one grammar, one sentence after the other, and what charts are asked for.

What may begin where, in view of what ends there: the step of Earley's algorithm that predicts.

A symbol begins at a position only if it is a left corner of the right sibling of some node that ends there,
or at the sentence's begin a left corner of a root. Others are of no tree, and forests leave them
out, which among the symbols of large grammars are most. Sets of symbols are bits. In very large grammars
neighbours share one: more is predicted then, and nothing lost.

A forest's values in logarithms: slow, and exact in any range of numbers.

The structure of a forest (nodes, groups, edges, productions) does not depend on its values. Where some of
these leave the range that scaled values are exact in (``forest.LEAST_VALUE``), they are computed again here,
cell by cell: log-sum-exp takes the place of sums, and maxima of logarithms that of maxima.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mbrparse.charts.chart import TOO_IMPROBABLE, TOO_LARGE, Cell, Chart, Derivation, log_cell
from mbrparse.charts.forest.best import Maxima, best_derivation, fill_maxima, ranges
from mbrparse.charts.forest.inside_outside import forest_inside, forest_outside, list_forest_entries
from mbrparse.charts.packed_forest import (
    EDGES,
    GROUPS,
    NO_FILTER,
    NODES,
    OUT_OF_RANGE,
    PARTNERS,
    PRODUCTIONS,
    UNARIES,
    Bits,
    Columns,
    Forest,
    ForestState,
    Partners,
    Prediction,
    SpanFilter,
    empty_forest,
    filled_part,
    forest_cell,
    new_floats,
    new_ints,
)
from mbrparse.charts.rule_tables import (
    BestChains,
    Floats,
    Ints,
    Rules,
    Words,
    best_chains,
    chart_rules,
    lexicon,
    scaled_entries,
    sparse_tables,
    unary_tables,
    words_of,
)
from mbrparse.charts.spans import SpanEntries, SpanSummary, no_entries, summarize_entries
from mbrparse.errors import ChartOverflowError, NumberRangeError
from mbrparse.grammar.pcfg import PCFG, IntArray

# A set of symbols has so many bits at most, and so many left children have sets of their own: 4 MB.
_MOST_SYMBOLS, _MOST_LEFTS = 1 << 13, 1 << 12


def prediction(
    rules: Rules, unary_parent: Ints, unary_child: Ints, left_index: Ints, n_left: int
) -> Prediction:
    """What a grammar's rules predict.

    >>> one, none = np.ones(1, np.int32), np.zeros(0, np.int32)  # S=2 -> A=0 B=1
    >>> rules = Rules(3, 2 * one, 0 * one, one, np.ones(1), none, none, none, np.eye(3)[2], none, 0)
    >>> predicted = prediction(rules, none, none, np.array([0, -1, -1], np.int32), 1)
    >>> predicted.first.tolist(), predicted.after.tolist()  # S and A, and B after A
    ([5], [[2]])
    """
    shift = max(int(rules.n_symbols - 1).bit_length() - _MOST_SYMBOLS.bit_length() + 1, 0)
    left_shift = max(int(n_left - 1).bit_length() - _MOST_LEFTS.bit_length() + 1, 0)
    count = (rules.n_symbols - 1 >> shift) + 1
    corners = np.zeros((count, (count + 63) // 64), np.uint64)
    own = np.arange(count)
    corners[own, own >> 6] = np.uint64(1) << (own & 63).astype(np.uint64)
    parent, child = (
        np.append(rules.parent, unary_parent) >> shift,
        np.append(rules.left, unary_child) >> shift,
    )
    after = np.zeros((max((n_left - 1 >> left_shift) + 1, 1), corners.shape[1]), np.uint64)
    siblings = _different(left_index[rules.left] >> left_shift, rules.right >> shift)
    _close(corners, _different(parent, child))
    _add_sets(after, corners, siblings)
    first = np.bitwise_or.reduce(corners[np.flatnonzero(rules.root_prob > 0) >> shift], axis=0)
    # A small grammar predicts nearly all of its symbols; to look at each takes longer.
    is_selective = bool(np.bitwise_count(after).sum() < len(after) * count / 2)
    return Prediction(is_selective, shift, left_shift, first, after)


def _different(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """The different ones of pairs."""
    pairs = np.unique(first.astype(np.int64) << 32 | second)
    return (pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32)


def _close(corners: Bits, children: tuple[Ints, Ints]) -> None:
    """Add to the set of each parent those of its children, until nothing is new."""
    before = np.zeros_like(corners)
    while not np.array_equal(before, corners):
        before = corners.copy()
        _add_sets(corners, corners, children)


def _add_sets(into: Bits, sets: Bits, pairs: tuple[Ints, Ints]) -> None:
    """Add to the set of the first of each pair that of the second; pairs are in order of the first."""
    to, taken = pairs
    # So many pairs at once take some megabytes.
    step = max((1 << 20) // sets.shape[1], 1)
    for begin in range(0, len(to), step):
        chosen = slice(begin, begin + step)
        rows, first = np.unique(to[chosen], return_index=True)
        into[rows] |= np.bitwise_or.reduceat(sets[taken[chosen]], first, axis=0)


# Sums in logarithms and scaled sums differ by less.
_ROUNDING = 1e-10


class _LogValues(NamedTuple):
    """Natural logarithms of a sentence's inside values, or maxima; -inf for zero."""

    inside: Floats  # by node
    own: Floats  # by node: ``inside`` without chains of unary rules
    lexical: Floats  # by node: its lexical rule's part of ``inside``
    group: Floats  # by group: the sum, or the maximum, over its edges


class LogForest:
    """The values of one sentence's forest."""

    def __init__(self, state: ForestState, words: Words) -> None:
        """``words`` have unscaled probabilities."""
        self._state, self._words, self._forest = state, words, state.forest
        self._n = len(words.entry_start) - 1
        self._nodes = int(self._forest.node_first[self._n * (self._n + 1) // 2])
        with np.errstate(divide="ignore"):
            self._rule, self._root = np.log(state.tables.rule_prob), np.log(state.tables.root)
            self._closure = np.log(state.unary.closure_value)
        self._slot = np.full(len(self._root), -1, np.int32)
        values = self._values(self._closure, np.logaddexp)
        #: Logarithms of inside and outside probabilities, by node.
        self.inside, self._lexical = values.inside, values.lexical
        self.outside = np.full(self._nodes, -np.inf)
        #: The natural logarithm of the sentence's probability.
        self.log_prob = self._fill_outside()

    def agrees(self) -> bool:
        """Whether the forest's own values give the same posteriors."""
        forest = self._forest
        with np.errstate(invalid="ignore", over="ignore"):
            g = forest.inside[: self._nodes] * forest.outside[: self._nodes]
        exact = np.exp(self.inside + self.outside - self.log_prob)
        return bool((np.abs(g - exact) <= _ROUNDING * np.maximum(exact, 1.0)).all())

    def normalize(self) -> None:
        """Make the forest's own values such that their products are the posteriors: inside values are one."""
        forest, nodes = self._forest, slice(self._nodes)
        forest.inside[nodes] = 1.0
        forest.outside[nodes] = np.exp(self.inside + self.outside - self.log_prob)
        with np.errstate(invalid="ignore"):
            share = np.exp(self._lexical - self.inside)
        forest.lexical[nodes] = np.where(self._lexical == -np.inf, 0.0, share)

    def derivation(self, chains: BestChains, tie: float) -> Derivation:
        """The most probable derivation."""
        with np.errstate(divide="ignore"):
            chain = np.log(chains.prob)
        values = self._values(chain, np.maximum)
        rules = self._rule, self._root, chain
        least = float(np.log1p(-tie))
        maxima = Maxima(values.inside, values.own, values.group, *rules, are_logs=True, least=least)
        return best_derivation(self._state, maxima, chains, self._n, 0.0)

    def _values(self, closure: Floats, plus: np.ufunc) -> _LogValues:
        """Inside values, sums or maxima by ``plus``; nothing but the structure of the forest is looked at."""
        forest, words, unary = self._forest, self._words, self._state.unary
        inside, own, lexical = np.full((3, self._nodes), -np.inf)
        self._slot[:] = -1
        group = np.full(int(self._state.columns.counts[2]), -np.inf)
        for start, end, cell, first, last in self._cells():
            if end - start == 1:
                entries = slice(words.entry_start[start], words.entry_start[end])
                nodes = self._slots(first, last)[words.entry_symbol[entries]]
                known = nodes >= first
                lexical[nodes[known]] = np.log(words.entry_prob[entries][known])
                inside[first:last] = lexical[first:last]
            made = slice(forest.cell_production[cell], forest.cell_production[cell + 1])
            products = self._rule[forest.production_rule[made]] + group[forest.production_group[made]]
            plus.at(inside, forest.production_parent[made], products)
            own[first:last] = inside[first:last]
            if len(unary.rule_parent):
                inside[first:last] = -np.inf
                bottom, entry, top = self._chains(first, last)
                plus.at(inside, top, closure[entry] + own[bottom])
            rights, lefts, groups = self._edges(first, last)
            plus.at(group, groups, inside[lefts] + inside[rights])
        return _LogValues(inside, own, lexical, group)

    def _fill_outside(self) -> float:
        """Fill ``outside`` from the root down; returns the log probability of the sentence."""
        forest, inside, outside = self._forest, self.inside, self.outside
        weight = np.full(int(self._state.columns.counts[2]), -np.inf)
        cell = forest_cell(0, self._n)
        top = slice(forest.node_first[cell], forest.node_first[cell + 1])
        outside[top] = self._root[forest.node_symbol[top]]
        for _, _, cell, first, last in reversed(list(self._cells())):
            rights, lefts, groups = self._edges(first, last)
            np.logaddexp.at(outside, rights, weight[groups] + inside[lefts])
            np.logaddexp.at(outside, lefts, weight[groups] + inside[rights])
            if len(self._state.unary.rule_parent):
                above = outside[first:last].copy()
                outside[first:last] = -np.inf
                bottom, entry, tops = self._chains(first, last)
                np.logaddexp.at(outside, bottom, self._closure[entry] + above[tops - first])
            made = slice(forest.cell_production[cell], forest.cell_production[cell + 1])
            passed = self._rule[forest.production_rule[made]] + outside[forest.production_parent[made]]
            np.logaddexp.at(weight, forest.production_group[made], passed)
        roots = self._root[forest.node_symbol[top]] + inside[top]
        return float(np.logaddexp.reduce(roots)) if len(roots) else -np.inf

    def _cells(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Start, end and number of each cell, parts before wholes, and where its nodes begin and end."""
        firsts = self._forest.node_first[: self._n * (self._n + 1) // 2 + 1].tolist()
        for end in range(1, self._n + 1):
            for start in range(end - 1, -1, -1):
                cell = forest_cell(start, end)
                if firsts[cell] < firsts[cell + 1]:
                    yield start, end, cell, firsts[cell], firsts[cell + 1]

    def _slots(self, first: int, last: int) -> IntArray:
        """By symbol its node in a cell; on the way up a number less than ``first`` where it has none."""
        self._slot[self._forest.node_symbol[first:last]] = np.arange(first, last)
        return self._slot

    def _chains(self, first: int, last: int) -> tuple[IntArray, IntArray, IntArray]:
        """Bottom, entry in the closure and top of each chain of unary rules between nodes of a cell."""
        unary = self._state.unary
        bottom, entries = ranges(unary.closure_start, self._forest.node_symbol[first:last])
        # Nodes that derive others have all been made.
        return first + bottom, entries, self._slots(first, last)[unary.closure_top[entries]]

    def _edges(self, first: int, last: int) -> tuple[IntArray, IntArray, IntArray]:
        """Right nodes, left nodes and groups of the edges whose right node is in a cell."""
        forest = self._forest
        edges = np.arange(forest.edge_first[first], forest.edge_first[last])
        nodes = np.arange(first, last, dtype=np.int32)
        rights = np.repeat(nodes, np.diff(forest.edge_first[first : last + 1]))
        lefts = forest.left_node[forest.left_first[rights] + edges - forest.edge_first[rights]]
        return rights, lefts, forest.edge_group[edges]


# Bounds of the best derivation's posterior, one after the other. One that is less probable than the last
# number is not certain: values that are so much less than inside values may leave the range of numbers.
_BOUNDS = (1e-2, 1e-4, 1e-7)
_LEAST_REACHED = 1e-40
# Posteriors are rounded, and derivations as good as the best one are wanted too.
_SLACK = 1e-3

# A sentence whose forest needs more has none: some 5 GB in all, with the rows that are searched.
MAX_SIZE = {
    NODES: 1 << 22,
    GROUPS: 1 << 23,
    EDGES: 1 << 27,
    PRODUCTIONS: 1 << 24,
    UNARIES: 1 << 21,
    PARTNERS: 1 << 25,
}
_FIRST_SIZE = {
    NODES: 1 << 14,
    GROUPS: 1 << 16,
    EDGES: 1 << 19,
    PRODUCTIONS: 1 << 17,
    UNARIES: 1 << 12,
    PARTNERS: 1 << 16,
}


class InsideNodes(NamedTuple):
    """The symbols that derive each span, and their inside values.

    The nodes of a cell (``forest.forest_cell``) are cell_first[c] .. cell_first[c + 1]. Those of the
    span (i, j) are multiplied by 2^(power[j] - power[i]).
    """

    cell_first: Ints  # [cells + 1]
    symbol: Ints
    inside: Floats
    power: Ints  # [words + 1]


class _Held(NamedTuple):
    """The sentence whose forest is in memory."""

    terminal_ids: IntArray
    spans: SpanFilter | None
    everything: bool  # also nodes that are not predicted
    log_prob: float

    def is_of(self, chart: Chart) -> bool:
        """Whether it is a chart's."""
        return self.terminal_ids is chart.terminal_ids and self.spans is chart.spans


class Forests:
    """Answers the questions of charts of one grammar: fills one forest after the other, in the same memory.

    Raises ChartOverflowError where a forest would have more than ``MAX_SIZE``, and MemoryError where there is
    not so much memory; the next sentence may do.
    """

    def __init__(self, grammar: PCFG, tie: float = 1e-9, label: Ints | None = None) -> None:
        """Derivations within ``tie`` (relative) are equally good; posteriors are of ``label`` [symbol]."""
        self._grammar, self._tie = grammar, tie
        self._label = grammar.label_ids if label is None else label
        self._held: _Held | None = None
        rules = chart_rules(grammar)
        self.tables = sparse_tables(rules)
        self.unaries = unary_tables(grammar)
        self._prediction = prediction(
            rules, grammar.unary_parent, grammar.unary_child, self.tables.left_index, self.tables.n_left
        )
        self._lexicon = lexicon(rules, len(grammar.terminals))
        self._shift, self._entry_prob = scaled_entries(self._lexicon)
        #: The natural logarithm of what the inside values of the last sentence are multiplied by.
        self.log_scale = 0.0
        #: The values of the last sentence where they left the range of numbers.
        self.logarithms: LogForest | None = None
        self._log_total = -math.inf  # of the last sentence's probability, scaled
        self._size = {part: min(first, MAX_SIZE[part]) for part, first in _FIRST_SIZE.items()}
        self._state = self._allocated(32, self._size)

    @property
    def forest_at_hand(self) -> Forest:
        """The forest that was filled last; the next one takes its place."""
        return self._state.forest

    @property
    def lost_values(self) -> bool:
        """Whether values left the range of numbers; without ``logarithms`` no posterior depended on them."""
        return bool(self._state.columns.counts[OUT_OF_RANGE])

    def log_prob(self, chart: Chart) -> float:
        """The natural logarithm of the sentence's probability, -inf without a parse."""
        return self._filled(chart).log_prob

    def summary(self, chart: Chart) -> SpanSummary:
        """The best label of each cell, its posterior, and the sum of all."""
        entries = chart.span_posteriors()
        # Over single terminals preterminals alone count.
        own = np.where(entries.ends - entries.starts == 1, entries.lexical, entries.g)
        return summarize_entries(chart.length, entries._replace(g=own), self._tie)

    def entries(self, chart: Chart) -> SpanEntries:
        """Expected numbers above zero of labels over spans, single terminals included; labels in order."""
        self._filled(chart)
        if not chart.has_parse:
            return no_entries()
        forest, n = self.forest_at_hand, chart.length
        count, n_labels = int(forest.node_first[n * (n + 1) // 2]), int(self._label.max(initial=-1)) + 1
        starts, ends, label_ids = np.empty((3, count), np.int32)
        room = SpanEntries(starts, ends, label_ids, np.empty(count), np.zeros(count))
        listed = list_forest_entries(forest, self._label, n_labels, n, room)
        return SpanEntries(*(values[:listed].copy() for values in room))

    def viterbi(self, chart: Chart) -> Derivation:
        """The most probable derivation."""
        held = self._held
        if held is None or not held.is_of(chart):
            self._held = None
            return self._viterbi(chart.terminal_ids, chart.spans)
        if held.log_prob == -math.inf:
            return Derivation(-math.inf, [], [])
        self._filled(chart)
        return self._derivation(chart.terminal_ids, chart.spans)

    def forest(self, chart: Chart) -> Forest:
        """The forest of a chart, until another one is filled; raises NumberRangeError."""
        self._filled(chart)
        if self.lost_values or self.logarithms is not None:
            raise NumberRangeError(TOO_IMPROBABLE)
        return filled_part(self._state, chart.length)

    def cell(self, chart: Chart, start: int, end: int) -> Cell:
        """Symbols of a span, in some tree or not."""
        log_prob, forest, cell = (
            self._filled(chart, True).log_prob,
            self.forest_at_hand,
            forest_cell(start, end),
        )
        nodes = slice(forest.node_first[cell], forest.node_first[cell + 1])
        order = np.argsort(forest.node_symbol[nodes])
        symbols = forest.node_symbol[nodes][order]
        if self.logarithms is not None:
            inside, log_inside = _scaled(self.logarithms.inside[nodes][order])
            outside, log_outside = _scaled(self.logarithms.outside[nodes][order])
            return log_cell(symbols, inside, log_inside, outside, log_outside)
        scale = self._log_scale_of(chart.terminal_ids, start, end)
        inside, outside = forest.inside[nodes][order], forest.outside[nodes][order]
        return log_cell(symbols, inside, -scale, outside, scale + log_prob)

    def inside_nodes(self, terminal_ids: IntArray, everything: bool) -> InsideNodes:
        """The inside values of a sentence; of what its left context predicts, or ``everything``.

        Raises NumberRangeError.
        """
        self._held = None
        self._inside(terminal_ids, None, everything, keep_all=False)
        if self.lost_values:
            raise NumberRangeError(TOO_IMPROBABLE)
        n, forest = len(terminal_ids), self.forest_at_hand
        first = forest.node_first[: n * (n + 1) // 2 + 1].copy()
        shift = self._shift[terminal_ids] - self._state.columns.shift[1 : n + 1]
        nodes = slice(first[-1])
        copied = forest.node_symbol[nodes].copy(), forest.inside[nodes].copy()
        power = np.concatenate(([0], np.cumsum(shift))).astype(np.int32)
        return InsideNodes(first, *copied, power)

    def _filled(self, chart: Chart, everything: bool = False) -> _Held:
        """Fill the forest if it is another's: without what is not predicted, or with ``everything``."""
        held = self._held
        # Of nodes that are not predicted some may be out of range which the others are not.
        other = held is not None and held.everything != everything and self.logarithms is not None
        if held is None or not held.is_of(chart) or everything > held.everything or other:
            self._held = None
            log_prob = self._fill(chart.terminal_ids, chart.spans, everything)
            self._held = held = _Held(chart.terminal_ids, chart.spans, everything, log_prob)
        if not everything:
            chart.in_logarithms = self.logarithms is not None and held.log_prob > -math.inf
        return held

    def _fill(self, terminal_ids: IntArray, spans: SpanFilter | None, everything: bool) -> float:
        """Fill the forest of a sentence, and return its log probability: -inf without a parse.

        With ``spans`` it is of the derivations of what these allow. With ``everything`` it has all nodes that
        derive their words, else those alone that what is before them predicts.

        Where values leave the range of numbers, they are computed in ``logarithms``. The forest's own are
        then such that inside * outside are the posteriors, and of no other use.
        """
        n = len(terminal_ids)
        self._inside(terminal_ids, spans, everything)
        total = forest_outside(self._state, n)
        nodes = self.forest_at_hand.node_first[n * (n + 1) // 2]
        exact = 0 < total < math.inf and np.isfinite(self.forest_at_hand.outside[:nodes]).all()
        if not self._holds_tree(n):
            if self.lost_values:
                self.logarithms = self._in_logarithms(terminal_ids, spans)
            return -math.inf
        if self.lost_values or not exact:
            logarithms = self._in_logarithms(terminal_ids, spans)
            # What was lost may have been of no account.
            if not (exact and logarithms.agrees()):
                logarithms.normalize()
                self.logarithms = logarithms
                return logarithms.log_prob
        self.log_scale = self._log_scale_of(terminal_ids, 0, n)
        self._log_total = math.log(total)
        return self._log_total - self.log_scale

    def _viterbi(self, terminal_ids: IntArray, spans: SpanFilter | None) -> Derivation:
        """The most probable derivation, without an outside pass.

        The forest is of no other use afterwards.
        """
        self._inside(terminal_ids, spans)
        if not self._holds_tree(len(terminal_ids)):
            return Derivation(-math.inf, [], [])
        self.log_scale = self._log_scale_of(terminal_ids, 0, len(terminal_ids))
        return self._most_probable(terminal_ids, spans)

    def _derivation(self, terminal_ids: IntArray, spans: SpanFilter | None) -> Derivation:
        """The most probable derivation of the sentence whose forest was filled last, which has a parse.

        It is sought among the probable nodes of the forest and, where that does not suffice, among all.
        """
        if self.logarithms is not None:
            return self.logarithms.derivation(self._chains, self._tie)
        n = len(terminal_ids)
        for bound in () if self.lost_values else _BOUNDS:
            best = self._best(n, bound)
            reached = math.exp(best.log_prob + self.log_scale - self._log_total) * (1 - _SLACK)
            # If the bound was too high, what was read is a bound that is not, for it and better derivations.
            if bound > reached > _LEAST_REACHED:
                return self._best(n, reached)
            if reached >= bound:
                return best
        return self._most_probable(terminal_ids, spans)

    def _most_probable(self, terminal_ids: IntArray, spans: SpanFilter | None) -> Derivation:
        if not self.lost_values:
            best = self._best(len(terminal_ids), 0.0)
            if best.log_prob > -math.inf:
                return best
        return self._in_logarithms(terminal_ids, spans).derivation(self._chains, self._tie)

    def _best(self, n: int, bound: float) -> Derivation:
        """The best derivation among the nodes whose posterior reaches a bound."""
        nodes = int(self.forest_at_hand.node_first[n * (n + 1) // 2])
        value = np.empty(nodes)
        own = np.empty(nodes) if len(self.unaries.rule_parent) else value
        group = np.empty(int(self._state.columns.counts[2]))
        rules = self.tables.rule_prob, self.tables.root, self._chains.prob
        maxima = Maxima(value, own, group, *rules, are_logs=False, least=1 - self._tie)
        fill_maxima(self._state, maxima, bound, n)
        return best_derivation(self._state, maxima, self._chains, n, self.log_scale)

    def _inside(
        self,
        terminal_ids: IntArray,
        spans: SpanFilter | None,
        everything: bool = False,
        keep_all: bool = True,
    ) -> None:
        """Fill the forest from the words up."""
        n = len(terminal_ids)
        if n > self._state.columns.length:
            self._take(max(n, 3 * self._state.columns.length // 2), self._size)
        words = self._words(terminal_ids, spans)
        self.logarithms = None
        while True:
            state = self._state
            if everything:
                state = state._replace(prediction=self._prediction._replace(is_selective=False))
            full = int(forest_inside(state, words, spans or NO_FILTER, keep_all))
            if full < 0:
                return
            state.columns.node_slot[:] = -1  # the next sentence may be filled in the same memory
            if self._size[full] >= MAX_SIZE[full]:
                raise ChartOverflowError(TOO_LARGE)
            larger = self._size | {full: min(2 * self._size[full], MAX_SIZE[full])}
            self._take(self._state.columns.length, larger)

    def _in_logarithms(self, terminal_ids: IntArray, spans: SpanFilter | None) -> LogForest:
        return LogForest(self._state, self._words(terminal_ids, spans, scaled=False))

    def _words(self, terminal_ids: IntArray, spans: SpanFilter | None, scaled: bool = True) -> Words:
        entry_prob = self._entry_prob if scaled else self._lexicon.prob
        words = words_of(self._lexicon, entry_prob, terminal_ids)
        return words if spans is None else spans.words(words)

    @cached_property
    def _chains(self) -> BestChains:
        return best_chains(self._grammar, self.unaries, self._tie)

    def _log_scale_of(self, terminal_ids: IntArray, start: int, end: int) -> float:
        """The logarithm of what the inside values of a span are multiplied by."""
        columns = int(self._state.columns.shift[start + 1 : end + 1].sum())
        return (int(self._shift[terminal_ids[start:end]].sum()) - columns) * math.log(2.0)

    def _holds_tree(self, n: int) -> bool:
        """Whether some tree of the sentence that was filled last is there, however improbable."""
        cell = forest_cell(0, n)
        roots = self.forest_at_hand.node_symbol[
            self.forest_at_hand.node_first[cell] : self.forest_at_hand.node_first[cell + 1]
        ]
        return bool((self.tables.root[roots] > 0).any())

    def _take(self, length: int, size: Mapping[int, int]) -> None:
        """Move to new memory, when all of it is there."""
        self._state = self._allocated(length, size)
        self._size = dict(size)

    def _allocated(self, length: int, size: Mapping[int, int]) -> ForestState:
        # A grammar without unary rules has no use for their arrays, and searches see that they are empty.
        unaries = size[UNARIES] if len(self.unaries.rule_parent) else 0
        lists, symbols = size[PARTNERS], len(self._grammar.symbols)
        forest = empty_forest(
            length * (length + 1) // 2 + 1,
            size[NODES],
            size[GROUPS],
            size[EDGES],
            lists,
            size[PRODUCTIONS],
            unaries,
        )
        partners = Partners(
            listed=new_ints(length, symbols),
            first=new_ints(lists),
            head=new_ints(length + 1),
            older=new_ints(lists),
            place=new_ints(lists),
            value=new_floats(lists),
            passed=new_floats(lists),
        )
        columns = Columns(
            place_at=new_ints(len(self.tables.pair_left) * length),
            place_pair=new_ints(lists),
            place_start=new_ints(lists),
            place_group=new_ints(lists),
            length=length,
            node_slot=np.full(symbols, -1, np.int32),
            bucket_first=new_ints(length + 1, self.tables.n_left + 1),
            bucket_node=new_ints(size[NODES]),
            base=new_floats(symbols),
            predicted=np.zeros((length, symbols), np.uint8),
            row=np.zeros_like(self._prediction.first),
            shift=new_ints(length + 1),
            counts=new_ints(5),
        )
        weight = new_floats(size[GROUPS])
        return ForestState(self.tables, self.unaries, self._prediction, forest, partners, columns, weight)


def _scaled(logs: Floats) -> tuple[Floats, float]:
    """Values whose logarithms these are, over the largest, and its logarithm."""
    largest = float(logs.max(initial=-math.inf))
    return (np.exp(logs - largest), largest) if largest > -math.inf else (np.zeros_like(logs), 0.0)
