"""Trees on their way through an evaluation: what a page shows of each is kept, the tree is not."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from sys import intern
from typing import NamedTuple

from mbrparse.errors import MbrparseError
from mbrparse.evaluate.agreement import Place, Unit
from mbrparse.evaluate.outline import outline
from mbrparse.evaluate.report.label_numbers import LabelNumbers
from mbrparse.evaluate.sources import TreeSource
from mbrparse.treebank.brackets import ReadTree, read_tree
from mbrparse.treebank.tree import Tree


class Shown(NamedTuple):
    """A tree as it stands in its file.

    ``tags`` are None where no terminal has a word under it; ``nodes`` are label number, start and end of its
    constituents, one after the other, parents before children.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] | None
    nodes: array[int]


class KeptSource:
    """A source of trees that keeps what passes, one for each sentence (None: no parse)."""

    def __init__(self, source: TreeSource, labels: LabelNumbers) -> None:
        self._source = source
        self._labels = labels
        self.kept: list[Shown | None] = []

    @property
    def name(self) -> str:
        """In tables and signatures."""
        return self._source.name

    @property
    def source(self) -> str:
        """What messages call it."""
        return self._source.source

    @property
    def unit(self) -> Unit:
        """What its trees are counted by."""
        return self._source.unit

    def place(self, number: int) -> Place:
        """Where the tree of this line or number is."""
        return self._source.place(number)

    def trees(self) -> Iterator[ReadTree]:
        """The source's; raises what it raises."""
        for read in self._source.trees():
            self._keep(read.tree)
            yield read

    def lines(self) -> Iterator[str]:
        """The source's; a line that is no tree for us may be one for EVALB, and is kept as none."""
        for line in self._source.lines():
            self._keep(_tree(line))
            yield line

    def _keep(self, tree: Tree | None) -> None:
        if tree is None:
            self.kept.append(None)
            return
        read = outline(tree)
        words = tuple(intern(leaf.label if leaf.word is None else leaf.word) for leaf in read.leaves)
        bare = all(leaf.word is None for leaf in read.leaves)
        tags = None if bare else tuple(intern(leaf.label) for leaf in read.leaves)
        nodes = array("i")
        for (start, end), label in zip(read.spans, read.labels, strict=True):
            nodes.extend((self._labels.number(label), start, end))
        self.kept.append(Shown(words, tags, nodes))


def _tree(line: str) -> Tree | None:
    try:
        return read_tree(line) if line.strip() else None
    except MbrparseError:
        return None
