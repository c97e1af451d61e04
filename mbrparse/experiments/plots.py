"""How the experiments draw: without a display, and the same input gives the same file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mbrparse.files import open_output_bytes


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
