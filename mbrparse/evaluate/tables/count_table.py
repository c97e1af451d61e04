"""The table that counts, rates and breakdowns are kept in: columns by name, all of one length.

Whoever wants a pandas data frame has one made of it: importing pandas takes longer than all of a small
comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mbrparse.log import Log
from mbrparse.treebank.places import COLUMNS, Places

if TYPE_CHECKING:
    import pandas as pd

Column: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]


class Columns:
    """A table: an array for each column, of integers, of floats, or of objects (texts).

    >>> table = Columns({"name": ["one", "one", "two"], "gold": [3, 1, 4]})
    >>> table["gold"].tolist(), len(table), table.names
    ([3, 1, 4], 3, ('name', 'gold'))
    >>> list(table.where(table["gold"] > 1).rows())
    [('one', 3), ('two', 4)]
    """

    def __init__(self, columns: Mapping[str, Sequence[Any] | Column]) -> None:
        self._columns = {name: _column(values) for name, values in columns.items()}

    @classmethod
    def of_rows(cls, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Columns:
        """The table of these rows, of which there may be none."""
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        return cls(dict(zip(names, columns, strict=True)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in their order."""
        return tuple(self._columns)

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __len__(self) -> int:
        """The number of rows."""
        return len(next(iter(self._columns.values()), ()))

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, as Python's own texts and numbers."""
        return zip(*(column.tolist() for column in self._columns.values()), strict=True)

    def records(self) -> Iterator[dict[str, Any]]:
        """The rows, each by the names of the columns."""
        return (dict(zip(self._columns, row, strict=True)) for row in self.rows())

    def where(self, chosen: Column) -> Columns:
        """The rows that a column of truth values has true."""
        return Columns({name: column[chosen] for name, column in self._columns.items()})

    def having(self, name: str, column: Sequence[Any] | Column) -> Columns:
        """The table with one column more, the last."""
        return Columns({**self._columns, name: column})

    def blocks(self) -> dict[str, slice]:
        """The places of the rows of each ``name``, which in tables of counts follow each other."""
        blocks, start = {}, 0
        for name, rows in groupby(self["name"].tolist()):
            end = start + sum(1 for _ in rows)
            blocks[name] = slice(start, end)
            start = end
        return blocks

    def to_frame(self, index: str | None = None) -> pd.DataFrame:
        """The table as a pandas data frame, one of the columns as its index if that is named."""
        import pandas as pd

        frame = pd.DataFrame({name: column.tolist() for name, column in self._columns.items()})
        return frame if index is None else frame.set_index(index)


def placed(counts: Columns, gold: str, log: Log) -> Columns:
    """The table with the places of the gold trees, of which this is the file, in its last columns."""
    known = Places(log)
    places = [known.of(gold, line) for line in counts["gold_line"].tolist()]
    for field, name in enumerate(COLUMNS):
        counts = counts.having(name, [place[field] for place in places])
    return counts


def _column(values: Sequence[Any] | Column) -> Column:
    if isinstance(values, np.ndarray):
        return values
    # numpy's own texts would end at a NUL, and be as long as the longest.
    return np.array(values, dtype=object if values and isinstance(values[0], str) else None)
