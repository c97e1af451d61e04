"""The files of trees that a path names: one file, a folder's, a zip's, or those that a glob matches.

In folders and zips the files with a suffix of trees are taken; where there is none, all that begin with a
bracket, whatever they are called. They come in the order of their paths.
"""

from __future__ import annotations

import collections
import glob
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from mbrparse.errors import CorpusError, FileError, MbrparseError
from mbrparse.files import SIDECAR, STANDARD, decode_lines, open_input, source_name

if TYPE_CHECKING:
    import zipfile


TREE_SUFFIXES = (".mrg", ".ptb", ".tree", ".psd", ".parse", ".tbf")

# A byte-order mark, white space, lines of comments, and then a bracket; in UTF-16 with zeros between.
_BEGINS_WITH_BRACKET = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?(?:[\s\0]|#[^\n]*\n)*\(")
_BEGINNING = 4096
_ZIPS = (b"PK\3\4", b"PK\5\6")  # with files, and with none
_DAMAGED = "copy or download the zip once more"
# Of a zip's file of more bytes than these, how many may come of one.
_SMALL, _FULL = 1 << 20, 200


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file, or with ``member`` one of a zip's files."""

    path: str
    member: str | None = None

    @property
    def source(self) -> str:
        """Its name in messages."""
        return source_name(self.path) if self.member is None else f"{self.path}/{self.member}"

    @property
    def inner_path(self) -> PurePosixPath:
        """Its path, in a zip that of the member."""
        return PurePosixPath(Path(self.path).as_posix() if self.member is None else self.member)

    def lines(self, encoding: str, bad: list[int] | None = None) -> Iterator[str]:
        """Yield its lines (``decode_lines``); raises FileError where it cannot be read or decoded."""
        with self.open() as stream:
            yield from decode_lines(stream, self.source, encoding, bad)

    def encoding(self, encodings: str) -> str:
        """Of encodings with commas between the first that all of it fits, or else the last."""
        *names, last = encodings.split(",")
        if names and self.path == STANDARD:
            raise FileError("standard input is read once, in one encoding", source=self.source)
        for name in names:
            try:
                collections.deque(self.lines(name), maxlen=0)
                return name
            except FileError as error:
                if error.source is None:  # no encoding of that name
                    raise
        return last

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open it for reading bytes; raises FileError."""
        if self.member is None:
            with open_input(self.path) as stream:
                yield stream
            return

        with _zip(self.path) as archive:
            try:
                packed = archive.getinfo(self.member)
                if packed.file_size > max(_FULL * packed.compress_size, _SMALL):
                    raise FileError(
                        f"unpacks to {packed.file_size:,} bytes, more than {_FULL} times its size",
                        source=self.source,
                        remedy="no text packs so well; if it is one, unpack the zip and name the folder",
                    )
                with archive.open(packed) as member:
                    yield member  # type: ignore[misc]  # it has read1, which is all that is asked of it
            except (MbrparseError, MemoryError):
                raise
            except Exception as error:  # zipfile's, struct's, of each method of packing, of the system
                if type(error) is RuntimeError:  # of zipfile, for a password
                    raise FileError("is encrypted", source=self.source, remedy="unpack the zip") from None
                raise FileError(
                    f"cannot be unpacked ({error})", source=self.source, remedy=_DAMAGED
                ) from None


def tree_files(
    spec: str, suffixes: Sequence[str] = TREE_SUFFIXES, folders: Sequence[str] = ()
) -> list[TreeFile]:
    """The files of trees that a path, ``-`` or a glob names.

    Of the folders of these names the first that is there is taken alone. Raises CorpusError where there is
    no file of trees.
    """
    if spec == STANDARD:
        return [TreeFile(spec)]
    if not spec:  # which pathlib takes for the working folder
        raise CorpusError("an input without a name", remedy="name a file or a folder, or . for this one")
    path = Path(spec)
    if path.is_dir():
        inside = [TreeFile(str(file)) for file in sorted(_below(path)) if file.is_file()]
        return _of_trees(spec, "folder", inside, suffixes, folders)
    if is_zip(path):
        with _zip(spec) as archive:
            names = sorted(name for name in archive.namelist() if not name.endswith("/"))
        inside = [TreeFile(spec, name) for name in names if not name.startswith("__MACOSX/")]
        return _of_trees(spec, "zip", inside, suffixes, folders)
    if not path.exists() and glob.has_magic(spec):
        matches = glob.glob(spec, recursive=True)
        found = sorted(file for file in matches if not (Path(file).is_dir() or file.endswith(SIDECAR)))
        if not found:
            raise CorpusError(
                "no file matches", source=spec, remedy="** stands for folders, as in 'trees/**/*.mrg'"
            )
        return [TreeFile(file) for file in found]
    return [TreeFile(spec)]


def _below(folder: Path) -> Iterator[Path]:
    """All that is in a folder and in those within; raises FileError for one that cannot be read."""

    def refuse(error: OSError) -> NoReturn:
        raise FileError(f"cannot be read ({error.strerror})", source=error.filename)

    for within, _, names in os.walk(folder, onerror=refuse):
        yield from (Path(within, name) for name in names)


def is_zip(path: Path) -> bool:
    """Whether this is a zip, whole or damaged, by how it begins: no tree does so."""
    try:
        with open(path, "rb") as stream:
            return stream.read(4) in _ZIPS
    except OSError:
        return False


def begins_with_bracket(file: TreeFile) -> bool:
    """Whether the first thing in a file, comments apart, is an opening bracket."""
    with file.open() as stream:
        return _BEGINS_WITH_BRACKET.match(stream.read(_BEGINNING)) is not None


def _of_trees(
    spec: str, kind: str, inside: Sequence[TreeFile], suffixes: Sequence[str], folders: Sequence[str]
) -> list[TreeFile]:
    found = [file for file in inside if file.inner_path.name.endswith(tuple(suffixes))]
    for folder in folders:
        within = [file for file in found if folder in file.inner_path.parts[:-1]]
        if within:
            return within
    found = found or [
        file for file in inside if not file.inner_path.name.startswith(".") and begins_with_bracket(file)
    ]
    if not found:
        kinds = {f"*{file.inner_path.suffix or file.inner_path.name}" for file in inside}
        held = ", ".join(sorted(kinds)[:5])
        raise CorpusError(
            f"{kind} holds no file of trees",
            source=spec,
            remedy=f"none of its files ({held}) begins with a bracket"
            if held
            else "it holds no file at all: name another",
        )
    return found


@contextmanager
def _zip(path: str) -> Iterator[zipfile.ZipFile]:
    import zipfile

    try:
        archive = zipfile.ZipFile(path)
    except PermissionError as error:
        raise FileError(f"cannot be read ({error.strerror})", source=path) from None
    except MemoryError:
        raise
    except Exception as error:  # zipfile's, struct's, of the system where it seeks in vain
        raise FileError(f"is cut short or damaged ({error})", source=path, remedy=_DAMAGED) from None
    with archive:
        yield archive
