"""Where the trees that are compared come from: files, or memory. What compares them cannot tell which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from mbrparse.errors import InputMismatchError
from mbrparse.evaluate.agreement import Place, Unit
from mbrparse.evaluate.names import distinct_names
from mbrparse.files import STANDARD, read_lines, source_name
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
