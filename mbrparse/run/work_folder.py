"""A folder that keeps the finished blocks of a run, which can be resumed after it was killed.

The input is cut into blocks of a fixed number of sentences, of which a shard has every N-th. A block is kept
when the last of its sentences is done. A later run reads the input again, checks by digests that it is the
same, and does the blocks that are not finished.
"""

from __future__ import annotations

import fcntl
import hashlib
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from mbrparse.errors import FileError, InputMismatchError
from mbrparse.files import as_file_errors, make_folder
from mbrparse.log import Log, no_log
from mbrparse.run.blocks_file import Block, BlocksFile, End
from mbrparse.run.in_order import Chunk
from mbrparse.run.manifest import Manifest, check_settings

BLOCKS = "blocks"
_ANOTHER = "another --work FOLDER"
Line = TypeVar("Line")


class Codec(NamedTuple, Generic[Line]):
    """How a sentence's result is written as a row of text, and read."""

    encode: Callable[[Line], str]
    decode: Callable[[str], Line]

    def read(self, file: BlocksFile, block: Block) -> list[Line]:
        """The results of a block of a file; raises FileError if it is damaged."""
        try:
            return list(map(self.decode, block.rows()))
        except (zlib.error, ValueError, KeyError, TypeError, AttributeError):
            message = f"block {block.number} is damaged"
            raise FileError(message, source=str(file.path), remedy="parse this shard again") from None


@contextmanager
def work_folder(
    folder: str | Path,
    manifest: Manifest,
    codec: Codec[Line],
    resume: bool = False,
    log: Log = no_log,
) -> Iterator[WorkFolder[Line]]:
    """Open a folder for this process alone: a new one, or with ``resume`` one that has some work.

    Raises FileError for a folder that cannot be used or is in use, and InputMismatchError for one with the
    work of other settings.
    """
    path = Path(folder)
    with _locked(path):
        _claim(path, manifest, resume)
        yield WorkFolder(path, manifest, codec, log)


class WorkFolder(Generic[Line]):
    """The blocks of a run; ``sentences`` is how many sentences are kept."""

    def __init__(self, folder: Path, manifest: Manifest, codec: Codec[Line], log: Log = no_log) -> None:
        """Raises FileError where the folder cannot be read."""
        self.folder = folder
        self.sentences = 0
        self._shard = manifest.shard
        self._codec = codec
        self._blocks = BlocksFile(folder / BLOCKS)
        self._finished = 0
        self._end: End | None = None
        self._input: End | None = None  # once it is read
        self._under_way: deque[tuple[int, str]] = deque()
        for one in self._blocks.records():
            if isinstance(one, End):
                self._end = one
            else:
                self._finished += 1
                self.sentences += one.sentences
        if self._blocks.truncate():
            log(f"{self._blocks.path}: damaged after {self._finished} blocks; the rest is parsed again")

    def wanted(self, blocks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield the input's blocks, ``wanted`` if they are this shard's and not finished.

        Raises InputMismatchError where the input is not that of the finished ones.
        """
        digest = hashlib.sha256()
        finished = islice(self._blocks.records(), self._finished)
        count, left, read = 0, self._finished, ""
        for number, chunk in enumerate(blocks):
            digest.update("".join((chunk.form, *chunk.lines)).encode())
            count, read = number + 1, digest.hexdigest()[:16]
            mine = self._shard.has(number)
            if mine and left:
                block = next(finished)
                if not isinstance(block, Block) or (block.number, block.read) != (number, read):
                    raise self._another_input(f"before line {chunk.first_line + len(chunk.lines)}")
                left -= 1
            elif mine and self._end is not None:
                raise self._another_input(f"from line {chunk.first_line} on")
            elif mine:
                self._under_way.append((number, read))
                yield chunk
                continue
            yield chunk._replace(wanted=False)
        self._input = End(count, read)
        if left or self._end not in (None, self._input):
            raise self._another_input("at its end")

    def kept(self, results: Iterable[list[Line]]) -> Iterator[list[Line]]:
        """Yield the results of the finished blocks, then those of the others, which are kept as they come."""
        new = self._recorded(results)
        # When the first of them is there, the input is known to be that of the finished blocks.
        first = list(islice(new, 1))
        for block in islice(self._blocks.records(), self._finished):
            if isinstance(block, Block):
                yield self._codec.read(self._blocks, block)
        yield from first
        yield from new

    def _recorded(self, results: Iterable[list[Line]]) -> Iterator[list[Line]]:
        for found in results:
            self._blocks.add(*self._under_way.popleft(), list(map(self._codec.encode, found)))
            self.sentences += len(found)
            yield found
        if self._end is None and self._input is not None:
            self._blocks.finish(self._input)

    def _another_input(self, where: str) -> InputMismatchError:
        return InputMismatchError(
            f"the input is not the one that this work was begun with: it differs {where}",
            source=str(self.folder),
            remedy=f"give the same input, or {_ANOTHER}",
        )


def _claim(folder: Path, manifest: Manifest, resume: bool) -> None:
    """Write the manifest of a folder without blocks; check that of one that has some."""
    if not (folder / BLOCKS).exists():
        manifest.write(folder)
        return
    if not resume:
        raise FileError(
            "there is work in this folder already",
            source=str(folder),
            remedy=f"--resume goes on with it, or give {_ANOTHER}",
        )
    kept = Manifest.read(folder)
    if kept.shard != manifest.shard:
        raise InputMismatchError(
            f"this folder is shard {kept.shard}'s, not {manifest.shard}'s",
            source=str(folder),
            remedy=f"give the same --shard, or {_ANOTHER}",
        )
    check_settings(folder, kept.settings, manifest.settings, "give the same grammar and options", _ANOTHER)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Make the folder and lock it; the lock ends with this process, however that ends."""
    make_folder(folder)
    with as_file_errors(folder / "lock"):
        stream = open(folder / "lock", "ab")
    with stream:
        try:
            fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            raise FileError(
                "another process is at work in this folder",
                source=str(folder),
                remedy=f"wait for it, or {_ANOTHER}",
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
