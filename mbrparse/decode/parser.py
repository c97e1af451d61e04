"""The parser: sentences in, one tree for each objective out, whatever happens to any one of them."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from mbrparse.decode.derivations.expectations import ExpectedItems
from mbrparse.decode.derivations.forest_charts import ForestChart, ForestCharts
from mbrparse.decode.fallback import LabelledSpans, fallback_spans
from mbrparse.decode.free.free_decoder import best_preterminals, free_spans
from mbrparse.decode.objectives import Objective
from mbrparse.decode.parser_options import Parse, ParserOptions, SentenceChart
from mbrparse.decode.posteriors.span_posteriors import Posteriors
from mbrparse.decode.sentences import Sentence
from mbrparse.decode.trees import build_tree, tagged
from mbrparse.grammar.charts.chart import Derivation, Wanted
from mbrparse.grammar.charts.factory import TIE, ChartFactory, default_max_length
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL, IntArray
from mbrparse.grammar.rules import is_terminal, unquote
from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    from mbrparse.decode.best_first.best_first_charts import BestFirstCharts


class _Decoded(NamedTuple):
    """A tree's spans and the labels over its terminals (of no use where these are tags)."""

    spans: LabelledSpans
    preterminals: Sequence[str | None]
    score: float | None = None
    expected: ExpectedItems | None = None


class Parser:
    """Parses with one grammar for one or several objectives, the chart computed once for all."""

    def __init__(self, grammar: PCFG, options: ParserOptions) -> None:
        self.grammar = grammar
        self.options = options
        free = any(not objective.derives for objective in options.objectives)
        derived = any(objective.derives for objective in options.objectives)
        self._labels = grammar.labels
        self._forests: ForestCharts | None = None
        if options.needs_forest:
            self._forests = ForestCharts(
                grammar,
                options.objectives,
                options.items,
                free or options.expectations,
                options.expectations,
            )
            self._labels = self._forests.labels
        self._charts = self._forests or self._other_charts(
            Wanted(free or options.expectations, derived, options.expectations)
        )
        self._tie = TIE[options.precision]
        self._max_length = options.max_length or default_max_length(grammar)
        self._known_labels = frozenset(grammar.labels)
        self._symbol_labels = [grammar.labels[label_id] for label_id in grammar.label_ids.tolist()]
        self._words = grammar.terminal_kind == "words"
        self._untagged = frozenset(unquote(name) for name in grammar.symbols if is_terminal(name))

    def _other_charts(self, wanted: Wanted) -> ChartFactory | BestFirstCharts:
        if self.options.best_first is None:
            return ChartFactory(self.grammar, self.options.precision, wanted)
        # Its kernels take a while to load, and most have no use for them.
        from mbrparse.decode.best_first.best_first_charts import BestFirstCharts

        return BestFirstCharts(self.grammar, self.options.best_first)

    def terminals(self, sentence: Sentence) -> list[str]:
        """What of a sentence the grammar speaks of: its tags, or its words and what stands for them."""
        if self._words:
            words = [leaf.label if leaf.word is None else leaf.word for leaf in sentence]
            return self.grammar.terminals_of(words)
        return [leaf.label for leaf in sentence]

    def parse(self, sentences: Sequence[Sentence]) -> list[Parse]:
        """Parse a batch; the results are in the order of the sentences and do not depend on it."""
        began = time.perf_counter()
        with _no_collection():
            parses = self._parse(sentences)
        seconds = (time.perf_counter() - began) / max(len(sentences), 1)
        return [replace(parse, seconds=seconds) for parse in parses]

    def _parse(self, sentences: Sequence[Sentence]) -> list[Parse]:
        parses: list[Parse | None] = []
        chartable: list[int] = []
        encoded = []
        for position, sentence in enumerate(sentences):
            terminals = self.terminals(sentence)
            ids = self.grammar.encode(terminals)
            reason = self._refusal(terminals, ids.tolist())
            if reason is None:
                chartable.append(position)
                encoded.append(ids)
            parses.append(None if reason is None else self._fall_back(sentence, ids, reason))
        charts: Iterable[SentenceChart] = self._charts.charts(encoded)
        for position, chart in zip(chartable, charts, strict=True):
            parses[position] = self._decode(sentences[position], chart)
        return [parse for parse in parses if parse is not None]

    def _refusal(self, terminals: Sequence[str], ids: Sequence[int]) -> str | None:
        if not terminals:
            return "empty sentence"
        if len(terminals) > self._max_length:
            return f"longer than {self._max_length} terminals"
        for terminal, terminal_id in zip(terminals, ids, strict=True):
            if terminal_id == UNKNOWN_TERMINAL:
                return f"unknown terminal {terminal}"
        return None

    def _fall_back(self, sentence: Sentence, terminal_ids: IntArray, reason: str) -> Parse:
        spans = fallback_spans(
            len(sentence), self.options.fallback, self.grammar.start_label, self._known_labels
        )
        count = len(self.options.objectives)
        leaves = sentence
        if self._words:
            # A word without a tag is its own: readers of trees over words want one.
            leaves = tuple(
                Tree(leaf.label, word=leaf.label)
                if leaf.word is None and leaf.label not in self._untagged
                else leaf
                for leaf in sentence
            )
        tree = None if spans is None else self._tree(spans, leaves)
        return Parse(terminal_ids, (tree,) * count, (spans or [],) * count, reason)

    def _decode(self, sentence: Sentence, chart: SentenceChart) -> Parse:
        if not chart.has_parse:
            return self._fall_back(sentence, chart.terminal_ids, chart.failure)
        if isinstance(chart, ForestChart) and None in chart.trees.values():
            return self._fall_back(sentence, chart.terminal_ids, "no tree whose posteriors are above zero")
        posteriors = None
        if self.options.expectations or any(not o.derives for o in self.options.objectives):
            posteriors = Posteriors.of_chart(chart, self._labels)
        decoded: list[_Decoded] = []
        for index, objective in enumerate(self.options.objectives):
            if self._forests is not None and objective.derives:
                assert isinstance(chart, ForestChart)
                decoded.append(self._searched(chart, index))
            elif objective.derives or posteriors is None:
                decoded.append(self._most_probable(chart.viterbi()))
            else:
                decoded.append(self._assembled(objective, posteriors))
        # Objectives often agree: the same tree is built, and written, once.
        built: dict[tuple[object, ...], Tree] = {}
        trees = []
        for found in decoded:
            key = (*found.spans, *found.preterminals)
            if key not in built:
                built[key] = self._leafy(sentence, found.spans, found.preterminals)
            trees.append(built[key])
        return Parse(
            chart.terminal_ids,
            tuple(trees),
            tuple(found.spans for found in decoded),
            chart=chart,
            posteriors=posteriors,
            scores=tuple(found.score for found in decoded),
            expected=tuple(found.expected for found in decoded),
        )

    def _most_probable(self, derivation: Derivation) -> _Decoded:
        names = self._symbol_labels
        spans = [(start, end, names[symbol]) for start, end, symbol in derivation.nodes]
        return _Decoded(spans, [names[symbol] for symbol in derivation.preterminals])

    def _searched(self, chart: ForestChart, index: int) -> _Decoded:
        """The tree of an objective in space ``grammar``."""
        assert self._forests is not None
        tree, names, items = chart.trees[index], self._symbol_labels, self._forests.item_labels
        assert tree is not None
        spans = [(start, end, names[symbol]) for start, end, symbol in tree.nodes]
        ids = [(start, end, int(items[symbol])) for start, end, symbol in tree.nodes]
        expected = chart.expected_items(ids, items[tree.preterminals].tolist())
        return _Decoded(spans, [names[symbol] for symbol in tree.preterminals], tree.score, expected)

    def _assembled(self, objective: Objective, posteriors: Posteriors) -> _Decoded:
        """The tree of an objective in space ``free``."""
        plain = self.options.unlabelled and not objective.labels_matter
        root = self.grammar.start_label if plain else None
        spans = free_spans(objective, posteriors, self._tie, root)
        tags = best_preterminals(posteriors)
        return _Decoded(spans, tags)

    def _leafy(self, sentence: Sentence, spans: LabelledSpans, tags: Sequence[str | None]) -> Tree:
        # Terminals that rules name themselves have no tag.
        shown = [None if tag in self._untagged else tag for tag in tags]
        leaves = tagged(sentence, shown) if self._words else sentence
        # A single terminal is no constituent; in writing the root stands over it.
        return self._tree(spans or [(0, 1, self.grammar.start_label)], leaves)

    def _tree(self, spans: LabelledSpans, leaves: Sentence) -> Tree:
        tree = build_tree(spans, leaves)
        return debinarize(tree) if self.options.debinarized else tree


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the cyclic garbage collector: trees and charts make no cycles, but very many objects."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
