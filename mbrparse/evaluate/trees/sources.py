"""The sources of the trees that are compared (files or lists), and their parses aligned with the gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from mbrparse.evaluate.trees.agreement import Place, Unit, first_difference, no_trees, yields_agree
from mbrparse.io.errors import InputMismatchError, MbrparseError
from mbrparse.io.files import STANDARD, read_lines, source_name
from mbrparse.treebank.brackets import EMPTY_PARSE, ReadTree, read_parse_file
from mbrparse.treebank.tree import Tree


class TreeSource(Protocol):
    """Trees of sentences, one after the other, and what they are called."""

    @property
    def name(self) -> str:
        """In tables and signatures."""
        ...

    @property
    def source(self) -> str:
        """What messages call it."""
        ...

    @property
    def unit(self) -> Unit:
        """What its trees are counted by."""
        ...

    def trees(self) -> Iterator[ReadTree]:
        """Its trees (None: no parse), each with its line or number, from 1."""
        ...

    def lines(self) -> Iterator[str]:
        """The lines of its file."""
        ...

    def place(self, number: int) -> Place:
        """Where the tree of this line or number is."""
        ...


@dataclass(frozen=True)
class TreeFile:
    """A gold or a parse file (``-``: standard input), which can be read once."""

    name: str  #: in tables and signatures
    path: str | Path
    encoding: str = "utf-8"
    unit: ClassVar[Unit] = "line"

    @property
    def source(self) -> str:
        """What messages call it."""
        return source_name(self.path)

    def trees(self) -> Iterator[ReadTree]:
        """Its trees (None: an empty parse) and their 1-based lines; raises BracketError, FileError."""
        return read_parse_file(self.path, self.encoding)

    def lines(self) -> Iterator[str]:
        """Its lines as they are; raises FileError."""
        return read_lines(self.path, self.encoding)

    def place(self, number: int) -> Place:
        """Where the tree of that line is."""
        return Place(self.source, number, self.unit)


@dataclass(frozen=True)
class TreesInMemory:
    """Trees (None: no parse), one for each sentence; sentences count from 1."""

    name: str  #: in tables and signatures
    source: str  #: what messages call them
    sentences: Sequence[Tree | None]
    unit: ClassVar[Unit] = "sentence"

    def trees(self) -> Iterator[ReadTree]:
        """The trees and the numbers of their sentences; raises InputMismatchError at what is no tree."""
        for number, tree in enumerate(self.sentences, start=1):
            if not (tree is None or isinstance(tree, Tree)):
                raise self.place(number).error(
                    InputMismatchError,
                    f"a {type(tree).__name__}, not a Tree",
                    "Tree.from_nltk and read_tree make trees of NLTK's and of brackets",
                )
            yield ReadTree(number, tree)

    def lines(self) -> Iterator[str]:
        """The lines of the file that the trees would be written to; raises as ``trees`` does."""
        return (f"{EMPTY_PARSE if tree is None else tree}\n" for _, tree in self.trees())

    def place(self, number: int) -> Place:
        """Where the tree of that sentence is."""
        return Place(self.source, number, self.unit)


def gold_file(path: str | Path, encoding: str = "utf-8") -> TreeFile:
    """A gold file, under its own name."""
    return TreeFile("stdin" if str(path) == STANDARD else Path(path).name, path, encoding)


def parse_files(paths: Sequence[str | Path], encoding: str = "utf-8", prefix: str = "") -> list[TreeFile]:
    """Parse files, under short names of their own (see ``distinct_names``)."""
    return [
        TreeFile(prefix + name, path, encoding)
        for name, path in zip(distinct_names(paths), paths, strict=True)
    ]


_STEPS: list[Callable[[Path], str]] = [
    lambda path: path.stem,
    lambda path: f"{path.parent.name}/{path.stem}" if path.parent.name else path.name,
    str,
]


def distinct_names(paths: Sequence[str | Path]) -> list[str]:
    """The files' stems; where equal, with the folder before it, or the whole path, or a number.

    >>> distinct_names(["a/viterbi.mrg", "b/viterbi.mrg", "c/recall.mrg", "-"])
    ['a/viterbi', 'b/viterbi', 'recall', 'stdin']
    >>> distinct_names(["x/p.mrg", "x/p.ptb", "q.mrg", "q.mrg"])
    ['x/p.mrg', 'x/p.ptb', 'q.mrg', 'q.mrg#2']
    """
    known = [Path("stdin" if str(path) == STANDARD else path) for path in paths]
    names = [path.stem for path in known]
    for step in _STEPS[1:]:
        clashes = {name for name, count in Counter(names).items() if count > 1}
        names = [step(path) if name in clashes else name for name, path in zip(names, known, strict=True)]
    seen: Counter[str] = Counter()
    numbered = []
    # What of a file's name is no text cannot be written as such.
    for name in (name.encode("utf-8", "backslashreplace").decode() for name in names):
        seen[name] += 1
        numbered.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return numbered


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
