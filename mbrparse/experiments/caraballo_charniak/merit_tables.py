"""The tables of the figures of merit, from the sentences' figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from mbrparse.evaluate.tables.grids import Cell, grid_of
from mbrparse.experiments.caraballo_charniak.merit_trial import CHECKPOINTS

Row = dict[str, Any]
Table = list[list[Cell]]
FIGURES = {"edges": "edges", "useful": "non-zero edges", "popped": "popped", "seconds": "CPU time"}
SHOWN = (100, 200, 500, 1000, 2000, 5000, 10_000, 50_000)
# Recall counts as full within this share of what the merit comes to in the end.
FULL = 0.99


def lengths(rows: Sequence[Row], width: int = 5) -> list[tuple[int, int]]:
    """The ranges of length that rows are grouped by, the shortest first: 1-5, 6-10, ..., 26-30."""
    groups = sorted({(row["length"] - 1) // width for row in rows})
    return [(group * width + 1, (group + 1) * width) for group in groups]


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
    groups = lengths(rows)
    inside = [[row for row in rows if low <= row["length"] <= high] for low, high in groups]
    return grid_of(
        [
            ["edges, per cent", *(f"{low}-{high}" for low, high in groups)],
            *([merit, *(_percent(share(group, merit, "edges")) for group in inside)] for merit in merits),
            ["sentences", *(len(group) for group in inside)],
            ["exhaustive edges a sentence", *(_mean_edges(group) for group in inside)],
        ]
    )


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


def _mean_edges(group: Sequence[Row]) -> str:
    return f"{sum(row['exhaustive']['edges'] for row in group) / len(group):.0f}"


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.1f}"
