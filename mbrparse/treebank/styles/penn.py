"""The Penn Treebank's style, and bracketed files of every other origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mbrparse.treebank.brackets import ReadTree, read_trees
from mbrparse.treebank.styles.style import Reading


def read_penn(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees as they are written."""
    return read_trees(lines, source, reading.on_error)
