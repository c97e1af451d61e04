"""Tables and plots in an experiment's folder: the same input gives the same files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mbrparse.evaluate.tables.grids import LAYOUTS, Grid, PrintFormat, csv_grid
from mbrparse.io.files import atomic_outputs, open_output, open_output_bytes

SUFFIXES: dict[str, PrintFormat] = {"txt": "text", "md": "markdown", "tex": "latex"}


@atomic_outputs()
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


def plotting() -> Any:
    """matplotlib's pyplot, ready to write files; imported when the first figure is drawn."""
    import matplotlib as mpl

    mpl.use("Agg")
    # The same input gives the same file, and text stays text.
    mpl.rcParams.update({"svg.hashsalt": "mbrparse", "svg.fonttype": "none"})
    from matplotlib import pyplot as plt

    return plt


def tidy(panel: Any) -> None:
    """A light grid, and no frame above and to the right."""
    panel.grid(alpha=0.25)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def save(figure: Any, paths: Iterable[Path], dpi: int) -> None:
    """Write a figure to each path, in the format of its suffix, complete or not at all, and forget it."""
    for path in paths:
        form = path.suffix.removeprefix(".")
        with open_output_bytes(path) as stream:
            figure.savefig(stream, format=form, dpi=dpi, metadata={"Date": None} if form == "svg" else {})
    plotting().close(figure)
