"""The decoder of trees that are right or wrong as a whole, from samples of a DOP grammar's derivations.

Of the trees that derivations make, or their brackets, the commonest is returned; of the trees that cross
nothing, the binary completion of a sampled tree that crosses nothing of most samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from mbrparse.decode.candidates.sampler import Samples
from mbrparse.decode.decoders import Decoded, Estimate
from mbrparse.decode.dop.dop_sampler import DopSampler
from mbrparse.decode.dop.leader import MAX_ERROR, MAX_SAMPLES, Leader, leader
from mbrparse.decode.free.free_decoder import LEAST, best_preterminals
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.parser_options import ParserOptions
from mbrparse.decode.posteriors.span_posteriors import Posteriors
from mbrparse.decode.whole_trees.completions import bracketing, completions, spans_of
from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.pcfg import PCFG, IntArray


class SampledChart(Protocol):
    """A chart that samples can be drawn from."""

    length: int
    terminal_ids: IntArray


class MonteCarloDecoder:
    """Decodes charts of one grammar for objectives of whole trees."""

    def __init__(
        self,
        grammar: PCFG,
        objectives: Sequence[Objective],
        sampler: DopSampler,
        samples_of: Callable[[IntArray], Samples],
        constituent: Ints,
        options: ParserOptions,
    ) -> None:
        """``samples_of`` has the samples that posteriors are told from, as many as may be.

        ``constituent`` [symbol] is -1 for what is no constituent.
        """
        self._objectives = objectives
        self._sampler = sampler
        self._samples_of = samples_of
        self._constituent = constituent
        self._labels = grammar.labels
        self._label_ids = grammar.label_ids
        self._bracket = np.zeros(len(grammar.symbols), np.int32)
        self._seed = options.seed
        self._most = options.max_samples or MAX_SAMPLES
        self._error = MAX_ERROR if options.max_error is None else options.max_error

    def decode(self, chart: SampledChart, posteriors: Posteriors) -> list[Decoded]:
        """The best trees found."""
        return [self._decoded(objective, chart, posteriors) for objective in self._objectives]

    def _decoded(self, objective: Objective, chart: SampledChart, posteriors: Posteriors) -> Decoded:
        if objective.weight(Item.CONSISTENT_TREE):
            return self._uncrossed(chart, posteriors)
        if objective.weight(Item.PROJECTED_TREE):
            found = self._leader(chart, self._label_ids)
            named = [(start, end, self._labels[label]) for start, end, label in found.nodes.tolist()]
            preterminals = self._preterminals(found)
            return Decoded(named, preterminals, found.estimate.estimate, estimate=found.estimate)
        found = self._leader(chart, self._bracket)
        brackets = [(start, end) for start, end, _ in found.nodes.tolist()]
        spans = spans_of(brackets, chart.length, posteriors)
        known = best_preterminals(posteriors)
        return Decoded(spans, known, found.estimate.estimate, estimate=found.estimate)

    def _leader(self, chart: SampledChart, name: Ints) -> Leader:
        draws = self._sampler.draws(chart.terminal_ids, self._seed)
        return leader(draws, name, self._most, self._error)

    def _preterminals(self, found: Leader) -> list[str]:
        """The commonest of each position among the samples of a tree; of equally common ones the first."""
        columns = self._label_ids[found.symbols].T
        return [self._labels[int(np.bincount(column).argmax())] for column in columns]

    def _uncrossed(self, chart: SampledChart, posteriors: Posteriors) -> Decoded:
        samples, length = self._samples_of(chart.terminal_ids), chart.length
        gains = np.log(np.maximum(posteriors.consistent, LEAST))
        tree, share = bracketing(gains, length), 1.0
        drawn = len(samples.first) - 1
        if length > 2:
            best = completions(samples.trees(self._constituent), gains, length)[0]
            tree, share = best.tree, best.uncrossed / drawn
        estimate = Estimate(share, math.sqrt(share * (1 - share) / drawn), None, drawn)
        spans = spans_of(tree, length, posteriors)
        return Decoded(spans, best_preterminals(posteriors), share, estimate=estimate)
