"""Minimum risk over candidates (Titov and Henderson 2006).

Of the candidates K of a sentence the tree T is returned that maximizes the sum over G in K of p(G)
score(T, G), with p normalized over K. What a tree scores against another is the caller's affair: decoding
knows no criteria.
"""

from __future__ import annotations

import numpy as np

from mbrparse.decode.candidates.candidate_trees import Candidate, CandidateTrees, shares
from mbrparse.decode.decoders import Decoded
from mbrparse.decode.parser_options import ParserOptions, Risk
from mbrparse.decode.posteriors.span_posteriors import Posteriors, SentenceChart
from mbrparse.decode.trees import build_tree, nary_tree
from mbrparse.treebank.tree import Tree


class RiskDecoder:
    """Chooses among the candidates of sentences."""

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
        expected = self._risk(trees) @ np.array(shares(candidates))
        best = int(np.flatnonzero(expected >= expected.max() * (1 - self._tie))[0])
        chosen = candidates[best]
        constituents = posteriors.expected_nary_constituents() if self._expectations else None
        score = float(expected[best])
        return [Decoded(chosen.spans, chosen.preterminals, score, constituents=constituents)]

    def _tree(self, candidate: Candidate, length: int) -> Tree:
        """The tree as it is written, but for its words."""
        leaves = [Tree("x")] * length
        if self._debinarized:
            return nary_tree(candidate.spans, leaves, "X")
        return build_tree(candidate.spans or [(0, 1, "X")], leaves)
