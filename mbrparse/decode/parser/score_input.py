"""Scoring a whole input of given trees with several workers: one row for each tree, in order."""

from __future__ import annotations

import itertools
import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from mbrparse.decode.parser.parse_files import Lines
from mbrparse.decode.parser.score import COLUMNS, Form, FoundForm, GivenTree, Row, Scorer, find_form
from mbrparse.decode.parser.sentences import Sentence
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import TerminalKind
from mbrparse.grammar.unknown_words import UnknownKind
from mbrparse.log import Log, Progress, no_progress
from mbrparse.run.in_order import WORKER_DIED, Chunk, Part, Parts
from mbrparse.training.count import train_by_counting
from mbrparse.treebank.binarize import phrase_labels, translated_trees, watched
from mbrparse.treebank.brackets import read_trees
from mbrparse.treebank.corpora.reading import SourceTree, no_trees
from mbrparse.treebank.labels import LabelMarks


def given_trees(chunk: Chunk, marks: LabelMarks, form: Form | None) -> Iterator[GivenTree]:
    """Yield the trees of a chunk, those with ``marks`` translated, and unless binarized debinarized."""
    read = read_trees(chunk.lines, chunk.source, first_line=chunk.first_line)
    for one in translated_trees(read, marks, form != "binarized"):
        yield GivenTree(chunk.source, one.line, one.tree)


def look_at(trees: Iterable[GivenTree], source: str, wanted: Form | None, log: Log) -> FoundForm:
    """The form of the trees of an input, as ``find_form``; ``log`` is told of labels of another program's.

    Raises CorpusError where there are no trees.
    """
    spoken = (one for one in trees if one.tree is not None)
    there = watched(spoken, lambda one: phrase_labels(one.tree), source, log)
    if (first := next(there, None)) is None:
        raise no_trees(source)
    return find_form(itertools.chain([first], there), wanted)


class Jackknife(NamedTuple):
    """What scores each part of an input, ``borders`` the lines on which the parts but the first begin."""

    sources: tuple[PCFG | GivenPosteriors, ...]
    borders: tuple[int, ...]

    @classmethod
    def of(
        cls, trees: Iterable[GivenTree], most: int, terminals: TerminalKind, progress: Progress = no_progress
    ) -> Jackknife:
        """Parts of consecutive binarized trees, with the grammar that ``train`` counts of each part's rest.

        There are at ``most`` so many, none without a tree. Raises GrammarError for trees that are not binary.
        """
        kept = [SourceTree(file, line, tree) for file, line, tree in trees if tree is not None]
        parts = min(most, len(kept))
        borders = tuple(kept[len(kept) * part // parts].line for part in range(1, parts))
        unknown: UnknownKind | None = "signature" if terminals == "words" else None
        grammars = []
        for part in progress(range(parts), "training", parts):
            rest = (one for one in kept if bisect_right(borders, one.line) != part)
            grammars.append(PCFG.from_rules(train_by_counting(rest, terminals, unknown).rules))
        return cls(tuple(grammars), borders)


@dataclass(frozen=True)
class ScoreJob:
    """What trees are scored with, their form and marks, and the options of a ``Scorer``."""

    knives: Jackknife
    form: Form
    marks: LabelMarks
    options: Mapping[str, Any]
    title: ClassVar[str] = "scoring"

    def worker(self) -> ScoreWorker:
        """What makes its lines."""
        return ScoreWorker(self)


class ScoreWorker:
    """Scores trees; its lines hold rows instead of trees, without the numbers of sentences."""

    def __init__(self, job: ScoreJob) -> None:
        self._job = job
        self._part, self._scorer = 0, self._scorer_of(0)
        self.source = self._scorer.source

    def _scorer_of(self, part: int) -> Scorer:
        return Scorer(self._job.knives.sources[part], self._job.form, **self._job.options)

    def parts(self, parts: Parts) -> list[list[Lines]]:
        """The lines of each part of the input."""
        return [self._lines(self._given(part)) for part in parts]

    def whole(self, chunk: Chunk, first: int) -> list[Lines]:
        """The lines of a chunk that comes after ``first`` trees."""
        return self._lines(self._given(Part(chunk)), first)

    def lines(self, sentences: Iterable[Sentence]) -> object:
        """Fill charts of sentences, so that kernels are compiled."""
        return [self.source.evidence(sentence) for sentence in sentences]

    def refused(self, part: Part) -> list[Lines]:
        """The lines of trees that workers died of."""
        row: Row = {**dict.fromkeys(COLUMNS), "nodes": None, "reason": WORKER_DIED}
        trees = self._given(part)
        return [_line({**row, "length": len(one.tree.leaves()) if one.tree else 0}, one) for one in trees]

    def _given(self, part: Part) -> list[GivenTree]:
        trees = given_trees(part.chunk, self._job.marks, self._job.form)
        return list(itertools.islice(trees, part.first, part.last))

    def _lines(self, trees: list[GivenTree], first: int = 0) -> list[Lines]:
        lines, borders = list[Lines](), self._job.knives.borders
        for part, found in itertools.groupby(trees, lambda one: bisect_right(borders, one.line)):
            if part != self._part:
                self._part, self._scorer = part, self._scorer_of(part)
            group = list(found)
            lines += map(_line, self._scorer.rows(group, first + len(lines)), group)
        return lines


def _line(row: Row, given: GivenTree) -> Lines:
    reason = row["reason"] or row["tree_reason"]
    del row["sentence"]
    row["line"] = given.line
    return Lines((json.dumps(row, allow_nan=False),), None, reason)
