"""The experiment beyond recall, from a treebank to tables and a curve.

Goodman (1996) announced the General Recall Algorithm and the n-ary branching case, and left consistent
brackets recall as too time-consuming. Here they stand beside his algorithms, on one held-out part, by the
measures that they are made for and by those that they lose by. The gold and the parses are each made once and
kept in the experiment's folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from mbrparse.decode.answers import ParserOptions
from mbrparse.decode.objectives import Objective
from mbrparse.decode.parser.parse_files import ParseAccount
from mbrparse.decode.parser.parse_input import Job
from mbrparse.evaluate.compare.evaluation import Settings, evaluate_files
from mbrparse.evaluate.counts import Comparison
from mbrparse.evaluate.criteria import DASH, Average, rates
from mbrparse.evaluate.significance import significance
from mbrparse.evaluate.tables import LEGEND, Cell, Grid, Summary, cells, summarize
from mbrparse.experiments.beyond_recall.compared_objectives import (
    NARY,
    OBJECTIVE_TABLES,
    ExpectedRate,
    ObjectiveTable,
    all_objectives,
    expected_rates,
    sweep,
)
from mbrparse.experiments.kept_parses import parse_kept
from mbrparse.experiments.old_tables import Columns, grid_of
from mbrparse.experiments.trial_runs import Tables, hold_out, panels, read_treebanks
from mbrparse.files import atomic_outputs, make_folder
from mbrparse.grammar.pcfg import PCFG
from mbrparse.log import Log, Progress, no_log, no_progress
from mbrparse.run.jobs import Jobs
from mbrparse.run.manifest import described
from mbrparse.run.results import claim_folder, clear_left_overs, fingerprint
from mbrparse.training.count import induce
from mbrparse.treebank.corpora.places import write_trees
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.formats.conventions import AS_USUAL, CorpusReading


class ObjectiveParses:
    """A folder with the gold, the parses of every objective with their ``details``, and those of the sweep.

    ``gold`` has the binarized held-out trees; ``of`` is the file of an objective's parses, by its name.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.gold, self.details = folder / "gold.mrg", folder / "details.jsonl"
        self.of = {row.name: folder / f"{row.name}.mrg" for row in all_objectives()}
        self.of |= {row.name: folder / "sweep" / f"{row.name}.mrg" for row in sweep()}

    def make(
        self,
        train: Sequence[SourceTree],
        test: Sequence[SourceTree],
        jobs: Jobs,
        log: Log,
        progress: Progress,
    ) -> None:
        """Make what is not there yet; raises InputMismatchError where that is of other settings."""
        settings = {"training trees": fingerprint([one.tree for one in train])}
        settings |= {"test trees": fingerprint([one.tree for one in test])}
        claim_folder(self._folder, settings, ["gold.mrg", "details.jsonl"])
        make_folder(self._folder / "sweep")
        for folder in (self._folder, self._folder / "sweep"):
            clear_left_overs(folder, {path.name for path in (*self.of.values(), self.details, self.gold)})
        if not self.gold.exists():
            write_trees(test, self.gold, log)
        grammar = PCFG.from_rules(induce(train, "tags"))

        def parse(rows: Sequence[Objective], details: Path | None) -> ParseAccount:
            job = Job(grammar, ParserOptions(tuple(rows)), details is not None)
            return parse_kept(
                job, self.gold, [self.of[row.name] for row in rows], jobs, log, progress, details
            )

        if not self.details.exists():
            log(str(parse(all_objectives(), self.details)))
        if not all(self.of[row.name].exists() for row in sweep()):
            parse(sweep(), None)


def compare_beyond_recall(
    spec: str,
    folder: Path,
    test_fraction: str = "0.1",
    max_length: int = 40,
    resamples: int = 10_000,
    seed: int = 0,
    jobs: Jobs = 1,
    reading: CorpusReading = AS_USUAL,
    log: Log = no_log,
    progress: Progress = no_progress,
) -> str:
    """Run the experiment; return what people read of it.

    The folder gets the gold, the parses of every objective and their details, the tables nary, binary and
    curve, and the plot curve. What is there of an earlier run is not done again. Raises CorpusError where
    nothing is held out, InputMismatchError where the folder is of other settings.
    """
    trees = read_treebanks([spec], max_length, log, reading, progress=progress)
    train, test = hold_out(trees, test_fraction, "raise --test-fraction")
    parses = ObjectiveParses(folder)
    parses.make(train, test, jobs, log, progress)
    judged = [judge(compared, parses, resamples, seed, log) for compared in OBJECTIVE_TABLES]
    found = curve(parses, log)
    title = f"{spec}: {len(train)} trees to train on, {len(test)} held out"
    texts = [title]
    tests = {"input": spec, "resamples": resamples, "seed": seed}
    tables = Tables(folder, {"experiment": "beyond-recall", **described(folder), "tests": tests})
    with atomic_outputs():
        for one in judged:
            text = tables.write(one.compared.name, table(one), data(one), names=2)
            texts.append(f"{one.compared.title}\n\n{text}")
        tables.write("curve", curve_table(found), names=1)
        [nary] = [one for one in judged if one.compared is NARY]
        others = nary.summaries["pooled"].rates.set_index("name")
        draw(found, others, folder, title)
    return "\n\n".join([*texts, LEGEND])


class Judged(NamedTuple):
    """A table's counts, and for each average its rates with their significance."""

    compared: ObjectiveTable
    counts: Columns
    summaries: dict[Average, Summary]
    expected: dict[tuple[str, str], float]

    def expected_rates(self, wanted: ExpectedRate) -> list[float | None]:
        """What the trees of each objective expect (None: nothing of the kind)."""
        return [self.expected.get((wanted.name, objective)) for objective in self.compared.objectives]


def judge(compared: ObjectiveTable, parses: ObjectiveParses, resamples: int, seed: int, log: Log) -> Judged:
    """Compare the parses of a table's objectives with the gold."""
    how = Comparison(compared.form)
    paths = [parses.of[name] for name in compared.objectives]
    counts = evaluate_files(parses.gold, paths, Settings(how, (), resamples=0), log).table
    summaries: dict[Average, Summary] = {}
    for average in dict.fromkeys(measure.average for measure in compared.measures):
        criteria = tuple(one.criterion for one in compared.measures if one.average == average)
        tested = significance(counts, criteria, average, compared.objectives[0], resamples, seed)
        summaries[average] = summarize(counts, parses.gold, how.signature(), criteria, average, tested)
    expected = expected_rates(compared.expected, compared.objectives, parses.details)
    return Judged(compared, counts, summaries, expected)


def table(judged: Judged) -> Grid:
    """What people see: rates with letters, and last the expected rates."""
    # By average the columns of its criteria, after two with names and letters.
    grids = {average: cells(found, paired=len(found.rates)) for average, found in judged.summaries.items()}
    columns = {average: list(zip(*grid, strict=True)) for average, grid in grids.items()}
    names, letters = next(iter(columns.values()))[:2]
    left = {average: iter(found[2:]) for average, found in columns.items()}
    measures = (next(left[measure.average]) for measure in judged.compared.measures)
    grid = [list(row) for row in zip(names, letters, *measures, strict=True)]
    for expected in judged.compared.expected:
        shown = [DASH if rate is None else f"{100 * rate:.2f}" for rate in judged.expected_rates(expected)]
        grid = [[*row, Cell(text)] for row, text in zip(grid, [expected.heading, *shown], strict=True)]
    return grid


def data(judged: Judged) -> Grid:
    """The same for programs: rates from 0 to 1 in full."""
    compared = judged.compared
    columns: list[list[object]] = [["name", *compared.objectives]]
    for measure in compared.measures:
        rates = judged.summaries[measure.average].rates[measure.name].tolist()
        columns.append([f"{measure.name}_{measure.average}", *rates])
    for expected in compared.expected:
        shown = ("" if rate is None else rate for rate in judged.expected_rates(expected))
        columns.append([expected.name, *shown])
    return grid_of(zip(*columns, strict=True))


_MEASURES = tuple(measure.criterion for measure in NARY.measures if measure.average == "pooled")


def curve(parses: ObjectiveParses, log: Log) -> pd.DataFrame:
    """The pooled rates of the table's columns, 0 to 1, a row for each cost of the sweep."""
    rows = sweep()
    settings = Settings(Comparison(NARY.form), (), resamples=0)
    counts = evaluate_files(parses.gold, [parses.of[row.name] for row in rows], settings, log).table
    found = rates(counts, _MEASURES).set_index("name")
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


def draw(found: pd.DataFrame, others: pd.DataFrame, folder: Path, title: str) -> None:
    """The curve, and a named point for each of the other objectives."""
    recall, precision = 100 * found["labelled_recall"], 100 * found["labelled_precision"]
    line = {"color": "#1f5f99", "linewidth": 1.6, "marker": "."}
    with panels(folder, "curve", 1, (7.5, 6), title) as (_, [panel]):
        panel.plot(recall, precision, "-", label="general-recall by cost", **line)
        for cost, *point in zip(found["cost"], recall, precision, strict=True):
            if round(cost * 20) % 4 == 0:
                small = {"textcoords": "offset points", "fontsize": 8, "color": line["color"]}
                panel.annotate(f"{cost:.1f}", point, (5, 4), **small)
        for place, (name, row) in enumerate(others.iterrows()):
            x, y, f = (100 * row[f"labelled_{rate}"] for rate in ("recall", "precision", "f"))
            panel.plot([x], [y], "osD^vPX*"[place % 8], markersize=7, label=f"{name}, F {f:.2f}")
        panel.set(xlabel="labelled recall, per cent", ylabel="labelled precision, per cent")
        panel.legend(frameon=False, fontsize=9, loc="lower left")
