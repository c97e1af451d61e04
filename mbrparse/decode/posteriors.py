"""Posteriors of labelled spans: what the objectives of the free space look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray, IntArray

TIE = 1e-9
NO_LABEL = -1


@dataclass(frozen=True, eq=False)
class Posteriors:
    """g(start, label, end) of one sentence, as a list of its entries above zero.

    ``starts``, ``ends``, ``label_ids`` (int32) and ``g`` (float) are parallel and in the order of
    (start, end, label); label ids are positions in ``labels``, which are in text order. They may come
    from a chart or from any other model.
    """

    length: int
    labels: tuple[str, ...]
    starts: IntArray
    ends: IntArray
    label_ids: IntArray
    g: FloatArray

    @cached_property
    def spans(self) -> SpanSummary:
        """The best label, its posterior and the sum over labels, for each span."""
        return SpanSummary(*_summarize(self.length, self.starts, self.ends, self.label_ids, self.g))

    @cached_property
    def _table(self) -> dict[tuple[int, int, str], float]:
        labels = self.labels
        keys = zip(self.starts.tolist(), self.ends.tolist(), self.label_ids.tolist(), strict=True)
        return {
            (start, end, labels[label]): value
            for (start, end, label), value in zip(keys, self.g.tolist(), strict=True)
        }

    def labelled(self, start: int, end: int, label: str) -> float:
        """g of a labelled span (0 for one that is not listed)."""
        return self._table.get((start, end, label), 0.0)

    def bracketed(self, start: int, end: int) -> float:
        """g of a span, summed over labels."""
        return float(self.spans.total[start, end])

    def expected_matches(self, constituents: Sequence[tuple[int, int, str]]) -> tuple[float, float]:
        """The expected numbers of labelled and of bracketed matches of (start, end, label) triples."""
        labelled = sum(self.labelled(*constituent) for constituent in constituents)
        bracketed = sum(self.bracketed(start, end) for start, end, _ in constituents)
        return labelled, bracketed


@dataclass(frozen=True, eq=False, slots=True)
class SpanSummary:
    """Arrays [length, length + 1] by start and end; best_label is NO_LABEL (-1) where all g are 0."""

    best_label: IntArray
    best: FloatArray
    total: FloatArray


@kernel
def _summarize(
    length: int, starts: IntArray, ends: IntArray, label_ids: IntArray, g: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    best_label = np.full((length, length + 1), np.int32(NO_LABEL), np.int32)
    best = np.zeros((length, length + 1))
    total = np.zeros((length, length + 1))
    for entry in range(len(starts)):
        start, end, value = starts[entry], ends[entry], g[entry]
        total[start, end] += value
        # In text order of the labels: a later one must be better by more than a tie.
        if value > best[start, end] * (1.0 + TIE):
            best[start, end] = value
            best_label[start, end] = label_ids[entry]
    return best_label, best, total


def span_gains(
    posteriors: Posteriors, labelled: float, span: float, constant: float
) -> npt.NDArray[np.float64]:
    """The gain [length, length + 1] of a node over each span, with the best label on it."""
    summary = posteriors.spans
    return labelled * summary.best + span * summary.total + constant
