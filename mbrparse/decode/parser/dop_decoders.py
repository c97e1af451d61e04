"""The decoders of a DOP grammar, its charts, and the samples that are drawn of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mbrparse.charts.base.chart import Wanted
from mbrparse.charts.base.rule_tables import Ints
from mbrparse.charts.base.span_summary import SpanEntries, SpanSummary, summarize_entries
from mbrparse.charts.dop.dop_charts import DopCharts
from mbrparse.charts.factory import TIE
from mbrparse.decode.decoders import Decoder
from mbrparse.decode.objectives import Item, Kind, Objective
from mbrparse.decode.parser.grammar_decoders import GrammarDecoders, Maker
from mbrparse.decode.parser_options import ParserOptions
from mbrparse.decode.span_posteriors import Posteriors, SentenceChart, continuations
from mbrparse.grammar.dop.dop_grammar import DopGrammar
from mbrparse.grammar.pcfg import FloatArray, Grammar, IntArray

if TYPE_CHECKING:
    from mbrparse.decode.candidates.candidate_trees import CandidateTrees
    from mbrparse.decode.candidates.samples import Samples
    from mbrparse.decode.dop.dop_derivations import DopSampler


class DopDecoders(GrammarDecoders):
    """What serves a parser's objectives with a DOP grammar: options are those it can serve."""

    def __init__(self, grammar: Grammar, options: ParserOptions) -> None:
        self._dop = cast("DopGrammar", grammar)
        super().__init__(grammar, options)
        # The last sentence that samples were drawn of, and these.
        self._drawn: tuple[IntArray, Samples] | None = None

    @staticmethod
    def check(options: ParserOptions) -> None:
        """Raise OptionsError for what a DOP grammar cannot serve."""
        options.check_for_dop()

    def posteriors(self, chart: SentenceChart) -> Posteriors:
        """Those of a sentence's chart or of samples; what crosses a span is always estimated from samples."""
        consistent = partial(self._consistent, chart)
        if not self.options.sampled_posteriors:
            return Posteriors.of_chart(chart, self.labels, consistent)
        # Kept, since the samples of another sentence may be drawn before they are needed again.
        entries = cache(partial(self._entries, chart))

        def summary() -> SpanSummary:
            return summarize_entries(chart.length, entries(), TIE["double"])

        return Posteriors(chart.length, self.labels, summary, entries, consistent=consistent)

    def _makers(self) -> Mapping[Kind, Maker]:
        return {
            Kind.FREE: self._free,
            Kind.NARY: self._nary,
            Kind.WHOLE: self._whole,
            Kind.DERIVATION: self._viterbi,
            Kind.RISK: self._risk,
        }

    def _charts(self) -> DopCharts:
        return DopCharts(self._dop, self._wanted(), self.options.prune)

    def _wanted(self) -> Wanted:
        options = self.options
        exact = not options.sampled_posteriors
        entries = self._asked(Kind.NARY) or options.expectations
        brackets = any(
            objective.kind is Kind.WHOLE and not objective.weight(Item.PROJECTED_TREE)
            for objective in options.objectives
        )
        sums = self._asked(Kind.FREE) or brackets or entries
        return Wanted(exact and sums, self._asked(Kind.DERIVATION), exact and entries)

    def _whole(self, objectives: list[Objective]) -> Decoder[Any]:
        from mbrparse.decode.dop.monte_carlo_decoder import MonteCarloDecoder

        return MonteCarloDecoder(
            self.grammar, objectives, self._sampler, self._samples, self._constituent, self.options
        )

    def _candidates(self) -> CandidateTrees:
        from mbrparse.charts.dop.dop_charts import DopTreeProbability
        from mbrparse.decode.candidates.candidate_trees import CandidateTrees
        from mbrparse.decode.dop.dop_derivations import DopKBestSearch

        k_best, samples = DopKBestSearch(self.charts).k_best, self._sampler.samples
        probability = DopTreeProbability(self._dop)
        return CandidateTrees(self.grammar, k_best, samples, probability, self.options)

    @cached_property
    def _sampler(self) -> DopSampler:
        from mbrparse.decode.dop.dop_derivations import DopSampler

        return DopSampler(self.charts)

    @cached_property
    def _constituent(self) -> Ints:
        """By symbol -1 for what is no constituent of n-ary trees, 0 otherwise."""
        hidden = continuations(self.grammar.labels)[self.grammar.label_ids]
        return np.where(hidden, -1, 0).astype(np.int32)

    def _samples(self, terminal_ids: IntArray) -> Samples:
        """As many samples of a sentence as may be."""
        from mbrparse.decode.dop.monte_carlo_decoder import MAX_SAMPLES

        if self._drawn is None or self._drawn[0] is not terminal_ids:
            count = self.options.max_samples or MAX_SAMPLES
            self._drawn = terminal_ids, self._sampler.samples(terminal_ids, count, self.options.seed)
        return self._drawn[1]

    def _entries(self, chart: SentenceChart) -> SpanEntries:
        return self._samples(chart.terminal_ids).entries(self.grammar.label_ids)

    def _consistent(self, chart: SentenceChart) -> FloatArray:
        return self._samples(chart.terminal_ids).consistency(self._constituent, chart.length)
