"""The decoder of trees that are right or wrong as a whole, from samples of a DOP grammar's derivations.

Of the trees that derivations make, or their brackets, the commonest is returned (Monte Carlo after Bod 1993);
of the trees that cross nothing, the binary completion of a sampled tree that crosses nothing of most samples.

Drawing ends when the leading tree is known to lead. Its standard error, sqrt(p (1 - p) / N), does not show
that: it is smallest where there are many trees of small probability, and there the leader is most in doubt.
A tree of probability q < p is drawn as often as one of probability p, or more often, with a probability of no
more than (1 - (sqrt p - sqrt q)^2)^N (Chernoff's bound, for multinomial counts). ``leader_error`` is the sum
of that over all other trees drawn, frequencies standing for probabilities; drawing ends once it is no more
than the maximum. It is an estimate, hence computed rarely: after 100 samples, 200, 400 and so on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from mbrparse.charts.rule_tables import Ints
from mbrparse.decode.answers import ParserOptions
from mbrparse.decode.candidates.samples import Samples
from mbrparse.decode.decoders import Decoded, Estimate
from mbrparse.decode.dop.dop_derivations import DopSampler
from mbrparse.decode.free import LEAST, best_preterminals, bracketing, spans_of
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.span_posteriors import Posteriors, SentenceChart
from mbrparse.decode.whole_trees.whole_tree_decoder import completions
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray

MAX_SAMPLES = 1000
MAX_ERROR = 0.01
_FIRST = 100


class Leader(NamedTuple):
    """The commonest tree; of equally common ones the first drawn.

    ``nodes`` [node, 3] are starts, ends and names in preorder, ``symbols`` [derivation, position] the
    preterminals of the derivations that look like it.
    """

    nodes: Ints
    symbols: Ints
    estimate: Estimate


def leader(draw: Callable[[int], Samples], name: Ints, max_samples: int, max_error: float) -> Leader:
    """Draw no more than so many, until the leader's error is no more than ``max_error`` (0: all of them).

    ``draw`` draws so many derivations, ``name`` [symbol] is what trees show of a symbol (``Samples.trees``).
    """
    # By tree: its nodes, and the preterminals of each sample of it.
    trees: dict[bytes, tuple[Ints, list[Ints]]] = {}
    drawn = 0
    while True:
        count = min(max(drawn, _FIRST), max_samples - drawn) if max_error > 0 else max_samples
        samples = draw(count)
        drawn += count
        preterminals = samples.symbol[~samples.constituents()].reshape(count, -1)
        for tree in samples.trees(name):
            _, symbols = trees.setdefault(tree.nodes.tobytes(), (tree.nodes, []))
            symbols.extend(preterminals[tree.drawn])
        best = max(trees.values(), key=lambda tree: len(tree[1]))
        others = np.array([len(tree[1]) for tree in trees.values() if tree is not best], np.float64)
        error = leader_error(len(best[1]), others, drawn)
        if error <= max_error or drawn >= max_samples:
            return Leader(best[0], np.array(best[1]), _estimate(len(best[1]) / drawn, error, drawn))


def _estimate(share: float, error: float | None, drawn: int) -> Estimate:
    return Estimate(share, math.sqrt(share * (1 - share) / drawn), error, drawn)


def leader_error(count: float, others: FloatArray, drawn: int) -> float:
    """The bound of how probably another tree is drawn no less often, from counts; at most one.

    >>> round(leader_error(60, np.array([30.0, 10.0]), 100), 4)
    0.0051
    """
    apart = (math.sqrt(count / drawn) - np.sqrt(others / drawn)) ** 2
    return min(float(np.sum((1 - apart) ** drawn)), 1.0)


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
        """``samples_of`` draws the samples that posteriors are estimated from, the maximal number.

        ``constituent`` [symbol] is -1 for what is no constituent.
        """
        self._objectives = objectives
        self._sampler = sampler
        self._samples_of = samples_of
        self._constituent = constituent
        self._labels = grammar.labels
        self._label_ids = grammar.label_ids
        self._options = options

    def decode(self, chart: SentenceChart, posteriors: Posteriors) -> list[Decoded]:
        """The best trees found."""
        return [self._decoded(objective, chart, posteriors) for objective in self._objectives]

    def _decoded(self, objective: Objective, chart: SentenceChart, posteriors: Posteriors) -> Decoded:
        if objective.weight(Item.CONSISTENT_TREE):
            return self._uncrossed(chart, posteriors)
        labelled = bool(objective.weight(Item.PROJECTED_TREE))
        options, name = self._options, self._label_ids if labelled else np.zeros_like(self._label_ids)
        error = MAX_ERROR if options.max_error is None else options.max_error
        draw = self._sampler.drawing(chart.terminal_ids, options.seed)
        nodes, symbols, estimate = leader(draw, name, options.max_samples or MAX_SAMPLES, error)
        if labelled:
            named = [(start, end, self._labels[label]) for start, end, label in nodes.tolist()]
            return Decoded(named, self._preterminals(symbols), estimate.estimate, estimate=estimate)
        spans = spans_of([(start, end) for start, end, _ in nodes.tolist()], chart.length, posteriors)
        return Decoded(spans, best_preterminals(posteriors), estimate.estimate, estimate=estimate)

    def _preterminals(self, symbols: Ints) -> list[str]:
        """The commonest of each position among the samples of a tree; of equally common ones the first."""
        columns = self._label_ids[symbols].T
        return [self._labels[int(np.bincount(column).argmax())] for column in columns]

    def _uncrossed(self, chart: SentenceChart, posteriors: Posteriors) -> Decoded:
        samples, length = self._samples_of(chart.terminal_ids), chart.length
        gains = np.log(np.maximum(posteriors.consistent, LEAST))
        tree, share = bracketing(gains, length), 1.0
        drawn = len(samples.first) - 1
        if length > 2:
            tree, uncrossed = completions(samples.trees(self._constituent), gains, length)[0]
            share = uncrossed / drawn
        spans = spans_of(tree, length, posteriors)
        return Decoded(spans, best_preterminals(posteriors), share, estimate=_estimate(share, None, drawn))
