"""What the machine code of kernels is made of: the files with kernels, and what these import.

A constant is compiled in, and so are the fields of a named tuple. A kernel sees the names of its module; so
what the module imports at its top matters, what that imports, and so on. Imports within functions do not.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1]

_COMPILED = re.compile(rb"^@(?:kernel|intrinsic)\n", re.MULTILINE)
_IMPORT = re.compile(rb"^(?:from ([\w.]+) import (\([^)]*\)|.*)|import ([\w.]+))", re.MULTILINE)
_NAME = re.compile(rb"\w+")


class Sources:
    """The files that a package's kernels are made of, as they are when this is made."""

    def __init__(self, package: Path = PACKAGE) -> None:
        """Raises OSError where the package is not made of files."""
        paths = dict(_source_files(str(package), package.name))
        stamps = {module: _stamp(path) for module, path in paths.items()}
        texts = {module: Path(path).read_bytes() for module, path in paths.items()}
        self.with_kernels = {module for module, text in texts.items() if _COMPILED.search(text)}
        found, waiting = set(self.with_kernels), list(self.with_kernels)
        while waiting:
            new = _imported(texts[waiting.pop()]) & texts.keys() - found
            waiting.extend(new)
            found |= new
        digest = hashlib.sha256()
        for module in sorted(found):
            digest.update(f"\0{module}\0{len(texts[module])}\0".encode())
            digest.update(texts[module])
        self.modules = found
        self.digest = digest.digest()
        self._stamps = {paths[module]: stamps[module] for module in found}
        self._others = [paths[module] for module in found - self.with_kernels]
        self._unchanged = True

    def hold(self, path: str) -> bool:
        """Whether a kernel of this file, imported just now, is what the digest was made of.

        What a kernel calls was imported, and looked at, before it; once a file has changed, no kernel is.
        """
        if path not in self._stamps:
            return False
        self._unchanged = self._unchanged and all(map(self._is_unchanged, (path, *self._others)))
        return self._unchanged

    def _is_unchanged(self, path: str) -> bool:
        try:
            return _stamp(path) == self._stamps[path]
        except OSError:
            return False


def _source_files(folder: str, room: str) -> Iterator[tuple[str, str]]:
    """The modules below a folder, each with its file."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield f"{room}.{entry.name.removesuffix('.py')}", entry.path
            elif entry.name.isidentifier() and entry.name != "__pycache__" and entry.is_dir():
                yield from _source_files(entry.path, f"{room}.{entry.name}")


def _stamp(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size


def _imported(text: bytes) -> set[str]:
    """The modules that a file may import at its top; names that are no modules among them."""
    found: set[str] = set()
    for source, names, module in _IMPORT.findall(text):
        found.add((source or module).decode())
        found.update(f"{source.decode()}.{name.decode()}" for name in _NAME.findall(names))
    return found


SOURCES: Sources | None
"""Those of this package, from before any kernel of it was imported; None if they are no files."""
try:
    SOURCES = Sources()
except OSError:
    SOURCES = None
