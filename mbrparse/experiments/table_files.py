"""Tables written into an experiment's folder, a file for each format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mbrparse.evaluate.tables.grids import LAYOUTS, Grid, PrintFormat, csv_grid
from mbrparse.files import open_output, together

SUFFIXES: dict[str, PrintFormat] = {"txt": "text", "md": "markdown", "tex": "latex"}


@together()
def write_table(
    folder: Path,
    name: str,
    grid: Grid,
    data: Grid | None = None,
    suffixes: Sequence[str] = tuple(SUFFIXES),
    names: int = 1,
) -> str:
    """Write a table as NAME.txt, .md and .tex, and as NAME.csv; return the text.

    ``data`` goes into the CSV file in the place of what people read; the first ``names`` columns are names.
    """
    texts = {suffix: LAYOUTS[SUFFIXES[suffix]](grid, names) for suffix in suffixes}
    for suffix, lines in {**texts, "csv": csv_grid(grid if data is None else data)}.items():
        with open_output(folder / f"{name}.{suffix}") as stream:
            stream.write("\n".join(lines) + "\n")
    return "\n".join(texts["txt"])
