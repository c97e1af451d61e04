"""Goodman's (1996) Figure 2: both decoders after each iteration, one run before all the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mbrparse.experiments.goodman.table1 import NAMES
from mbrparse.experiments.plots import plotting, save, tidy

# Told apart in grey and by the colour-blind too: colour and line.
STYLES = {"labelled-tree": ("#b2472e", "--"), "bracketed-recall": ("#1f5f99", "-")}
PANELS = {
    "consistent_brackets_recall": "Consistent brackets recall",
    "consistent_brackets_tree": "Consistent brackets tree rate",
}


def figure2(results: Sequence[dict[str, Any]], paths: Sequence[Path], title: str) -> None:
    """Draw run 1 in bold and the spread of all (lowest to highest) behind; write each of ``paths``."""
    figure, axes = plotting().subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for panel, (criterion, heading) in zip(axes, PANELS.items(), strict=True):
        for decoder, (colour, line) in STYLES.items():
            runs = [[100 * rate for rate in result["rates"][decoder][criterion]] for result in results]
            iterations = range(len(runs[0]))
            low, high = ([bound(values) for values in zip(*runs, strict=True)] for bound in (min, max))
            panel.fill_between(iterations, low, high, color=colour, alpha=0.15, linewidth=0)
            panel.plot(iterations, runs[0], line, color=colour, linewidth=1.8, label=NAMES[decoder])
        panel.set(title=heading, xlabel="Iteration", ylabel="per cent", xlim=(0, len(runs[0]) - 1))
        tidy(panel)
    axes[0].legend(loc="lower right", frameon=False)
    shade = f"; shaded: lowest to highest of {len(results)} runs" if len(results) > 1 else ""
    figure.suptitle(f"{title}: run 1{shade}", fontsize=11)
    save(figure, paths, dpi=150)
