"""Spans and labels as columns of ids, as kernels find them: what they stand for is listed where one looks.

A batch of sentences has very many of them, and most are only written (decode.parser.parse_files).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from mbrparse.charts.base.chart import Derivation
from mbrparse.charts.base.rule_tables import Ints

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


class Names:
    """Names by id: those of ``labels`` have theirs, others get one when they are met."""

    def __init__(self, labels: tuple[str, ...] = ()) -> None:
        self.labels = labels
        self.names = list(labels)
        self._ids = {label: label_id for label_id, label in enumerate(labels)}

    def id_of(self, label: str) -> int:
        """The id of a label, a new one if it has none."""
        if label not in self._ids:
            self._ids[label] = len(self.names)
            self.names.append(label)
        return self._ids[label]


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


def derivation_of(start: Ints, end: Ints, symbol: Ints, log_prob: float) -> Derivation:
    """The derivation that has these nodes, in preorder.

    Of the nodes over a single terminal the lowest is the preterminal.
    """
    inner = end - start > 1
    inner[:-1] |= (start[1:] == start[:-1]) & (end[1:] == end[:-1])
    nodes = Spans(start[inner], end[inner], symbol[inner], SYMBOL_IDS)
    return Derivation(log_prob, nodes, symbol[~inner].tolist())


def columns_of(nodes: Sequence[tuple[int, int, int]]) -> Spans[int]:
    """The nodes of a derivation as columns."""
    if isinstance(nodes, Spans):
        return nodes
    starts, ends, ids = np.array(nodes, np.int32).reshape(-1, 3).T
    return Spans(starts, ends, ids, SYMBOL_IDS)
