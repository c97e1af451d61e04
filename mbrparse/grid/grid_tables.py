"""A grid from its cells to its tables, plots and page: folds together, tested against a baseline.

Goodman's second experiment, end to end: from a treebank to the table of his three algorithms.

The one cell's stages leave their files in a folder; what an earlier run has finished is not done again.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from itertools import compress, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mbrparse import errors, provenance
from mbrparse.decode.chart_picture import panels
from mbrparse.decode.posteriors.posteriors_file import read_posteriors
from mbrparse.evaluate import align, tables
from mbrparse.evaluate.breakdowns import Breakdown, render_breakdowns
from mbrparse.evaluate.compare.evaluation import EvaluationSettings, evaluate_files, file_sources
from mbrparse.evaluate.counts import Comparison
from mbrparse.evaluate.criteria import COVERAGE, DASH, FELL_BACK, MORE, PAPER, Criterion, rates, totals
from mbrparse.evaluate.report import pages, records
from mbrparse.evaluate.significance import LEVEL, holm, significance
from mbrparse.files import atomic_outputs, open_output, open_output_bytes, read_lines
from mbrparse.grid.cells import COMPARISON, COUNTS, CRITERIA, CellCounts, CellTrial, GridCell
from mbrparse.jobs import Jobs, WorkerFunction, in_order, open_executor
from mbrparse.log import Log, Progress, no_log, no_progress
from mbrparse.one_run import make_folder, run_folder
from mbrparse.program import program, signature
from mbrparse.settings import check_files, check_settings, digest, file_digest, load, save, settings_of
from mbrparse.treebank.formats.formats import read_parse_file
from mbrparse.treebank.outlines import outline

ALGORITHMS = ("labelled-tree", "labelled-recall", "bracketed-recall")
#: Goodman's own figures of the criteria ``PAPER``, per cent. His Bracketed Recall chose no labels.
TABLE_2 = {
    "Label Tree": ("4.54", "48.60", "60.98", "66.35", "12.07"),
    "Label Recall": ("3.71", "49.66", "61.34", "68.39", "11.63"),
    "Bracket Recall": ("0.11", "4.51", "61.63", "68.17", "11.19"),
}
_ANOTHER = "give another folder: -o DIR"
_AGAIN = f"delete it, so that it is made again, or {_ANOTHER}"
_SETTINGS = "settings.json"


@dataclass(frozen=True)
class Reproduction:
    """The stages of a corpus's cell; ``log`` is called after each, ``progress`` within."""

    corpus: str
    cell: GridCell
    digests: Mapping[str, str]  #: of the corpus, and of files that options name
    log: Log = no_log
    progress: Progress = no_progress
    command: str | None = None  #: as it was typed, for the page

    @property
    def page(self) -> Path:
        """The page with all sentences behind the table."""
        return self.cell.path("report.html")

    @property
    def stages(self) -> dict[str, tuple[tuple[Path, ...], Callable[[], None]]]:
        """In order, the files that each leaves (the last one says that all are there), and what it does."""
        trees, train, test, grammar, details, table = map(
            self.cell.path,
            ("binarized.mrg", "train.mrg", "test.mrg", "grammar.txt", "details.jsonl", "table.txt"),
        )
        return {
            "binarize": ((trees,), lambda: self.cell.run("binarize", self.corpus, output=trees)),
            "split": ((train, test), lambda: self.cell.split(trees)),
            "train": ((grammar,), self.cell.train),
            "parse": ((*self.cell.parses, *self._posteriors, details), self._parse),
            "evaluate": ((table,), self._evaluate),
            "report": ((self.page,), self._report),
        }

    def run(self) -> str:
        """Do what is not done yet; return the table.

        Raises InputMismatchError for a folder of other settings, FileError for one that holds files and says
        not of what, or other files, or that another run is at work in, and what the stages raise.
        """
        with run_folder(self.cell.folder):
            files = self._claim()
            try:
                return self._run(files)
            finally:
                if len(files) == 1:  # no stage is done
                    self.cell.path(_SETTINGS).unlink(missing_ok=True)

    def _run(self, files: dict[str, Mapping[str, str]]) -> str:
        stages = self.stages
        done = list(files)[1:]
        if done:
            self.log(f"{self.cell.folder} holds what {', '.join(done)} left: not done again")
        left = list(stages)[len(done) :]
        # What was made of files that are made anew is no longer true.
        for path in (path for stage in left for path in stages[stage][0]):
            path.unlink(missing_ok=True)
        for number, stage in enumerate(left, start=len(done) + 1):
            self.log(f"stage {number} of {len(stages)}: {stage}")
            stages[stage][1]()
            files[stage] = {path.name: file_digest(path) for path in stages[stage][0]}
            save(self.cell.path(_SETTINGS), files, self._settings_now())
        return "".join(read_lines(self.cell.path("table.txt")))

    def _settings_now(self) -> dict[str, object]:
        options = self.cell.options
        now: dict[str, object] = {stage: list(words) for stage, words in options.items()}
        now |= {"program": program(), "binarize": [self.corpus, *options["binarize"]]}
        return now | {"parse": [*self.cell.objectives, *options["parse"]]}

    def _claim(self) -> dict[str, Mapping[str, str]]:
        """Take the folder for these settings; those of stages that are not done may be others than before.

        Returns the digests of what was read, as ``inputs``, and of each stage that is done what it left.
        """
        path, now, stages = self.cell.path(_SETTINGS), self._settings_now(), self.stages
        files: dict[str, Mapping[str, str]] = {"inputs": self.digests}
        done = list(takewhile(lambda stage: all(file.exists() for file in stages[stage][0]), stages))
        if done:
            kept = settings_of(path)
            if kept is None:
                first = stages[done[0]][0][0]
                message = "results, but no settings.json says of what"
                raise errors.FileError(message, source=str(first), remedy=_ANOTHER)
            written = load(path, dict[str, dict[str, str]], None, _ANOTHER)
            done = list(takewhile(written.__contains__, done))
            used = sorted(now.keys() & {"program", *done})
            before, after = (
                {name: of.get(name) for name in used}
                | {f"digest of {name}": digest for name, digest in inputs.items()}
                for of, inputs in ((kept, written["inputs"]), (now, self.digests))
            )
            check_settings(path, before, after, _ANOTHER)
            files |= {stage: written[stage] for stage in done}
            check_files(
                {str(self.cell.path(name)): one for stage in done for name, one in written[stage].items()},
                _AGAIN,
            )
        save(path, files, now)
        return files

    @property
    def _has_unaries(self) -> bool:
        return "--unary=keep" in self.cell.options["binarize"]

    @property
    def _posteriors(self) -> tuple[Path, ...]:
        """Their file, where there can be one: it holds labels, and each at most once over a span."""
        parse = self.cell.options["parse"]
        lacks = self._has_unaries or self.cell.is_best_first or "--items=symbol" in parse
        return () if lacks else (self.cell.path("posteriors.npz"),)

    def _parse(self) -> None:
        # What a page draws of posteriors; all would fill the disk.
        words = [f"--write-posteriors={path}" for path in self._posteriors]
        self.cell.parse(*words, *[f"--least={records.THRESHOLD}"] * len(words))

    @cached_property
    def _settings(self) -> EvaluationSettings:
        """N-ary trees, as several objectives write, are compared in original form, and then all are."""
        nary = any(map(_is_nary, self.cell.parses))
        how = Comparison("original") if nary else Comparison(unaries=self._has_unaries)
        return EvaluationSettings(how, (*PAPER, COVERAGE), progress=self.progress)

    def _evaluate(self) -> None:
        gold, details = self.cell.path("test.mrg"), [self.cell.path("details.jsonl")]
        summary = evaluate_files(gold, self.cell.parses, self._settings, details=details).summary
        names = [""] * (summary.significance is not None)
        width = 1 + len(names) + len(summary.criteria)
        rows = [[name, *names, *figures] for name, figures in TABLE_2.items()]
        rows = [[*row, *[DASH] * (width - len(row))] for row in rows]
        published = tables.lay_out([tables.cells(summary)[0], *rows], "text", 1 + len(names))
        title = "Published, on other data: Goodman (1996), Table 2, Penn Treebank 0.5"
        with open_output(self.cell.path("table.txt")) as stream:
            stream.write(tables.render(summary, below=["", title, "", *published]))

    def _report(self) -> None:
        test, objectives = self.cell.path("test.mrg"), ", ".join(self.cell.objectives)
        gold, parses = file_sources(test, self.cell.parses, self._settings)
        given = {stage: " ".join(words) for stage, words in self.cell.options.items() if words}
        trained = sum(1 for _ in read_lines(self.cell.path("train.mrg")))
        options = pages.ReportOptions(
            title=f"{objectives} on {Path(self.corpus).name}",
            about={
                **({"command": self.command} if self.command else {}),
                "corpus": self.corpus,
                **given,
                "grammar": f"from {trained:,} trees",
            },
            details=[self.cell.path("details.jsonl")],
            posteriors=read_posteriors(self._posteriors[0]) if self._posteriors else None,
            in_one_file=True,
        )
        pages.write_report(gold, parses, self.page, self._settings, options)


def _is_nary(path: Path) -> bool:
    form = align.BinarizedForm()
    for line, tree, _ in read_parse_file(path):
        if tree is not None:
            form.add(outline(tree), align.Place(str(path), line))
    return form.nary is not None


F = next(one for one in MORE if one.name == "labelled_f")
SIZE, OBJECTIVE = "train_size", "objective"
FORMATS: dict[str, tables.PrintFormat] = {"txt": "text", "md": "markdown", "tex": "latex"}
SENTENCE, DIVISION = "sentence", "division"
_NAMES = ("labelled_recall", "labelled_precision", "labelled_f", "labelled_tree")
_SHOWN = [one for one in CRITERIA if one.name in _NAMES]
#: What the other objectives of a cell are compared with, where it is there.
_VITERBI = "labelled-tree"
_CONTEXT = {COVERAGE: "parsed", FELL_BACK: "fell_back"}
#: A plot with more lines shows those that differ from the baseline in one option.
_LINES = 8
_STYLE = (
    "body{font:16px/1.5 sans-serif;margin:2em}th,td{padding:.2em .6em;white-space:nowrap}"
    "p{overflow-wrap:anywhere}svg{max-width:100%;height:auto}"
)


def done_cells(trial: CellTrial, jobs: Jobs, log: Log) -> Iterator[tuple[int, CellCounts]]:
    """Each cell's number, from 1, and counts: those that are kept in the folder first.

    Raises InputMismatchError for one of another grid.
    """
    digests = {f"digest of {name}": one for name, one in trial.digests.items()}
    settings, folder = trial.settings() | digests, trial.folder / "cells"
    make_folder(folder)
    files = {run: folder / f"run-{run:02}.json" for run in range(1, len(trial.places) + 1)}
    missing = [run for run, path in files.items() if not path.exists()]
    of_cells = {run: settings | {"cell": trial.name(run)} for run in files}
    for run, path in files.items():
        if run not in missing:
            yield run, load(path, CellCounts, of_cells[run], _AGAIN)
    if missing:
        trial.binarize(missing, log)
        function = WorkerFunction(partial(partial, trial))
        executor: Executor
        with _made_anew(trial.work), open_executor(jobs, function) as executor:
            done = len(files) - len(missing)
            for run, future in in_order(executor, function, missing):
                counts = future.result()
                save(files[run], counts, of_cells[run])
                done += 1
                log(f"cell {run} ({trial.name(run)}), {done} of {len(files)}")
                yield run, counts


@contextmanager
def _made_anew(folder: Path) -> Iterator[None]:
    """An empty folder, which goes with all that ended workers have left in it."""
    shutil.rmtree(folder, ignore_errors=True)
    make_folder(folder)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def cells_digest(cells: Iterable[CellCounts]) -> str:
    """Ten digits of the counts of all cells, in their order."""
    return digest(list(cells))[:10]


def run_grid(
    trial: CellTrial, resamples: int, jobs: Jobs, step: provenance.Step, log: Log, progress: Progress
) -> str:
    """Do the cells that are not there yet; write tables, plots and a page; return the table.

    ``step`` is the command, for the signature. The caller holds the folder (``run_folder``).

    The baseline is the first value of each axis, the first objective and the last size. Raises
    InputMismatchError for a folder of another grid, and what the commands raise.
    """
    total = len(trial.places)
    log(f"{total} cell{'s' * (total > 1)}, each for {', '.join(trial.objectives)}")
    results = dict(sorted(progress(done_cells(trial, jobs, log), "cells", total)))
    rows = [
        (*place[:-1], place[-1].removeprefix("--"), results[run].training_trees, objective, number, *one)
        for run, place in enumerate(trial.places, start=1)
        for objective, counts in results[run].counts.items()
        for number, one in enumerate(counts, start=1)
    ]
    columns = [*(axis.title for axis in trial.axes), SIZE, DIVISION, "training_trees", OBJECTIVE]
    names = [axis.title for axis in trial.axes if not axis.is_runs]
    keys = [*names, SIZE, OBJECTIVE]
    counts = pd.DataFrame(rows, columns=[*columns, SENTENCE, *COUNTS])
    cells, table = _summed(counts, columns), _summed(counts, keys)
    of_runs = cells.groupby(keys, sort=False)[[one.name for one in _SHOWN]]
    table.insert(len(keys), "runs", of_runs.size().to_numpy())
    for name, figures in (("mean", of_runs.mean()), ("sd", of_runs.std())):
        for one in _SHOWN:
            table[f"{one.name}_{name}"] = figures[one.name].to_numpy()
    parts = {
        tuple(map(str, key)): part.groupby([DIVISION, SENTENCE], sort=False)[[*COUNTS]].sum()
        for key, part in counts.groupby(keys, sort=False)
    }
    baseline = (*next(iter(parts))[:-2], trial.sizes[-1], trial.objectives[0])
    viterbi = _VITERBI if _VITERBI in trial.objectives else trial.objectives[0]
    tests = [
        _tests(parts, reference, resamples, progress)
        for reference in (lambda _: baseline, lambda key: (*key[:-1], viterbi))
    ]
    title = f"Grid on {provenance.name_of(trial.corpus)}"
    about = {
        "cells": cells_digest(results.values()),
        **COMPARISON.signature(),
        "average": "pooled",
        "sentences": len(parts[baseline]),
        **{
            one.name: one.show(table[name].sum() / table["sentences"].sum()) for one, name in _CONTEXT.items()
        },
        "runs": table["runs"].max(),
        "baseline": f"{', '.join(map('='.join, zip(keys, baseline, strict=True)))}; viterbi:{viterbi}",
        "significance": f"bootstrap+randomization,resamples={resamples},seed=0,level={LEVEL},correction=holm"
        if resamples
        else None,
    }
    signed = signature({"table": "grid", **provenance.said([step]), **about})
    wide = [name for name in keys[:-1] if table[name].nunique() > 1] or keys[:1]
    printed = _printed(table, wide, dict(zip(("the baseline", viterbi), tests, strict=True)), resamples)
    with atomic_outputs():
        numbers = pd.concat([table, tests[0], tests[1].add_prefix("within_")], axis=1)
        frames = {"cells": cells, "table": numbers, "grid": printed[0].table}
        for name, frame in frames.items():
            with open_output(trial.folder / f"{name}.csv") as stream:
                stream.write(tables.csv_of(frame))
        for suffix, form in FORMATS.items():
            with open_output(trial.folder / f"grid.{suffix}") as stream:
                stream.write(render_breakdowns(printed, signed, form))
        sizes = cells.groupby(SIZE, sort=False)["training_trees"].mean()
        plots = [*_curves(trial, table, baseline, sizes, title), *_heat_map(trial, table, baseline, title)]
    svg = ("".join(read_lines(trial.folder / f"{plot}.svg")) for plot in plots)
    html = [
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>',
        f"<style>{_STYLE}</style><h1>{escape(title)}</h1>",
        render_breakdowns(printed, signed, "html"),
        *(one[one.index("<svg") :] for one in svg),
    ]
    with open_output(trial.folder / "grid.html") as stream:
        stream.writelines(f"{line}\n" for line in html)
    return render_breakdowns(printed, signed, "text").rstrip("\n")


def _summed(counts: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """A row for each combination of keys, with its summed counts and rates."""
    groups = counts.groupby(keys, sort=False)
    numbers = counts[[*COUNTS]].assign(name=groups.ngroup().map(str))[["name", *COUNTS]]
    numbers = numbers.loc[groups.ngroup().sort_values(kind="stable").index].reset_index(drop=True)
    sums, shares = (table.drop(columns="name") for table in (totals(numbers), rates(numbers, CRITERIA)))
    firsts = counts.loc[~counts.duplicated(keys), keys].reset_index(drop=True)
    return pd.concat([firsts, sums.reset_index(drop=True), shares.reset_index(drop=True)], axis=1)


#: What tells a parser: the values of its axes, its size and its objective.
_Key = tuple[str, ...]


def _tests(
    parts: Mapping[_Key, pd.DataFrame],
    reference: Callable[[_Key], _Key],
    resamples: int,
    progress: Progress,
) -> pd.DataFrame:
    """Each row's F against that of another, where the sentences are the same."""
    found = []
    for key, part in progress(parts.items(), "tests", len(parts)):
        row: tuple[float, ...] = (math.nan,) * 4
        base = parts[reference(key)]
        same = part["terminals"].tolist() == base["terminals"].tolist()
        if key != reference(key) and resamples and same:
            both = pd.concat([base.assign(name="a"), part.assign(name="b")], ignore_index=True)
            tested = significance(both[["name", *COUNTS]], [F], "pooled", "a", resamples)
            arrays = tested.difference, tested.difference_low, tested.difference_high, tested.p_randomization
            row = tuple(float(array[1, 0]) for array in arrays)
        found.append(row)
    frame = pd.DataFrame(found, columns=["difference", "low", "high", "p"], dtype=float)
    return frame.assign(p_holm=holm(frame["p"].tolist()))


def _printed(
    table: pd.DataFrame, names: list[str], tests: Mapping[str, pd.DataFrame], resamples: int
) -> list[Breakdown]:
    """What people see: F by objective, all criteria, and the tests."""
    means, spreads = (
        {one: table[f"{one.name}_{figure}"].to_numpy() for one in _SHOWN} for figure in ("mean", "sd")
    )
    better = [(test["difference"] > 0) & (test["p_holm"] < LEVEL) for test in tests.values()]
    marks = ["".join(compress("bv", each)) for each in zip(*better, strict=True)]

    def figure(one: Criterion, row: int, among: slice) -> tables.TableCell:
        text, spread = one.show(means[one][row]), spreads[one][row]
        text += "" if math.isnan(spread) else f" ± {one.show(spread)}"
        best = one.is_best(means[one][row], means[one][among])
        return tables.TableCell(text, marks[row] if one is F else "", best)

    every, values = range(len(table)), table[names].to_numpy().tolist()
    objectives = table[OBJECTIVE].unique().tolist()
    several, everything = len(objectives), slice(None)
    by_objective: list[list[tables.TableCell | str]] = [[*names, *objectives]]
    for first in every[::several]:
        columns = (figure(F, first + at, slice(at, None, several)) for at in range(several))
        by_objective.append([*values[first], *columns])
    labels = [[*value, objective] for value, objective in zip(values, table[OBJECTIVE], strict=True)]
    criteria: list[list[tables.TableCell | str]] = [[*names, OBJECTIVE, *(one.heading for one in _SHOWN)]]
    criteria += [[*labels[row], *(figure(one, row, everything) for one in _SHOWN)] for row in every]
    compared: list[list[tables.TableCell | str]] = [[*names, OBJECTIVE]]
    compared[0] += [part for name in tests for part in (f"to {name}", "95% interval", "p", "p (Holm)")]
    for row in every:
        compared.append([*labels[row]])
        for test in (frame.iloc[row] for frame in tests.values()):
            ends = tables.interval_text(F, test["low"], test["high"])
            p_values = map(tables.p_value_text, (test["p"], test["p_holm"]))
            compared[-1] += [F.show(test["difference"]), ends, *p_values]
    legend = f", mean ± s.d. of {table['runs'].max()} runs" if table["runs"].max() > 1 else ""
    if any(marks):
        legend += f"; b: better than the baseline, v: than {[*tests][1]} of the same row (Holm's p < {LEVEL})"
    numbers = " and ".join(str(test["p"].count()) for test in tests.values())
    how = (
        f"Differences in {F.heading}, runs pooled: 95% interval by the bootstrap, p by approximate "
        f"randomization, two-sided, {resamples:,} resamples, corrected for {numbers} tests"
    )
    shown: list[tuple[str, tables.Grid, int]] = [
        *[(f"{F.heading} by objective{legend}", by_objective, len(names))] * (several > 1),
        (f"Criteria{legend}", criteria, len(names) + 1),
        *[(how, compared, len(names) + 1)] * bool(resamples),
    ]
    return [
        Breakdown(title, tables.frame(grid), (), count, cells=partial(_whole, grid))
        for title, grid, count in shown
    ]


def _whole(grid: tables.Grid, _: Sequence[str]) -> tables.Grid:
    return grid


def _curves(
    trial: CellTrial, table: pd.DataFrame, baseline: Sequence[str], sizes: pd.Series[float], title: str
) -> Iterator[str]:
    """F against training trees, a line for each parser."""
    if len(trial.sizes) < 2:
        return
    names = list(table.columns[: len(baseline) - 2])
    lines = list(dict.fromkeys(map(tuple, table[names].to_numpy().tolist())))
    if len(lines) > _LINES:
        lines = [one for one in lines if sum(map(str.__ne__, one, baseline)) < 2]
    several = len(trial.objectives)
    with pictures(trial.folder, "curves", several, (4.6 * several + 1, 4.8), title) as (figure, axes):
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


def _heat_map(trial: CellTrial, table: pd.DataFrame, baseline: Sequence[str], title: str) -> Iterator[str]:
    """F over two axes of several values, those of binarize first; all else is the baseline's."""
    settings = list(table.columns[: len(baseline) - 2])
    names = sorted((name for name in settings if table[name].nunique() > 1), key=lambda name: " " in name)[:2]
    if len(names) < 2:
        return
    same = [name for name in [*settings, SIZE] if name not in names]
    kept = dict(zip(table.columns, baseline, strict=False))
    rows = table[table[same].eq([kept[name] for name in same]).all(axis=1)]
    several = len(trial.objectives)
    with pictures(trial.folder, "heat-map", several, (3.6 * several + 1, 3.8), title) as (_, axes):
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


@contextmanager
def pictures(
    folder: Path, name: str, count: int, size: tuple[float, float], title: str
) -> Iterator[tuple[Any, Any]]:
    """A figure and its panels side by side, written as NAME.svg and NAME.png when they are filled."""
    with panels(size, count) as (figure, axes, drawn):
        yield figure, axes
        for panel in axes:
            panel.grid(alpha=0.25)
            for side in ("top", "right"):
                panel.spines[side].set_visible(False)
        figure.suptitle(title, fontsize=11)
        for form in ("svg", "png"):
            with open_output_bytes(folder / f"{name}.{form}") as stream:
                stream.write(drawn(form))
