"""Goodman's second experiment, end to end: from a treebank to the table of his three algorithms.

What each of the commands binarize, split, train, parse and evaluate does, is done here stage by stage into
one folder; what an earlier run has finished is not done again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from mbrparse.decode.base.objectives import OBJECTIVES
from mbrparse.decode.base.parser_options import ParserOptions
from mbrparse.decode.parser.parse_input import Job
from mbrparse.decode.posteriors.posteriors_file import read_posteriors
from mbrparse.decode.posteriors.posteriors_writer import PosteriorsWriter
from mbrparse.evaluate.evaluation import evaluate_files, file_sources
from mbrparse.evaluate.report.pages import ReportOptions, write_report
from mbrparse.evaluate.report.sentence_records import THRESHOLD
from mbrparse.evaluate.settings import Settings
from mbrparse.evaluate.tables.criteria import COVERAGE, PAPER
from mbrparse.evaluate.trees.gold import Comparison
from mbrparse.experiments.kept_parses import parse_kept
from mbrparse.grammar.files.grammars import read_grammar
from mbrparse.grammar.grammar_file import read_rules, write_rules
from mbrparse.grammar.training.induce import train_by_counting
from mbrparse.io.files import atomic_outputs, open_output, read_lines
from mbrparse.io.log import Log, Progress, no_log, no_progress
from mbrparse.io.state_files import anything, mapping
from mbrparse.run.jobs import Jobs
from mbrparse.run.results import claim_folder, clear_left_overs, read_json
from mbrparse.treebank.brackets import read_tree_file
from mbrparse.treebank.categories import STRIP, read_label_map
from mbrparse.treebank.conventions import AS_USUAL, CorpusReading
from mbrparse.treebank.corpora import SourceTree
from mbrparse.treebank.places import write_placed
from mbrparse.treebank.prepare import OnError, Preparation, PreparationStatistics, prepare_corpora
from mbrparse.treebank.splits import length_note, split_fraction

_SETTINGS = Settings(Comparison(), (*PAPER, COVERAGE))

ALGORITHMS = ("labelled-tree", "labelled-recall", "bracketed-recall")


@dataclass(frozen=True)
class Corpus:
    """The treebank, and which of its trees are taken; see ``read_corpus`` and ``split``.

    Without ``seed`` the last ``test_fraction`` of the trees is parsed, with it as many drawn at random.
    """

    name: str
    max_length: int | None = 40
    test_fraction: str = "0.1"
    seed: int | None = None
    sections: str | None = None
    reading: CorpusReading = AS_USUAL
    on_error: OnError = "stop"
    functions: str = STRIP
    label_map: str | None = None

    def described(self) -> dict[str, str]:
        """The corpus and its division, for people."""
        sections = "" if self.sections is None else f", sections {self.sections}"
        longest = "" if self.max_length is None else f", up to {self.max_length} words"
        which = "the last" if self.seed is None else f"drawn at random (seed {self.seed})"
        return {
            "corpus": f"{self.name}{sections}{longest}",
            "split": f"{self.test_fraction} of the trees are parsed, {which}",
        }


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
            Stage(
                "parse",
                (*self._parses, self.folder / "details.jsonl", self.folder / "posteriors.npz"),
                self._parse,
            ),
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
        self._claim(files)
        clear_left_overs(self.folder, {path.name for path in files})
        done = list(itertools.takewhile(lambda stage: all(path.exists() for path in stage.files), stages))
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

    def _claim(self, files: list[Path]) -> None:
        """Take the folder for this corpus and these settings."""
        settings, path = asdict(self.corpus), self.folder / "settings.json"
        # A run that left nothing, of a misspelt corpus perhaps, has claimed nothing.
        empty = path.exists() and not any(file.exists() for file in files)
        if empty and read_json(path, mapping(anything)).keys() >= settings.keys():
            path.unlink()
        claim_folder(self.folder, settings, [file.name for file in files])

    @property
    def _parses(self) -> tuple[Path, ...]:
        return tuple(self.folder / f"{name}.mrg" for name in ALGORITHMS)

    def _binarize(self) -> None:
        corpus, statistics = self.corpus, PreparationStatistics()
        names = None if corpus.label_map is None else read_label_map(corpus.label_map)
        how = Preparation(functions=corpus.functions, max_length=corpus.max_length, label_map=names)
        prepared = prepare_corpora(
            [corpus.name],
            how,
            statistics,
            corpus.reading,
            sections=corpus.sections,
            on_error=corpus.on_error,
        )
        write_placed(self.progress(prepared, "binarizing"), self.folder / "binarized.mrg", self.log, False)
        for line in (str(statistics), *statistics.notes()):
            self.log(line)

    @atomic_outputs()
    def _split(self) -> None:
        trees, lengths = [], []
        for _, tree, _ in read_tree_file(self.folder / "binarized.mrg"):
            if tree is not None:
                trees.append(str(tree))
                lengths.append(len(tree.leaves()))
        parts = split_fraction(len(trees), self.corpus.test_fraction, self.corpus.seed)
        for name, part in zip(("train.mrg", "test.mrg"), parts, strict=True):
            with open_output(self.folder / name) as stream:
                stream.writelines(f"{trees[place]}\n" for place in part)
        self.log(f"{len(parts[0])} training trees, {len(parts[1])} test trees")
        remark = None if self.corpus.seed is not None else length_note(lengths, parts)
        if remark is not None:
            self.log(remark)

    def _train(self) -> None:
        path = self.folder / "train.mrg"
        count = self._lines(path)
        trees = (
            SourceTree(str(path), line, tree) for line, tree, _ in read_tree_file(path) if tree is not None
        )
        rules = train_by_counting(self.progress(trees, "training", count), "tags").rules
        write_rules(rules, self.folder / "grammar.txt")
        self.log(f"{count} trees, {len(rules.rules)} rules")

    def _parse(self) -> None:
        grammar = read_grammar(self.folder / "grammar.txt")
        options = ParserOptions(tuple(OBJECTIVES[name] for name in ALGORITHMS))
        test = self.folder / "test.mrg"
        job = Job(grammar, options, details=True, posteriors=True)
        # What a page draws of them; all would fill the disk.
        posteriors = PosteriorsWriter(grammar.labels, least=THRESHOLD), self.folder / "posteriors.npz"
        details = self.folder / "details.jsonl"
        account = parse_kept(job, test, self._parses, self.jobs, self.log, self.progress, details, posteriors)
        self.log(str(account))

    def _evaluate(self) -> None:
        count = self._lines(self.folder / "test.mrg")
        result = evaluate_files(
            str(self.folder / "test.mrg"),
            [str(path) for path in self._parses],
            _SETTINGS,
            self.log,
            lambda rows: self.progress(rows, "evaluating", count),
            details=[str(self.folder / "details.jsonl")],
        )
        with open_output(self.folder / "table.txt") as stream:
            stream.write(result.render("text"))

    def _report(self) -> None:
        gold, parses = file_sources(self.folder / "test.mrg", self._parses, _SETTINGS)
        train = self._lines(self.folder / "train.mrg")
        rules = read_rules(self.folder / "grammar.txt")
        options = ReportOptions(
            title=f"Goodman's three algorithms on {Path(self.corpus.name).name}",
            about={
                **({"command": self.command} if self.command else {}),
                **self.corpus.described(),
                "grammar": f"{len(rules.rules):,} rules, counted from {train:,} trees",
            },
            details=[self.folder / "details.jsonl"],
            posteriors=read_posteriors(self.folder / "posteriors.npz"),
            in_one_file=True,
        )
        count = self._lines(self.folder / "test.mrg")
        write_report(
            gold,
            parses,
            self.page,
            _SETTINGS,
            options,
            no_log,  # what there is to say evaluate has said
            lambda rows: self.progress(rows, "report", count),
        )

    def _lines(self, path: Path) -> int:
        """How many trees a file of ours holds: one stands on each line."""
        return sum(1 for _ in read_lines(path))
