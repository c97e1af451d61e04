"""One parser's parses, judged by the gold sentences one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mbrparse.evaluate.agreement import BinarizedForm
from mbrparse.evaluate.aligned import AlignedParses
from mbrparse.evaluate.compared import ComparedTrees, Tally, equal_pairs
from mbrparse.evaluate.gold import Comparison, GoldSentence, compared_labels
from mbrparse.evaluate.matches import Matches
from mbrparse.evaluate.outline import Brackets, outline
from mbrparse.evaluate.sources import TreeSource
from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.tree import Tree


class Judged(NamedTuple):
    """One parse against its gold sentence: its line, whether it is one, its N_G, and L, B, C."""

    line: int
    parsed: int
    guess: int
    matches: Matches


class Parses:
    """The parses of a source, read one sentence at a time."""

    def __init__(
        self, source: TreeSource, trees: Iterator[ReadTree], how: Comparison, tallies: Sequence[Tally] = ()
    ) -> None:
        """``trees`` are the source's, in the form that is compared."""
        self.name = source.name
        self._parses = AlignedParses(source, trees)
        self._how = how
        self._tallies = tallies
        self._form = BinarizedForm()

    def judge(self, gold: GoldSentence, later: Iterator[ReadTree]) -> Judged:
        """Compare the next parse with a gold sentence.

        ``later`` are the gold trees still to come: an error says how many there are in all.
        Raises InputMismatchError where there is no next parse, or one of another sentence.
        """
        line, tree = self._parses.next_of(gold, later)
        if tree is None:
            self._tell(gold, Brackets([], []), ())
            return Judged(line, 0, 0, Matches(0, 0, 0))
        read = outline(tree)
        self._parses.check(gold, read.leaves, later)
        place = self._parses.source.place(line)
        if self._how.form == "binarized":
            self._form.watch(read, place)
        labels = compared_labels(read, self._how.form, place)
        self._tell(gold, Brackets(read.spans, labels), read.leaves)
        return Judged(line, 1, len(read.spans), gold.reference.matches(read.spans, labels))

    def _tell(self, gold: GoldSentence, guess: Brackets, leaves: Sequence[Tree]) -> None:
        if not self._tallies:
            return
        tags = [[leaf.label for leaf in terminals] for terminals in (gold.leaves, leaves)]
        trees = ComparedTrees(gold.brackets, guess, equal_pairs(gold.brackets, guess), *tags)
        for tally in self._tallies:
            tally.add(trees)

    def finish(self, gold_source: str, sentences: int) -> None:
        """Raise where there are more parses than gold sentences, or all are in the other form."""
        self._parses.finish(gold_source, sentences)
        self._form.check()
