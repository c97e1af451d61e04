"""The parser: sentences in, one tree for each objective out, whatever happens to any one of them."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from mbrparse.decode.best_first.charts import BestFirst, BestFirstChart, BestFirstCharts
from mbrparse.decode.fallback import Fallback, LabelledSpans, fallback_spans
from mbrparse.decode.free import best_preterminals, free_spans
from mbrparse.decode.objectives import Objective, Space
from mbrparse.decode.posteriors import Posteriors, SpanChart
from mbrparse.decode.sentences import Sentence
from mbrparse.decode.trees import build_tree, tagged
from mbrparse.grammar.charts.chart import Chart, Derivation, Wanted
from mbrparse.grammar.charts.factory import TIE, ChartFactory, Precision, default_max_length
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL, IntArray
from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.tree import Tree


@dataclass(frozen=True, slots=True)
class ParserOptions:
    """How to decode.

    ``unlabelled`` gives trees of objectives that do not look at labels the published form: the root
    with the most frequent start symbol, every other node X (Goodman 1996, Table 2). With ``best_first``
    charts are filled best-first instead of exhaustively, and all is said of the chart as far as it got.
    ``max_length`` defaults to what memory allows (grammar.charts.factory);
    ``expectations`` announces that posteriors will be asked for (decode.details).
    """

    objectives: tuple[Objective, ...]
    fallback: Fallback = "right-branching"
    unlabelled: bool = False
    debinarized: bool = False
    max_length: int | None = None
    best_first: BestFirst | None = None
    precision: Precision = "double"
    expectations: bool = False


@dataclass(frozen=True, slots=True)
class Parse:
    """What came of one sentence.

    ``trees`` and ``spans`` are parallel to the objectives: the tree (None: the empty parse) and its
    constituents with projected labels. ``reason`` says why the fall-back was taken (None: it was not, and
    there is a chart), ``seconds`` is the sentence's share of its batch's time.
    """

    terminal_ids: IntArray
    trees: tuple[Tree | None, ...]
    spans: tuple[LabelledSpans, ...]
    reason: str | None = None
    chart: SentenceChart | None = None
    posteriors: Posteriors | None = None
    seconds: float = 0.0

    @property
    def length(self) -> int:
        """The number of terminals."""
        return len(self.terminal_ids)

    @property
    def log_prob(self) -> float:
        """The natural logarithm of the sentence's probability; -inf where it has no chart."""
        return -math.inf if self.chart is None else self.chart.log_prob


class SentenceChart(SpanChart, Protocol):
    """What the parser asks of a chart, exhaustive or best-first."""

    terminal_ids: IntArray

    @property
    def log_prob(self) -> float: ...

    @property
    def has_parse(self) -> bool: ...

    def viterbi(self) -> Derivation: ...


class Parser:
    """Parses with one grammar for one or several objectives, the chart computed once for all."""

    def __init__(self, grammar: PCFG, options: ParserOptions) -> None:
        self.grammar = grammar
        self.options = options
        free = any(objective.space is Space.FREE for objective in options.objectives)
        derived = any(objective.space is Space.GRAMMAR for objective in options.objectives)
        wanted = Wanted(free or options.expectations, derived, options.expectations)
        self._charts: ChartFactory | BestFirstCharts = (
            ChartFactory(grammar, options.precision, wanted)
            if options.best_first is None
            else BestFirstCharts(grammar, options.best_first)
        )
        self._tie = TIE[options.precision]
        self._max_length = options.max_length or default_max_length(grammar)
        self._labels = frozenset(grammar.labels)
        self._symbol_labels = [grammar.labels[label_id] for label_id in grammar.label_ids.tolist()]
        self._words = grammar.terminal_kind == "words"

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
        spans = fallback_spans(len(sentence), self.options.fallback, self.grammar.start_label, self._labels)
        count = len(self.options.objectives)
        tree = None if spans is None else self._tree(spans, sentence)
        return Parse(terminal_ids, (tree,) * count, (spans or [],) * count, reason)

    def _decode(self, sentence: Sentence, chart: SentenceChart) -> Parse:
        if not chart.has_parse:
            return self._fall_back(sentence, chart.terminal_ids, self._failure(chart))
        if any(objective.space is Space.FREE for objective in self.options.objectives):
            posteriors = Posteriors.of_chart(chart, self.grammar.labels)
        else:
            posteriors = None
        trees: list[Tree | None] = []
        all_spans: list[LabelledSpans] = []
        for objective in self.options.objectives:
            if objective.space is Space.GRAMMAR or posteriors is None:
                derivation = chart.viterbi()
                names = self._symbol_labels
                spans = [(start, end, names[symbol]) for start, end, symbol in derivation.nodes]
                tags: list[str | None] = [names[symbol] for symbol in derivation.preterminals]
            else:
                plain = self.options.unlabelled and not objective.labels_matter
                root = self.grammar.start_label if plain else None
                spans = free_spans(objective, posteriors, self._tie, root)
                tags = best_preterminals(posteriors) if self._words else []
            leaves = tagged(sentence, tags) if self._words else sentence
            # A single terminal is no constituent; in writing the root stands over it.
            trees.append(self._tree(spans or [(0, 1, self.grammar.start_label)], leaves))
            all_spans.append(spans)
        if posteriors is None and self.options.expectations:
            posteriors = Posteriors.of_chart(chart, self.grammar.labels)
        return Parse(chart.terminal_ids, tuple(trees), tuple(all_spans), None, chart, posteriors)

    def _failure(self, chart: SentenceChart) -> str:
        if isinstance(chart, Chart) and chart.overflown:
            return "chart too large for memory"
        if isinstance(chart, BestFirstChart) and chart.limited:
            return f"no parse within {chart.how.edges} edges"
        return "no parse"

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
