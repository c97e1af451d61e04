"""The chart of one sentence as a picture: a triangle of cells, the more probable the darker."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mbrparse.decode.posteriors.posterior_table import Cell, ConstituentPosteriors, cells, heat_table
from mbrparse.errors import visible

_CELL = 0.62  # inches
_LABELLED = 40  # words: beyond, labels in the cells could not be read


@dataclass(frozen=True)
class ChartPicture:
    """A sentence's chart to look at: ``str`` is a table, ``svg`` and ``png`` are pictures."""

    cells: Sequence[Cell]
    words: Sequence[str]

    @classmethod
    def of(cls, posteriors: ConstituentPosteriors, words: Sequence[str], threshold: float) -> ChartPicture:
        """Of what is at least so probable."""
        return cls(cells(posteriors, threshold), words)

    def svg(self) -> bytes:
        """The picture as an SVG file's bytes."""
        return draw_cells(self.cells, self.words, "svg")

    def png(self) -> bytes:
        """The picture as a PNG file's bytes."""
        return draw_cells(self.cells, self.words, "png")

    def __str__(self) -> str:
        return heat_table(self.cells, self.words)

    def _repr_svg_(self) -> str:
        return self.svg().decode("utf-8")


def draw_cells(shown: Sequence[Cell], words: Sequence[str], form: Literal["svg", "png"]) -> bytes:
    """The picture's bytes: rows are first words, columns last ones, shades the labels' posteriors.

    The same input gives the same bytes with one version of matplotlib.
    """
    import matplotlib as mpl
    import numpy as np
    from matplotlib.figure import Figure

    n = len(words)
    g = np.full((n, n), np.nan)
    for cell in shown:
        g[cell.start, cell.end - 1] = cell.g
    side = max(n * min(_CELL, 25 / n), 3.0)
    names = [visible(word).replace("$", r"\$") for word in words]
    with mpl.rc_context({"svg.hashsalt": "mbrparse", "svg.fonttype": "none"}):
        figure = Figure(figsize=(side + 1.6, side + 0.8), layout="constrained")
        axes = figure.add_subplot()
        image = axes.imshow(g, cmap="YlOrRd", vmin=0, vmax=1)
        axes.set_xticks(range(n), names, rotation=90 if n > 8 else 0)
        axes.set_yticks(range(n), names)
        axes.set_xlabel("last word")
        axes.set_ylabel("first word")
        axes.set_xticks(np.arange(-0.5, n), minor=True)
        axes.set_yticks(np.arange(-0.5, n), minor=True)
        axes.grid(which="minor", color="0.9", linewidth=0.5)
        axes.tick_params(which="minor", length=0)
        if n <= _LABELLED:
            for cell in shown:
                label = visible(cell.label).replace("$", r"\$")
                size = max(3, min(9, 46 / max(len(label), 5)))
                ink = "white" if cell.g > 0.6 else "black"
                text = f"{label}\n{100 * cell.g:.0f}"
                axes.text(cell.end - 1, cell.start, text, size=size, color=ink, ha="center", va="center")
        figure.colorbar(image, ax=axes, label="posterior of the most probable label", shrink=0.8)
        stream = io.BytesIO()
        metadata = {"Date": None} if form == "svg" else {"Software": None}
        figure.savefig(stream, format=form, metadata=metadata, dpi=120)
    return stream.getvalue()
