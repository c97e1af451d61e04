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
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mbrparse.charts import packed_forest as packed
from mbrparse.charts import rule_tables
from mbrparse.charts.chart import TOO_IMPROBABLE, TOO_LARGE, Cell, Chart, Derivation
from mbrparse.charts.exhaustive.best import Maxima, best_derivation, fill_maxima
from mbrparse.charts.exhaustive.inside_outside import forest_inside, forest_outside
from mbrparse.charts.occurrences import LabelSets, Occurrences
from mbrparse.charts.packed_forest import Forest, InsideNodes, Prediction, SpanFilter, forest_cell
from mbrparse.charts.rule_tables import BestChains, Floats, Ints, Rules, UnaryTables, Words
from mbrparse.charts.spans import (
    SpanEntries,
    SpanSummary,
    cell_of,
    no_entries,
    summarize_entries,
    summed_entries,
    word_cells,
)
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


def _close(corners: packed.Bits, children: tuple[Ints, Ints]) -> None:
    """Add to the set of each parent those of its children, until nothing is new."""
    before = np.zeros_like(corners)
    while not np.array_equal(before, corners):
        before = corners.copy()
        _add_sets(corners, corners, children)


def _add_sets(into: packed.Bits, sets: packed.Bits, pairs: tuple[Ints, Ints]) -> None:
    """Add to the set of the first of each pair that of the second; pairs are in order of the first."""
    to, taken = pairs
    # So many pairs at once take some megabytes.
    step = max((1 << 20) // sets.shape[1], 1)
    for begin in range(0, len(to), step):
        chosen = slice(begin, begin + step)
        rows, first = np.unique(to[chosen], return_index=True)
        into[rows] |= np.bitwise_or.reduceat(sets[taken[chosen]], first, axis=0)


# What is larger stands for posteriors of nodes that are as good as zero.
_MOST_LOG = 700.0


class _LogValues(NamedTuple):
    """Natural logarithms of a sentence's inside values, or maxima; -inf for zero."""

    inside: Floats  # by node
    own: Floats  # by node: ``inside`` without chains of unary rules
    lexical: Floats  # by node: its lexical rule's part of ``inside``
    group: Floats  # by group: the sum, or the maximum, over its edges


class LogForest:
    """The values of one sentence's forest."""

    def __init__(
        self, tables: rule_tables.SparseTables, unary: UnaryTables, forest: Forest, groups: int, words: Words
    ) -> None:
        """``words`` have unscaled probabilities; the forest has n ``groups``."""
        self._unary, self._words, self._forest, self._groups = unary, words, forest, groups
        self._n = len(words.entry_start) - 1
        self._nodes = int(forest.node_first[self._n * (self._n + 1) // 2])
        with np.errstate(divide="ignore"):
            self._rule, self._root = np.log(tables.rule_prob), np.log(tables.root)
            self._closure = np.log(unary.closure_value)
        self._slot = np.full(len(self._root), -1, np.int32)
        values = self._values(self._closure, np.logaddexp)
        #: Logarithms of inside and outside probabilities, by node.
        self.inside, self._lexical, self._group = values.inside, values.lexical, values.group
        self.outside = np.full(self._nodes, -np.inf)
        #: The natural logarithm of the sentence's probability.
        self.log_prob = self._fill_outside()

    def normalize(self) -> None:
        """Make the forest's own values such that their products are the posteriors: inside values are one."""
        forest, nodes = self._forest, slice(self._nodes)
        forest.inside[nodes] = 1.0
        forest.outside[nodes] = np.exp(self.inside + self.outside - self.log_prob)
        with np.errstate(invalid="ignore"):
            share = np.exp(self._lexical - self.inside)
        forest.lexical[nodes] = np.where(self._lexical == -np.inf, 0.0, share)

    def normalized(self, forest: Forest) -> Forest:
        """The forest that was normalized, of its own size, with all that is asked of it."""
        inside, group, unary = self.inside, self._group, self._unary
        with np.errstate(divide="ignore"):
            steps = np.log(unary.rule_prob)[forest.unary_rule]
        made = self._rule[forest.production_rule] + group[forest.production_group]
        rights, lefts, groups = self._edges(0, self._nodes)
        top = slice(forest.node_first[-2], forest.node_first[-1])
        roots = self._root[forest.node_symbol[top]] + inside[top]
        return forest._replace(
            group_sum=np.ones(self._groups),
            production_prob=np.exp(made - inside[forest.production_parent]),
            unary_prob=np.exp(steps + inside[forest.unary_child] - inside[forest.unary_parent]),
            edge_value=np.exp(inside[lefts] + inside[rights] - group[groups]),
            root_share=np.exp(roots - self.log_prob),
            log_unit=inside,
        )

    def by_cell(self, cell: Ints) -> tuple[Floats, Floats]:
        """Inside values of constituents, and outside values, scaled by cell: products are posteriors."""
        most = np.full(int(cell.max(initial=0)) + 1, -np.inf)
        np.maximum.at(most, cell, self.inside)
        scale = np.where(np.isfinite(most), most, 0.0)[cell]
        inside = np.exp(self.inside - scale) - np.exp(self._lexical - scale)
        return inside, np.exp(np.minimum(self.outside + scale - self.log_prob, _MOST_LOG))

    def derivation(self, chains: BestChains, tie: float) -> Derivation:
        """The most probable derivation."""
        with np.errstate(divide="ignore"):
            chain = np.log(chains.prob)
        values = self._values(chain, np.maximum)
        rules = self._rule, self._root, chain
        least = float(np.log1p(-tie))
        maxima = Maxima(values.inside, values.own, values.group, *rules, are_logs=True, least=least)
        return best_derivation(self._forest, self._unary, maxima, chains, self._n, 0.0)

    def _values(self, closure: Floats, plus: np.ufunc) -> _LogValues:
        """Inside values, sums or maxima by ``plus``; nothing but the structure of the forest is looked at."""
        forest, words, unary = self._forest, self._words, self._unary
        inside, own, lexical = np.full((3, self._nodes), -np.inf)
        self._slot[:] = -1
        group = np.full(self._groups, -np.inf)
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
        weight = np.full(self._groups, -np.inf)
        cell = forest_cell(0, self._n)
        top = slice(forest.node_first[cell], forest.node_first[cell + 1])
        outside[top] = self._root[forest.node_symbol[top]]
        for _, _, cell, first, last in reversed(list(self._cells())):
            rights, lefts, groups = self._edges(first, last)
            np.logaddexp.at(outside, rights, weight[groups] + inside[lefts])
            np.logaddexp.at(outside, lefts, weight[groups] + inside[rights])
            if len(self._unary.rule_parent):
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
        unary = self._unary
        bottom, entries = rule_tables.ranges(unary.closure_start, self._forest.node_symbol[first:last])
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


# A sentence whose forest needs more has none: some 5 GB in all, with the rows that are searched.
MAX_SIZE = {
    packed.NODES: 1 << 22,
    packed.GROUPS: 1 << 23,
    packed.EDGES: 1 << 27,
    packed.PRODUCTIONS: 1 << 24,
    packed.UNARIES: 1 << 21,
    packed.PARTNERS: 1 << 25,
}
_FIRST_SIZE = {
    packed.NODES: 1 << 14,
    packed.GROUPS: 1 << 16,
    packed.EDGES: 1 << 19,
    packed.PRODUCTIONS: 1 << 17,
    packed.UNARIES: 1 << 12,
    packed.PARTNERS: 1 << 16,
}


class Forests:
    """Answers the questions of charts of one grammar: fills one forest after the other, in the same memory.

    Raises ChartOverflowError where a forest would have more than ``MAX_SIZE``, and MemoryError where there is
    not so much memory; the next sentence may do.
    """

    def __init__(self, grammar: PCFG, tie: float = 1e-9, label: Ints | None = None) -> None:
        """Derivations within ``tie`` (relative) are equally good; posteriors are of ``label`` [symbol]."""
        self._grammar, self._tie = grammar, tie
        self._label = grammar.label_ids if label is None else label
        rules = rule_tables.chart_rules(grammar)
        self.tables = rule_tables.sparse_tables(rules)
        self.unaries = rule_tables.unary_tables(grammar)
        self._prediction = prediction(
            rules, grammar.unary_parent, grammar.unary_child, self.tables.left_index, self.tables.n_left
        )
        self._lexicon = rule_tables.lexicon(rules, len(grammar.terminals))
        self._shift, self._entry_prob = rule_tables.scaled_entries(self._lexicon)
        # The sentence whose forest is filled, what is allowed over its spans, and whether all nodes are there
        # that derive their words; its log probability; and its values where they left the range of numbers.
        self._filled_with: tuple[IntArray, SpanFilter | None, bool] | None = None
        self._log_prob = -math.inf
        self._logarithms: LogForest | None = None
        self._size = {part: min(first, MAX_SIZE[part]) for part, first in _FIRST_SIZE.items()}
        self._allocate(32, self._size)

    def log_prob(self, chart: Chart) -> float:
        """The natural logarithm of the sentence's probability, -inf without a parse."""
        self._fill(chart)
        return self._log_prob

    def summary(self, chart: Chart) -> SpanSummary:
        """The best label of each cell, its posterior, and the sum of all."""
        entries = chart.span_posteriors()
        # Over single terminals preterminals alone count.
        wide = entries.ends - entries.starts > 1
        own = np.where(wide, entries.constituents, entries.lexical)
        summary = summarize_entries(chart.length, entries._replace(g=own), self._tie)
        occurrences = chart.occurrences()
        if occurrences is not None:
            over_words = summary.total[word_cells(chart.length)]
            summary.total[:] = occurrences.brackets(len(summary.total), 1, nary=False)[0]
            summary.total[word_cells(chart.length)] = over_words
        return summary

    def entries(self, chart: Chart) -> SpanEntries:
        """Posteriors above zero of labels over spans, single terminals included; labels in order."""
        occurrences = chart.occurrences()
        self._fill(chart)
        if self._log_prob == -math.inf:
            return no_entries()
        forest, n = self._forest, chart.length
        nodes = slice(int(forest.node_first[n * (n + 1) // 2]))
        outside = forest.outside[nodes]
        g, lexical = forest.inside[nodes] * outside, forest.lexical[nodes] * outside
        if occurrences is not None and not self._sets.by_label.are_none:
            g = occurrences.by_label() + lexical
        ends, label_ids = packed.node_ends(forest, n), self._label[forest.node_symbol[nodes]]
        return summed_entries(n, forest.node_start[nodes], ends, label_ids, g, lexical)

    def occurrences(self, chart: Chart) -> Occurrences | None:
        """What counts constituents over a span; None without unary rules, where there is one at most."""
        if not len(self.unaries.rule_parent):
            return None
        self._fill(chart)
        forest, n = self._forest, chart.length
        nodes = slice(int(forest.node_first[n * (n + 1) // 2]))
        cell = cell_of(n, forest.node_start[nodes], packed.node_ends(forest, n))
        if self._logarithms is not None:
            values = self._logarithms.by_cell(cell)
        else:
            values = forest.inside[nodes] - forest.lexical[nodes], forest.outside[nodes].copy()
        return Occurrences(self._sets, cell, forest.node_symbol[nodes].copy(), *values)

    @cached_property
    def _sets(self) -> LabelSets:
        return LabelSets(self._grammar, self.unaries, self._label)

    def viterbi(self, chart: Chart) -> Derivation:
        """The most probable derivation; it takes no outside pass."""
        terminal_ids, n = chart.terminal_ids, chart.length
        if not self._is_filled(chart, everything=False):
            self._filled_with = None
            self._inside(terminal_ids, chart.spans)
        if not self._holds_tree(n):
            return Derivation(-math.inf, [], [])
        if self._logarithms is None and not self._lost_values:
            nodes = int(self._forest.node_first[n * (n + 1) // 2])
            value, group = np.empty(nodes), np.zeros(self._groups)
            own = np.empty(nodes) if len(self.unaries.rule_parent) else value
            rules = self.tables.rule_prob, self.tables.root, self._chains.prob
            maxima = Maxima(value, own, group, *rules, are_logs=False, least=1 - self._tie)
            fill_maxima(self._forest, self.unaries, self._columns.node_slot, maxima, n)
            scale = self._log_scale_of(terminal_ids, 0, n)
            best = best_derivation(self._forest, self.unaries, maxima, self._chains, n, scale)
            if best.log_prob > -math.inf:
                return best
        values = self._logarithms or self._in_logarithms(terminal_ids, chart.spans)
        return values.derivation(self._chains, self._tie)

    def forest(self, chart: Chart) -> Forest:
        """The forest of a chart, until another one is filled."""
        self._fill(chart)
        n, forest = chart.length, self._forest
        cells = n * (n + 1) // 2
        nodes, unaries = int(forest.node_first[cells]), int(forest.unary_first[cells])
        lefts = int(self._partners.first[self._columns.counts[1]])
        edges, productions = int(forest.edge_first[nodes]), int(self._columns.counts[0])
        sizes = packed.forest_sizes(cells, nodes, self._groups, edges, lefts, productions, unaries)
        arrays: list[Any] = [array[:size] for array, size in zip(forest[:-1], sizes, strict=True)]
        made = Forest(*[*arrays, 0.0])
        if self._logarithms is not None and self._log_prob > -math.inf:
            return self._logarithms.normalized(made)
        top = slice(made.node_first[-2], nodes)
        roots = self.tables.root[made.node_symbol[top]] * made.inside[top]
        return made._replace(
            production_prob=self.tables.rule_prob[made.production_rule],
            unary_prob=self.unaries.rule_prob[made.unary_rule],
            root_share=roots / max(roots.sum(), packed.LEAST_VALUE),
            log_unit=np.zeros(nodes),
            log_scale=self._log_scale_of(chart.terminal_ids, 0, n),
        )

    def cell(self, chart: Chart, start: int, end: int) -> Cell:
        """Symbols of a span, in some tree or not."""
        self._fill(chart, everything=True)
        forest, cell = self._forest, forest_cell(start, end)
        nodes = np.arange(forest.node_first[cell], forest.node_first[cell + 1])
        nodes = nodes[np.argsort(forest.node_symbol[nodes])]
        symbols = forest.node_symbol[nodes]
        if self._logarithms is not None:
            inside, outside = self._logarithms.inside[nodes], self._logarithms.outside[nodes]
        else:
            scale = self._log_scale_of(chart.terminal_ids, start, end)
            with np.errstate(divide="ignore"):
                inside, outside = np.log(forest.inside[nodes]), np.log(forest.outside[nodes])
            inside, outside = inside - scale, outside + scale + self._log_prob
        derive = inside > -math.inf
        occur = derive & (outside > -math.inf)
        return Cell((symbols[derive], inside[derive]), (symbols[occur], outside[occur]))

    def inside_nodes(self, terminal_ids: IntArray, everything: bool) -> InsideNodes:
        """The inside values of a sentence; of what its left context predicts, or ``everything``.

        Raises NumberRangeError.
        """
        self._filled_with = None
        self._inside(terminal_ids, None, everything, keep_all=False)
        if self._lost_values:
            raise NumberRangeError(TOO_IMPROBABLE)
        n, forest = len(terminal_ids), self._forest
        first = forest.node_first[: n * (n + 1) // 2 + 1].copy()
        shift = self._shift[terminal_ids] - self._columns.shift[1 : n + 1]
        nodes = slice(first[-1])
        power = np.concatenate(([0], np.cumsum(shift))).astype(np.int32)
        return InsideNodes(first, forest.node_symbol[nodes].copy(), forest.inside[nodes].copy(), power)

    def log_inside_nodes(self, terminal_ids: IntArray) -> InsideNodes:
        """The logarithms of inside values of what its left context predicts; slow."""
        self._filled_with = None
        self._inside(terminal_ids, None)
        n, forest = len(terminal_ids), self._forest
        first = forest.node_first[: n * (n + 1) // 2 + 1].copy()
        inside = self._in_logarithms(terminal_ids, None).inside
        return InsideNodes(first, forest.node_symbol[: first[-1]].copy(), inside, np.zeros(n + 1, np.int32))

    @property
    def _lost_values(self) -> bool:
        """Whether values left the range of numbers."""
        return bool(self._columns.counts[packed.OUT_OF_RANGE])

    @property
    def _groups(self) -> int:
        return int(self._columns.counts[2])

    def _is_filled(self, chart: Chart, everything: bool) -> bool:
        """Whether the forest is a chart's."""
        if self._filled_with is None:
            return False
        terminal_ids, spans, with_all = self._filled_with
        return terminal_ids is chart.terminal_ids and spans is chart.spans and with_all == everything

    def _fill(self, chart: Chart, everything: bool = False) -> None:
        """Fill the forest if it is another's: of the derivations of what the chart's spans allow.

        With ``everything`` it has all nodes that derive their words, else those alone that what is before
        them predicts. Where values leave the range of numbers, they are computed in logarithms. The forest's
        own are then normalized (``packed_forest``).
        """
        if not self._is_filled(chart, everything):
            self._filled_with = None
            self._log_prob = self._passes(chart.terminal_ids, chart.spans, everything)
            self._filled_with = chart.terminal_ids, chart.spans, everything
        if not everything:
            chart.in_logarithms = self._logarithms is not None and self._log_prob > -math.inf

    def _passes(self, terminal_ids: IntArray, spans: SpanFilter | None, everything: bool) -> float:
        """Both passes; returns the log probability, -inf without a parse."""
        n = len(terminal_ids)
        self._inside(terminal_ids, spans, everything)
        weight = packed.new_floats(self._groups)
        parts = self.tables, self.unaries, self._forest, self._partners, self._columns
        total = forest_outside(*parts, weight, n)
        nodes = self._forest.node_first[n * (n + 1) // 2]
        exact = 0 < total < math.inf and np.isfinite(self._forest.outside[:nodes]).all()
        holds_tree = self._holds_tree(n)
        if self._lost_values or (holds_tree and not exact):
            self._logarithms = self._in_logarithms(terminal_ids, spans)
            if holds_tree:
                self._logarithms.normalize()
                return self._logarithms.log_prob
        return math.log(total) - self._log_scale_of(terminal_ids, 0, n) if holds_tree else -math.inf

    def _inside(
        self,
        terminal_ids: IntArray,
        spans: SpanFilter | None,
        everything: bool = False,
        keep_all: bool = True,
    ) -> None:
        """Fill the forest from the words up."""
        n, predicted = len(terminal_ids), self._prediction
        if n > self._columns.length:
            self._allocate(max(n, 3 * self._columns.length // 2), self._size)
        if everything:
            predicted = predicted._replace(is_selective=False)
        words = self._words(terminal_ids, spans)
        self._logarithms = None
        while True:
            parts = self._forest, self._partners, self._columns
            of_sentence = words, spans or packed.NO_FILTER, keep_all
            full = int(forest_inside(self.tables, self.unaries, predicted, *parts, *of_sentence))
            if full < 0:
                return
            self._columns.node_slot[:] = -1  # the next sentence may be filled in the same memory
            if self._size[full] >= MAX_SIZE[full]:
                raise ChartOverflowError(TOO_LARGE)
            larger = self._size | {full: min(2 * self._size[full], MAX_SIZE[full])}
            self._allocate(self._columns.length, larger)

    def _in_logarithms(self, terminal_ids: IntArray, spans: SpanFilter | None) -> LogForest:
        words = self._words(terminal_ids, spans, scaled=False)
        return LogForest(self.tables, self.unaries, self._forest, self._groups, words)

    def _words(self, terminal_ids: IntArray, spans: SpanFilter | None, scaled: bool = True) -> Words:
        entry_prob = self._entry_prob if scaled else self._lexicon.prob
        words = rule_tables.words_of(self._lexicon, entry_prob, terminal_ids)
        return words if spans is None else spans.words(words)

    @cached_property
    def _chains(self) -> BestChains:
        return rule_tables.best_chains(self._grammar, self.unaries, self._tie)

    def _log_scale_of(self, terminal_ids: IntArray, start: int, end: int) -> float:
        """The logarithm of what the inside values of a span are multiplied by."""
        columns = int(self._columns.shift[start + 1 : end + 1].sum())
        return (int(self._shift[terminal_ids[start:end]].sum()) - columns) * math.log(2.0)

    def _holds_tree(self, n: int) -> bool:
        """Whether some tree of the sentence that was filled last is there, however improbable."""
        first, last = self._forest.node_first[forest_cell(0, n) :][:2]
        return bool((self.tables.root[self._forest.node_symbol[first:last]] > 0).any())

    def _allocate(self, length: int, size: dict[int, int]) -> None:
        """Move to new memory, when all of it is there."""
        # A grammar without unary rules has no use for their arrays, and searches see that they are empty.
        unaries = size[packed.UNARIES] if len(self.unaries.rule_parent) else 0
        lists, symbols, cells = size[packed.PARTNERS], len(self._grammar.symbols), length * (length + 1) // 2
        parts = size[packed.NODES], size[packed.GROUPS], size[packed.EDGES], lists, size[packed.PRODUCTIONS]
        floats = "inside", "outside", "lexical", "group_sum"
        sizes = packed.forest_sizes(cells, *parts, unaries)
        makers = (packed.new_floats if name in floats else packed.new_ints for name in Forest._fields)
        arrays: list[Any] = [make(count) for make, count in zip(makers, sizes, strict=False)]
        forest = Forest(*[*arrays, 0.0])
        partners = packed.Partners(
            listed=packed.new_ints(length, symbols),
            first=packed.new_ints(lists),
            head=packed.new_ints(length + 1),
            older=packed.new_ints(lists),
            place=packed.new_ints(lists),
            value=packed.new_floats(lists),
            passed=packed.new_floats(lists),
        )
        columns = packed.Columns(
            place_at=packed.new_ints(len(self.tables.pair_left) * length),
            place_pair=packed.new_ints(lists),
            place_start=packed.new_ints(lists),
            place_group=packed.new_ints(lists),
            length=length,
            cell_group=packed.new_ints(cells),
            group_next=packed.new_ints(size[packed.GROUPS]),
            group_pair=packed.new_ints(size[packed.GROUPS]),
            node_slot=np.full(symbols, -1, np.int32),
            bucket_first=packed.new_ints(length + 1, self.tables.n_left + 1),
            bucket_node=packed.new_ints(size[packed.NODES]),
            base=packed.new_floats(symbols),
            predicted=np.zeros((length, symbols), np.uint8),
            row=np.zeros_like(self._prediction.first),
            shift=packed.new_ints(length + 1),
            counts=packed.new_ints(5),
        )
        self._forest, self._partners, self._columns, self._size = forest, partners, columns, dict(size)
