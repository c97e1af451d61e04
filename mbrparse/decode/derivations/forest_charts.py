"""Charts by way of forests: what the parser asks of a sentence where trees of the grammar are searched."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from mbrparse.decode.derivations.expectations import Expectations, ExpectedItems, LabelledIds, item_nodes
from mbrparse.decode.derivations.forest_decoder import GrammarDecoder
from mbrparse.decode.derivations.forest_posteriors import forest_entries, forest_summary
from mbrparse.decode.derivations.tree_search import GrammarTree
from mbrparse.decode.objectives import Objective
from mbrparse.grammar.charts.chart import TOO_LARGE, Derivation
from mbrparse.grammar.charts.factory import TIE
from mbrparse.grammar.charts.forest.forests import ForestOverflowError, Forests
from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.charts.span_summary import SpanEntries, SpanSummary
from mbrparse.grammar.pcfg import PCFG, IntArray

Items = Literal["projected", "symbol"]


class ForestChart:
    """What a sentence's forest had to say; the forest itself is gone with the next sentence."""

    def __init__(
        self,
        terminal_ids: IntArray,
        log_prob: float,
        overflown: bool = False,
        trees: Mapping[int, GrammarTree] | None = None,
        summary: SpanSummary | None = None,
        entries: SpanEntries | None = None,
        expectations: Expectations | None = None,
    ) -> None:
        self.terminal_ids = terminal_ids
        self.length = len(terminal_ids)
        self.log_prob = log_prob
        self.overflown = overflown
        self.trees = trees or {}
        self._summary = summary
        self._entries = entries
        self._expectations = expectations

    @property
    def has_parse(self) -> bool:
        """Whether the grammar derives the sentence."""
        return self.log_prob > -math.inf

    @property
    def failure(self) -> str:
        """Why there is no parse, where there is none."""
        return TOO_LARGE if self.overflown else "no parse"

    def viterbi(self) -> Derivation:
        """Not known: the most probable derivation is one of ``trees`` if it was asked for."""
        raise NotImplementedError

    def span_summary(self) -> SpanSummary:
        """Best label, its posterior, and the sum of posteriors, by cell."""
        assert self._summary is not None, "posteriors were not asked for"
        return self._summary

    def span_posteriors(self) -> SpanEntries:
        """Expected numbers of labels over spans."""
        assert self._entries is not None, "posteriors were not asked for"
        return self._entries

    def expected_items(self, spans: LabelledIds, leaves: Sequence[int]) -> ExpectedItems | None:
        """What is expected of a tree of spans (in preorder) and leaves with ``ForestCharts.item_labels``.

        To be asked before the next sentence's chart; None if expectations were not wanted.
        """
        return None if self._expectations is None else self._expectations.expected(item_nodes(spans, leaves))


class ForestCharts:
    """Makes charts for one grammar, one after the other as they are asked for."""

    def __init__(
        self,
        grammar: PCFG,
        objectives: Sequence[Objective],
        items: Items,
        summaries: bool,
        expectations: bool,
    ) -> None:
        """Posteriors are those of projected labels or of symbols (``labels`` names them)."""
        label: Ints = grammar.label_ids
        self.labels = grammar.labels
        if items == "symbol":
            label = np.arange(len(grammar.symbols), dtype=np.int32)
            self.labels = tuple(grammar.labels[label_id] for label_id in grammar.label_ids)
        self._label = label
        self._n_labels = len(self.labels)
        self._summaries = summaries
        self._wants_entries = expectations
        self._forests = Forests(grammar)
        self._decoder = GrammarDecoder(grammar, self._forests, objectives, label, TIE["double"])
        self.item_labels = self._decoder.items.label
        self._expectations = Expectations(self._forests, self._decoder.items) if expectations else None

    def charts(self, sentences: Sequence[IntArray]) -> Iterator[ForestChart]:
        """One chart for each sentence of known terminals, in order."""
        for terminal_ids in sentences:
            try:
                yield self._chart(terminal_ids)
            except (ForestOverflowError, MemoryError):
                yield ForestChart(terminal_ids, -math.inf, overflown=True)

    def _chart(self, terminal_ids: IntArray) -> ForestChart:
        forest, log_prob = self._forests.fill(terminal_ids)
        if log_prob == -math.inf:
            return ForestChart(terminal_ids, log_prob)
        length = len(terminal_ids)
        summary = entries = None
        if self._summaries:
            summary = forest_summary(forest, self._label, self._n_labels, length, TIE["double"])
        if self._wants_entries:
            entries = forest_entries(forest, self._label, length)
        trees = self._decoder.trees(length)
        return ForestChart(terminal_ids, log_prob, False, trees, summary, entries, self._expectations)
