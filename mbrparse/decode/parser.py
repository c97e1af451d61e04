"""The parser: sentences in, one tree for each objective out, whatever happens to any one of them."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mbrparse.decode.fallback import Fallback, LabelledSpans, fallback_spans
from mbrparse.decode.objectives import Item, Objective, Space
from mbrparse.decode.posteriors import NO_LABEL, Posteriors, span_gains
from mbrparse.decode.search import best_bracketing
from mbrparse.decode.sentences import Sentence
from mbrparse.decode.trees import build_tree, label_bracketing
from mbrparse.grammar.charts import Chart, ChartFactory
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL, IntArray
from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.labels import unescape
from mbrparse.treebank.tree import Tree

UNLABELLED = "X"


@dataclass(frozen=True, slots=True)
class ParserOptions:
    """How to decode.

    ``unlabelled`` gives trees of objectives that do not look at labels the published form: the root
    with the most frequent start symbol, every other node X (Goodman 1996, Table 2).
    """

    objectives: tuple[Objective, ...]
    fallback: Fallback = "right-branching"
    unlabelled: bool = False
    debinarized: bool = False
    max_length: int | None = None


@dataclass(frozen=True, slots=True)
class Parse:
    """What came of one sentence.

    ``trees`` and ``spans`` are parallel to the objectives: the tree (None: the empty parse) and its
    constituents with projected labels. ``reason`` says why the fall-back was taken (None: it was not),
    ``seconds`` is the sentence's share of its batch's time.
    """

    terminal_ids: IntArray
    trees: tuple[Tree | None, ...]
    spans: tuple[LabelledSpans, ...]
    reason: str | None = None
    log_prob: float = -math.inf
    posteriors: Posteriors | None = field(default=None, repr=False)
    seconds: float = 0.0

    @property
    def length(self) -> int:
        """The number of terminals."""
        return len(self.terminal_ids)


class Parser:
    """Parses with one grammar for one or several objectives, the chart computed once for all."""

    def __init__(self, grammar: PCFG, options: ParserOptions) -> None:
        self.grammar = grammar
        self.options = options
        self._charts = ChartFactory(grammar)
        self._labels = frozenset(grammar.labels)
        self._words = grammar.terminal_kind == "words"

    def terminals(self, sentence: Sentence) -> list[str]:
        """What of a sentence the grammar speaks of: its tags or its words."""
        if self._words:
            return [leaf.label if leaf.word is None else leaf.word for leaf in sentence]
        return [leaf.label for leaf in sentence]

    def parse(self, sentences: Sequence[Sentence]) -> list[Parse]:
        """Parse a batch; the results are in the order of the sentences and do not depend on it."""
        began = time.perf_counter()
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
        for position, chart in zip(chartable, self._charts.charts(encoded), strict=True):
            parses[position] = self._decode(sentences[position], chart)
        seconds = (time.perf_counter() - began) / max(len(sentences), 1)
        return [replace(parse, seconds=seconds) for parse in parses if parse is not None]

    def _refusal(self, terminals: Sequence[str], ids: Sequence[int]) -> str | None:
        if not terminals:
            return "empty sentence"
        limit = self.options.max_length
        if limit is not None and len(terminals) > limit:
            return f"longer than {limit} terminals"
        for terminal, terminal_id in zip(terminals, ids, strict=True):
            if terminal_id == UNKNOWN_TERMINAL:
                return f"unknown terminal {terminal}"
        return None

    def _fall_back(self, sentence: Sentence, terminal_ids: IntArray, reason: str) -> Parse:
        spans = fallback_spans(len(sentence), self.options.fallback, self.grammar.start_label, self._labels)
        count = len(self.options.objectives)
        tree = None if spans is None else self._tree(spans, sentence)
        return Parse(terminal_ids, (tree,) * count, (spans or [],) * count, reason)

    def _decode(self, sentence: Sentence, chart: Chart) -> Parse:
        if chart.log_prob == -math.inf:
            return self._fall_back(sentence, chart.terminal_ids, "no parse")
        posteriors = Posteriors(chart.length, self.grammar.labels, *chart.span_posteriors())
        leaves = self._tagged(sentence, posteriors) if self._words else sentence
        all_spans = tuple(
            # A single terminal is no constituent; in writing the root stands over it.
            self._spans(objective, chart, posteriors) if chart.length > 1 else []
            for objective in self.options.objectives
        )
        trees = tuple(self._tree(spans or [(0, 1, self.grammar.start_label)], leaves) for spans in all_spans)
        return Parse(chart.terminal_ids, trees, all_spans, None, chart.log_prob, posteriors)

    def _spans(self, objective: Objective, chart: Chart, posteriors: Posteriors) -> LabelledSpans:
        if objective.space is Space.GRAMMAR:
            labels, ids = self.grammar.labels, self.grammar.label_ids
            return [(start, end, labels[ids[symbol]]) for start, end, symbol in chart.viterbi().nodes]
        gains = span_gains(
            posteriors,
            objective.weight(Item.LABELLED_SPAN),
            objective.weight(Item.SPAN),
            objective.node_constant,
        )
        bracketing = best_bracketing(gains)
        if self.options.unlabelled and not objective.labels_matter:
            rows = zip(bracketing.starts.tolist(), bracketing.ends.tolist(), strict=True)
            labels_of = (self.grammar.start_label, UNLABELLED)
            return [(start, end, labels_of[position > 0]) for position, (start, end) in enumerate(rows)]
        return label_bracketing(bracketing, posteriors)

    def _tagged(self, sentence: Sentence, posteriors: Posteriors) -> Sentence:
        """The words under the preterminals with the largest posterior."""
        best = posteriors.spans.best_label
        leaves = []
        for position, leaf in enumerate(sentence):
            label_id = best[position, position + 1]
            word = leaf.label if leaf.word is None else leaf.word
            label = word if label_id == NO_LABEL else unescape(posteriors.labels[label_id])
            leaves.append(leaf if label == word else Tree(label, word=word))
        return tuple(leaves)

    def _tree(self, spans: LabelledSpans, leaves: Sentence) -> Tree:
        tree = build_tree(spans, leaves)
        return debinarize(tree) if self.options.debinarized else tree
