"""Whole trees: lists and samples of candidates, and minimum risk."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import naive
import numpy as np
from naive import P

from comparisons.objectives import Sentence
from comparisons.truth import Spans
from mbrparse.decode.candidates.k_best import LEAST_SHARE
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.treebank.outlines import constituents
from mbrparse.treebank.tree import Tree

ALL = 100_000


class Candidates(Sentence):
    """Trees that are listed or drawn."""

    def compare(self) -> None:
        """Compare their probabilities, and which one is chosen."""
        if not self.true.is_acyclic:
            return
        for nary in (False, True):
            looks = self.true.looks(nary)
            parse = self.parse(k_best=ALL, debinarized=nary, refusable=True)
            if parse is None:
                continue
            probable = sum(p / self.true.total > LEAST_SHARE * 10 for p in looks.values())
            name = f"candidates{', n-ary' if nary else ''}"
            self.check.true(name, probable <= len(parse.candidates) <= len(looks), parse.candidates)
            listed = [math.exp(one.log_prob - naive.log(self.true.total)) for one in parse.candidates]
            best = sorted((float(p / self.true.total) for p in looks.values()), reverse=True)
            for mine, theirs in zip(listed, best, strict=False):
                self.check.close(name, mine, theirs)
            sampled = self.parse(samples=50, seed=1, debinarized=nary, refusable=True)
            # Of an n-ary tree with unary rules, samples may lack some of the binary trees that are summed.
            lacking = nary and self.unaries
            drawn = () if sampled is None or lacking else sampled.candidates
            # Of a tree near the end of the list, derivations may be beyond it.
            least = naive.log(self.true.total) + math.log(LEAST_SHARE) + 30
            for one in (*parse.candidates, *drawn) if self.n > 1 else ():  # a tree of one word has a root
                if one.log_prob < least:
                    continue
                self.check.close(name, one.log_prob, naive.log(Fraction(looks[spans_of(one.tree)])))
            self._risk(looks, nary)

    def _risk(self, looks: Mapping[Spans, P], nary: bool) -> None:
        """Minimum risk, where each bracket that two trees share counts one."""

        def shared(trees: Sequence[Tree]) -> FloatArray:
            brackets = [{(node.start, node.end) for node in constituents(tree)} for tree in trees]
            return np.array([[float(len(one & other)) for other in brackets] for one in brackets])

        if self.n == 1:
            return
        spans = {tree: {span[:2] for span in tree} for tree in looks}
        expected = {
            one: sum(
                float(p / self.true.total) * len(spans[one] & spans[other]) for other, p in looks.items()
            )
            for one in looks
        }
        parse = self.parse("minimum-risk", k_best=ALL, risk=shared, debinarized=nary, refusable=True)
        if parse is not None:
            # The list may end before what is next to impossible.
            least = max(expected[one] for one, p in looks.items() if p / self.true.total > LEAST_SHARE * 10)
            found = parse.expected_scores["minimum-risk"] or 0.0
            most = max(expected.values())
            self.check.true("minimum-risk", least - 1e-9 <= found <= most + 1e-9, (found, least, most))


def spans_of(tree: Tree | None) -> Spans:
    """The constituents of a candidate in preorder."""
    assert tree is not None
    return tuple((start, end, label) for start, end, label in constituents(tree))
