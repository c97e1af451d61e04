"""What free-space objectives need to know of a chart: per span the best label, its posterior, and the
sum of all posteriors; and the posteriors themselves, as a list.

Cells are numbered row by row over the upper triangle of the sentence itself (see ``cell_of``).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from mbrparse.charts.base.rule_tables import Floats, Ints, Offsets

Position = TypeVar("Position", int, npt.NDArray[np.int_], npt.NDArray[np.int32])


def cell_of(n: int, start: Position, end: Position) -> Position:
    """The number of the span's cell in a sentence of n terminals; also of arrays of spans.

    >>> [cell_of(3, i, j) for i in range(3) for j in range(i + 1, 4)]
    [0, 1, 2, 3, 4, 5]
    """
    return start * n - start * (start - 1) // 2 + end - start - 1


@lru_cache(1024)
def word_cells(n: int) -> Offsets:
    """The cells of width one.

    >>> word_cells(3).tolist()
    [0, 3, 5]
    """
    start = np.arange(n)
    return cell_of(n, start, start + 1)


class SpanSummary(NamedTuple):
    """By cell; at width one of the symbols that are rewritten as the word itself: preterminals, or
    phrases over one word."""

    label: Ints  # projected label with the largest posterior, or -1
    best: Floats  # its posterior
    total: Floats  # the sum over labels


class SpanEntries(NamedTuple):
    """Posteriors above zero in the order of start, end, label; parallel arrays.

    With unary rules ``g`` is the expected number of occurrences, at width one too. ``lexical`` is the part
    of g whose nodes are rewritten as the word itself: preterminals, which are no constituents.
    """

    starts: Ints
    ends: Ints
    label_ids: Ints
    g: Floats
    lexical: Floats  # 0 but at width one, never above g

    @property
    def constituents(self) -> Floats:
        """The expected numbers of constituents."""
        return self.g - self.lexical


def entries_without_unaries(starts: Ints, ends: Ints, label_ids: Ints, g: Floats) -> SpanEntries:
    """Entries of a model in which nothing but preterminals stands over a single terminal.

    >>> one = np.zeros(2, np.int32)
    >>> entries_without_unaries(one, one + [1, 2], one, np.ones(2)).constituents.tolist()
    [0.0, 1.0]
    """
    return SpanEntries(starts, ends, label_ids, g, np.where(ends - starts == 1, g, 0.0))


def no_entries() -> SpanEntries:
    """Those of a sentence without a parse."""
    none = np.zeros(0, np.int32)
    return entries_without_unaries(none, none, none, np.zeros(0))


def empty_summary(n: int, dtype: npt.DTypeLike = np.float64) -> SpanSummary:
    """The summary of a sentence of which nothing is known yet.

    Kernels fill it in: what fails within one for want of memory would keep all that it has taken.
    """
    n_cells = n * (n + 1) // 2
    return SpanSummary(np.full(n_cells, -1, np.int32), np.zeros(n_cells, dtype), np.zeros(n_cells, dtype))


def summarize_entries(n: int, entries: SpanEntries, tolerance: float) -> SpanSummary:
    """The summary of a list of posteriors, from whatever model.

    The best label of a span is the first within ``tolerance`` (relative) of the largest.
    """
    label, best, total = empty_summary(n)
    cell = cell_of(n, entries.starts, entries.ends)
    np.add.at(total, cell, entries.g)
    np.maximum.at(best, cell, entries.g)
    chosen = np.flatnonzero((entries.g > 0) & (entries.g * (1 + tolerance) >= best[cell]))[::-1]
    label[cell[chosen]], best[cell[chosen]] = entries.label_ids[chosen], entries.g[chosen]
    return SpanSummary(label, best, total)
