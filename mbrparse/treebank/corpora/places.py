"""Where the trees of a file are in their corpus: source, line and ID, kept beside FILE as ``FILE.places``.

Other programs read files of trees, so nothing is put into these. The first line of a sidecar has the format's
version and the digest of FILE, as ``sha256sum`` prints it; row N below it is of the tree on line N of FILE,
since files that are written here have one tree a line. Where there is no sidecar, or none of FILE as it is
now, a tree's place is FILE and its line.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from mbrparse.errors import MbrparseError, visible
from mbrparse.files import SIDECAR, atomic_outputs, open_input, open_output, read_lines, sidecar
from mbrparse.log import Log
from mbrparse.treebank.brackets import EMPTY_PARSE
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.tree import Tree

#: The names of a place's columns.
COLUMNS = ("source", "line", "id")

_HEADER = "# mbrparse places 1, sha256 of the trees {}\n"
_ROW = re.compile(r"[^\t]*\t[0-9]{1,15}\t[^\t]*\n")
_BLOCK = 2**20


class CorpusPlace(NamedTuple):
    """A tree's file in its corpus, the line that it begins on (from 1), and what the corpus calls it.

    >>> str(CorpusPlace("a.psd", 7, "1850.A,.3")), str(CorpusPlace("a.mrg", 7))
    ('a.psd:7 1850.A,.3', 'a.mrg:7')
    """

    source: str
    line: int
    id: str = ""

    def __str__(self) -> str:
        return f"{self.source}:{self.line} {self.id}".rstrip()


class Places:
    """The places of trees in any number of files, whose sidecars are read when they are first asked for.

    A sidecar that cannot be used is logged, in one line.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._rows: dict[str, list[str] | None] = {}

    def known(self, path: str) -> bool:
        """Whether this file has a sidecar."""
        if path not in self._rows:
            self._rows[path] = self._read(path)
        return self._rows[path] is not None

    def of(self, path: str, line: int, id: str = "") -> CorpusPlace:
        """The place of the tree on a line of a file; without a sidecar that line, and this ID."""
        rows = self._rows[path] if self.known(path) else None
        if rows is None or line > len(rows):
            return CorpusPlace(path, line, id)
        source, number, name = rows[line - 1].rstrip("\n").split("\t")
        return CorpusPlace(source, int(number), name)

    def _read(self, path: str) -> list[str] | None:
        beside = f"{path}{SIDECAR}"
        if not (os.path.isfile(path) and os.path.isfile(beside)):
            return None
        try:
            lines = list(read_lines(beside))
            digest, count = _digest(path)
            if lines[:1] != [_HEADER.format(digest)]:
                raise MbrparseError(f"no places of {path} as it is now", source=beside)
            if len(lines) - 1 != count:
                raise MbrparseError(f"{len(lines) - 1} places, {path} has {count} lines", source=beside)
            for number, line in enumerate(lines[1:], start=2):
                if _ROW.fullmatch(line) is None:
                    raise MbrparseError("no row of source, line and ID", source=beside, line=number)
        except MbrparseError as error:
            where = f"{error.source}:{error.line}" if error.line else error.source
            remedy = "binarize or split once more, or delete it"
            self._log(f"{where}: {error.message}; not used: {remedy}")
            return None
        return lines[1:]


def _digest(path: str) -> tuple[str, int]:
    """The digest of a file, and its number of lines."""
    digest, lines = hashlib.sha256(), 0
    with open_input(path) as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
            lines += block.count(b"\n")
    return digest.hexdigest(), lines


#: Writes a tree (None: the empty parse), or its text, and its place.
WriteTree = Callable[[Tree | str | None, CorpusPlace], None]


@contextmanager
def open_trees(path: str | Path, places: bool = True) -> Iterator[WriteTree]:
    """Open a file of trees (``-``: standard output) and its sidecar; both are complete, or neither is there.

    Without ``places`` there is none, and an older one goes. Raises FileError where one cannot be written.
    """
    beside = sidecar(path) if places else None
    digest = hashlib.sha256()
    with atomic_outputs(), ExitStack() as outputs:
        # The sidecar is the second to be replaced: of a run that ends between the two it is of other trees.
        trees = outputs.enter_context(open_output(path))
        rows = None if beside is None else outputs.enter_context(open_output(beside))

        def write(tree: Tree | str | None, place: CorpusPlace) -> None:
            text = f"{EMPTY_PARSE if tree is None else tree}\n"
            trees.write(text)
            if rows is not None:
                digest.update(text.encode(errors="backslashreplace"))
                rows.write("\t".join((visible(place.source), str(place.line), visible(place.id))) + "\n")

        if rows is not None:
            rows.write(_HEADER.format(digest.hexdigest()))
        yield write
        if rows is not None:
            rows.seek(0)
            rows.write(_HEADER.format(digest.hexdigest()))
    old = None if places else sidecar(path)
    if old is not None and os.path.isfile(old) and next(read_lines(old), "")[:17] == _HEADER[:17]:
        os.unlink(old)


def write_trees(trees: Iterable[SourceTree], path: str | Path, log: Log, places: bool = True) -> None:
    """Write trees and their places, those of the files that they were read from, where these have some."""
    known = Places(log)
    with open_trees(path, places) as write:
        for source, line, tree, name in trees:
            write(tree, known.of(source, line, name))
