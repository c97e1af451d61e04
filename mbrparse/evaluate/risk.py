"""The scores of one sentence's candidates: against each other, and against the gold (the oracle)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mbrparse.evaluate.tables.count_table import Columns
from mbrparse.evaluate.tables.criteria import MORE, PAPER
from mbrparse.evaluate.trees.agreement import Form, Place
from mbrparse.evaluate.trees.gold import Comparison, GoldSentence, OriginalForms, compared_labels
from mbrparse.evaluate.trees.matches import Brackets, Matches, outline
from mbrparse.evaluate.trees.sources import TreeFile, TreeSource, parse_files
from mbrparse.io.errors import MbrparseError
from mbrparse.io.files import STANDARD
from mbrparse.io.log import no_log
from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.candidate_files import is_candidate_file, read_candidates
from mbrparse.treebank.tree import Tree

FloatArray = npt.NDArray[np.float64]

_PLACE = Place("the trees compared", 1, "sentence")


class TreeRates:
    """The rates that trees have by a criterion if another one is the correct one.

    Trees are compared in a form, as ``evaluate`` compares them. Raises MbrparseError for a criterion that
    there is not.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> trees = [read_tree("(S a (A b c))"), read_tree("(S (A a b) c)")]
    >>> TreeRates("labelled_f")(trees).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """

    def __init__(self, criterion: str, form: Form = "binarized") -> None:
        known = {one.name: one for one in PAPER + MORE}
        name = criterion.replace("-", "_")
        if name not in known:
            raise MbrparseError(f"no criterion is called {criterion!r}", remedy=f"one of {', '.join(known)}")
        self._criterion = known[name]
        self._how = Comparison(form, unaries=form == "binarized")

    def __repr__(self) -> str:
        return f"TreeRates({self._criterion.name!r}, {self._how.form!r})"

    def __call__(self, trees: Sequence[Tree]) -> FloatArray:
        """The rates [guessed, correct], 0 to 1; 1 where there is nothing to count."""
        guessed = [self._read(tree) for tree in trees]
        return np.stack([self._rates(correct, guessed) for correct in trees], axis=1)

    def against(self, correct: Tree, guessed: Sequence[Tree]) -> FloatArray:
        """The rates of trees, of which one is the correct one."""
        return self._rates(correct, [self._read(tree) for tree in guessed])

    def _read(self, tree: Tree) -> Brackets:
        read = outline(tree)
        return Brackets(read.spans, compared_labels(read, self._how.form, _PLACE))

    def _rates(self, correct: Tree, guessed: Sequence[Brackets]) -> FloatArray:
        gold = GoldSentence(1, 1, correct, self._how, _PLACE.source, _PLACE.unit)
        rows = [
            (1, gold.constituents, len(one.spans), *gold.reference.matches(one.spans, one.labels))
            for one in guessed
        ]
        counts = Columns.of_rows(["parsed", "gold", "guess", *Matches._fields], rows)
        above = self._criterion.numerator(counts).astype(np.float64)
        below = self._criterion.denominator(counts).astype(np.float64)
        rates = np.ones(len(rows))
        np.divide(above, below, out=rates, where=below > 0)
        return rates


@dataclass(frozen=True)
class FirstCandidates(TreeFile):
    """The first candidate of each sentence."""

    def trees(self) -> Iterator[ReadTree]:
        """Raises BracketError, CorpusError, FileError."""
        for candidates in read_candidates(self.path, self.encoding):
            yield ReadTree(candidates[0].line, candidates[0].tree)


@dataclass(frozen=True)
class AllCandidates(TreeFile):
    """All candidates, one after the other."""

    def trees(self) -> Iterator[ReadTree]:
        """Raises BracketError, CorpusError, FileError."""
        for candidates in read_candidates(self.path, self.encoding):
            yield from (ReadTree(one.line, one.tree) for one in candidates)


@dataclass(frozen=True, kw_only=True)
class Oracle(TreeFile):
    """Of each sentence the candidate with the best rate by a criterion; of equal ones the first.

    Trees are compared in a form, as everywhere in an evaluation.
    """

    gold: TreeFile
    criterion: str
    form: Form

    def trees(self) -> Iterator[ReadTree]:
        """Raises BracketError, CorpusError, FileError, and LabelError."""
        rates = TreeRates(self.criterion, self.form)
        correct = (tree for _, tree in self._compared(self.gold))
        compared = (tree for _, tree in self._compared(AllCandidates(self.name, self.path, self.encoding)))
        for candidates in read_candidates(self.path, self.encoding):
            gold = next(correct, None)
            trees = [next(compared) for _ in candidates]
            best = candidates[0]
            if gold is not None:
                there = [place for place, tree in enumerate(trees) if tree is not None]
                found = rates.against(gold, [tree for tree in trees if tree is not None])
                if there:
                    best = candidates[there[int(found.argmax())]]
            yield ReadTree(best.line, best.tree)

    def _compared(self, source: TreeSource) -> Iterator[ReadTree]:
        return OriginalForms(no_log).trees(source) if self.form == "original" else source.trees()


def sources_of(
    paths: Sequence[str | Path], gold: TreeFile, criterion: str | None, form: Form, encoding: str = "utf-8"
) -> list[TreeFile]:
    """Parse files as they are; of a file of candidates the first ones, and then the best by a criterion.

    That is labelled F unless the criterion is one of counts. Raises MbrparseError for a gold that cannot be
    read once for the choice and once for the comparison.
    """
    if criterion not in {one.name for one in PAPER + MORE}:
        criterion = "labelled_f"
    sources: list[TreeFile] = []
    for source in parse_files(paths, encoding):
        if not is_candidate_file(source.path, encoding):
            sources.append(source)
            continue
        if str(gold.path) == STANDARD:
            raise MbrparseError(
                "standard input cannot be read twice, for the best of the candidates and to compare them",
                remedy="give GOLD as a file",
            )
        sources.append(FirstCandidates(source.name, source.path, encoding))
        name = f"{source.name}:oracle"
        sources.append(Oracle(name, source.path, encoding, gold=gold, criterion=str(criterion), form=form))
    return sources
