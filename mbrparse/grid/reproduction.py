"""Goodman's second experiment, end to end: from a treebank to the table of his three algorithms.

The one cell's stages leave their files in a folder; what an earlier run has finished is not done again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from mbrparse.decode.posteriors.posteriors_file import read_posteriors
from mbrparse.errors import FileError
from mbrparse.evaluate.align import BinarizedForm, Place
from mbrparse.evaluate.compare.evaluation import EvaluationSettings, evaluate_files, file_sources
from mbrparse.evaluate.counts import Comparison
from mbrparse.evaluate.criteria import COVERAGE, DASH, PAPER
from mbrparse.evaluate.report.pages import ReportOptions, write_report
from mbrparse.evaluate.report.records import THRESHOLD
from mbrparse.evaluate.tables import cells, lay_out, render
from mbrparse.files import make_folder, open_output, read_lines
from mbrparse.grid.cells import GridCell
from mbrparse.log import Log, Progress, no_log, no_progress
from mbrparse.program import program
from mbrparse.settings import check_settings, save, settings_of
from mbrparse.treebank.brackets import read_parse_file
from mbrparse.treebank.outlines import outline

ALGORITHMS = ("labelled-tree", "labelled-recall", "bracketed-recall")
#: Goodman's own figures of the criteria ``PAPER``, per cent. His Bracketed Recall chose no labels.
TABLE_2 = {
    "Label Tree": ("4.54", "48.60", "60.98", "66.35", "12.07"),
    "Label Recall": ("3.71", "49.66", "61.34", "68.39", "11.63"),
    "Bracket Recall": ("0.11", "4.51", "61.63", "68.17", "11.19"),
}
_ANOTHER = "give another folder: -o DIR"


class Stage(NamedTuple):
    """A stage, the files that it leaves (the last one says that all are there), and what it does."""

    name: str
    files: tuple[Path, ...]
    run: Callable[[], None]


@dataclass(frozen=True)
class Reproduction:
    """The stages of a corpus's cell; ``log`` is called after each, ``progress`` within."""

    corpus: str
    cell: GridCell
    log: Log = no_log
    progress: Progress = no_progress
    command: str | None = None  #: as it was typed, for the page

    @property
    def page(self) -> Path:
        """The page with all sentences behind the table."""
        return self.cell.path("report.html")

    @property
    def stages(self) -> tuple[Stage, ...]:
        """All of them, in order."""
        trees, train, test, grammar, details, table = map(
            self.cell.path,
            ("binarized.mrg", "train.mrg", "test.mrg", "grammar.txt", "details.jsonl", "table.txt"),
        )
        return (
            Stage("binarize", (trees,), lambda: self.cell.run("binarize", self.corpus, output=trees)),
            Stage("split", (train, test), lambda: self.cell.split(trees)),
            Stage("train", (grammar,), self.cell.train),
            Stage("parse", (*self.cell.parses, *self._posteriors, details), self._parse),
            Stage("evaluate", (table,), self._evaluate),
            Stage("report", (self.page,), self._report),
        )

    def run(self) -> str:
        """Do what is not done yet; return the table.

        Raises InputMismatchError for a folder of other settings, FileError for one that holds files and says
        not of what, and what the stages raise.
        """
        make_folder(self.cell.folder)
        stages = self.stages
        done = list(takewhile(lambda stage: all(path.exists() for path in stage.files), stages))
        self._claim(done)
        if done:
            names = ", ".join(stage.name for stage in done)
            self.log(f"{self.cell.folder} holds what {names} left: not done again")
        left = stages[len(done) :]
        # What was made of files that are made anew is no longer true.
        for path in (path for stage in left for path in stage.files):
            path.unlink(missing_ok=True)
        for number, stage in enumerate(left, start=len(done) + 1):
            self.log(f"stage {number} of {len(stages)}: {stage.name}")
            stage.run()
        return "".join(read_lines(self.cell.path("table.txt")))

    def _claim(self, done: list[Stage]) -> None:
        """Take the folder for these settings; those of stages that are not done may be others than before."""
        options, path = self.cell.options, self.cell.path("settings.json")
        now: dict[str, object] = {stage: list(words) for stage, words in options.items()}
        now |= {"program": program(), "binarize": [self.corpus, *options["binarize"]]}
        now["parse"] = [*self.cell.objectives, *options["parse"]]
        if done:
            kept, used = settings_of(path), now.keys() & {"program", *(stage.name for stage in done)}
            if kept is None:
                message = "results, but no settings.json says of what"
                raise FileError(message, source=str(done[0].files[0]), remedy=_ANOTHER)
            before, after = ({name: of.get(name) for name in sorted(used)} for of in (kept, now))
            check_settings(path, before, after, _ANOTHER)
        save(path, None, now)

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
        self.cell.parse(*words, *[f"--least={THRESHOLD}"] * len(words))

    @cached_property
    def _settings(self) -> EvaluationSettings:
        """N-ary trees, as several objectives write, are compared in original form, and then all are."""
        how = Comparison(unaries=self._has_unaries)
        return EvaluationSettings(
            Comparison("original") if any(map(_is_nary, self.cell.parses)) else how, (*PAPER, COVERAGE)
        )

    def _evaluate(self) -> None:
        gold, details = self.cell.path("test.mrg"), [self.cell.path("details.jsonl")]
        count = _lines(gold)
        summary = evaluate_files(
            gold,
            self.cell.parses,
            self._settings,
            self.log,
            lambda rows: self.progress(rows, "evaluating", count),
            details=details,
        ).summary
        names = [""] * (summary.significance is not None)
        width = 1 + len(names) + len(summary.criteria)
        rows = [[name, *names, *figures] for name, figures in TABLE_2.items()]
        rows = [[*row, *[DASH] * (width - len(row))] for row in rows]
        published = lay_out([cells(summary)[0], *rows], "text", 1 + len(names))
        title = "Published, on other data: Goodman (1996), Table 2, Penn Treebank 0.5"
        with open_output(self.cell.path("table.txt")) as stream:
            stream.write(render(summary, below=["", title, "", *published]))

    def _report(self) -> None:
        test, objectives = self.cell.path("test.mrg"), ", ".join(self.cell.objectives)
        gold, parses = file_sources(test, self.cell.parses, self._settings)
        given = {stage: " ".join(words) for stage, words in self.cell.options.items() if words}
        trained, count = _lines(self.cell.path("train.mrg")), _lines(test)
        options = ReportOptions(
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
        write_report(
            gold,
            parses,
            self.page,
            self._settings,
            options,
            no_log,  # what there is to say evaluate has said
            lambda rows: self.progress(rows, "report", count),
        )


def _lines(path: Path) -> int:
    """How many trees a file of ours holds: one stands on each line."""
    return sum(1 for _ in read_lines(path))


def _is_nary(path: Path) -> bool:
    form = BinarizedForm()
    for line, tree, _ in read_parse_file(path):
        if tree is not None:
            form.add(outline(tree), Place(str(path), line))
    return form.nary is not None
