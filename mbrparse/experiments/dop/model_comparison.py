"""Goodman's (1996) DOP experiment, from a treebank to tables, curves and the ratio of speeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from mbrparse.errors import CorpusError
from mbrparse.evaluate.tables import LEGEND
from mbrparse.experiments.dop.fragment_speed import (
    SpeedTrial,
    speed_data,
    speed_ratio,
    speed_table,
    speed_title,
)
from mbrparse.experiments.dop.learning_curves import HEADINGS, CurveTrial, curve_table, draw, points
from mbrparse.experiments.dop.model_tables import judge, model_data, model_table, paired_data, paired_table
from mbrparse.experiments.dop.model_trial import Design, Model, ModelTrial, Search
from mbrparse.experiments.trial_runs import Tables, read_treebanks
from mbrparse.files import atomic_outputs, open_output
from mbrparse.grammar.dop.addressed_treebank import Weighting
from mbrparse.log import Log, Progress, no_log, no_progress
from mbrparse.run.jobs import Jobs
from mbrparse.run.manifest import Settings
from mbrparse.run.results import Result, fingerprint, run_all
from mbrparse.treebank.formats.conventions import AS_USUAL, CorpusReading
from mbrparse.treebank.splits import part_size


@dataclass(frozen=True)
class Parts:
    """How a treebank is split: numbers of sentences, or fractions of them all, as text."""

    train: str = "700"
    test: str = "88"
    max_length: int | None = 30
    seed: int = 0


@dataclass(frozen=True)
class SpeedLimits:
    """What Bod's chart is measured on: at most so many fragments, and sentences of one split."""

    fragments: int = 100_000
    sentences: int = 50


#: By the name of their folder, trials, and how many runs of each there are.
_Works = dict[str, tuple[ModelTrial | SpeedTrial, int]]


def compare_models(
    inputs: Sequence[str],
    folder: Path,
    parts: Parts,
    search: Search,
    weightings: Sequence[Weighting],
    runs: int = 10,
    curves: bool = True,
    speed: SpeedLimits | None = SpeedLimits(),
    resamples: int = 10_000,
    jobs: Jobs = 1,
    reading: CorpusReading = AS_USUAL,
    log: Log = no_log,
    progress: Progress = no_progress,
) -> str:
    """Run the experiment; return what people read of it.

    The folder gets a folder of results for each model, another for its learning curves, one for Bod's chart
    (``speed``, None: not measured), a file a split, and the tables ``models``, ``splits``, ``tests``,
    ``curves`` and ``speed`` and the plot ``curves``. What is there is not done again. Raises CorpusError
    where there are fewer sentences than a split wants, InputMismatchError at results of other settings.
    """
    trees = read_treebanks(inputs, parts.max_length, log, reading, progress=progress)
    design = _design(parts, len(trees))
    models = (Model(), *map(Model, dict.fromkeys(weightings)))
    common = {**asdict(design), "trees": fingerprint([tree.tree for tree in trees])}
    of_curves = {f"curves/{model.name}": CurveTrial(trees, design, model, search) for model in models}
    works: _Works = {model.name: (ModelTrial(trees, design, model, search), runs) for model in models}
    if curves:
        works |= {name: (trial, runs) for name, trial in of_curves.items()}
    if speed is not None:
        works["speed"] = SpeedTrial(trees, design, speed.fragments, speed.sentences, search.samples), 1
    found_of: dict[str, dict[int, Result]] = {name: {} for name in works}
    total = sum(count for _, count in works.values())
    for name, run, result in progress(_done(works, common, folder, jobs, log), "splits", total):
        found_of[name][run] = result
    results = {name: [of[run] for run in sorted(of)] for name, of in found_of.items()}
    title = (
        f"{' '.join(inputs)}: {runs} split{'s' * (runs > 1)} of {design.train} and {design.test} sentences"
    )
    tests = {"weightings": weightings, "runs": runs, "resamples": resamples, **asdict(speed or SpeedLimits())}
    of_run = {"inputs": inputs, **common, **asdict(search)}
    tables = Tables(folder, {"experiment": "dop", "run": of_run, "tests": tests})
    with atomic_outputs():
        texts = [title, *_tables(models, results, tables, resamples, parts.seed)]
        if curves:
            done = [(trial, results[name]) for name, trial in of_curves.items()]
            texts += _curves(done, tables, title)
        if speed is not None:
            [measured] = results["speed"]
            shown, data = (form(measured, search.samples) for form in (speed_table, speed_data))
            table = tables.write("speed", shown, data)
            texts += [speed_title(measured), table, speed_ratio(measured, search.samples)]
    return "\n\n".join(texts)


def _tables(
    models: Sequence[Model], results: Mapping[str, list[Result]], tables: Tables, resamples: int, seed: int
) -> list[str]:
    judged = judge({model: results[model.name] for model in models}, resamples, seed)
    _write_csv(tables.folder / "splits.csv", judged.by_split)
    table = tables.write("models", model_table(judged), model_data(judged), names=2)
    tests = tables.write("tests", paired_table(judged), paired_data(judged))
    return [table, LEGEND, tests]


def _curves(done: Sequence[tuple[CurveTrial, Sequence[Result]]], tables: Tables, title: str) -> list[str]:
    found = points(done)
    draw(found, tables.folder, title)
    _write_csv(tables.folder / "curves.csv", found)
    texts = [tables.write(f"curve-{curve}", curve_table(found, curve)) for curve in HEADINGS]
    return ["Labelled Recall: labelled tree / labelled recall, means over the splits", *texts]


def _write_csv(path: Path, table: pd.DataFrame) -> None:
    with open_output(path) as stream:
        table.to_csv(stream, index=False, lineterminator="\n", na_rep="nan")


def _design(parts: Parts, sentences: int) -> Design:
    """Raises CorpusError where a split wants more sentences than there are, or has an empty part."""
    train, test = (part_size(text, sentences) for text in (parts.train, parts.test))
    if train + test > sentences or not train or not test:
        raise CorpusError(
            f"{train} training and {test} test sentences asked for, but there are {sentences} sentences",
            remedy="change --train or --test (numbers, or fractions of all), or give more text",
        )
    return Design(train, test, parts.seed)


def _done(
    works: _Works, common: Settings, folder: Path, jobs: Jobs, log: Log
) -> Iterator[tuple[str, int, Result]]:
    for name, (trial, runs) in works.items():
        for run, result in run_all(trial, folder / name, runs, common | trial.settings, jobs, log):
            log(f"{name}: split {run} of {runs}")
            yield name, run, result
