"""Spans of a sentence and their labels: cells, posteriors by cell and as lists, and lists of spans.

Cells are numbered row by row over the upper triangle of the sentence itself (see ``cell_of``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from mbrparse.charts.rule_tables import Floats, Ints, Offsets

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


def crossing(
    starts: NDArray[Any], ends: NDArray[Any], brackets: Iterable[tuple[int, int]]
) -> NDArray[np.bool_]:
    """Which of the spans cross one of the brackets, or several.

    >>> crossing(np.array([0, 0, 1]), np.array([2, 3, 2]), [(1, 3)]).tolist()
    [True, False, False]
    """
    found = np.zeros(np.shape(starts), np.bool_)
    for start, end in brackets:
        found |= (starts < start) & (start < ends) & (ends < end)
        found |= (start < starts) & (starts < end) & (end < ends)
    return found


class SpanSummary(NamedTuple):
    """By cell; at width one of the symbols that are rewritten as the word itself: preterminals, or
    phrases over one word."""

    label: Ints  # projected label with the largest posterior, or -1
    best: Floats  # its posterior
    total: Floats  # the sum over labels


class SpanEntries(NamedTuple):
    """Posteriors above zero in the order of start, end, label; parallel arrays.

    Preterminals are rewritten as the word itself, and no constituents.
    """

    starts: Ints
    ends: Ints
    label_ids: Ints
    constituents: Floats  # that the label is a constituent over the span, once or more
    preterminals: Floats  # that it is the word's preterminal; 0 but at width one

    @property
    def g(self) -> Floats:
        """Their sum; above one where the label is over a word as both."""
        return self.constituents + self.preterminals


def entries_without_unaries(starts: Ints, ends: Ints, label_ids: Ints, g: Floats) -> SpanEntries:
    """Entries of a model in which nothing but preterminals stands over a single terminal.

    >>> one = np.zeros(2, np.int32)
    >>> entries_without_unaries(one, one + [1, 2], one, np.ones(2)).constituents.tolist()
    [0.0, 1.0]
    """
    single = ends - starts == 1
    return SpanEntries(starts, ends, label_ids, np.where(single, 0.0, g), np.where(single, g, 0.0))


# Sums by so many keys take less time than sorting them.
_FEW_KEYS = 1 << 18


def summed_entries(
    n: int, starts: Ints, ends: Ints, label_ids: Ints, constituents: Floats, preterminals: Floats
) -> SpanEntries:
    """The entries of nodes in any order, summed by span and label, in order."""
    some = np.flatnonzero((constituents > 0) | (preterminals > 0))
    count = int(label_ids.max(initial=0)) + 1
    keys = cell_of(n, starts[some], ends[some]).astype(np.int64) * count + label_ids[some]
    known = None
    if n * (n + 1) // 2 * count > _FEW_KEYS:
        known, keys = np.unique(keys, return_inverse=True)
    sums = np.array([np.bincount(keys, part[some]) for part in (constituents, preterminals)])
    there = np.flatnonzero(sums.any(0))
    cells, label = np.divmod(there if known is None else known[there], count)
    first, last = (column.astype(np.int32) for column in np.triu_indices(n))
    return SpanEntries(first[cells], last[cells] + np.int32(1), label.astype(np.int32), *sums[:, there])


def no_entries() -> SpanEntries:
    """Those of a sentence without a parse."""
    none = np.zeros(0, np.int32)
    return entries_without_unaries(none, none, none, np.zeros(0))


def empty_summary(n: int) -> SpanSummary:
    """The summary of a sentence of which nothing is known yet.

    Kernels fill it in: what fails within one for want of memory would keep all that it has taken.
    """
    n_cells = n * (n + 1) // 2
    return SpanSummary(np.full(n_cells, -1, np.int32), np.zeros(n_cells), np.zeros(n_cells))


def summarize_entries(n: int, entries: SpanEntries, tolerance: float) -> SpanSummary:
    """The summary of a list of posteriors, from whatever model; over single terminals of preterminals.

    The best label of a span is the first within ``tolerance`` (relative) of the largest.
    """
    label, best, total = empty_summary(n)
    cell = cell_of(n, entries.starts, entries.ends)
    g = np.where(entries.ends - entries.starts > 1, entries.constituents, entries.preterminals)
    np.add.at(total, cell, g)
    np.maximum.at(best, cell, g)
    chosen = np.flatnonzero((g > 0) & (g * (1 + tolerance) >= best[cell]))[::-1]
    label[cell[chosen]], best[cell[chosen]] = entries.label_ids[chosen], g[chosen]
    return SpanSummary(label, best, total)


Name = TypeVar("Name")
T_co = TypeVar("T_co", covariant=True)

#: The id of what has no label.
NO_LABEL = -1


def rows(*columns: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    """The rows of arrays, as Python's own numbers."""
    return zip(*(column.tolist() for column in columns), strict=True)


def begins(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows of arrays differ from the row before.

    >>> begins(np.array([1, 1, 1, 2]), np.array([3, 3, 4, 4])).tolist()
    [True, False, True, True]
    """
    first = np.ones(len(columns[0]), np.bool_)
    first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return first


class _Listed(Sequence[T_co]):
    """What is read as the list that it makes, and equals it."""

    __slots__ = ()

    def listed(self) -> list[T_co]:
        """All of it."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[T_co]:
        return iter(self.listed())

    def __reversed__(self) -> Iterator[T_co]:
        return reversed(self.listed())

    @overload
    def __getitem__(self, index: int) -> T_co: ...

    @overload
    def __getitem__(self, index: slice) -> list[T_co]: ...

    def __getitem__(self, index: int | slice) -> T_co | list[T_co]:
        return self.listed()[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and self.listed() == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self.listed()))

    def __repr__(self) -> str:
        return repr(self.listed())


class Spans(_Listed[tuple[int, int, Name]], Generic[Name]):
    """(start, end, ``names[id]``), in preorder.

    >>> import numpy as np
    >>> Spans(np.array([0, 1]), np.array([3, 3]), np.array([1, 0]), ["NP", "S"])
    [(0, 3, 'S'), (1, 3, 'NP')]
    """

    __slots__ = ("ends", "ids", "names", "starts")

    def __init__(self, starts: Ints, ends: Ints, ids: Ints, names: Sequence[Name]) -> None:
        self.starts = starts
        self.ends = ends
        self.ids = ids
        self.names = names

    def __len__(self) -> int:
        return len(self.ids)

    def listed(self) -> list[tuple[int, int, Name]]:
        """All of them."""
        names = map(self.names.__getitem__, self.ids.tolist())
        return list(zip(self.starts.tolist(), self.ends.tolist(), names, strict=True))


class Labels(_Listed[str | None]):
    """``names[id]``, or None where the id is NO_LABEL."""

    __slots__ = ("ids", "names")

    def __init__(self, ids: Ints, names: Sequence[Any]) -> None:
        self.ids = ids
        self.names = names

    def __len__(self) -> int:
        return len(self.ids)

    def listed(self) -> list[str | None]:
        """All of them."""
        names = self.names
        return [None if label_id == NO_LABEL else names[label_id] for label_id in self.ids.tolist()]


#: Each id is its own name.
SYMBOL_IDS = range(1 << 31)
