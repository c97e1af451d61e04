"""The tables: rates with letters, and beside them what the trees' own expected scores promised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mbrparse.evaluate.evaluation import evaluate_files
from mbrparse.evaluate.settings import Settings
from mbrparse.evaluate.tables.columns import Columns
from mbrparse.evaluate.tables.criteria import DASH, Average, Criterion
from mbrparse.evaluate.tables.grids import Cell, Grid, grid_of
from mbrparse.evaluate.tables.rate_tables import Summary, cells, summarize
from mbrparse.evaluate.tables.significance import significance
from mbrparse.evaluate.trees.gold import Comparison
from mbrparse.experiments.beyond_recall.contest_parses import ContestParses
from mbrparse.experiments.beyond_recall.contests import Contest, Measure
from mbrparse.experiments.beyond_recall.promises import Promise, expected_rates
from mbrparse.reporting import Tell


class Judged(NamedTuple):
    """A contest's counts, and for each average its rates with their significance."""

    contest: Contest
    counts: Columns
    summaries: dict[Average, Summary]
    promised: dict[tuple[str, str], float]


def judge(contest: Contest, parses: ContestParses, resamples: int, seed: int, tell: Tell) -> Judged:
    """Compare the parses of a contest's objectives with the gold."""
    how = Comparison(contest.form)
    paths = [parses.of(name) for name in contest.objectives]
    counts = evaluate_files(parses.gold, paths, Settings(how, (), resamples=0), tell).table
    summaries: dict[Average, Summary] = {}
    for average in dict.fromkeys(measure.average for measure in contest.measures):
        criteria = tuple(_of_average(contest.measures, average))
        tested = significance(counts, criteria, average, contest.objectives[0], resamples, seed)
        summaries[average] = summarize(counts, parses.gold, how, criteria, average, tested)
    promised = expected_rates(contest.promises, contest.objectives, parses.details)
    return Judged(contest, counts, summaries, promised)


def table(judged: Judged) -> Grid:
    """What people see: rates with letters, and last what was promised."""
    columns = {average: cells(summary) for average, summary in judged.summaries.items()}
    taken = dict.fromkeys(columns, 2)
    grid = [row[:2] for row in next(iter(columns.values()))]
    for measure in judged.contest.measures:
        place = taken[measure.average]
        taken[measure.average] += 1
        grid = [[*row, cell[place]] for row, cell in zip(grid, columns[measure.average], strict=True)]
    for promise in judged.contest.promises:
        shown = [DASH if rate is None else f"{100 * rate:.2f}" for rate in _promised(judged, promise)]
        grid = [[*row, Cell(text)] for row, text in zip(grid, [promise.heading, *shown], strict=True)]
    return grid


def data(judged: Judged) -> Grid:
    """The same for programs: rates from 0 to 1 in full."""
    contest = judged.contest
    columns: list[list[object]] = [["name", *contest.objectives]]
    for measure in contest.measures:
        rates = judged.summaries[measure.average].rates[measure.name].tolist()
        columns.append([f"{measure.name}_{measure.average}", *rates])
    for promise in contest.promises:
        shown = ("" if rate is None else rate for rate in _promised(judged, promise))
        columns.append([promise.name, *shown])
    return grid_of(zip(*columns, strict=True))


def _promised(judged: Judged, promise: Promise) -> list[float | None]:
    return [judged.promised.get((promise.name, objective)) for objective in judged.contest.objectives]


def _of_average(measures: Sequence[Measure], average: Average) -> Iterator[Criterion]:
    return (measure.criterion for measure in measures if measure.average == average)
