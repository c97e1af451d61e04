"""The decoder of n-ary trees: General Recall and expected F, from posteriors of spans alone.

Goodman (1996) announced the General Recall Algorithm, of which Labelled and Bracketed Recall are special
cases, and the n-ary branching case. Let g(i, X, j) be the posterior of a constituent of the true n-ary
tree G: continuations are none. General Recall keeps the constituents whose weighted gains less a cost add
up to most. Expected F, 2 sum g / (|T| + E|G|), is a ratio of two such sums: it is maximized by searching
with the cost F / 2 until F no longer grows (Dinkelbach 1967).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbrparse.decode.decoders import Decoded
from mbrparse.decode.free.free_decoder import UNLABELLED, best_preterminals
from mbrparse.decode.nary.constituent_search import Constituents, best_constituents
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.posteriors.span_posteriors import NO_LABEL, Posteriors
from mbrparse.grammar.charts.clock import NO_LIMIT, Clock
from mbrparse.grammar.charts.span_summary import SpanSummary, cell_of
from mbrparse.grammar.pcfg import FloatArray

# Growth of F below this is rounding; two or three rounds are usual.
GROWTH = 1e-12


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

        Raises TimeLimitError.
        """
        preterminals = best_preterminals(posteriors)
        summary = posteriors.constituents
        expected = posteriors.expected_nary_constituents()
        found = []
        for objective in self._objectives:
            if objective.f_score:
                score, tree = self._best_f(objective, summary, posteriors.length, expected)
            else:
                tree = best_constituents(
                    _gains(objective, summary), posteriors.length, self._tie, self._clock
                )
                score = tree.score
            spans = self._labelled(tree, summary, posteriors)
            found.append(Decoded(spans, preterminals, score, constituents=expected))
        return found

    def _best_f(
        self, objective: Objective, summary: SpanSummary, length: int, expected: float
    ) -> tuple[float, Constituents]:
        """The tree with the largest 2 sum of gains / (its constituents + those expected), and that F."""
        gains = _gains(objective, summary)
        f, best = 0.5, None
        while True:
            tree = best_constituents(gains - f / 2, length, self._tie, self._clock)
            count = len(tree.starts)
            # What the search took off for each constituent is put back.
            matches = tree.score + count * f / 2
            reached = 2 * matches / (count + expected) if count + expected else 1.0
            if best is not None and reached <= f + GROWTH:
                return f, best
            f, best = reached, tree

    def _labelled(
        self, tree: Constituents, summary: SpanSummary, posteriors: Posteriors
    ) -> list[tuple[int, int, str]]:
        starts, ends = tree.starts, tree.ends
        ids = summary.label[cell_of(posteriors.length, starts, ends)].tolist()
        names = [UNLABELLED if label == NO_LABEL else posteriors.labels[label] for label in ids]
        if ids and ids[0] == NO_LABEL:
            names[0] = self._root
        return list(zip(starts.tolist(), ends.tolist(), names, strict=True))


def _gains(objective: Objective, summary: SpanSummary) -> FloatArray:
    """By cell, what a constituent with the best label gains."""
    labelled, span = objective.weight(Item.LABELLED_SPAN), objective.weight(Item.SPAN)
    gains: FloatArray = np.asarray(
        labelled * summary.best.astype(np.float64) + span * summary.total.astype(np.float64)
    )
    return gains + objective.node_constant
