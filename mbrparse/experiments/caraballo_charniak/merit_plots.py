"""The curves of the figures of merit: appendix C's, and the shares by sentence length."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mbrparse.experiments.caraballo_charniak.merit_tables import Row, lengths, point, share
from mbrparse.experiments.caraballo_charniak.merit_trial import CHECKPOINTS
from mbrparse.experiments.plots import plotting, save, tidy

# A colour for each family of merits, a dash for each member.
STYLES: dict[str, tuple[str, str]] = {
    "stack": ("#6b6b6b", ":"),
    "beta": ("#a0622d", "-"),
    "normalized-beta": ("#a0622d", "--"),
    "trigram": ("#7a4f9a", "-"),
    "prefix": ("#2f7d4f", ":"),
    "prefix-normalized": ("#2f7d4f", "--"),
    "prefix-estimate": ("#2f7d4f", "-"),
    "left-boundary": ("#1f5f99", ":"),
    "boundary-bigram": ("#1f5f99", "--"),
    "boundary-trigram": ("#c0392b", "-"),
}


def draw(rows: Sequence[Row], merits: Sequence[str], folder: Path, title: str) -> None:
    """Write curves.svg, curves.png, lengths.svg and lengths.png into a folder."""
    for name, figure in (("curves", _curves), ("lengths", _lengths)):
        paths = [folder / f"{name}.svg", folder / f"{name}.png"]
        save(figure(rows, merits, title), paths, dpi=130)


def _curves(rows: Sequence[Row], merits: Sequence[str], title: str) -> Any:
    figure, axes = plotting().subplots(1, 3, figsize=(13.5, 4.8), layout="constrained")
    most = max(row["exhaustive"]["edges"] for row in rows)
    places = [place for place, edges in enumerate(CHECKPOINTS) if edges <= 2 * most]
    headings = ("Unlabelled recall", "Unlabelled precision of the parsed", "Sentences parsed")
    for which, (panel, heading) in enumerate(zip(axes, headings, strict=True)):
        for merit in merits:
            colour, dash = STYLES.get(merit, ("black", "-"))
            values = [100 * point(rows, merit, place)[which] for place in places]
            edges = [CHECKPOINTS[place] for place in places]
            wide = 2.4 if merit == "boundary-trigram" else 1.5
            panel.plot(edges, values, dash, color=colour, linewidth=wide, label=merit)
        panel.set(title=heading, xlabel="edges", xscale="log", ylabel="per cent", ylim=(0, 102))
        tidy(panel)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    figure.suptitle(title, fontsize=11)
    return figure


def _lengths(rows: Sequence[Row], merits: Sequence[str], title: str) -> Any:
    figure, axes = plotting().subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    groups = lengths(rows)
    inside = [[row for row in rows if low <= row["length"] <= high] for low, high in groups]
    names = [f"{low}-{high}" for low, high in groups]
    for merit in merits:
        colour, dash = STYLES.get(merit, ("black", "-"))
        wide = 2.4 if merit == "boundary-trigram" else 1.5
        style = {"color": colour, "linewidth": wide, "label": merit}
        axes[0].plot(names, [100 * share(group, merit, "edges") for group in inside], dash, **style)
        means = [sum(row["merits"][merit]["edges"] for row in group) / len(group) for group in inside]
        axes[1].plot(names, means, dash, **style)
    axes[0].set(title="Edges to the share of mass", ylabel="per cent of exhaustive", ylim=(0, 102))
    axes[1].set(title="Edges a sentence", ylabel="edges", yscale="log")
    for panel in axes:
        panel.set_xlabel("terminals")
        tidy(panel)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    figure.suptitle(title, fontsize=11)
    return figure
