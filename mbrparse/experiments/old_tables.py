"""Tables of experiments, until these leave the package."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from mbrparse.evaluate.tables import Cell, Grid, PrintFormat, csv_of, lay_out


class Columns:
    """Makers of data frames."""

    def __new__(cls, columns: Mapping[str, Any]) -> Any:
        """A table of these columns."""
        return pd.DataFrame(dict(columns))

    @staticmethod
    def of_rows(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
        """A table of these rows."""
        return pd.DataFrame(list(rows), columns=list(names))


def grid_of(rows: Iterable[Iterable[object]]) -> list[list[Cell]]:
    """A grid of unmarked cells."""
    return [[Cell(str(content)) for content in row] for row in rows]


def csv_grid(grid: Grid) -> list[str]:
    """Comma-separated values."""
    heading, *rows = [[cell if isinstance(cell, str) else cell.text for cell in row] for row in grid]
    return csv_of(pd.DataFrame(rows, columns=heading)).splitlines()


def _layout(form: PrintFormat) -> Any:
    def made(grid: Grid, names: int = 1) -> list[str]:
        return lay_out([[*row, *[""] * (len(grid[0]) - len(row))] for row in grid], form, names)

    return made


LAYOUTS: dict[PrintFormat, Any] = {
    "text": _layout("text"),
    "markdown": _layout("markdown"),
    "latex": _layout("latex"),
    "html": _layout("html"),
}
