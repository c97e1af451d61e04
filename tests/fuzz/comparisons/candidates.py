"""Whole trees: lists and samples of candidates, minimum risk, and what `score` says of given trees."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

import naive_unary
import numpy as np
from naive import P

from comparisons.objectives import Sentence
from comparisons.truth import Spans
from mbrparse.charts.chart import TOO_IMPROBABLE
from mbrparse.decode.candidates.k_best import LEAST_SHARE
from mbrparse.decode.parser.score import score
from mbrparse.decode.trees import build_tree
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.treebank.outlines import constituents
from mbrparse.treebank.tree import Tree

ALL = 100_000


class Candidates(Sentence):
    """Trees that are listed, drawn or given."""

    def compare(self) -> None:
        """Compare their probabilities, and what is expected of them."""
        self._candidates()
        self._scores()

    def _candidates(self) -> None:
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
            listed = [math.exp(one.log_prob - naive_unary.log(self.true.total)) for one in parse.candidates]
            best = sorted((float(p / self.true.total) for p in looks.values()), reverse=True)
            for mine, theirs in zip(listed, best, strict=False):
                self.check.close(name, mine, theirs)
            sampled = self.parse(samples=50, seed=1, debinarized=nary, refusable=True)
            # Of an n-ary tree with unary rules, samples may lack some of the binary trees that are summed.
            lacking = nary and self.unaries
            drawn = () if sampled is None or lacking else sampled.candidates
            # Of a tree near the end of the list, derivations may be beyond it.
            least = naive_unary.log(self.true.total) + math.log(LEAST_SHARE) + 30
            for one in (*parse.candidates, *drawn) if self.n > 1 else ():  # a tree of one word has a root
                if one.log_prob < least:
                    continue
                self.check.close(name, one.log_prob, naive_unary.log(Fraction(looks[spans_of(one.tree)])))
            self._risk(looks, nary)

    def _risk(self, looks: Mapping[Spans, P], nary: bool) -> None:
        """Minimum risk, where each bracket that two trees share counts one."""

        def shared(trees: Sequence[Tree]) -> FloatArray:
            brackets = [{(node.start, node.end) for node in constituents(tree)} for tree in trees]
            return np.array([[float(len(one & other)) for other in brackets] for one in brackets])

        if self.n == 1:
            return
        spans = {tree: {span[:2] for span in tree} for tree in looks}
        best = max(
            sum(float(p / self.true.total) * len(spans[one] & spans[other]) for other, p in looks.items())
            for one in looks
        )
        parse = self.parse("minimum-risk", k_best=ALL, risk=shared, debinarized=nary, refusable=True)
        if parse is not None:
            self.check.close("minimum-risk", parse.expected_scores["minimum-risk"], best)

    def _scores(self) -> None:
        """Given trees: their probability, and what is expected to match."""
        if not self.true.is_acyclic or self.n == 1:
            return
        looks = self.true.looks(nary=False)
        chosen = sorted(looks, key=str)[:2]
        leaves = [Tree(word) for word in self.words]
        trees = [_tree(spans, leaves) for spans in chosen]
        table = score(self.pcfg, trees, form="binarized", items=False)
        for spans, (_, row) in zip(chosen, table.iterrows(), strict=True):
            if row["reason"] == TOO_IMPROBABLE:
                self.check.refused[TOO_IMPROBABLE] += 1
                continue
            self.check.close("score: posterior", row["posterior"], looks[spans] / self.true.total)
            matches = sum(
                self.true.at_least(k).get(span, 0.0)
                for span, times in Counter(spans).items()
                for k in range(1, times + 1)
            )
            self.check.close("score: labelled", row["expected_labelled"], matches)
            self.check.rates({str(name): value for name, value in row.dropna().items()})


def spans_of(tree: Tree | None) -> Spans:
    """The constituents of a candidate in preorder."""
    assert tree is not None
    return tuple((start, end, label) for start, end, label in constituents(tree))


def _tree(spans: Spans, leaves: Sequence[Tree]) -> Tree:
    return build_tree(spans, leaves)
