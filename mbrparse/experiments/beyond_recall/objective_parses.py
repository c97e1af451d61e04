"""The gold and the parses of the experiment, each made once and kept in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mbrparse.decode.base.objectives import Objective
from mbrparse.decode.base.parser_options import ParserOptions
from mbrparse.decode.parser.parse_files import ParseAccount, write_parses
from mbrparse.decode.parser.parse_input import Job, parse_all
from mbrparse.decode.parser.sentences import read_chunks
from mbrparse.experiments.beyond_recall.compared_objectives import all_objectives, sweep
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.training.induce import induce
from mbrparse.io.errors import CorpusError
from mbrparse.io.files import open_output
from mbrparse.io.log import Log
from mbrparse.run.jobs import Jobs
from mbrparse.run.results import claim_folder, clear_left_overs, fingerprint, make_folder
from mbrparse.treebank.brackets import write_tree
from mbrparse.treebank.corpora import SourceTree
from mbrparse.treebank.prepare import Preparation, PreparationStatistics, prepare_corpora
from mbrparse.treebank.splits import split_fraction
from mbrparse.treebank.tree import Tree


@dataclass(frozen=True)
class Treebank:
    """Binarized trees over tags: those that the grammar is counted from, and the held-out last part."""

    spec: str
    train: Sequence[Tree]
    test: Sequence[Tree]


def read_treebank(spec: str, test_fraction: str, max_length: int, encoding: str, log: Log) -> Treebank:
    """Read, binarize and divide a corpus; raises CorpusError where nothing is held out."""
    statistics = PreparationStatistics()
    how = Preparation(max_length=max_length)
    trees = list(prepare_corpora([spec], how, statistics, encoding=encoding, on_error="skip"))
    log(str(statistics))
    parts = split_fraction(len(trees), test_fraction)
    if not parts.test:
        raise CorpusError(f"{len(trees)} trees leave none to hold out", remedy="raise --test-fraction")
    return Treebank(spec, [trees[place] for place in parts.train], [trees[place] for place in parts.test])


class ObjectiveParses:
    """A folder with the gold, the parses of every objective with their details, and those of the sweep."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def gold(self) -> Path:
        """The binarized held-out trees."""
        return self._folder / "gold.mrg"

    @property
    def details(self) -> Path:
        """What was expected of each tree."""
        return self._folder / "details.jsonl"

    def of(self, objective: str) -> Path:
        """The parses of an objective."""
        return self._folder / f"{objective}.mrg"

    def at_cost(self, objective: Objective) -> Path:
        """The parses of one objective of the sweep."""
        return self._folder / "sweep" / f"{objective.name}.mrg"

    def make(self, treebank: Treebank, jobs: Jobs, log: Log) -> None:
        """Make what is not there yet; raises InputMismatchError where that is of other settings."""
        settings = {"training trees": fingerprint(treebank.train), "test trees": fingerprint(treebank.test)}
        claim_folder(self._folder, settings, ["gold.mrg", "details.jsonl"])
        rows, costs = all_objectives(), sweep()
        make_folder(self._folder / "sweep")
        for folder in (self._folder, self._folder / "sweep"):
            clear_left_overs(
                folder, {path.name for path in (*map(self.at_cost, costs), self.details, self.gold)}
            )
        if not self.gold.exists():
            with open_output(self.gold) as stream:
                for tree in treebank.test:
                    write_tree(tree, stream)
        sources = (SourceTree("training", place, tree) for place, tree in enumerate(treebank.train, start=1))
        grammar = PCFG.from_rules(induce(sources, "tags"))
        if not self.details.exists():
            account = self._parse(grammar, rows, [self.of(row.name) for row in rows], self.details, jobs, log)
            log(str(account))
        if not all(self.at_cost(row).exists() for row in costs):
            self._parse(grammar, costs, [self.at_cost(row) for row in costs], None, jobs, log)

    def _parse(
        self,
        grammar: PCFG,
        rows: Sequence[Objective],
        paths: Sequence[Path],
        details: Path | None,
        jobs: Jobs,
        log: Log,
    ) -> ParseAccount:
        job = Job(grammar, ParserOptions(tuple(rows)), details is not None)
        return write_parses(parse_all(job, read_chunks(self.gold, "trees"), jobs, log), paths, details)
