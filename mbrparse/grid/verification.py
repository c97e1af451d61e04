"""Whether files are those that a signature names: by the digests of their bytes, or of the trees in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mbrparse.errors import MbrparseError
from mbrparse.evaluate.align import Digest, gold_file
from mbrparse.grid.cells import CellCounts
from mbrparse.grid.grid_tables import cells_digest
from mbrparse.program import sources
from mbrparse.settings import file_digest, load
from mbrparse.treebank.corpora.reading import corpus_digest

_PAIR = re.compile(r"([^,|]+)=([0-9a-f]{10})(?=[,|]|$)")


class Verified(NamedTuple):
    """Of a file or corpus that a signature names whether it ``agrees``, ``differs`` or is ``not here``."""

    state: str
    name: str
    text: str


def verified(signatures: Sequence[str], paths: Sequence[str]) -> list[Verified]:
    """All that the signatures name, each once, by what these files and folders hold."""
    here = [Path(path) for path in paths]
    here += [path for folder in paths if Path(folder).is_dir() for path in sorted(Path(folder).iterdir())]
    found: dict[Verified, None] = {}
    for signature in signatures:
        parts = dict(part.split(":", 1) for part in signature.split("|"))
        for key in ("gold", "parses", "from", "evalb"):
            for name, digest in _PAIR.findall(parts.get(key, "")):
                found[_one(name, digest, _digests(name, here, key == "parses"))] = None
        if "cells" in parts:
            found[_one("cells", parts["cells"], _cells(here))] = None
        found[_one("sources of mbrparse", parts.get("sources", ""), iter([sources()]))] = None
    return list(found)


def _one(name: str, digest: str, digests: Iterator[str]) -> Verified:
    others = dict.fromkeys(digests)
    if digest in others:
        return Verified("agrees", name, digest)
    if others:
        return Verified("differs", name, f"{digest}, now {next(iter(others))}")
    return Verified("not here", name, digest)


def _digests(name: str, here: Sequence[Path], parses: bool) -> Iterator[str]:
    """The digests of what is called so; parses are named without what follows a full stop."""
    wanted = Path(name).name
    for path in here:
        if path.is_file() and (path.name == wanted or (parses and path.stem == wanted)):
            yield file_digest(path)
            try:  # whatever the layout of the trees
                trees = Digest(gold_file(path), False)
                for _ in trees.source.trees():
                    pass
                yield str(trees).rpartition("=")[2]
            except MbrparseError:
                continue
        elif path.is_dir() and path.name == wanted:
            yield corpus_digest(str(path))
    if ":" in name:
        try:
            yield corpus_digest(name)
        except MbrparseError:
            return


def _cells(here: Sequence[Path]) -> Iterator[str]:
    for folder in here:
        if folder.name == "cells" and folder.is_dir():
            files = sorted(folder.glob("run-*.json"), key=lambda path: int(path.stem.removeprefix("run-")))
            yield cells_digest(load(path, CellCounts, None, "give the folder of the grid") for path in files)
