"""Gold sentences and one parser's parses of them, side by side: the same sentences, in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mbrparse.errors import InputMismatchError, MbrparseError
from mbrparse.evaluate.agreement import Place, Unit, first_difference, no_trees, yields_agree
from mbrparse.evaluate.sources import TreeSource
from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.tree import Tree


class Sentence:
    """A gold sentence: its number (from 1), where its tree is, and its terminals."""

    def __init__(
        self, number: int, line: int, leaves: Sequence[Tree], source: str, unit: Unit = "line"
    ) -> None:
        self.number = number
        self.line = line
        self.place = Place(source, line, unit)
        self.leaves = leaves
        self._words = [leaf.word for leaf in leaves]

    def has_yield(self, leaves: Sequence[Tree]) -> bool:
        """Whether these terminals are the sentence's."""
        words = [leaf.word for leaf in leaves]
        if words == self._words and None not in words:  # most often
            return True
        return yields_agree(self.leaves, leaves)


class AlignedParses:
    """The parses of a source, read one sentence at a time."""

    def __init__(self, source: TreeSource, trees: Iterator[ReadTree]) -> None:
        """``trees`` are the source's, in the form that is compared."""
        self.source = source
        self._trees = trees
        self._count = 0
        self._line = 0

    def next_of(self, gold: Sentence, later: Iterator[ReadTree]) -> ReadTree:
        """The next parse, which may be empty.

        ``later`` are the gold trees still to come: an error says how many there are in all. Raises
        InputMismatchError where there is no next parse.
        """
        found = next(self._trees, None)
        if found is None:
            raise self._ends_early(gold, later)
        self._count += 1
        self._line = found.line
        return found

    def check(self, gold: Sentence, leaves: Sequence[Tree], later: Iterator[ReadTree]) -> None:
        """Raise InputMismatchError where the parse that came last has another sentence's terminals."""
        if gold.has_yield(leaves):
            return
        message = f"not the sentence of {gold.place}: {first_difference(gold.leaves, leaves)}"
        total, sentences = self._count + _count(self._trees), gold.number + _count(later)
        if total != sentences:
            message = (
                f"{total} parses, but the gold holds {sentences} trees; from here on they part: {message}"
            )
        raise self._mismatch(message, self._line)

    def finish(self, gold_source: str, sentences: int) -> None:
        """Raise InputMismatchError where there are more parses than gold sentences."""
        surplus = next(self._trees, None)
        if surplus is not None:
            total = self._count + 1 + _count(self._trees)
            raise self._mismatch(
                f"{total} parses, but {gold_source} holds {sentences} trees: this parse has none",
                surplus.line,
            )

    def _ends_early(self, gold: Sentence, later: Iterator[ReadTree]) -> MbrparseError:
        if not self._count:
            return no_trees(self.source.source)
        sentences = gold.number + _count(later)
        return self._mismatch(
            f"{self._count} parses, the last of them here, but the gold holds {sentences} trees: "
            f"that of {gold.place} has no parse",
            self._line,
        )

    def _mismatch(self, message: str, line: int) -> InputMismatchError:
        return self.source.place(line).error(
            InputMismatchError,
            message,
            "give one parse for each gold tree, in the gold's order ('(())' or None where there is none)",
        )


def _count(trees: Iterator[ReadTree]) -> int:
    return sum(1 for _ in trees)
