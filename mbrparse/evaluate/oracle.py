"""Files of candidates among the parses: their first trees, and the best that a choice among them could do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mbrparse.errors import MbrparseError
from mbrparse.evaluate.agreement import Form
from mbrparse.evaluate.criteria import MORE, PAPER
from mbrparse.evaluate.risk import TreeRates
from mbrparse.evaluate.sources import TreeFile, TreeSource, parse_files
from mbrparse.evaluate.unbinarized import OriginalForms
from mbrparse.files import STANDARD
from mbrparse.reporting import say_nothing
from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.candidate_files import is_candidate_file, read_candidates


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
        return OriginalForms(say_nothing).trees(source) if self.form == "original" else source.trees()


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
