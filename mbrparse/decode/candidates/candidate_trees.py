"""The candidates of a sentence: the different trees among its k best derivations, or among samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from mbrparse.charts.exhaustive.factory import ForestCharts
from mbrparse.decode.answers import ParserOptions, Risk
from mbrparse.decode.candidates.k_best import KBest, forest_k_best
from mbrparse.decode.candidates.samples import Samples, forest_samples
from mbrparse.decode.span_posteriors import Posteriors, SentenceChart
from mbrparse.decode.tree_probability import Probability
from mbrparse.decode.trees import Decoded, LabelledSpans, TreeForm
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.treebank.labels import is_continuation_label, parse_label
from mbrparse.treebank.tree import Tree


class Candidate(NamedTuple):
    """A tree, and the natural logarithm of its probability (not given the sentence).

    ``spans`` are (start, end, projected label) in preorder, none of a continuation in n-ary trees (a root
    that is one has its base label there);
    ``preterminals`` are those of its first derivation.
    """

    log_prob: float
    spans: LabelledSpans
    preterminals: Sequence[str]


class CandidateTrees:
    """Lists candidates, the most probable first.

    A tree's probability is exact, the sum over all its derivations, those not found too (and over the
    preterminals of words). Where unary rules make continuations, and with a DOP grammar, an n-ary tree's is
    the sum over the binary trees found, a lower bound. Equally probable ones come in the order in which they
    were found.
    """

    def __init__(
        self,
        grammar: PCFG,
        k_best: Callable[[IntArray, int], KBest],
        samples: Callable[[IntArray, int, int], Samples],
        probability: Probability,
        options: ParserOptions,
    ) -> None:
        """``k_best`` and ``samples`` list a sentence's derivations, ``grammar`` has their symbols."""
        self._options = options
        self._k_best, self._samples = k_best, samples
        self._probability = probability
        self._labels = grammar.labels
        self._label_ids = grammar.label_ids
        self._hidden = [options.debinarized and is_continuation_label(label) for label in grammar.labels]
        # Those of the last sentence: the parser and the objective that chooses among them both need them.
        self._held: tuple[IntArray, list[Candidate]] | None = None

    @classmethod
    def of_forests(
        cls, charts: ForestCharts, options: ParserOptions, probability: Probability
    ) -> CandidateTrees:
        """Those of a PCFG's forests."""
        k_best, samples = partial(forest_k_best, charts), partial(forest_samples, charts)
        return cls(charts.grammar, k_best, samples, probability, options)

    def of_sentence(self, terminal_ids: IntArray) -> list[Candidate]:
        """The candidates of a sentence that has a derivation.

        Raises ChartOverflowError or MemoryError where its forest does not fit.
        """
        if self._held is None or self._held[0] is not terminal_ids:
            self._held = terminal_ids, self._listed(terminal_ids)
        return self._held[1]

    def _listed(self, terminal_ids: IntArray) -> list[Candidate]:
        options = self._options
        if options.k_best is not None:
            derivations = self._k_best(terminal_ids, options.k_best).derivations
        else:
            derivations = self._samples(terminal_ids, options.samples or 0, options.seed)
        exact = self._probability.serves_nary or not options.debinarized
        found: dict[tuple[tuple[int, int, str], ...], Candidate] = {}
        for nodes, first in derivations.trees(self._label_ids):
            binary = nodes.tolist()
            # The root is shown, whatever it is.
            shown = binary[:1] + [node for node in binary[1:] if not self._hidden[node[2]]]
            spans = self._named(shown)
            if spans and self._hidden[shown[0][2]]:
                spans[0] = (*spans[0][:2], parse_label(spans[0][2]).base)
            key = tuple(spans)
            known = found.get(key)
            if known is not None and exact:
                continue
            log_prob = self._probability.log_prob(
                spans if exact else self._named(binary), terminal_ids, exact and options.debinarized
            )
            if known is not None:
                found[key] = known._replace(log_prob=float(np.logaddexp(known.log_prob, log_prob)))
            else:
                found[key] = Candidate(log_prob, spans, self._preterminals(derivations, first[0]))
        # What differs by rounding is equal.
        return sorted(found.values(), key=lambda candidate: -round(candidate.log_prob, 9))

    def _named(self, nodes: list[list[int]]) -> list[tuple[int, int, str]]:
        return [(start, end, self._labels[label]) for start, end, label in nodes]

    def _preterminals(self, derivations: Samples, derivation: int) -> list[str]:
        nodes = slice(derivations.first[derivation], derivations.first[derivation + 1])
        symbols = derivations.symbol[nodes][~derivations.constituents()[nodes]]
        return [self._labels[label] for label in self._label_ids[symbols].tolist()]


def shares(log_probs: FloatArray) -> FloatArray:
    """Probabilities normalized over the candidates of a sentence; equal ones if all are zero."""
    top = log_probs.max()
    masses = np.exp(log_probs - top) if np.isfinite(top) else np.ones(len(log_probs))
    found: FloatArray = masses / masses.sum()
    return found


def expected_scores(trees: Sequence[Tree], log_probs: FloatArray, risk: Risk) -> FloatArray:
    """What each of a sentence's candidates is expected to score against the others."""
    weights = shares(log_probs)
    return np.array([row @ weights for row in risk(trees)])


def first_best(scores: FloatArray, tie: float, cost: float = 0.0) -> int:
    """The place of the first score within ``tie`` of the largest, relative to it and to what nodes cost."""
    top = scores.max()
    return int(np.flatnonzero(scores >= top - (abs(top) + abs(cost)) * tie)[0])


class RiskDecoder:
    """Chooses among the candidates of sentences, for minimum risk (Titov and Henderson 2006).

    Of the candidates K of a sentence the tree T is returned that maximizes the sum over G in K of p(G)
    score(T, G), with p normalized over K. What a tree scores against another is the caller's affair: decoding
    knows no criteria.
    """

    def __init__(self, candidates: CandidateTrees, options: ParserOptions, risk: Risk, tie: float) -> None:
        self._candidates = candidates
        self._risk = risk
        self._debinarized = options.debinarized
        self._expectations = options.debinarized and options.expectations
        self._tie = tie

    def decode(self, chart: SentenceChart, posteriors: Posteriors) -> list[Decoded]:
        """The best candidate; of equal ones the more probable. Its score is the expected one."""
        candidates = self._candidates.of_sentence(chart.terminal_ids)
        trees = [self._tree(candidate, len(chart.terminal_ids)) for candidate in candidates]
        log_probs = np.array([candidate.log_prob for candidate in candidates])
        expected = expected_scores(trees, log_probs, self._risk)
        best = first_best(expected, self._tie)
        chosen = candidates[best]
        constituents = posteriors.expected_constituents(nary=True) if self._expectations else None
        score = float(expected[best])
        return [Decoded(chosen.spans, chosen.preterminals, score, constituents=constituents)]

    def _tree(self, candidate: Candidate, length: int) -> Tree:
        """The tree as it is written, but for its words."""
        return TreeForm("X", self._debinarized).tree(candidate.spans, [Tree("x")] * length)
