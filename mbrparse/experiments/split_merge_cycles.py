"""What each objective is worth as split-merge grammars get finer (Petrov et al. 2006; Petrov & Klein 2007).

Grammars of 0, 1, 2, ... cycles are trained on one treebank, from words, and parse its held-out part for
several objectives. Grammars and parses are each made once and kept in the experiment's folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mbrparse.decode.base.objectives import OBJECTIVES
from mbrparse.decode.base.parser_options import ParserOptions
from mbrparse.decode.parser.parse_files import write_parses
from mbrparse.decode.parser.parse_input import Job, parse_all
from mbrparse.decode.parser.sentences import read_chunks
from mbrparse.evaluate.evalb.evalb_counts import EVALB
from mbrparse.evaluate.evalb.parameters import COLLINS, NEVER
from mbrparse.evaluate.evaluation import evaluate_files
from mbrparse.evaluate.settings import Settings
from mbrparse.evaluate.tables.grids import Cell, Grid, grid_of
from mbrparse.evaluate.tables.rate_tables import Summary, cells
from mbrparse.evaluate.tables.significance_report import LEGEND, p_value_text
from mbrparse.experiments.trial_runs import hold_out, panels, read_treebanks, write_table
from mbrparse.grammar.files.grammars import read_grammar
from mbrparse.grammar.grammar_file import write_rules
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.grammar.projection import has_annotations
from mbrparse.grammar.training.split_merge.cycles import SplitMerge
from mbrparse.grammar.training.split_merge.training import train_trees
from mbrparse.io.files import atomic_outputs
from mbrparse.io.log import Log, Progress, no_log, no_progress
from mbrparse.io.replacements import make_folder
from mbrparse.run.jobs import Jobs
from mbrparse.run.results import claim_folder, clear_left_overs, fingerprint
from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.brackets import write_trees
from mbrparse.treebank.corpora import SourceTree
from mbrparse.treebank.tree import Tree

MOST_PROBABLE = "most-probable-tree"
#: Derivations among whose trees the most probable tree is sought: summed over states, that is NP-hard.
DERIVATIONS = 1000
_F = "bracketing_f"


@dataclass(frozen=True)
class Comparison:
    """How many cycles are trained, by which seed, and what is parsed for.

    The other objectives are compared with the first.
    """

    cycles: int = 5
    objectives: Sequence[str] = ("labelled-tree",)
    seed: int = 1
    prune: float = 1e-4


def identity(trees: Sequence[Tree]) -> Iterator[FloatArray]:
    """The risk that makes the most probable candidate the best: a tree is like no other."""
    yield from np.eye(len(trees))


class Cycles:
    """A folder with the gold, training's checkpoints, and for each cycle a folder of grammar and parses."""

    def __init__(self, folder: Path, how: Comparison, jobs: Jobs, log: Log, progress: Progress) -> None:
        self._folder, self._how = folder, how
        self._jobs, self._log, self._progress = jobs, log, progress
        self.gold = folder / "gold.mrg"

    def make(self, train: Sequence[Tree], test: Sequence[Tree]) -> None:
        """Make what is not there yet; raises InputMismatchError where that is of other settings."""
        how = self._how
        settings: dict[str, object] = {"training trees": fingerprint(train), "test trees": fingerprint(test)}
        settings |= {"seed": how.seed, "prune": how.prune}
        claim_folder(self._folder, settings, ["gold.mrg", *map(str, range(how.cycles + 1))])
        if not self.gold.exists():
            write_trees(map(debinarize, test), self.gold)
        for number in range(how.cycles + 1):
            folder = self.folder(number)
            make_folder(folder)
            clear_left_overs(folder, {"grammar.txt", *(f"{name}.mrg" for name in OBJECTIVES)})
            if not (folder / "grammar.txt").exists():
                self._train(number, train)
            names = [name for name in how.objectives if not self.parses(number, name).exists()]
            if names:
                self._parse(number, names)

    def folder(self, number: int) -> Path:
        """The folder of the grammar of so many cycles."""
        return self._folder / str(number)

    def parses(self, number: int, objective: str) -> Path:
        """The parses by the grammar of so many cycles."""
        return self.folder(number) / f"{objective}.mrg"

    def _train(self, number: int, train: Sequence[Tree]) -> None:
        output = str(self._folder / "training")
        rules = train_trees(
            (SourceTree("training", place, tree) for place, tree in enumerate(train, start=1)),
            "words",
            SplitMerge(number, seed=self._how.seed),
            unknown=True,
            output=output,
            resume=number > 0 and Path(f"{output}.checkpoint").exists(),
            jobs=self._jobs,
            progress=self._progress,
            log=self._log,
        )
        write_rules(rules, self.folder(number) / "grammar.txt")

    def _parse(self, number: int, names: Sequence[str]) -> None:
        grammar = read_grammar(self.folder(number) / "grammar.txt")
        seeks = MOST_PROBABLE in names
        rows = {name: OBJECTIVES["minimum-risk" if name == MOST_PROBABLE else name] for name in names}
        options = ParserOptions(
            tuple(replace(row, name=name) for name, row in rows.items()),
            debinarized=True,
            prune=self._how.prune if has_annotations(grammar) else 0.0,
            k_best=DERIVATIONS if seeks else None,
            risk=identity if seeks else None,
        )
        job = Job(grammar, options)
        found = parse_all(job, read_chunks(self.gold, "trees"), self._jobs, self._log)
        account = write_parses(
            self._progress(found, f"cycle {number}, parsing"), [self.parses(number, name) for name in names]
        )
        self._log(f"cycle {number}: {account}")


def compare_cycles(
    spec: str,
    folder: Path,
    how: Comparison,
    test_fraction: str = "0.1",
    max_length: int = 40,
    resamples: int = 10_000,
    jobs: Jobs = 1,
    encoding: str = "utf-8",
    log: Log = no_log,
    progress: Progress = no_progress,
) -> str:
    """Run the experiment; return what people read of it.

    The folder gets grammars and parses by cycle, the tables ``cycles`` (F) and ``differences``, and the plot
    ``cycles``. What is there of an earlier run is not done again. Raises CorpusError where nothing is held
    out, InputMismatchError where the folder is of other settings.
    """
    trees = read_treebanks([spec], max_length, log, encoding, unary="keep")
    train, test = hold_out(trees, test_fraction, "raise --test-fraction")
    made = Cycles(folder, how, jobs, log, progress)
    made.make(train, test)
    parameters = replace(COLLINS, max_error=NEVER)
    settings = Settings(parameters, EVALB, resamples=resamples, seed=how.seed)
    judged: list[Summary] = []
    for number in range(how.cycles + 1):
        paths = [made.parses(number, name) for name in how.objectives]
        judged.append(evaluate_files(made.gold, paths, settings, no_log).summary)
    title = f"{spec}: {len(train)} trees to train on, {len(test)} held out; F by EVALB (COLLINS.prm)"
    with atomic_outputs():
        table = write_table(folder, "cycles", f_table(judged), data(judged), names=2)
        texts = [f"{title}, by cycles\n\n{table}", LEGEND]
        if len(how.objectives) > 1 and resamples:
            texts.append(write_table(folder, "differences", difference_table(judged)))
        draw(judged, folder, title)
    return "\n\n".join(texts)


def f_table(found: Sequence[Summary]) -> Grid:
    """What people see: F with letters, a row for each objective, a column for each number of cycles."""
    columns = [cells(summary, [_F]) for summary in found]
    names = [row[:-1] for row in columns[0]]
    heading = [Cell("cycles"), *names[0][1:], *(Cell(str(number)) for number in range(len(found)))]
    rows = zip(names[1:], *(column[1:] for column in columns), strict=True)
    return [heading, *([*name, *(row[-1] for row in shown)] for name, *shown in rows)]


def difference_table(found: Sequence[Summary]) -> Grid:
    """How F differs from the first objective's, with p-values by randomization."""
    tested = [summary.significance for summary in found if summary.significance is not None]
    place = [criterion.name for criterion in tested[0].criteria].index(_F)
    first, *others = tested[0].names
    rows = [[f"difference to {first} (p)", *map(str, range(len(found)))]]
    for file, name in enumerate(others, start=1):
        at = file, place
        texts = (f"{100 * o.difference[at]:+.2f} ({p_value_text(o.p_randomization[at])})" for o in tested)
        rows.append([name, *texts])
    return grid_of(rows)


def data(found: Sequence[Summary]) -> Grid:
    """The same for programs: a row for each number of cycles and objective, rates from 0 to 1 in full."""
    names = [criterion.name for criterion in EVALB]
    rows: list[list[object]] = [["cycles", "objective", *names, "p_bootstrap", "p_randomization"]]
    for number, summary in enumerate(found):
        tested = summary.significance
        for file, row in enumerate(summary.rates.records()):
            tests: list[object] = ["", ""]
            if tested is not None and file:
                at = file, names.index(_F)
                tests = [tested.p_bootstrap[at], tested.p_randomization[at]]
            rows.append([number, row["name"], *(row[name] for name in names), *tests])
    return grid_of(rows)


def draw(found: Sequence[Summary], folder: Path, title: str) -> None:
    """F against cycles, a line for each objective."""
    with panels(folder, "cycles", 1, (7.5, 5), title) as (_, [panel]):
        for place, name in enumerate(found[0].rates["name"]):
            values = [100 * summary.rates[_F][place] for summary in found]
            panel.plot(range(len(found)), values, marker="osD^vP"[place % 6], linewidth=1.5, label=name)
        panel.set(xlabel="cycles of splitting and merging", ylabel="F, per cent", xticks=range(len(found)))
        panel.legend(frameon=False, fontsize=9, loc="lower right")
