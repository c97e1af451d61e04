"""The tables and curves of the figures of merit, from the sentences' figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mbrparse.evaluate.tables import Cell
from mbrparse.experiments.caraballo_charniak.merit_trial import CHECKPOINTS
from mbrparse.experiments.old_tables import grid_of
from mbrparse.experiments.trial_runs import panels

Row = dict[str, Any]
Table = list[list[Cell]]
FIGURES = {"edges": "edges", "useful": "non-zero edges", "popped": "popped", "seconds": "CPU time"}
SHOWN = (100, 200, 500, 1000, 2000, 5000, 10_000, 50_000)
# Recall counts as full within this share of what the merit comes to in the end.
FULL = 0.99
#: The edges to full recall that the paper's conclusion gives, last of the columns of ``shares_table``.
PUBLISHED = {
    "boundary-trigram": ("-", "-", "-", "-", "under 2,000"),
    "its nearest competitors": ("-", "-", "-", "-", "about 3,000"),
    "stack, beta": ("-", "-", "-", "-", "about 50,000"),
}


def by_length(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each range of five lengths, the shortest first: 1-5, 6-10, ..., 26-30."""
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["length"]):
        low = (row["length"] - 1) // 5 * 5 + 1
        groups.setdefault(f"{low}-{low + 4}", []).append(row)
    return groups


def share(rows: Sequence[Row], merit: str, figure: str) -> float:
    """A merit's figure as a share of the exhaustive parse's, both summed over sentences."""
    whole = sum(row["exhaustive"][figure] for row in rows)
    return sum(row["merits"][merit][figure] for row in rows) / whole if whole else float("nan")


def point(rows: Sequence[Row], merit: str, place: int) -> tuple[float, float, float]:
    """(recall, precision, coverage) at one checkpoint, pooled; precision is of the parsed sentences."""
    matched = guessed = parsed = 0
    for row in rows:
        curve = row["merits"][merit]["curve"]
        one, two = curve[min(place, len(curve) - 1)]
        matched, guessed, parsed = matched + one, guessed + two, parsed + (two > 0)
    gold = sum(row["gold"] for row in rows)
    return matched / gold, matched / guessed if guessed else float("nan"), parsed / len(rows)


def edges_to_full_recall(rows: Sequence[Row], merit: str) -> int:
    """The first checkpoint from which recall stays within one per cent of where it ends."""
    recalls = [point(rows, merit, place)[0] for place in range(len(CHECKPOINTS))]
    below = [place for place, recall in enumerate(recalls) if recall < FULL * recalls[-1]]
    return CHECKPOINTS[below[-1] + 1 if below else 0]


def shares_table(rows: Sequence[Row], merits: Sequence[str]) -> Table:
    """Per cent of the exhaustive parse, and the edges to full recall."""
    grid = [["per cent of exhaustive", *FIGURES.values(), "edges to full recall"]]
    for merit in merits:
        shares = (_percent(share(rows, merit, figure)) for figure in FIGURES)
        grid.append([merit, *shares, str(edges_to_full_recall(rows, merit))])
    return grid_of(grid)


def lengths_table(rows: Sequence[Row], merits: Sequence[str]) -> Table:
    """Per cent of the exhaustive parse's edges, by sentence length."""
    groups = by_length(rows)
    inside = groups.values()
    grid: list[list[object]] = [["edges, per cent", *groups]]
    grid += ([merit, *(_percent(share(group, merit, "edges")) for group in inside)] for merit in merits)
    means = (sum(row["exhaustive"]["edges"] for row in group) / len(group) for group in inside)
    grid.append(["sentences", *map(len, inside)])
    grid.append(["exhaustive edges a sentence", *(f"{mean:.0f}" for mean in means)])
    return grid_of(grid)


def curves_table(rows: Sequence[Row], merits: Sequence[str]) -> Table:
    """Recall, precision and coverage at round numbers of edges."""
    places = [min(range(len(CHECKPOINTS)), key=lambda k, n=n: abs(CHECKPOINTS[k] - n)) for n in SHOWN]  # type: ignore[misc]
    grid: list[list[object]] = [["edges (about)", *SHOWN]]
    for which, name in enumerate(("recall", "precision of the parsed", "coverage")):
        grid.append([name])
        grid.extend([m, *(_percent(point(rows, m, place)[which]) for place in places)] for m in merits)
    return grid_of(grid)


def curves_rows(rows: Sequence[Row], merits: Sequence[str]) -> Table:
    """All points of the curves, for programs."""
    heading = ["merit", "edges", "recall", "precision", "coverage"]
    points = (
        [merit, edges, *point(rows, merit, place)]
        for merit in merits
        for place, edges in enumerate(CHECKPOINTS)
    )
    return grid_of([heading, *points])


def sentence_rows(rows: Sequence[Row], merits: Sequence[str]) -> Table:
    """Every sentence's figures, for programs."""
    grid: list[list[object]] = [["sentence", "length", "engine", *FIGURES]]
    for number, row in enumerate(rows, start=1):
        for name, figures in [("exhaustive", row["exhaustive"]), *((m, row["merits"][m]) for m in merits)]:
            grid.append([number, row["length"], name, *(figures[key] for key in FIGURES)])
    return grid_of(grid)


TABLES: dict[str, Callable[[Sequence[Row], Sequence[str]], Table]] = {
    "shares": shares_table,
    "lengths": lengths_table,
    "curves": curves_table,
}


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.1f}"


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


def _style(merit: str) -> dict[str, Any]:
    """How a merit's line is drawn."""
    colour, dash = STYLES.get(merit, ("black", "-"))
    wide = 2.4 if merit == "boundary-trigram" else 1.5
    return {"color": colour, "linestyle": dash, "linewidth": wide, "label": merit}


def draw(rows: Sequence[Row], merits: Sequence[str], folder: Path, title: str) -> None:
    """Write curves.svg, curves.png, lengths.svg and lengths.png into a folder."""
    for name, count, width, fill in (("curves", 3, 13.5, _curves), ("lengths", 2, 11, _lengths)):
        with panels(folder, name, count, (width, 4.8), title) as (figure, axes):
            fill(rows, merits, axes)
            legend = axes[0].get_legend_handles_labels()
            figure.legend(*legend, loc="outside lower center", ncols=5, frameon=False)


def _curves(rows: Sequence[Row], merits: Sequence[str], axes: Any) -> None:
    most = max(row["exhaustive"]["edges"] for row in rows)
    places = [place for place, edges in enumerate(CHECKPOINTS) if edges <= 2 * most]
    headings = ("Unlabelled recall", "Unlabelled precision of the parsed", "Sentences parsed")
    for which, (panel, heading) in enumerate(zip(axes, headings, strict=True)):
        for merit in merits:
            values = [100 * point(rows, merit, place)[which] for place in places]
            panel.plot([CHECKPOINTS[place] for place in places], values, **_style(merit))
        panel.set(title=heading, xlabel="edges", xscale="log", ylabel="per cent", ylim=(0, 102))


def _lengths(rows: Sequence[Row], merits: Sequence[str], axes: Any) -> None:
    groups = by_length(rows)
    names, inside = list(groups), groups.values()
    for merit in merits:
        axes[0].plot(names, [100 * share(group, merit, "edges") for group in inside], **_style(merit))
        means = [sum(row["merits"][merit]["edges"] for row in group) / len(group) for group in inside]
        axes[1].plot(names, means, **_style(merit))
    axes[0].set(title="Edges to the share of mass", ylabel="per cent of exhaustive", ylim=(0, 102))
    axes[1].set(title="Edges a sentence", ylabel="edges", yscale="log")
    for panel in axes:
        panel.set_xlabel("terminals")
