"""Where a sentence's posteriors come from, and the decoders for them: a grammar's charts.

A source makes an ``Evidence`` of each sentence. Others are in ``dop_source``, ``mixed_source`` (several
grammars) and ``posteriors_source``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbrparse.charts.exhaustive.factory import TIE, ChartFactory, default_max_length
from mbrparse.charts.spans import Labels, Spans
from mbrparse.decode.answers import DecoderName, ParserOptions, SourceKind, check, decoder_of
from mbrparse.decode.decoders import Decoded, Decoder
from mbrparse.decode.free import FreeDecoder
from mbrparse.decode.objectives import Kind, Objective
from mbrparse.decode.parser.sentences import Sentence
from mbrparse.decode.span_posteriors import Posteriors, SentenceChart
from mbrparse.errors import InputMismatchError, OptionsError, shortened
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL, FloatArray, IntArray
from mbrparse.grammar.rules import is_terminal, unquote
from mbrparse.treebank.labels import split_tag, unescape
from mbrparse.treebank.tree import Tree

# Kernels take a while to load: those that most runs do not need are imported where they are used.
if TYPE_CHECKING:
    from mbrparse.charts.chart import Chart
    from mbrparse.charts.exhaustive.factory import ForestCharts, Pruning
    from mbrparse.charts.forest.consistency import Consistency
    from mbrparse.decode.candidates.candidate_trees import CandidateTrees
    from mbrparse.grammar.pcfg import Grammar

#: Makes a decoder for some objectives.
Maker = Callable[[list[Objective]], Decoder[Any]]


class Evidence(NamedTuple):
    """The posteriors of a sentence's spans, and their chart if they come from one.

    ``sentence`` are the leaves of its trees, ``reason`` says why nothing is decoded.
    """

    sentence: Sentence
    terminal_ids: IntArray
    posteriors: Posteriors | None = None
    chart: SentenceChart | None = None
    reason: str | None = None


class DecoderSlot(NamedTuple):
    """A decoder, the positions of its objectives among all of a parser's, and whether its trees are n-ary."""

    decoder: Decoder[Any]
    positions: tuple[int, ...]
    nary: bool = False


class ViterbiDecoder:
    """Decodes for objectives that ask for the most probable derivation; all get the same tree."""

    def __init__(self, grammar: PCFG, objectives: Sequence[Objective]) -> None:
        self._labels = grammar.labels
        self._label_ids = grammar.label_ids
        self._objectives = objectives

    def decode(self, chart: Chart, posteriors: Posteriors) -> list[Decoded]:
        """The best tree, once for each objective."""
        best = chart.viterbi()
        starts, ends, symbols = np.array(best.nodes, np.int32).reshape(-1, 3).T
        spans = Spans(starts, ends, self._label_ids[symbols], self._labels)
        preterminals = Labels(self._label_ids[best.preterminals], self._labels)
        return [Decoded(spans, preterminals, log_prob=best.log_prob)] * len(self._objectives)


class GrammarSource:
    """The charts of a grammar's sentences, here of a PCFG, and the decoders for a parser's objectives.

    ``charts`` fills the charts that decoders use, ``candidates`` lists those of sentences, if they are asked
    for. ``labels`` are those that trees may have. ``retags`` says whether trees assign tags to words;
    ``bare`` terminals stand in rules themselves, and have none. Raises OptionsError for what the grammar
    cannot serve.
    """

    kind: SourceKind = "pcfg"

    def __init__(self, source: Grammar, options: ParserOptions) -> None:
        check(self.kind, options)
        self.grammar = grammar = source.pcfg
        self.options = options
        #: The labels by the ids of posteriors.
        self.chart_labels = grammar.labels
        self.charts = self.make_charts(source)
        self.candidates = self.make_candidates() if options.has_candidates else None
        self.slots = slots_of(self.kind, options, self.makers())
        exhaustive = options.best_first is None and not options.expectations and not options.has_candidates
        self._is_viterbi = exhaustive and all(isinstance(slot.decoder, ViterbiDecoder) for slot in self.slots)
        self.root = grammar.start_label
        self.labels = frozenset(grammar.labels)
        self.retags = grammar.terminal_kind == "words"
        self.bare = frozenset(unquote(name) for name in grammar.symbols if is_terminal(name))
        self._max_length = options.max_length or default_max_length(grammar)

    @property
    def members(self) -> Sequence[GrammarSource]:
        """The sources of several grammars; here itself."""
        return (self,)

    def evidence(
        self, sentence: Sentence, place: int = 0, tokens: bool = False, source: str = ""
    ) -> Evidence:
        """What is known of a sentence; nothing but its words matters.

        Raises ChartOverflowError, NumberRangeError.
        """
        terminals = terminals_of(self.grammar, sentence)
        ids = self.grammar.encode(terminals)
        reason = self._refusal(terminals, ids.tolist())
        if reason is not None:
            return Evidence(sentence, ids, reason=reason)
        made = self.charts.chart(ids)
        if self._is_viterbi:
            made.viterbi()  # which says whether there is a parse, and costs less than all sums
        chart: SentenceChart = made
        if not chart.has_parse:
            return Evidence(sentence, ids, reason=chart.failure)
        return Evidence(sentence, ids, self.posteriors(chart), chart)

    def refused(self, sentence: Sentence, reason: str) -> Evidence:
        """Evidence of a sentence that falls back for this reason."""
        return Evidence(sentence, self.grammar.encode(terminals_of(self.grammar, sentence)), reason=reason)

    def _refusal(self, terminals: Sequence[str], ids: Sequence[int]) -> str | None:
        if not terminals:
            return "empty sentence"
        if len(terminals) > self._max_length:
            return f"longer than {self._max_length} terminals"
        if UNKNOWN_TERMINAL in ids:
            return f"unknown terminal {shortened(terminals[ids.index(UNKNOWN_TERMINAL)])}"
        return None

    def fallback_leaves(self, evidence: Evidence) -> Sentence:
        """The leaves of a fall-back.

        A word without a tag gets its most frequent one, an unknown word itself: readers of trees over words
        expect tags.
        """
        if not self.retags:
            return evidence.sentence
        return tuple(
            Tree(self._usual_tag(leaf.label, terminal_id), word=leaf.label)
            if leaf.word is None and leaf.label not in self.bare
            else leaf
            for leaf, terminal_id in zip(evidence.sentence, evidence.terminal_ids.tolist(), strict=True)
        )

    def _usual_tag(self, word: str, terminal_id: int) -> str:
        known = terminal_id != UNKNOWN_TERMINAL and bool(self.grammar.usual_tags)
        usual = self.grammar.usual_tags[terminal_id] if known else None
        return word if usual is None else split_tag(unescape(usual))[1]

    def posteriors(self, chart: SentenceChart) -> Posteriors:
        """The posteriors of a sentence's chart, which must have a parse."""
        crossing = self.options.best_first is None
        known = partial(self._consistent, chart) if crossing else None
        summary, entries = chart.span_summary, chart.span_posteriors
        return Posteriors(chart.length, self.chart_labels, summary, entries, consistent=known)

    def _consistent(self, chart: SentenceChart) -> FloatArray:
        """By cell, the probability that nothing crosses the span."""
        return self._consistency.of_sentence(self.forests, chart.terminal_ids)

    @cached_property
    def _consistency(self) -> Consistency:
        from mbrparse.charts.forest.consistency import Consistency

        return Consistency(self.grammar)

    def make_charts(self, source: Grammar) -> Any:
        """What fills charts for the options and objectives."""
        options = self.options
        if options.needs_forest:
            from mbrparse.charts.exhaustive.factory import ForestCharts

            forests = ForestCharts(self.grammar, options.items, pruning=self._pruning)
            self.chart_labels = forests.labels
            return forests
        if options.best_first is not None:
            from mbrparse.decode.best_first.best_first_chart import BestFirstCharts

            return BestFirstCharts(self.grammar, options.best_first)
        if self._pruning is not None:
            from mbrparse.charts.exhaustive.factory import PrunedCharts

            return PrunedCharts(self.grammar, self._pruning)
        return ChartFactory(self.grammar)

    @cached_property
    def _pruning(self) -> Pruning | None:
        """What prunes charts, if anything does."""
        if not self.options.prune:
            return None
        from mbrparse.charts.exhaustive.factory import Pruning
        from mbrparse.grammar.projection import has_annotations

        if not has_annotations(self.grammar):
            raise OptionsError(
                "`prune` has nothing to project: no labels of this grammar differ in annotations alone",
                remedy="leave it out, or train on trees of mbrparse binarize --vmarkov 2 or --hmarkov 1",
            )
        whole = self.options.needs_consistency or self.options.asks_for(Kind.WHOLE)
        if whole and self.grammar.has_unaries:
            raise OptionsError(
                "`prune` cannot tell what crosses a span where there are unary rules: leave it out"
            )
        return Pruning(self.grammar, self.options.prune)

    @cached_property
    def forests(self) -> ForestCharts:
        """The charts, if they are forests, or others."""
        from mbrparse.charts.exhaustive.factory import ForestCharts

        if isinstance(self.charts, ForestCharts):
            return self.charts
        return ForestCharts(self.grammar, pruning=self._pruning)

    def make_candidates(self) -> CandidateTrees:
        """What lists the candidates of sentences."""
        from mbrparse.decode.candidates.candidate_trees import CandidateTrees

        return CandidateTrees.of_forests(self.forests, self.options)

    def makers(self) -> Mapping[DecoderName, Maker]:
        """What makes each decoder."""
        return {
            "free": self._free,
            "nary": self._nary,
            "viterbi": partial(ViterbiDecoder, self.grammar),
            "forest": self._forest,
            "exact_f": self._exact_f,
            "whole_trees": self._whole_trees,
            "risk": self._risk,
        }

    def _free(self, objectives: list[Objective]) -> Decoder[Any]:
        root = self.grammar.start_label if self.options.unlabelled else None
        return FreeDecoder(objectives, TIE, root)

    def _nary(self, objectives: list[Objective]) -> Decoder[Any]:
        from mbrparse.decode.label_order import LabelOrder
        from mbrparse.decode.nary import NaryDecoder

        order = LabelOrder.of(self.grammar)
        return NaryDecoder(objectives, TIE, self.grammar.start_label, order=order)

    def _forest(self, objectives: list[Objective]) -> Decoder[Any]:
        from mbrparse.decode.derivations.forest_decoder import ForestDecoder

        return ForestDecoder(self.forests, objectives, self.options.expectations)

    def _exact_f(self, objectives: list[Objective]) -> Decoder[Any]:
        from mbrparse.decode.exact_f import ExactFDecoder

        return ExactFDecoder(self.forests, objectives, self.grammar.start_label)

    def _whole_trees(self, objectives: list[Objective]) -> Decoder[Any]:
        from mbrparse.decode.candidates.whole_tree_decoder import WholeTreeDecoder

        return WholeTreeDecoder(self.grammar, objectives, self.forests)

    def _risk(self, objectives: list[Objective]) -> Decoder[Any]:
        from mbrparse.decode.candidates.candidate_trees import RiskDecoder

        assert self.candidates is not None
        assert self.options.risk is not None
        return RiskDecoder(self.candidates, self.options, self.options.risk, TIE)


def slots_of(
    source: SourceKind, options: ParserOptions, makers: Mapping[DecoderName, Maker]
) -> tuple[DecoderSlot, ...]:
    """The decoders that the table names for the objectives, each made once with all of its own."""
    rows = options.objectives
    names = [decoder_of(source, row, options) for row in rows]
    slots = []
    for name in dict.fromkeys(names):
        mine = tuple(place for place, one in enumerate(names) if one == name)
        decoder = makers[name]([rows[place] for place in mine])
        slots.append(DecoderSlot(decoder, mine, name in ("nary", "exact_f")))
    return tuple(slots)


def terminals_of(grammar: PCFG, sentence: Sentence) -> list[str]:
    """The terminals of a sentence: its tags, or its words with unknown ones mapped."""
    if grammar.terminal_kind == "tags":
        return [leaf.tag for leaf in sentence]
    return grammar.terminals_of([leaf.label if leaf.word is None else leaf.word for leaf in sentence])


def check_fit(grammar: PCFG, sentences: Sequence[Sentence]) -> None:
    """Raise InputMismatchError where no sentence holds a single terminal that the grammar knows."""
    known = frozenset(grammar.terminals)
    if not sentences or any(known.intersection(terminals_of(grammar, sentence)) for sentence in sentences):
        return
    raise InputMismatchError(
        f"grammar and input do not fit: the grammar's terminals are {grammar.terminal_kind} (such as "
        f"{', '.join(grammar.terminals[:3])}), and none of the first {len(sentences)} sentences "
        f"holds one (they begin with {terminals_of(grammar, sentences[0])[0]!r})",
        remedy="train with the other terminals, or give the other input",
    )
