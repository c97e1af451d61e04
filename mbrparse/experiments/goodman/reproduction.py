"""Goodman's second experiment, end to end: from a treebank to the table of his three algorithms.

What each of the commands binarize, split, train, parse and evaluate does, is done here stage by stage into
one folder; what an earlier run has finished is not done again.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from mbrparse.decode.posteriors.posteriors_file import read_posteriors
from mbrparse.evaluate.align import BinarizedForm, Place
from mbrparse.evaluate.compare.evaluation import Settings, evaluate_files, file_sources
from mbrparse.evaluate.counts import Comparison
from mbrparse.evaluate.criteria import COVERAGE, PAPER
from mbrparse.evaluate.report.pages import ReportOptions, write_report
from mbrparse.evaluate.report.records import THRESHOLD
from mbrparse.evaluate.tables import cells, lay_out, render
from mbrparse.experiments.trial_runs import published
from mbrparse.files import open_output, read_lines
from mbrparse.log import Log, Progress, no_log, no_progress
from mbrparse.run.jobs import Jobs
from mbrparse.run.pool import Scheduler
from mbrparse.run.results import claim_folder, clear_left_overs, read_json, write_json
from mbrparse.state_files import anything, mapping
from mbrparse.treebank.brackets import read_parse_file
from mbrparse.treebank.outlines import outline

#: Calls one of the program's commands with arguments.
Call = Callable[[str, Sequence[str]], None]
#: The first stage that uses a setting, where that is not called after it.
_STAGE_OF = {"name": "binarize", "test_fraction": "split", "seed": "split", "objectives": "parse"}
ALGORITHMS = ("labelled-tree", "labelled-recall", "bracketed-recall")
#: Goodman's own figures of the criteria ``PAPER``, per cent. His Bracketed Recall chose no labels.
TABLE_2 = {
    "Label Tree": ("4.54", "48.60", "60.98", "66.35", "12.07"),
    "Label Recall": ("3.71", "49.66", "61.34", "68.39", "11.63"),
    "Bracket Recall": ("0.11", "4.51", "61.63", "68.17", "11.19"),
}


def workers(jobs: Jobs) -> list[str]:
    """The option of ``parse`` and ``train`` that says who does the work."""
    return [f"--scheduler={jobs}" if isinstance(jobs, Scheduler) else f"--jobs={jobs}"]


@dataclass(frozen=True)
class Corpus:
    """The treebank, and which of its trees are parsed.

    Without ``seed`` the last ``test_fraction`` of the trees is parsed, with it as many drawn at random.
    """

    name: str
    test_fraction: str = "0.1"
    seed: int | None = None

    def described(self) -> dict[str, str]:
        """The corpus and its division, for people."""
        which = "the last" if self.seed is None else f"drawn at random (seed {self.seed})"
        return {"corpus": self.name, "split": f"{self.test_fraction} of the trees are parsed, {which}"}

    def drawn(self) -> list[str]:
        """The options of ``split`` that say so."""
        seed = [] if self.seed is None else [f"--seed={self.seed}"]
        return [f"--test-fraction={self.test_fraction}", *seed]


class Stage(NamedTuple):
    """A stage, the files that it leaves (the last one says that all are there), and what it does."""

    name: str
    files: tuple[Path, ...]
    run: Callable[[], None]


@dataclass(frozen=True)
class Reproduction:
    """The stages for one corpus in one ``folder``; ``log`` is called after each, ``progress`` within."""

    corpus: Corpus
    folder: Path
    call: Call
    options: Mapping[str, Sequence[str]]  #: for binarize, train and parse, as arguments
    objectives: Sequence[str] = ALGORITHMS
    jobs: Jobs = 1
    log: Log = no_log
    progress: Progress = no_progress
    command: str | None = None  #: how it was called, for the page

    @property
    def page(self) -> Path:
        """The page with all sentences behind the table."""
        return self.folder / "report.html"

    @property
    def stages(self) -> tuple[Stage, ...]:
        """All of them, in order."""
        return (
            Stage("binarize", (self.folder / "binarized.mrg",), self._binarize),
            Stage("split", (self.folder / "train.mrg", self.folder / "test.mrg"), self._split),
            Stage("train", (self.folder / "grammar.txt",), self._train),
            Stage("parse", (*self._parses, self.folder / "details.jsonl", *self._posteriors), self._parse),
            Stage("evaluate", (self.folder / "table.txt",), self._evaluate),
            Stage("report", (self.page,), self._report),
        )

    def run(self) -> str:
        """Do what is not done yet; return the table.

        Raises InputMismatchError for a folder of other settings, FileError for one that holds files and says
        not of what, and what the stages raise.
        """
        stages = self.stages
        files = [path for stage in stages for path in stage.files]
        done = list(itertools.takewhile(lambda stage: all(path.exists() for path in stage.files), stages))
        self._claim(files, [stage.name for stage in done])
        clear_left_overs(self.folder, {path.name for path in files})
        if done:
            names = ", ".join(stage.name for stage in done)
            self.log(f"{self.folder} holds what {names} left: not done again")
        left = stages[len(done) :]
        # What was made of files that are made anew is no longer true.
        for path in (path for stage in left for path in stage.files):
            path.unlink(missing_ok=True)
        for number, stage in enumerate(left, start=len(done) + 1):
            self.log(f"stage {number} of {len(stages)}: {stage.name}")
            stage.run()
        return "".join(read_lines(self.folder / "table.txt"))

    def _claim(self, files: list[Path], done: list[str]) -> None:
        """Take the folder for this corpus and these settings."""
        settings: dict[str, object] = {**asdict(self.corpus), "objectives": list(self.objectives)}
        settings |= {stage: list(words) for stage, words in self.options.items()}
        path = self.folder / "settings.json"
        if path.exists() and (kept := read_json(path, mapping(anything))).keys() >= settings.keys():
            # What no stage has used yet, a misspelt corpus perhaps, has claimed nothing.
            unused = (name for name in settings if _STAGE_OF.get(name, name) not in done)
            kept |= {name: settings[name] for name in unused}
            if any(file.exists() for file in files):
                write_json(path, kept)
            else:
                path.unlink()
        claim_folder(self.folder, settings, [file.name for file in files])

    @property
    def _parses(self) -> tuple[Path, ...]:
        return tuple(self.folder / f"{name}.mrg" for name in self.objectives)

    def _call(self, stage: str, source: str | Path, *arguments: str, **outputs: Path) -> None:
        """Call the command of a stage, with the options that were given for it."""
        files = [f"--{name.replace('_', '-')}={path}" for name, path in outputs.items()]
        self.call(stage, [*arguments, *self.options.get(stage, ()), *files, "--", str(source)])

    def _binarize(self) -> None:
        self._call("binarize", self.corpus.name, output=self.folder / "binarized.mrg")

    def _split(self) -> None:
        train, test = self.folder / "train.mrg", self.folder / "test.mrg"
        source, drawn = self.folder / "binarized.mrg", self.corpus.drawn()
        self._call("split", source, *drawn, train_output=train, test_output=test)

    def _train(self) -> None:
        outputs = {"output": self.folder / "grammar.txt"}
        if self._is_best_first:
            outputs["statistics"] = self.folder / "statistics.txt"
        iterates = {"--method=inside-outside", "--method=split-merge"}.intersection(self.options["train"])
        jobs = workers(self.jobs) if iterates else ()
        self._call("train", self.folder / "train.mrg", *jobs, **outputs)

    def _parse(self) -> None:
        words = [f"--objective={name}" for name in self.objectives] + workers(self.jobs)
        words += [f"--grammar={self.folder / 'grammar.txt'}", f"--output={self.folder / '{objective}.mrg'}"]
        if self._is_best_first:
            words.append(f"--statistics={self.folder / 'statistics.txt'}")
        if self._posteriors:
            # What a page draws of them; all would fill the disk.
            words += [f"--write-posteriors={self._posteriors[0]}", f"--least={THRESHOLD}"]
        outputs = {"details": self.folder / "details.jsonl", "work": self._parses[0].with_suffix(".work")}
        self._call("parse", self.folder / "test.mrg", *words, "--resume", **outputs)
        shutil.rmtree(outputs["work"])

    @property
    def _is_best_first(self) -> bool:
        return "--engine=best-first" in self.options["parse"]

    @property
    def _has_unaries(self) -> bool:
        return "--unary=keep" in self.options["binarize"]

    @property
    def _posteriors(self) -> tuple[Path, ...]:
        """Their file, where there can be one: it holds labels, and each at most once over a span."""
        lacks = self._has_unaries or self._is_best_first or "--items=symbol" in self.options["parse"]
        return () if lacks else (self.folder / "posteriors.npz",)

    @cached_property
    def _settings(self) -> Settings:
        """N-ary trees, as several objectives write, are compared in original form, and then all are."""
        how = Comparison(unaries=self._has_unaries)
        return Settings(
            Comparison("original") if any(map(_is_nary, self._parses)) else how, (*PAPER, COVERAGE)
        )

    def _evaluate(self) -> None:
        count = self._lines(self.folder / "test.mrg")
        result = evaluate_files(
            str(self.folder / "test.mrg"),
            [str(path) for path in self._parses],
            self._settings,
            self.log,
            lambda rows: self.progress(rows, "evaluating", count),
            details=[str(self.folder / "details.jsonl")],
        )
        with open_output(self.folder / "table.txt") as stream:
            names = 1 + (result.summary.significance is not None)
            width = names + len(result.summary.criteria)
            [title], *rows = published("Goodman (1996), Table 2, Penn Treebank 0.5", TABLE_2, width, names)
            table = lay_out([cells(result.summary)[0], *rows], "text", names)
            stream.write(render(result.summary, below=["", title.text, "", *table]))

    def _report(self) -> None:
        gold, parses = file_sources(self.folder / "test.mrg", self._parses, self._settings)
        train = self._lines(self.folder / "train.mrg")
        given = {stage: " ".join(words) for stage, words in self.options.items() if words}
        options = ReportOptions(
            title=f"{', '.join(self.objectives)} on {Path(self.corpus.name).name}",
            about={
                **({"command": self.command} if self.command else {}),
                **self.corpus.described(),
                **given,
                "grammar": f"from {train:,} trees",
            },
            details=[self.folder / "details.jsonl"],
            posteriors=read_posteriors(self._posteriors[0]) if self._posteriors else None,
            in_one_file=True,
        )
        count = self._lines(self.folder / "test.mrg")
        write_report(
            gold,
            parses,
            self.page,
            self._settings,
            options,
            no_log,  # what there is to say evaluate has said
            lambda rows: self.progress(rows, "report", count),
        )

    def _lines(self, path: Path) -> int:
        """How many trees a file of ours holds: one stands on each line."""
        return sum(1 for _ in read_lines(path))


def _is_nary(path: Path) -> bool:
    form = BinarizedForm()
    for line, tree, _ in read_parse_file(path):
        if tree is not None:
            form.add(outline(tree), Place(str(path), line))
    return form.nary is not None
