"""A DOP grammar as the source of evidence: its charts, the derivations drawn or listed of them, its decoder.

The k most probable derivations come in exact order. As for the most probable one, equal subtrees of the
treebank are one, and fragments of different subtrees are different derivations, though they look alike. Those
of one score come in the order of addresses, of splits, and of what ends at children before what goes on.

Trees that are right or wrong as a whole are found from samples: of the trees that derivations make, or of
their brackets, the commonest is returned (Monte Carlo after Bod 1993); of the trees that cross nothing, the
binary completion of a sampled tree that crosses nothing of most samples.

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
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from mbrparse.charts.dop import dop_passes
from mbrparse.charts.dop.dop_charts import BEGINS, DopCharts, DopDescent, DopTreeProbability, Filled
from mbrparse.charts.exhaustive.factory import TIE
from mbrparse.charts.rule_tables import Ints
from mbrparse.charts.spans import rows, summarize_entries
from mbrparse.decode import answers
from mbrparse.decode.candidates import candidate_trees
from mbrparse.decode.candidates.k_best import SCALE, Alternative, KBest, LazySearch, Order
from mbrparse.decode.candidates.samples import Samples, generator
from mbrparse.decode.candidates.whole_tree_decoder import completions
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.parser.sources import GrammarSource
from mbrparse.decode.span_decoders import LEAST, best_preterminals, bracketing, spans_of
from mbrparse.decode.span_posteriors import Posteriors, SentenceChart, continuations
from mbrparse.decode.trees import Decoded, Decoder, Estimate
from mbrparse.grammar import dop_grammar, pcfg

# A node and the address that a fragment goes on with there, or BEGINS.
_Vertex = tuple[int, int]
_ROOT = (-1, BEGINS)


def dop_k_best(charts: DopCharts, terminal_ids: pcfg.IntArray, k: int) -> KBest:
    """The k most probable derivations of a sentence, or all if there are fewer.

    Raises ChartOverflowError or MemoryError where a chart does not fit, ValueError where there is no
    derivation.
    """
    filled = charts.filled(terminal_ids, best=True)
    search = _DopSearch(filled, k)
    found = search.root(k)
    # A fragment that begins has its node from the address that it begins with.
    nodes = [vertex[0] for rank in range(len(found)) for vertex, parts in search.vertices(rank) if parts != 1]
    samples = _samples(filled, np.array(nodes, np.int32), len(terminal_ids))
    return KBest(samples, np.array([-one.cost for one in found], np.float64) / SCALE)


class _DopSearch(LazySearch[_Vertex]):
    """The derivations of one sentence."""

    def __init__(self, filled: Filled, k: int) -> None:
        super().__init__(_ROOT)
        self._descent = DopDescent(filled.tables, filled.forest, filled.values)
        self._most = k
        self._costs: dict[_Vertex, int] = {}  # of the best derivations of vertices that some alternative has

    def _best(self, vertex: _Vertex) -> tuple[int, Order]:
        return self._costs[vertex], ()

    def _alternatives(self, vertex: _Vertex) -> tuple[list[Alternative[_Vertex]], int | None]:
        node, address = vertex
        found: list[Alternative[_Vertex]] = []
        if vertex == _ROOT:
            for root, weight, best in rows(*self._descent.roots()):
                self._add(found, weight, [((root, BEGINS), best)])
        elif self._descent.is_leaf(node):
            found.append(Alternative(self._costs[vertex], (0,), ()))
        # No more of them than derivations are wanted.
        elif address == BEGINS:
            for at, weight, best in rows(*self._descent.fragments(node, self._most)):
                self._add(found, weight, [((node, at), best)])
        else:
            self._add_splits(found, node, address)
        return found, None

    def _add_splits(self, found: list[Alternative[_Vertex]], node: int, address: int) -> None:
        """Add the best splits of an address, where fragments end at the children or go on."""
        keep = self._descent.log_keep(address)
        left, right = self._descent.sides(node, address)
        scores = (left.scores[:, :, None] + right.scores[:, None, :]).ravel()
        order = np.argsort(-scores, kind="stable")[: self._most]
        for place in order[scores[order] > -np.inf].tolist():
            split, *chosen = place >> 2, place >> 1 & 1, place & 1
            weight, children = keep, []
            for side, goes_on in zip((left, right), chosen, strict=True):
                weight += 0.0 if goes_on else side.log_cut
                child = int(side.nodes[split])
                children.append(((child, side.address if goes_on else BEGINS), side.logs[split, goes_on]))
            self._add(found, weight, children)

    def _add(
        self,
        found: list[Alternative[_Vertex]],
        log_weight: float,
        children: Sequence[tuple[_Vertex, float]],
    ) -> None:
        """Add an alternative, made of children whose best derivations have these logarithms."""
        self._costs.update((child, _cost(log_best)) for child, log_best in children)
        vertices = tuple(child for child, _ in children)
        found.append(Alternative(_cost(log_weight), (len(found),), vertices))


def drawing(charts: DopCharts, terminal_ids: pcfg.IntArray, seed: int) -> Callable[[int], Samples]:
    """What draws a number of derivations of a sentence, and more at each call, from charts' inside values.

    What is drawn depends on the grammar, the sentence, the charts' threshold and the seed (zero or more), and
    is the same however it is divided. Raises ChartOverflowError or MemoryError where a chart does not fit,
    ValueError where there is no derivation.
    """
    filled, length = charts.filled(terminal_ids), len(terminal_ids)
    tables, forest, values = filled.tables, filled.forest, filled.values
    nodes, masses, _ = dop_passes.root_masses(tables, forest, values)
    visited = np.zeros(len(forest.group), np.bool_)
    by_expansion, by_address = np.empty(len(forest.rule)), np.empty(values.value.size)
    sums = dop_passes.Sums(nodes, np.cumsum(masses), visited, by_expansion, by_address)
    random = generator(terminal_ids, seed)

    def draw(count: int) -> Samples:
        drawn = np.empty((count, 2 * length - 1), np.int32)
        dop_passes.dop_draw(tables, forest, values, sums, drawn, random)
        return _samples(filled, drawn.ravel(), length)

    return draw


def _samples(filled: Filled, nodes: pcfg.IntArray, length: int) -> Samples:
    """Derivations of nodes one after the other; each has 2 n - 1."""
    first = np.arange(0, len(nodes) + 1, 2 * length - 1, dtype=np.int32)
    forest = filled.forest
    return Samples(first, forest.start[nodes], forest.end[nodes], filled.symbols[nodes])


def _cost(log: float) -> int:
    return -round(log * SCALE)


MAX_SAMPLES = 1000
MAX_ERROR = 0.01
_FIRST = 100


def leader(
    draw: Callable[[int], Samples], name: Ints, max_samples: int, max_error: float
) -> tuple[Ints, Ints, Estimate]:
    """Draw ``max_samples`` at most, until the leader's error is no more than ``max_error`` (0: all of them).

    ``draw`` draws derivations, ``name`` [symbol] is what trees show of a symbol (``Samples.trees``). Returns
    the nodes of the commonest tree [node, 3], starts, ends and names in preorder (of equally common ones the
    first drawn); the preterminals [derivation, position] of the derivations that look like it; its share.
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
            return best[0], np.array(best[1]), _estimate(len(best[1]) / drawn, error, drawn)


def _estimate(share: float, error: float | None, drawn: int) -> Estimate:
    return Estimate(share, math.sqrt(share * (1 - share) / drawn), error, drawn)


def leader_error(count: float, others: pcfg.FloatArray, drawn: int) -> float:
    """The bound of how probably another tree is drawn no less often, from counts; at most one.

    >>> round(leader_error(60, np.array([30.0, 10.0]), 100), 4)
    0.0051
    """
    apart = (math.sqrt(count / drawn) - np.sqrt(others / drawn)) ** 2
    return min(float(np.sum((1 - apart) ** drawn)), 1.0)


class MonteCarloDecoder:
    """Decodes charts for objectives of whole trees, by samples from a DOP grammar's charts."""

    def __init__(self, source: DopSource, objectives: Sequence[Objective]) -> None:
        self._source = source
        self._objectives = objectives

    def decode(self, chart: SentenceChart, posteriors: Posteriors) -> list[Decoded]:
        """The best trees found."""
        source, options, length = self._source, self._source.options, chart.length
        labels, ids, decoded = source.grammar.labels, source.grammar.label_ids, []
        tags: Sequence[str | None]
        for objective in self._objectives:
            tags = best_preterminals(posteriors)
            if objective.weight(Item.CONSISTENT_TREE):
                samples = source.samples(chart.terminal_ids)
                gains = np.log(np.maximum(posteriors.consistent, LEAST))
                tree, share, drawn = bracketing(gains, length), 1.0, len(samples.first) - 1
                if length > 2:
                    tree, uncrossed = completions(samples.trees(source.constituent), gains, length)[0]
                    share = uncrossed / drawn
                spans, estimate = spans_of(tree, length, posteriors), _estimate(share, None, drawn)
            else:
                labelled = bool(objective.weight(Item.PROJECTED_TREE))
                error = MAX_ERROR if options.max_error is None else options.max_error
                draw = drawing(source.charts, chart.terminal_ids, options.seed)
                name = ids if labelled else np.zeros_like(ids)
                nodes, symbols, estimate = leader(draw, name, options.max_samples or MAX_SAMPLES, error)
                if labelled:
                    spans = [(start, end, labels[label]) for start, end, label in nodes.tolist()]
                    # The commonest of each position among the samples of the tree; of equal ones the first.
                    tags = [labels[int(np.bincount(column).argmax())] for column in ids[symbols].T]
                else:
                    spans = spans_of([(start, end) for start, end, _ in nodes.tolist()], length, posteriors)
            decoded.append(Decoded(spans, tags, estimate.estimate, estimate=estimate))
        return decoded


class DopSource(GrammarSource):
    """The charts of sentences under a DOP grammar, and what serves a parser's objectives with them."""

    kind: answers.SourceKind = "dop"

    #: The last sentence that samples were drawn of, and these.
    _drawn: tuple[pcfg.IntArray, Samples] | None = None

    def posteriors(self, chart: SentenceChart) -> Posteriors:
        """Those of a sentence's chart or of samples; what crosses a span is always estimated from samples."""

        def consistent() -> pcfg.FloatArray:
            return self.samples(chart.terminal_ids).consistency(self.constituent, chart.length)

        if self.options.sampled_posteriors:
            entries = self.samples(chart.terminal_ids).entries(self.grammar.label_ids)
            summary = partial(summarize_entries, chart.length, entries, TIE)
            return Posteriors(
                chart.length, self.chart_labels, summary, lambda: entries, consistent=consistent
            )
        spans, listed = chart.span_summary, chart.span_posteriors
        return Posteriors(chart.length, self.chart_labels, spans, listed, consistent=consistent)

    def make_charts(self) -> DopCharts:
        """The charts of its fragments, pruned by the treebank's PCFG."""
        return DopCharts(cast("dop_grammar.DopGrammar", self.origin), self.options.prune)

    def probability(self) -> DopTreeProbability:
        """Makes what knows the probability of trees."""
        return DopTreeProbability(cast("dop_grammar.DopGrammar", self.origin))

    def make_candidates(self) -> candidate_trees.CandidateTrees:
        """What lists the candidates of sentences."""

        def samples(terminal_ids: pcfg.IntArray, count: int, seed: int) -> Samples:
            return drawing(self.charts, terminal_ids, seed)(count)

        k_best = partial(dop_k_best, self.charts)
        return candidate_trees.CandidateTrees(self.grammar, k_best, samples, self.probability(), self.options)

    def decoder(self, name: answers.DecoderName, objectives: list[Objective]) -> Decoder[Any]:
        """The decoder of this name."""
        if name == "monte_carlo":
            return MonteCarloDecoder(self, objectives)
        return super().decoder(name, objectives)

    @cached_property
    def constituent(self) -> Ints:
        """By symbol -1 for what is no constituent of n-ary trees, 0 otherwise."""
        hidden = continuations(self.grammar.labels)[self.grammar.label_ids]
        return np.where(hidden, -1, 0).astype(np.int32)

    def samples(self, terminal_ids: pcfg.IntArray) -> Samples:
        """As many samples of a sentence as may be."""
        if self._drawn is None or self._drawn[0] is not terminal_ids:
            count = self.options.max_samples or MAX_SAMPLES
            self._drawn = terminal_ids, drawing(self.charts, terminal_ids, self.options.seed)(count)
        return self._drawn[1]
