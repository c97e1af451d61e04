"""The decoder of exact F: the n-ary tree T with the largest expected F, E[2 m / (|T| + |G|)].

G is the true n-ary tree and m what T and G share. Ratio F puts E|G| in the place of |G|; here, for each size
k of T, a constituent s gains 2 sum over m of P(s in G, |G| = m) / (k + m) (``size_posteriors``), and the best
tree of each size is found (``counted_search``). A reference for ratio F: time grows with the fifth power of
the length and more, in place of the third.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbrparse.decode.decoders import Decoded
from mbrparse.decode.free.free_decoder import best_preterminals
from mbrparse.decode.nary.counted_search import best_of_any_size
from mbrparse.decode.nary.size_posteriors import SizePosteriors, size_posteriors
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.posteriors.span_posteriors import Posteriors, continuations
from mbrparse.errors import ObjectiveError
from mbrparse.grammar.charts.chart import Chart
from mbrparse.grammar.charts.factory import TIE
from mbrparse.grammar.charts.forest_charts import ForestCharts
from mbrparse.grammar.charts.span_summary import cell_of
from mbrparse.grammar.pcfg import FloatArray

_TIE = TIE["double"]


class ExactFDecoder:
    """Decodes forests for objectives of exact F."""

    def __init__(self, charts: ForestCharts, objectives: Sequence[Objective], root: str) -> None:
        """``root`` labels a whole sentence of which no label is known.

        Raises ObjectiveError for a grammar with unary rules: its trees may be of any size.
        """
        if len(charts.grammar.unary_parent):
            raise ObjectiveError(
                f"exact F of {objectives[0].name} needs a grammar without unary rules: only there is the "
                "size of trees bounded",
                remedy="train on trees without (mbrparse binarize --unary top, bottom or join), or leave "
                "--exact out",
            )
        self._charts = charts
        self._objectives = objectives
        self._root = root
        self._counted = ~continuations(charts.labels)[charts.label]

    def decode(self, chart: Chart, posteriors: Posteriors) -> list[Decoded]:
        """The best trees; raises ChartOverflowError, MemoryError, TimeLimitError where limits are reached."""
        preterminals = best_preterminals(posteriors)
        expected = posteriors.expected_nary_constituents()
        if chart.length == 1:
            # No constituent on either side: all agrees.
            return [Decoded([], preterminals, 1.0, constituents=expected) for _ in self._objectives]
        sizes = np.arange(1, chart.length)
        known = size_posteriors(chart, self._charts, self._counted)
        # [span, |T| - 1]: what a labelled span gains in trees of that size.
        gains = known.g @ (2 / (sizes + np.arange(chart.length)[:, None]))
        return [
            self._best(objective, chart.length, known, gains, preterminals, expected)
            for objective in self._objectives
        ]

    def _best(
        self,
        objective: Objective,
        length: int,
        known: SizePosteriors,
        gains: FloatArray,
        preterminals: Sequence[str | None],
        expected: float,
    ) -> Decoded:
        by_label, by_span = objective.weight(Item.LABELLED_SPAN), objective.weight(Item.SPAN)
        cells = cell_of(length, known.starts, known.ends)
        # Labels of one cell stand together.
        cell, first = np.unique(cells, return_index=True)
        earned = np.zeros((length - 1, length * (length + 1) // 2))
        if len(cell):
            earned[:, cell] = (
                by_label * np.maximum.reduceat(gains, first) + by_span * np.add.reduceat(gains, first)
            ).T
        tree = best_of_any_size(earned, length, _TIE, self._charts.clock)
        # The best label depends on the size; for brackets alone it is the most probable one.
        worth = gains[:, len(tree.starts) - 1] if by_label else known.g.sum(axis=1)
        spans = []
        last = np.append(first[1:], len(cells))
        place_of = {int(one): place for place, one in enumerate(cell)}
        for start, end in zip(tree.starts.tolist(), tree.ends.tolist(), strict=True):
            place = place_of.get(int(cell_of(length, start, end)))
            label = self._root
            if place is not None:
                here = worth[first[place] : last[place]]
                # The first label within tolerance of the largest.
                chosen = first[place] + int(np.argmax(here >= here.max() * (1 - _TIE)))
                label = self._charts.labels[known.label_ids[chosen]]
            spans.append((start, end, label))
        return Decoded(spans, preterminals, tree.score, constituents=expected)
