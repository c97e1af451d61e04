"""The cells of a grid: each is trained, parses its test part for all objectives, and is compared with gold.

A cell is what the commands binarize, split, train, parse and evaluate --form original make. The gold is the
corpus's trees with all unary productions, un-binarized, so that binarizations can be compared.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec

from mbrparse.evaluate.compare.evaluation import EvaluationSettings, evaluate_files
from mbrparse.evaluate.counts import Comparison, SentenceCounts
from mbrparse.evaluate.criteria import CONSISTENT, FELL_BACK, MORE, PAPER, blocks_of
from mbrparse.files import read_lines
from mbrparse.jobs import Jobs, Scheduler
from mbrparse.log import Log
from mbrparse.one_run import make_folder
from mbrparse.settings import digest

#: Calls one of the program's commands with arguments.
Call = Callable[[str, Sequence[str]], None]
CRITERIA = tuple(one for one in (*PAPER, *MORE) if one.name not in CONSISTENT)
COMPARISON = Comparison("original")
#: Of each sentence, and in the files of results.
COUNTS = (*SentenceCounts._fields[4:], FELL_BACK.name)


@dataclass(frozen=True)
class GridCell:
    """A parser and its parses of a test part, in a folder.

    ``options`` are the arguments of binarize, split, train and parse, beside inputs and outputs.
    """

    folder: Path
    options: Mapping[str, Sequence[str]]
    objectives: Sequence[str]
    call: Call
    jobs: Jobs = 1

    def path(self, name: str) -> Path:
        """A file of the cell."""
        return self.folder / name

    @property
    def parses(self) -> tuple[Path, ...]:
        """The file of each objective's trees."""
        return tuple(self.path(f"{name}.mrg") for name in self.objectives)

    @property
    def is_best_first(self) -> bool:
        """Whether there are statistics."""
        return "--engine=best-first" in self.options["parse"]

    def run(self, stage: str, source: str | Path, *more: str, **outputs: Path) -> None:
        """Call the command of a stage."""
        files = [f"--{name.replace('_', '-')}={path}" for name, path in outputs.items()]
        self.call(stage, [*self.options[stage], *more, *files, "--", str(source)])

    def split(self, trees: Path) -> None:
        """Write train.mrg and test.mrg."""
        parts = {"train_output": self.path("train.mrg"), "test_output": self.path("test.mrg")}
        self.run("split", trees, **parts)

    def train(self) -> None:
        """Write grammar.txt."""
        outputs = {"output": self.path("grammar.txt")}
        if self.is_best_first:
            outputs["statistics"] = self.path("statistics.txt")
        iterates = {"--method=inside-outside", "--method=split-merge"}.intersection(self.options["train"])
        self.run("train", self.path("train.mrg"), *(self._workers() if iterates else ()), **outputs)

    def parse(self, *more: str) -> None:
        """Write the trees of each objective, and details.jsonl."""
        words = [f"--objective={name}" for name in self.objectives]
        words += [f"--grammar={self.path('grammar.txt')}", *self._workers(), *more]
        if self.is_best_first:
            words.append(f"--statistics={self.path('statistics.txt')}")
        outputs = {"details": self.path("details.jsonl"), "output": self.path("{objective}.mrg")}
        self.run("parse", self.path("test.mrg"), *words, **outputs)

    def _workers(self) -> list[str]:
        option = "scheduler" if isinstance(self.jobs, Scheduler) else "jobs"
        return [f"--{option}={self.jobs}"]


class GridAxis(NamedTuple):
    """An option, or bundles of several, and its values with the arguments of stages that give each."""

    title: str  #: of its column
    values: dict[str, dict[str, list[str]]]

    @property
    def said(self) -> list[str]:
        """Its values, and what bundles stand for."""
        bundled = {name: " ".join(chain(*words.values())) for name, words in self.values.items()}
        return [f"{name} ({of})" if self.title == "bundle" else name for name, of in bundled.items()]

    @property
    def is_runs(self) -> bool:
        """Whether its values are runs of one parser, and no settings."""
        return self.title.rpartition(" ")[2] == "seed"


class CellCounts(msgspec.Struct):
    """What is kept of a cell: the number of training trees, and by objective each sentence's ``COUNTS``."""

    training_trees: int
    counts: dict[str, list[list[int]]]


@dataclass(frozen=True)
class CellTrial:
    """What all cells share; calling it does one of them, by its number from 1."""

    corpus: str
    folder: Path
    axes: Sequence[GridAxis]
    sizes: Sequence[str]
    divisions: Sequence[str]  #: such as --fold=1/10 of split
    objectives: Sequence[str]
    common: Mapping[str, Sequence[str]]  #: arguments of each stage that are the same in all cells
    digests: Mapping[str, str]  #: of the corpus, and of files that options name
    call: Call

    @cached_property
    def places(self) -> list[tuple[str, ...]]:
        """All cells: a value of each axis, how much is trained on, and what is held out."""
        return list(product(*(axis.values for axis in self.axes), self.sizes, self.divisions))

    def settings(self) -> dict[str, object]:
        """What the cells depend on."""
        axes: dict[str, object] = {axis.title: axis.said for axis in self.axes}
        common = {stage: list(words) for stage, words in self.common.items()}
        names = "objectives", "sizes", "divisions"
        return axes | common | {name: list(getattr(self, name)) for name in names} | {"corpus": self.corpus}

    def name(self, run: int) -> str:
        """The values of a cell, for people."""
        *values, size, division = self.places[run - 1]
        titles = [*(axis.title for axis in self.axes), "train-size"]
        said = [f"{title}={value}" for title, value in zip(titles, [*values, size], strict=True)]
        return ", ".join([*said, division.removeprefix("--")])

    @property
    def work(self) -> Path:
        """The folder for what cells leave when they are ended."""
        return self.folder / "work"

    def trees(self, place: Sequence[str]) -> dict[Path, list[str]]:
        """The files of a cell's binarization and of its gold, and the arguments that make them.

        Sentences of one word are in neither, since some binarizations lack them.
        """
        words = [*self._words("binarize", place), "--min-length=2"]
        both = words, [*words, "--unary=keep"]
        return {self.folder / "trees" / f"{digest([self.corpus, *given])}.mrg": given for given in both}

    def binarize(self, runs: Sequence[int], log: Log) -> None:
        """Make the trees of these cells."""
        make_folder(self.folder / "trees")
        wanted = {path: given for run in runs for path, given in self.trees(self.places[run - 1]).items()}
        for path, given in wanted.items():
            log(f"{path.name}: binarize {' '.join(given)}")
            self.call("binarize", [*given, f"--output={path}", "--", self.corpus])

    def __call__(self, run: int) -> CellCounts:
        """Train, parse and evaluate one cell."""
        place = self.places[run - 1]
        options = {stage: self._words(stage, place) for stage in ("train", "parse")}
        options["split"] = [place[-1], *self.common["split"], f"--train-size={place[-2]}"]
        with TemporaryDirectory(dir=self.work) as name, redirect_stderr(io.StringIO()):
            cell = GridCell(Path(name), options, self.objectives, self.call)
            trees, gold = self.trees(place)
            cell.split(gold)
            cell.path("test.mrg").rename(cell.path("gold.mrg"))
            cell.split(trees)
            cell.train()
            cell.parse()
            trained = sum(1 for _ in read_lines(cell.path("train.mrg")))
            settings = EvaluationSettings(COMPARISON, CRITERIA, resamples=0)
            details = [cell.path("details.jsonl")]
            table = evaluate_files(cell.path("gold.mrg"), cell.parses, settings, details=details).counts
        rows = list(zip(*(table[name].tolist() for name in COUNTS), strict=True))
        counts = {
            name: [list(map(int, row)) for row in rows[part]] for name, part in blocks_of(table).items()
        }
        return CellCounts(trained, counts)

    def _words(self, stage: str, place: Sequence[str]) -> list[str]:
        """The options of a stage in a cell."""
        chosen = zip(self.axes, place, strict=False)
        given = (axis.values[value].get(stage, ()) for axis, value in chosen)
        return [*self.common[stage], *chain.from_iterable(given)]
