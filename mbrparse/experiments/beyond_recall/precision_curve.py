"""Precision against recall: General Recall over the costs of a node, and the other objectives as points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from mbrparse.evaluate.evaluation import evaluate_files
from mbrparse.evaluate.settings import Settings
from mbrparse.evaluate.tables.criteria import rates
from mbrparse.evaluate.tables.grids import Grid, grid_of
from mbrparse.evaluate.trees.gold import Comparison
from mbrparse.experiments.beyond_recall.contest_parses import ContestParses
from mbrparse.experiments.beyond_recall.contests import NARY, sweep
from mbrparse.experiments.plots import plotting, save, tidy
from mbrparse.reporting import Tell

_MEASURES = tuple(measure.criterion for measure in NARY.measures if measure.average == "pooled")


def curve(parses: ContestParses, tell: Tell) -> pd.DataFrame:
    """The pooled rates of the table's columns, 0 to 1, a row for each cost of the sweep."""
    rows = sweep()
    settings = Settings(Comparison(NARY.form), (), resamples=0)
    counts = evaluate_files(parses.gold, [parses.at_cost(row) for row in rows], settings, tell).table
    found = rates(counts, _MEASURES).to_frame("name")
    found.insert(0, "cost", [-row.node_constant for row in rows])
    return found


def curve_table(found: pd.DataFrame) -> Grid:
    """The curve in per cent."""
    heading = ["cost", *(criterion.heading for criterion in _MEASURES)]
    rows = [
        [f"{row['cost']:.2f}", *(criterion.show(row[criterion.name]) for criterion in _MEASURES)]
        for _, row in found.iterrows()
    ]
    return grid_of([heading, *rows])


def draw(found: pd.DataFrame, others: pd.DataFrame, paths: Sequence[Path], title: str) -> None:
    """The curve, and a named point for each of the other objectives; lines of equal F behind both."""
    figure, panel = plotting().subplots(figsize=(7.5, 6), layout="constrained")
    recall, precision = 100 * found["labelled_recall"], 100 * found["labelled_precision"]
    panel.plot(
        recall, precision, "-", color="#1f5f99", linewidth=1.6, marker=".", label="general-recall by cost"
    )
    for cost, x, y in zip(found["cost"], recall, precision, strict=True):
        if round(cost * 20) % 4 == 0:
            panel.annotate(
                f"{cost:.1f}", (x, y), (5, 4), textcoords="offset points", fontsize=8, color="#1f5f99"
            )
    for place, (name, row) in enumerate(others.iterrows()):
        x, y = 100 * row["labelled_recall"], 100 * row["labelled_precision"]
        panel.plot(
            [x], [y], "osD^vPX*"[place % 8], markersize=7, label=f"{name}, F {100 * row['labelled_f']:.2f}"
        )
    panel.set(xlabel="labelled recall, per cent", ylabel="labelled precision, per cent", title=title)
    tidy(panel)
    panel.legend(frameon=False, fontsize=9, loc="lower left")
    save(figure, paths, dpi=130)
