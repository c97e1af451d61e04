"""The decoder of n-ary trees: General Recall and expected F, from posteriors of spans alone.

Goodman (1996) announced the General Recall Algorithm, of which Labelled and Bracketed Recall are special
cases, and the n-ary branching case. Let g(i, X, j) be the posterior of a constituent of the true n-ary
tree G: continuations are none. General Recall keeps the constituents whose weighted gains less a cost add
up to most. Expected F, 2 sum g / (|T| + E|G|), is a ratio of two such sums: it is maximized by searching
with the cost F / 2 until F no longer grows (Dinkelbach 1967). The F of many sentences, with sums over all
of them above and below, has one cost for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from mbrparse.decode.base.bracketing import SpanTable, search_constituents
from mbrparse.decode.base.decoders import Decoded
from mbrparse.decode.base.objectives import Item, Objective
from mbrparse.decode.base.span_posteriors import Posteriors
from mbrparse.decode.free.free_decoder import UNLABELLED, best_preterminals
from mbrparse.grammar.charts.base.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.base.columns import NO_LABEL
from mbrparse.grammar.charts.base.span_summary import SpanSummary, cell_of
from mbrparse.grammar.pcfg import FloatArray, IntArray

FIRST_F = 0.5
# Growth of F below this is rounding; two or three rounds are usual.
GROWTH = 1e-12


class Constituents(NamedTuple):
    """The spans of a tree's constituents in preorder, the whole sentence first, and what they gain."""

    score: float
    starts: IntArray
    ends: IntArray


def best_constituents(
    gains: FloatArray, length: int, tie: float = 1e-9, clock: Clock = NO_LIMIT
) -> Constituents:
    """The tree with the largest sum of gains, which are by cell (grammar.charts.base.span_summary).

    A single terminal has no root above it but where that gains. Of equal trees the one with fewer
    constituents, then the one that splits first. Raises TimeLimitError.

    >>> gains = np.array([0.0, 0.5, -0.1, 0.0, 0.2, 0.0])  # (0,1) (0,2) (0,3) (1,2) (1,3) (2,3)
    >>> found = best_constituents(gains, 3)
    >>> round(found.score, 9), found.starts.tolist(), found.ends.tolist()
    (0.4, [0, 0], [3, 2])
    """
    table, kept = SpanTable.of_length(length), np.zeros((length, length + 1), np.bool_)
    gains = gains.astype(np.float64, copy=False)
    found = search_constituents(gains, length, tie, table, kept, clock.stop)
    clock.check()
    return Constituents(*found)


class ConstituentSummary(NamedTuple):
    """The posteriors of a sentence's constituents, summed up by cell: some 20 bytes for each span.

    Label ids are positions in ``labels``; ``expected`` is how many constituents the true n-ary tree is
    expected to have.
    """

    length: int
    labels: tuple[str, ...]
    summary: SpanSummary
    expected: float

    def alone(self) -> ConstituentSummary:
        """The same, of all labels only those that it speaks of."""
        found, ids = np.unique(self.summary.label, return_inverse=True)
        known = found[found != NO_LABEL]
        label = (ids.reshape(-1) - (len(found) - len(known))).astype(np.int32)
        labels = tuple(self.labels[label_id] for label_id in known.tolist())
        return self._replace(labels=labels, summary=self.summary._replace(label=label))


def constituent_summary(posteriors: Posteriors) -> ConstituentSummary:
    """What the search needs of these posteriors."""
    expected = posteriors.expected_nary_constituents()
    return ConstituentSummary(posteriors.length, posteriors.labels, posteriors.constituents, expected)


class PooledF(NamedTuple):
    """The cost of a constituent at which trees of so many sentences have the largest pooled F, and that F."""

    cost: float
    f: float
    sentences: int


class NaryDecoder:
    """Decodes posteriors for objectives of the n-ary space."""

    def __init__(
        self, objectives: Sequence[Objective], tie: float, root: str, clock: Clock = NO_LIMIT
    ) -> None:
        """``root`` labels a whole sentence of which no label is known."""
        self._objectives = objectives
        self._tie = tie
        self._clock = clock
        self._root = root

    def decode(self, chart: object, posteriors: Posteriors) -> list[Decoded]:
        """The best trees; their spans are those of constituents, none of a continuation.

        A single sentence has no pooled F: it is decoded for its own. Raises TimeLimitError.
        """
        preterminals = best_preterminals(posteriors)
        summed = constituent_summary(posteriors)
        found = []
        for objective in self._objectives:
            if objective.f_score:
                score, tree = self._best_f(objective, summed)
            else:
                gains = _gains(objective, summed.summary)
                tree = best_constituents(gains, summed.length, self._tie, self._clock)
                score = tree.score
            spans = self._labelled(tree, summed)
            found.append(Decoded(spans, preterminals, score, constituents=summed.expected))
        return found

    def _best_f(self, objective: Objective, summed: ConstituentSummary) -> tuple[float, Constituents]:
        """The tree with the largest 2 sum of gains / (its constituents + those expected), and that F."""
        f, best = FIRST_F, None
        while True:
            tree, matches = self._at_cost(objective, summed, f / 2)
            reached = _f(matches, len(tree.starts), summed.expected)
            if best is not None and reached <= f + GROWTH:
                return f, best
            f, best = reached, tree

    def pooled(self, objective: Objective, sentences: Iterable[ConstituentSummary]) -> PooledF:
        """The largest F of all sentences together; they are gone through some four times."""
        f, rounds = FIRST_F, 0
        while True:
            matches, count, expected, number = 0.0, 0, 0.0, 0
            for summed in sentences:
                tree, gained = self._at_cost(objective, summed, f / 2)
                matches += gained
                count += len(tree.starts)
                expected += summed.expected
                number += 1
            reached = _f(matches, count, expected)
            if rounds and reached <= f + GROWTH:
                return PooledF(f / 2, f, number)
            f, rounds = reached, rounds + 1

    def at_cost(self, objective: Objective, summed: ConstituentSummary, cost: float) -> Decoded:
        """The tree of a sentence where each constituent costs so much; its score is the sentence's own F.

        Preterminals are not known here.
        """
        tree, matches = self._at_cost(objective, summed, cost)
        score = _f(matches, len(tree.starts), summed.expected)
        return Decoded(self._labelled(tree, summed), (), score, constituents=summed.expected)

    def _at_cost(
        self, objective: Objective, summed: ConstituentSummary, cost: float
    ) -> tuple[Constituents, float]:
        """The best tree, and the sum of its gains without the cost."""
        tree = best_constituents(
            _gains(objective, summed.summary) - cost, summed.length, self._tie, self._clock
        )
        # What the search took off for each constituent is put back.
        return tree, tree.score + len(tree.starts) * cost

    def _labelled(self, tree: Constituents, summed: ConstituentSummary) -> list[tuple[int, int, str]]:
        starts, ends = tree.starts, tree.ends
        ids = summed.summary.label[cell_of(summed.length, starts, ends)].tolist()
        names = [UNLABELLED if label == NO_LABEL else summed.labels[label] for label in ids]
        if ids and ids[0] == NO_LABEL:
            names[0] = self._root
        return list(zip(starts.tolist(), ends.tolist(), names, strict=True))


def _f(matches: float, constituents: int, expected: float) -> float:
    return 2 * matches / (constituents + expected) if constituents + expected else 1.0


def _gains(objective: Objective, summary: SpanSummary) -> FloatArray:
    """By cell, what a constituent with the best label gains."""
    labelled, span = objective.weight(Item.LABELLED_SPAN), objective.weight(Item.SPAN)
    gains: FloatArray = np.asarray(
        labelled * summary.best.astype(np.float64) + span * summary.total.astype(np.float64)
    )
    return gains + objective.node_constant
