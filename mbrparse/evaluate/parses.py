"""One parser's parses on their way through the gold sentences, one for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mbrparse.errors import InputMismatchError, MbrparseError
from mbrparse.evaluate.agreement import BinarizedForm, first_difference, no_trees
from mbrparse.evaluate.gold import Comparison, GoldSentence, compared_labels
from mbrparse.evaluate.label_tally import LabelTally
from mbrparse.evaluate.matches import Matches
from mbrparse.evaluate.outline import Brackets, Outline, outline
from mbrparse.evaluate.sources import TreeSource
from mbrparse.treebank.brackets import ReadTree


class Judged(NamedTuple):
    """One parse against its gold sentence: its line, whether it is one, its N_G, and L, B, C."""

    line: int
    parsed: int
    guess: int
    matches: Matches


class Parses:
    """The parses of a source, read one sentence at a time."""

    def __init__(
        self, source: TreeSource, trees: Iterator[ReadTree], how: Comparison, tally: LabelTally | None = None
    ) -> None:
        """``trees`` are the source's, in the form that is compared."""
        self.name = source.name
        self._source = source
        self._how = how
        self._trees = trees
        self._tally = tally
        self._form = BinarizedForm()
        self._count = 0
        self._line = 0

    def judge(self, gold: GoldSentence, later: Iterator[ReadTree]) -> Judged:
        """Compare the next parse with a gold sentence.

        ``later`` are the gold trees still to come: an error says how many there are in all.
        Raises InputMismatchError where there is no next parse, or one of another sentence.
        """
        found = next(self._trees, None)
        if found is None:
            raise self._ends_early(gold, later)
        self._count += 1
        self._line, tree = found
        if tree is None:
            if self._tally is not None:
                self._tally.add(gold.brackets, Brackets([], []))
            return Judged(self._line, 0, 0, Matches(0, 0, 0))
        read = outline(tree)
        place = self._source.place(self._line)
        if not gold.has_yield(read.leaves):
            raise self._differs(gold, read, later)
        if self._how.form == "binarized":
            self._form.watch(read, place)
        labels = compared_labels(read, self._how.form, place)
        if self._tally is not None:
            self._tally.add(gold.brackets, Brackets(read.spans, labels))
        return Judged(self._line, 1, len(read.spans), gold.reference.matches(read.spans, labels))

    def finish(self, gold_source: str, sentences: int) -> None:
        """Raise where there are more parses than gold sentences, or all are in the other form."""
        surplus = next(self._trees, None)
        if surplus is not None:
            total = self._count + 1 + _count(self._trees)
            raise self._mismatch(
                f"{total} parses, but {gold_source} holds {sentences} trees: this parse has none",
                surplus.line,
            )
        self._form.check()

    def _ends_early(self, gold: GoldSentence, later: Iterator[ReadTree]) -> MbrparseError:
        if not self._count:
            return no_trees(self._source.source)
        sentences = gold.number + _count(later)
        return self._mismatch(
            f"{self._count} parses, the last of them here, but the gold holds {sentences} trees: "
            f"that of {gold.place} has no parse",
            self._line,
        )

    def _differs(self, gold: GoldSentence, read: Outline, later: Iterator[ReadTree]) -> MbrparseError:
        """The error for another sentence than the gold's, one parse too many or too few perhaps."""
        message = f"not the sentence of {gold.place}: {first_difference(gold.leaves, read.leaves)}"
        total, sentences = self._count + _count(self._trees), gold.number + _count(later)
        if total != sentences:
            message = (
                f"{total} parses, but the gold holds {sentences} trees; from here on they part: {message}"
            )
        return self._mismatch(message, self._line)

    def _mismatch(self, message: str, line: int) -> InputMismatchError:
        return self._source.place(line).error(
            InputMismatchError,
            message,
            "give one parse for each gold tree, in the gold's order ('(())' or None where there is none)",
        )


def _count(trees: Iterator[ReadTree]) -> int:
    return sum(1 for _ in trees)
