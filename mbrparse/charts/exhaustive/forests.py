"""Forests for one grammar, one sentence after the other, and what charts are asked for."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from mbrparse.charts import packed_forest as packed
from mbrparse.charts import rule_tables
from mbrparse.charts.chart import TOO_LARGE, Cell, Chart, Derivation
from mbrparse.charts.exhaustive.best import Maxima, best_derivation, fill_maxima
from mbrparse.charts.exhaustive.inside_outside import add_productions, forest_inside, forest_outside
from mbrparse.charts.exhaustive.log_forest import LogForest
from mbrparse.charts.occurrences import LabelSets, Occurrences
from mbrparse.charts.packed_forest import Forest, SpanFilter, forest_cell
from mbrparse.charts.rule_tables import BestChains, Ints, Words
from mbrparse.charts.spans import (
    SpanEntries,
    SpanSummary,
    cell_of,
    no_entries,
    summarize_entries,
    summed_entries,
    word_cells,
)
from mbrparse.errors import ChartOverflowError
from mbrparse.grammar.pcfg import PCFG, IntArray

# A sentence whose forest needs more has none: some 5 GB in all, with the rows that are searched.
MAX_SIZE = {
    packed.NODES: 1 << 23,
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
        self._lexicon = rule_tables.lexicon(rules, len(grammar.terminals))
        self._shift, self._entry_prob = rule_tables.scaled_entries(self._lexicon)
        # The sentence whose forest is filled, and what is allowed over its spans; its log probability; its
        # values in logarithms where they left the range of numbers.
        self._filled_with: tuple[IntArray, SpanFilter | None] | None = None
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
        summary = summarize_entries(chart.length, chart.span_posteriors(), self._tie)
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
        inside, lexical, outside = forest.inside[nodes], forest.lexical[nodes], forest.outside[nodes]
        # Without unary rules a symbol over a word is all lexical.
        constituents = (inside - lexical) * outside if occurrences is None else occurrences.by_label()
        ends, label_ids = packed.node_ends(forest, n), self._label[forest.node_symbol[nodes]]
        return summed_entries(n, forest.node_start[nodes], ends, label_ids, constituents, lexical * outside)

    def occurrences(self, chart: Chart) -> Occurrences | None:
        """What counts constituents over a span; None without unary rules, where there is one at most."""
        if not len(self.unaries.rule_parent):
            return None
        self._fill(chart)
        forest, n = self._forest, chart.length
        nodes = slice(int(forest.node_first[n * (n + 1) // 2]))
        cell = cell_of(n, forest.node_start[nodes], packed.node_ends(forest, n))
        rules, steps = (
            slice(int(first[n * (n + 1) // 2])) for first in (forest.cell_production, forest.unary_first)
        )
        above, below = forest.unary_parent[steps], forest.unary_child[steps]
        # Without what is lexical from the start: a difference to it would leave few digits of what is small.
        base = np.zeros(len(cell))
        if self._logarithms is not None:
            made, whole, lexical, log_outside = self._logarithms.expected(rules, steps)
            base += np.bincount(forest.production_parent[rules], made, len(cell))
        else:
            step = self.unaries.rule_prob[forest.unary_rule[steps]] * forest.outside[above]
            whole, lexical = step * forest.inside[below], step * forest.lexical[below]
            with np.errstate(divide="ignore"):
                log_outside = np.log(forest.outside[nodes])
            add_productions(self.tables.rule_prob, forest, rules.stop, base)
        own, whole = (base + np.bincount(above, part, len(cell)) for part in (lexical, whole))
        return Occurrences(self._sets, cell, forest.node_symbol[nodes].copy(), whole, own, log_outside)

    @cached_property
    def _sets(self) -> LabelSets:
        return LabelSets(self._grammar, self.unaries, self._label)

    def viterbi(self, chart: Chart) -> Derivation:
        """The most probable derivation; it takes no outside pass."""
        terminal_ids, n = chart.terminal_ids, chart.length
        if not self._is_filled(chart):
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
            prob_place=made.production_rule,
            rule_prob=self.tables.rule_prob,
            unary_prob=self.unaries.rule_prob[made.unary_rule],
            root_share=roots / max(roots.sum(), packed.LEAST_VALUE),
            log_unit=np.zeros(nodes),
            log_scale=self._log_scale_of(chart.terminal_ids, 0, n),
        )

    def cell(self, chart: Chart, start: int, end: int) -> Cell:
        """Symbols of a span, in some tree or not."""
        self._fill(chart)
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

    @property
    def _lost_values(self) -> bool:
        """Whether values left the range of numbers."""
        return bool(self._columns.counts[packed.OUT_OF_RANGE])

    @property
    def _groups(self) -> int:
        return int(self._columns.counts[2])

    def _is_filled(self, chart: Chart) -> bool:
        """Whether the forest is a chart's."""
        if self._filled_with is None:
            return False
        terminal_ids, spans = self._filled_with
        return terminal_ids is chart.terminal_ids and spans is chart.spans

    def _fill(self, chart: Chart) -> None:
        """Fill the forest if it is another's: of the derivations of what the chart's spans allow.

        Where values leave the range of numbers, they are computed in logarithms. The forest's own are then
        normalized (``packed_forest``).
        """
        if not self._is_filled(chart):
            self._filled_with = None
            self._log_prob = self._passes(chart.terminal_ids, chart.spans)
            self._filled_with = chart.terminal_ids, chart.spans
        chart.in_logarithms = self._logarithms is not None and self._log_prob > -math.inf

    def _passes(self, terminal_ids: IntArray, spans: SpanFilter | None) -> float:
        """Both passes; returns the log probability, -inf without a parse."""
        n = len(terminal_ids)
        self._inside(terminal_ids, spans)
        parts = self.tables, self.unaries, self._forest, self._partners, self._columns
        total = forest_outside(*parts, n)
        nodes = self._forest.node_first[n * (n + 1) // 2]
        exact = 0 < total < math.inf and np.isfinite(self._forest.outside[:nodes]).all()
        holds_tree = self._holds_tree(n)
        if self._lost_values or (holds_tree and not exact):
            self._logarithms = self._in_logarithms(terminal_ids, spans)
            if holds_tree:
                self._logarithms.normalize()
                return self._logarithms.log_prob
        return math.log(total) - self._log_scale_of(terminal_ids, 0, n) if holds_tree else -math.inf

    def _inside(self, terminal_ids: IntArray, spans: SpanFilter | None) -> None:
        """Fill the forest from the words up."""
        n = len(terminal_ids)
        if n > self._columns.length:
            self._allocate(max(n, 3 * self._columns.length // 2), self._size)
        words = self._words(terminal_ids, spans)
        self._logarithms = None
        while True:
            parts = self._forest, self._partners, self._columns
            of_sentence = words, spans or packed.NO_FILTER
            full = int(forest_inside(self.tables, self.unaries, *parts, *of_sentence))
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
            group_weight=packed.new_floats(size[packed.GROUPS]),
            node_slot=np.full(symbols, -1, np.int32),
            bucket_first=packed.new_ints(length + 1, self.tables.n_left + 1),
            bucket_node=packed.new_ints(size[packed.NODES]),
            base=packed.new_floats(symbols),
            shift=packed.new_ints(length + 1),
            counts=packed.new_ints(5),
        )
        self._forest, self._partners, self._columns, self._size = forest, partners, columns, dict(size)
