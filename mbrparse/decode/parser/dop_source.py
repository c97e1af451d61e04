"""A DOP grammar as the source of evidence: its charts, decoders, and the samples that are drawn of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mbrparse.charts.dop.dop_charts import DopCharts
from mbrparse.charts.exhaustive.factory import TIE
from mbrparse.charts.rule_tables import Ints
from mbrparse.charts.spans import SpanEntries, SpanSummary, summarize_entries
from mbrparse.decode.answers import DecoderName, ParserOptions, SourceKind
from mbrparse.decode.decoders import Decoder
from mbrparse.decode.objectives import Objective
from mbrparse.decode.parser.sources import GrammarSource, Maker
from mbrparse.decode.span_posteriors import Posteriors, SentenceChart, continuations
from mbrparse.grammar.dop.dop_grammar import DopGrammar
from mbrparse.grammar.pcfg import FloatArray, Grammar, IntArray

if TYPE_CHECKING:
    from mbrparse.decode.candidates.candidate_trees import CandidateTrees
    from mbrparse.decode.candidates.samples import Samples
    from mbrparse.decode.dop.dop_derivations import DopSampler


class DopSource(GrammarSource):
    """The charts of sentences under a DOP grammar, and what serves a parser's objectives with them."""

    kind: SourceKind = "dop"

    def __init__(self, source: Grammar, options: ParserOptions) -> None:
        self._dop = cast("DopGrammar", source)
        # The last sentence that samples were drawn of, and these.
        self._drawn: tuple[IntArray, Samples] | None = None
        super().__init__(source, options)

    def posteriors(self, chart: SentenceChart) -> Posteriors:
        """Those of a sentence's chart or of samples; what crosses a span is always estimated from samples."""
        consistent = partial(self._consistent, chart)
        if not self.options.sampled_posteriors:
            summary, entries = chart.span_summary, chart.span_posteriors
            return Posteriors(chart.length, self.chart_labels, summary, entries, consistent=consistent)
        # Kept, since the samples of another sentence may be drawn before they are needed again.
        drawn = cache(partial(self._entries, chart))

        def summarized() -> SpanSummary:
            return summarize_entries(chart.length, drawn(), TIE)

        return Posteriors(chart.length, self.chart_labels, summarized, drawn, consistent=consistent)

    def makers(self) -> Mapping[DecoderName, Maker]:
        """What makes each decoder."""
        return {**super().makers(), "monte_carlo": self._monte_carlo}

    def make_charts(self, source: Grammar) -> DopCharts:
        """The charts of its fragments, pruned by the treebank's PCFG."""
        return DopCharts(self._dop, self.options.prune)

    def make_candidates(self) -> CandidateTrees:
        """What lists the candidates of sentences."""
        from mbrparse.charts.dop.dop_charts import DopTreeProbability
        from mbrparse.decode.candidates.candidate_trees import CandidateTrees
        from mbrparse.decode.dop.dop_derivations import DopKBestSearch

        k_best, samples = DopKBestSearch(self.charts).k_best, self._sampler.samples
        return CandidateTrees(self.grammar, k_best, samples, DopTreeProbability(self._dop), self.options)

    def _monte_carlo(self, objectives: list[Objective]) -> Decoder[Any]:
        from mbrparse.decode.dop.monte_carlo_decoder import MonteCarloDecoder

        return MonteCarloDecoder(
            self.grammar, objectives, self._sampler, self._samples, self._constituent, self.options
        )

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
