"""What each objective is worth as split-merge grammars get finer (Petrov et al. 2006; Petrov & Klein 2007).

Grammars of 0, 1, 2, ... cycles are trained on one treebank, from words, and parse its held-out part for
several objectives. Grammars and parses are each made once and kept in the experiment's folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from mbrparse.decode.answers import ParserOptions, objective_of
from mbrparse.decode.objectives import OBJECTIVES
from mbrparse.decode.parser.parse_input import Job
from mbrparse.evaluate.compare.evaluation import Settings, evaluate_files
from mbrparse.evaluate.evalb.parameters import COLLINS, NEVER
from mbrparse.evaluate.evalb.summary import EVALB
from mbrparse.evaluate.tables import LEGEND, Cell, Grid, Summary, cells
from mbrparse.experiments.kept_parses import parse_kept
from mbrparse.experiments.old_tables import grid_of
from mbrparse.experiments.trial_runs import Tables, hold_out, panels, read_treebanks
from mbrparse.files import atomic_outputs, make_folder
from mbrparse.grammar.grammar_files import read_grammar, write_rules
from mbrparse.grammar.pcfg import FloatArray
from mbrparse.grammar.projection import has_annotations
from mbrparse.log import Log, Progress, no_log, no_progress
from mbrparse.run.jobs import Jobs
from mbrparse.run.manifest import described
from mbrparse.run.results import claim_folder, clear_left_overs, fingerprint
from mbrparse.training.split_merge.training import SplitMerge, train_trees
from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.corpora.places import write_trees
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.formats.conventions import CorpusReading
from mbrparse.treebank.tree import Tree

MOST_PROBABLE = "most-probable-tree"
#: Derivations among whose trees the most probable tree is sought: summed over states, that is NP-hard.
DERIVATIONS = 1000
_F = "bracketing_f"


@dataclass(frozen=True)
class ExactMatch:
    """The rates of different trees against each other, of which the most probable tree has the least risk."""

    def __call__(self, trees: Sequence[Tree]) -> FloatArray:
        """[guessed, correct]: one if they are the same tree."""
        return np.eye(len(trees))


@dataclass(frozen=True)
class Cycles:
    """A folder with the gold, training's checkpoints, and for each cycle a folder of grammar and parses."""

    folder: Path
    cycles: int
    objectives: Sequence[str]
    seed: int = 1
    prune: float = 1e-4
    jobs: Jobs = 1
    log: Log = no_log
    progress: Progress = no_progress

    def make(self, train: Sequence[SourceTree], test: Sequence[SourceTree]) -> None:
        """Make what is not there yet; raises InputMismatchError where that is of other settings."""
        settings: dict[str, object] = {"training trees": fingerprint([one.tree for one in train])}
        settings |= {"test trees": fingerprint([one.tree for one in test])}
        settings |= {"seed": self.seed, "prune": self.prune}
        claim_folder(self.folder, settings, ["gold.mrg", *map(str, range(self.cycles + 1))])
        if not (self.folder / "gold.mrg").exists():
            gold = (one._replace(tree=debinarize(one.tree)) for one in test)
            write_trees(gold, self.folder / "gold.mrg", self.log)
        for number in range(self.cycles + 1):
            grammar = self.folder / str(number) / "grammar.txt"
            make_folder(grammar.parent)
            clear_left_overs(grammar.parent, {grammar.name, *(f"{name}.mrg" for name in OBJECTIVES)})
            if not grammar.exists():
                self._train(number, train, grammar)
            missing = [name for name in self.objectives if not self.parses(number, name).exists()]
            # Viterbi by itself: in the forest that others need it is slow where there are many states.
            for _, names in groupby(missing, "labelled-tree".__eq__):
                self._parse(number, grammar, list(names))

    def parses(self, number: int, objective: str) -> Path:
        """The parses by the grammar of so many cycles."""
        return self.folder / str(number) / f"{objective}.mrg"

    def _train(self, number: int, train: Sequence[SourceTree], path: Path) -> None:
        output = str(self.folder / "training")
        rules = train_trees(
            train,
            "words",
            SplitMerge(number, seed=self.seed),
            unknown=True,
            output=output,
            resume=number > 0 and Path(f"{output}.checkpoint").exists(),
            jobs=self.jobs,
            progress=self.progress,
            log=self.log,
        )
        write_rules(rules, path)

    def _parse(self, number: int, path: Path, names: Sequence[str]) -> None:
        grammar, seeks = read_grammar(path), MOST_PROBABLE in names
        sought = ("minimum-risk" if name == MOST_PROBABLE else name for name in names)
        rows = (objective_of(name, grammar.pcfg.has_unaries) for name in sought)
        options = ParserOptions(
            tuple(replace(row, name=name) for row, name in zip(rows, names, strict=True)),
            debinarized=True,
            prune=self.prune if has_annotations(grammar) else 0.0,
            k_best=DERIVATIONS if seeks else None,
            risk=ExactMatch() if seeks else None,
        )
        parses = [self.parses(number, name) for name in names]
        gold, job = self.folder / "gold.mrg", Job(grammar, options)
        self.log(str(parse_kept(job, gold, parses, self.jobs, self.log, self.progress)))


def compare_cycles(
    spec: str, made: Cycles, test_fraction: str, max_length: int, resamples: int, reading: CorpusReading
) -> str:
    """Run the experiment; return its table of F, which the folder gets with a plot.

    Raises CorpusError where nothing is held out, InputMismatchError where the folder is of other settings.
    """
    trees = read_treebanks([spec], max_length, made.log, reading, unary="keep")
    train, test = hold_out(trees, test_fraction, "raise --test-fraction")
    made.make(train, test)
    settings = Settings(replace(COLLINS, max_error=NEVER), EVALB, resamples=resamples, seed=made.seed)
    found = []
    for number in range(made.cycles + 1):
        paths = [made.parses(number, name) for name in made.objectives]
        found.append(evaluate_files(made.folder / "gold.mrg", paths, settings, no_log).summary)
    title = f"{spec}: {len(train)} trees to train on, {len(test)} held out; F by EVALB (COLLINS.prm)"
    tests = {"input": spec, "objectives": made.objectives, "cycles": made.cycles, "resamples": resamples}
    tables = Tables(made.folder, {"experiment": "split-merge", **described(made.folder), "tests": tests})
    with atomic_outputs():
        table = tables.write("cycles", f_table(found), data(found), names=2)
        draw(found, made.folder, title)
    return f"{title}, by cycles\n\n{table}\n\n{LEGEND}"


def f_table(found: Sequence[Summary]) -> Grid:
    """What people see: F with letters, a row for each objective, a column for each number of cycles."""
    columns = [cells(summary, [_F]) for summary in found]
    names = [row[:-1] for row in columns[0]]
    heading = [Cell("cycles"), *names[0][1:], *(Cell(str(number)) for number in range(len(found)))]
    rows = zip(names[1:], *(column[1:] for column in columns), strict=True)
    return [heading, *([*name, *(row[-1] for row in shown)] for name, *shown in rows)]


def data(found: Sequence[Summary]) -> Grid:
    """The same for programs, rates 0 to 1 in full, with the p-values of F against the first objective."""
    rows: list[list[object]] = [["cycles", "objective", *(one.name for one in EVALB), "p_randomization"]]
    for number, summary in enumerate(found):
        tested, place = summary.significance, [one.name for one in EVALB].index(_F)
        for file, row in enumerate(summary.rates.itertuples(index=False)):
            p = "" if tested is None or not file else tested.p_randomization[file, place]
            rows.append([number, *row, p])
    return grid_of(rows)


def draw(found: Sequence[Summary], folder: Path, title: str) -> None:
    """F against cycles, a line for each objective."""
    with panels(folder, "cycles", 1, (7.5, 5), title) as (_, [panel]):
        for place, name in enumerate(found[0].rates["name"]):
            values = [100 * summary.rates[_F][place] for summary in found]
            panel.plot(range(len(found)), values, marker="osD^vP"[place % 6], linewidth=1.5, label=name)
        panel.set(xlabel="cycles of splitting and merging", ylabel="F, per cent", xticks=range(len(found)))
        panel.legend(frameon=False, fontsize=9, loc="lower right")
