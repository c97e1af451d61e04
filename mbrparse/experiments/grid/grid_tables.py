"""A grid from its cells to its tables, plots and page: folds together, tested against a baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from mbrparse.errors import InputMismatchError
from mbrparse.evaluate.criteria import MORE, rates, totals
from mbrparse.evaluate.significance import holm, significance
from mbrparse.evaluate.tables import Cell, Grid, interval_text, p_value_text
from mbrparse.experiments.grid.cells import COMPARISON, COUNTS, CRITERIA, GridTrial
from mbrparse.experiments.old_tables import LAYOUTS, Columns
from mbrparse.experiments.trial_runs import Tables, panels
from mbrparse.files import atomic_outputs, open_output, read_lines
from mbrparse.log import Log, Progress
from mbrparse.run.jobs import Jobs
from mbrparse.run.manifest import described, file_digest
from mbrparse.run.results import claim_folder, read_json, run_all
from mbrparse.state_files import anything, mapping, short_digest

F = next(one for one in MORE if one.name == "labelled_f")
SIZE, OBJECTIVE = "train_size", "objective"
_SHOWN = ("labelled_recall", "labelled_precision", F.name, "labelled_tree")
#: A plot with more lines shows those that differ from the baseline in one option.
_LINES = 8
_STYLE = (
    "body{font:16px/1.5 sans-serif;margin:2em}th,td{padding:.2em .6em;white-space:nowrap}"
    "p{overflow-wrap:anywhere}svg{max-width:100%;height:auto}"
)


def run_grid(trial: GridTrial, resamples: int, jobs: Jobs, log: Log, progress: Progress) -> str:
    """Do the cells that are not there yet; write tables, plots and a page; return the table.

    The baseline is the first value of each axis, the first objective and the last size. Raises
    InputMismatchError for a folder of another grid, and what the commands raise.
    """
    settings: dict[str, Any] = {f"{axis.stage} {axis.name}": list(axis.values) for axis in trial.axes}
    settings |= {stage: list(words) for stage, words in trial.common.items()}
    settings |= {name: list(getattr(trial, name)) for name in ("objectives", "sizes", "divisions")}
    settings["corpus"] = trial.corpus
    path, cells_there = trial.folder / "settings.json", list(trial.folder.glob("cells/*"))
    trees = list(trial.folder.glob("trees/*"))
    try:
        claim_folder(trial.folder, settings, map(str, cells_there + trees))
    except InputMismatchError:
        if cells_there or "divisions" not in read_json(path, mapping(anything)):
            raise
        for part in (path, *trees):
            part.unlink()  # A run that left no cell, of a misspelt option perhaps, has claimed nothing.
        claim_folder(trial.folder, settings, ())
    baseline = (*trial.places[0][:-2], trial.sizes[-1], trial.objectives[0])
    names, total = [axis.title for axis in trial.axes], len(trial.places)
    log(f"{total} cell{'s' * (total > 1)}, each for {', '.join(trial.objectives)}")
    made = dict.fromkeys(path for place in trial.places for path in trial.trees(place, log))
    results = {}
    for run, found in progress(
        run_all(trial, trial.folder / "cells", total, settings, jobs, log), "cells", total
    ):
        results[run] = found
        log(f"cell {run} ({', '.join(trial.places[run - 1])}), {len(results)} of {total}")
    rows = [
        (*place[:-1], place[-1].removeprefix("--"), results[run]["training_trees"], objective, *one)
        for run, place in enumerate(trial.places, start=1)
        for objective, counts in results[run]["counts"].items()
        for one in counts
    ]
    columns = [*names, SIZE, "division", "training_trees", OBJECTIVE]
    counts = pd.DataFrame(rows, columns=[*columns, *COUNTS])
    cells, table = _summed(counts, columns), _summed(counts, [*names, SIZE, OBJECTIVE])
    tests = _tests(counts, table, baseline, resamples, progress)
    title = f"Grid on {trial.corpus}"
    with atomic_outputs():
        for name, frame in (("cells", cells), ("table", table.join(tests))):
            with open_output(trial.folder / f"{name}.csv") as stream:
                frame.to_csv(stream, index=False, lineterminator="\n")
        people = _people(table, tests, len(names) + 2)
        digests = short_digest("".join(map(file_digest, made)).encode())
        about = {"experiment": "grid", **described(trial.folder), "corpus": digests[:10]}
        about |= {**COMPARISON.signature(), "tests": {"resamples": resamples}}
        text = Tables(trial.folder, about).write("grid", people, names=len(names) + 2)
        sizes = cells.groupby(SIZE, sort=False)["training_trees"].mean()
        plots = [*_curves(trial, table, baseline, sizes, title), *_heat_map(trial, table, baseline, title)]
    tested = tests["p"].count()
    legend = (
        f"{F.heading} diff.: from the baseline, with its 95% interval (bootstrap); p by approximate "
        f"randomization, two-sided, {resamples:,} resamples; p (Holm): corrected for {tested} tests."
    )
    *lines, signed = text.split("\n")
    prose = [*([legend] * bool(tested)), signed]
    svg = ("".join(read_lines(trial.folder / f"{plot}.svg")) for plot in plots)
    html = [
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>',
        f"<style>{_STYLE}</style><h1>{escape(title)}</h1>",
        *LAYOUTS["html"](people, len(names) + 2),
        *(f"<p>{escape(line)}</p>" for line in prose),
        *(one[one.index("<svg") :] for one in svg),
    ]
    with open_output(trial.folder / "grid.html") as stream:
        stream.writelines(f"{line}\n" for line in html)
    return "\n".join([*lines, "\n\n".join(prose)])


def _summed(counts: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """A row for each combination of keys, with its summed counts and rates."""
    groups = counts.groupby(keys, sort=False)
    order = groups.ngroup().sort_values(kind="stable")
    ordered = counts.loc[order.index]
    columns = {name: ordered[name].to_numpy() for name in COUNTS}
    numbers = Columns({"name": list(map(str, order)), **columns})
    sums, shares = totals(numbers).set_index("name"), rates(numbers, CRITERIA).set_index("name")
    firsts = counts.loc[~counts.duplicated(keys), keys].reset_index(drop=True)
    return pd.concat([firsts, sums.reset_index(drop=True), shares.reset_index(drop=True)], axis=1)


def _tests(
    counts: pd.DataFrame, table: pd.DataFrame, baseline: Sequence[str], resamples: int, progress: Progress
) -> pd.DataFrame:
    """Each row's F against the baseline's, where the sentences are the same."""
    parts = dict(iter(counts.groupby(list(table.columns[: len(baseline)]), sort=False)))
    base, found = parts[tuple(baseline)], []
    for key, part in progress(parts.items(), "tests", len(parts)):
        row: tuple[float, ...] = (math.nan,) * 4
        if key != tuple(baseline) and resamples and part["terminals"].tolist() == base["terminals"].tolist():
            both = pd.concat([base, part])
            names = [name for name, one in (("a", base), ("b", part)) for _ in range(len(one))]
            columns = Columns({"name": names, **{name: both[name].to_numpy() for name in COUNTS}})
            tested = significance(columns, [F], "pooled", "a", resamples)
            arrays = tested.difference, tested.difference_low, tested.difference_high, tested.p_randomization
            row = tuple(float(array[1, 0]) for array in arrays)
        found.append(row)
    frame = pd.DataFrame(found, columns=["difference", "low", "high", "p"], dtype=float)
    return frame.assign(p_holm=holm(frame["p"].tolist()))


def _people(table: pd.DataFrame, tests: pd.DataFrame, names: int) -> Grid:
    """What people see."""
    shown = [one for one in CRITERIA if one.name in _SHOWN]
    more = f"{F.heading} diff.", "95% interval", "p", "p (Holm)"
    grid = [list(map(Cell, (*table.columns[:names], *(one.heading for one in shown), *more)))]
    for (_, row), (_, test) in zip(table.iterrows(), tests.iterrows(), strict=True):
        found = ((one, row[one.name], np.array(list(table[one.name]))) for one in shown)
        rates = [Cell(one.show(rate), "", one.is_best(rate, every)) for one, rate, every in found]
        ends = interval_text(F, test["low"], test["high"])
        last = F.show(test["difference"]), ends, p_value_text(test["p"]), p_value_text(test["p_holm"])
        grid.append([*map(Cell, map(str, row[:names])), *rates, *map(Cell, last)])
    return grid


def _curves(
    trial: GridTrial, table: pd.DataFrame, baseline: Sequence[str], sizes: pd.Series[float], title: str
) -> Iterator[str]:
    """F against training trees, a line for each parser."""
    if len(trial.sizes) < 2:
        return
    names = [axis.title for axis in trial.axes]
    lines = list(dict.fromkeys(place[:-2] for place in trial.places))
    if len(lines) > _LINES:
        lines = [one for one in lines if sum(map(str.__ne__, one, baseline)) < 2]
    several = len(trial.objectives)
    with panels(trial.folder, "curves", several, (4.6 * several + 1, 4.8), title) as (figure, axes):
        for panel, objective in zip(axes, trial.objectives, strict=True):
            for number, line in enumerate(lines):
                rows = table[table[[*names, OBJECTIVE]].eq([*line, objective]).all(axis=1)]
                label = ", ".join(map("{}={}".format, names, line))
                x, y = sizes[rows[SIZE]].to_numpy(), 100 * rows[F.name].to_numpy()
                panel.plot(x, y, marker="osD^vP"[number % 6], linewidth=1.4, label=label)
            panel.set(xlabel="training trees", ylabel=f"{F.heading}, per cent", title=objective, xscale="log")
            panel.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
            panel.minorticks_off()
        lines = axes[0].get_legend_handles_labels()
        figure.legend(*lines, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    yield "curves"


def _heat_map(trial: GridTrial, table: pd.DataFrame, baseline: Sequence[str], title: str) -> Iterator[str]:
    """F over two axes of several values, those of binarize first; all else is the baseline's."""
    wide = [axis for axis in trial.axes if len(axis.values) > 1]
    names = [axis.title for axis in sorted(wide, key=lambda axis: axis.stage != "binarize")[:2]]
    if len(names) < 2:
        return
    same = [name for name in table.columns[: len(trial.axes) + 1] if name not in names]
    kept = dict(zip(table.columns, baseline, strict=False))
    rows = table[table[same].eq([kept[name] for name in same]).all(axis=1)]
    several = len(trial.objectives)
    with panels(trial.folder, "heat-map", several, (3.6 * several + 1, 3.8), title) as (_, axes):
        for panel, (objective, part) in zip(axes, rows.groupby(OBJECTIVE, sort=False), strict=True):
            found: Any = 100 * part.pivot(index=names[0], columns=names[1], values=F.name)
            found = found.loc[part[names[0]].unique(), part[names[1]].unique()]
            panel.imshow(found, cmap="Blues", aspect="auto", zorder=2)
            values = found.to_numpy()
            for (y, x), value in np.ndenumerate(values):
                colour = "white" if 2 * value > values.min() + values.max() else "black"
                panel.text(x, y, f"{value:.2f}", ha="center", va="center", color=colour)
            panel.set(xlabel=names[1], ylabel=names[0], title=objective)
            panel.set_xticks(range(len(found.columns)), found.columns)
            panel.set_yticks(range(len(found)), found.index)
    yield "heat-map"
