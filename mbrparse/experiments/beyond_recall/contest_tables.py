"""The tables: rates with letters, and beside them what the trees' own expected scores promised."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from mbrparse.evaluate.criteria import Average, Criterion
from mbrparse.evaluate.evaluation import Settings, evaluate_files
from mbrparse.evaluate.gold import Comparison
from mbrparse.evaluate.grids import Cell, Grid, grid_of
from mbrparse.evaluate.significance import significance
from mbrparse.evaluate.tables import Summary, cells, summarize
from mbrparse.experiments.beyond_recall.contest_parses import ContestParses
from mbrparse.experiments.beyond_recall.contests import Contest, Measure
from mbrparse.reporting import Tell
from mbrparse.treebank.labels import is_continuation

Row = dict[str, Any]


class Judged(NamedTuple):
    """A contest's counts, and for each average its rates with their significance."""

    contest: Contest
    counts: pd.DataFrame
    summaries: dict[Average, Summary]
    promised: dict[str, float]


def judge(contest: Contest, parses: ContestParses, resamples: int, seed: int, tell: Tell) -> Judged:
    """Compare the parses of a contest's objectives with the gold."""
    how = Comparison(contest.form)
    paths = [parses.of(name) for name in contest.objectives]
    counts = evaluate_files(parses.gold, paths, Settings(how, (), resamples=0), tell).counts
    summaries: dict[Average, Summary] = {}
    for average in dict.fromkeys(measure.average for measure in contest.measures):
        criteria = tuple(_of_average(contest.measures, average))
        tested = significance(counts, criteria, average, contest.objectives[0], resamples, seed)
        summaries[average] = summarize(counts, parses.gold, how, criteria, average, tested)
    return Judged(contest, counts, summaries, promises(contest, parses.details))


def promises(contest: Contest, details: Path) -> dict[str, float]:
    """The rate, 0 to 1, that each objective's trees are expected to reach, over the parsed sentences.

    Expected F is 2 sum g / (constituents of the trees + expected constituents of the true ones).
    """
    matches = dict.fromkeys(contest.objectives, 0.0)
    constituents = dict.fromkeys(contest.objectives, 0.0)
    for row in _parsed(details):
        for name in contest.objectives:
            found, of = _PROMISED[contest.promised](row, name)
            matches[name] += found
            constituents[name] += of
    return {name: matches[name] / constituents[name] for name in matches if constituents[name]}


def _f(row: Row, name: str) -> tuple[float, float]:
    """Twice the expected matches of a tree without its continuations, and the constituents of both trees."""
    kept = [g for start, end, label, g in row["trees"][name]["nodes"] if not is_continuation(label)]
    return 2 * sum(kept), len(kept) + row["trees"]["labelled-f"]["constituents"]


def _consistent(row: Row, name: str) -> tuple[float, float]:
    """The expected number of brackets that cross nothing, and that of brackets."""
    tree = row["trees"][name]
    return tree.get("expected_consistent", 0.0), tree["constituents"] if "expected_consistent" in tree else 0


_PROMISED = {"labelled_f": _f, "consistent_brackets_recall": _consistent}


def _parsed(details: Path) -> Iterator[Row]:
    with details.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["status"] == "parsed":
                yield row


def table(judged: Judged) -> Grid:
    """What people see: rates with letters, and last what was promised."""
    columns = {average: cells(summary) for average, summary in judged.summaries.items()}
    taken = dict.fromkeys(columns, 2)
    grid = [row[:2] for row in next(iter(columns.values()))]
    for measure in judged.contest.measures:
        place = taken[measure.average]
        taken[measure.average] += 1
        grid = [[*row, cell[place]] for row, cell in zip(grid, columns[measure.average], strict=True)]
    return [[*row, Cell(text)] for row, text in zip(grid, _promised_column(judged), strict=True)]


def data(judged: Judged) -> Grid:
    """The same for programs: rates from 0 to 1 in full."""
    heading = ["name", *(f"{m.name}_{m.average}" for m in judged.contest.measures), "promised"]
    rows: list[list[object]] = []
    for name in judged.contest.objectives:
        rates = [judged.summaries[m.average].rates.at[name, m.name] for m in judged.contest.measures]
        rows.append([name, *rates, judged.promised.get(name, "")])
    return grid_of([heading, *rows])


def _promised_column(judged: Judged) -> list[str]:
    [measure] = [
        m for m in judged.contest.measures if (m.name, m.average) == (judged.contest.promised, "pooled")
    ]
    shown = (
        measure.criterion.show(judged.promised.get(name, math.nan)) for name in judged.contest.objectives
    )
    return [f"promised {measure.heading}", *shown]


def _of_average(measures: Sequence[Measure], average: Average) -> Iterator[Criterion]:
    return (measure.criterion for measure in measures if measure.average == average)
