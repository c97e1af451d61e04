"""A folder that keeps a run's finished blocks, so that a run that was killed goes on from them.

The input is cut into blocks of a fixed number of sentences, of which a shard has every N-th. What is found
of a block is kept when the last of its sentences is parsed. A later run reads the input again, sees by
digests that it is the same, and parses the blocks that are not there yet.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from mbrparse.decode.lines import Lines
from mbrparse.decode.sentences import Chunk, InputForm, read_chunks
from mbrparse.decode.work.blocks_file import Block, BlocksFile, End
from mbrparse.decode.work.manifest import Manifest
from mbrparse.errors import FileError, InputMismatchError
from mbrparse.reporting import Tell, say_nothing

BLOCKS = "blocks"
_ANOTHER = "or another --work FOLDER"


@contextmanager
def work_folder(
    folder: str | Path, manifest: Manifest, resume: bool = False, tell: Tell = say_nothing
) -> Iterator[WorkFolder]:
    """A folder for this work alone: a new one, or with ``resume`` one that has some of it.

    Raises FileError for a folder that cannot be used, or that another process works in, and
    InputMismatchError for one with the work of other settings.
    """
    path = Path(folder)
    with _locked(path):
        _claim(path, manifest, resume)
        yield WorkFolder(path, manifest, tell)


class WorkFolder:
    """What is finished, and what gets finished; ``sentences`` are kept so far."""

    def __init__(self, folder: Path, manifest: Manifest, tell: Tell = say_nothing) -> None:
        """Raises FileError where the folder cannot be read."""
        self.folder = folder
        self.sentences = 0
        self._shard = manifest.shard
        self._block = manifest.block
        self._candidates = manifest.settings["candidates"]
        self._blocks = BlocksFile(folder / BLOCKS)
        self._finished = 0
        self._end: End | None = None
        self._whole: End | None = None  # the input, once it is read
        self._under_way: deque[tuple[int, str]] = deque()
        for one in self._blocks.records():
            if isinstance(one, End):
                self._end = one
            else:
                self._finished += 1
                self.sentences += one.sentences
        if self._blocks.cut():
            tell(f"{self._blocks.path}: what stood after {self._finished} whole blocks is parsed again")

    def chunks(
        self, path: str | Path, form: InputForm | None = None, encoding: str = "utf-8"
    ) -> Iterator[Chunk]:
        """Yield the input's blocks (see ``read_chunks``), wanted if they are this shard's and not finished.

        Raises InputMismatchError where the input is not that of the finished ones.
        """
        blocks = read_chunks(path, form, encoding, first_size=self._block, size=self._block)
        digest = hashlib.sha256()
        there = islice(self._blocks.records(), self._finished)
        count, left, read = 0, self._finished, ""
        for number, chunk in enumerate(blocks):
            digest.update("".join((chunk.form, *chunk.lines)).encode())
            count, read = number + 1, digest.hexdigest()[:16]
            mine = self._shard.has(number)
            if mine and left:
                block = next(there)
                if not isinstance(block, Block) or (block.number, block.read) != (number, read):
                    raise self._another(f"before line {chunk.first_line + len(chunk.lines)}")
                left -= 1
            elif mine and self._end is not None:
                raise self._another(f"from line {chunk.first_line} on")
            elif mine:
                self._under_way.append((number, read))
                yield chunk
                continue
            yield chunk._replace(wanted=False)
        self._whole = End(count, read)
        if left or self._end not in (None, self._whole):
            raise self._another("at its end")

    def kept(self, results: Iterable[list[Lines]]) -> Iterator[list[Lines]]:
        """Yield the lines of each finished block, then those of the others, which are kept as they come."""
        new = self._recorded(results)
        # With the first of them the input is known to be that of what is finished.
        first = list(islice(new, 1))
        for block in islice(self._blocks.records(), self._finished):
            if isinstance(block, Block):
                yield self._blocks.lines(block)
        yield from first
        yield from new

    def _recorded(self, results: Iterable[list[Lines]]) -> Iterator[list[Lines]]:
        for lines in results:
            # Candidates that nobody wants to see have done their work.
            kept = lines if self._candidates else [one._replace(candidates=()) for one in lines]
            self._blocks.add(*self._under_way.popleft(), kept)
            self.sentences += len(lines)
            yield lines
        if self._end is None and self._whole is not None:
            self._blocks.finish(self._whole)

    def _another(self, where: str) -> InputMismatchError:
        return InputMismatchError(
            f"the input is another than the one that this work was begun with: it differs {where}",
            source=str(self.folder),
            remedy=f"give the same input, {_ANOTHER}",
        )


def _claim(folder: Path, manifest: Manifest, resume: bool) -> None:
    """Write the manifest of a folder without blocks; in one that has some, see that it is the same."""
    if not (folder / BLOCKS).exists():
        manifest.write(folder)
        return
    if not resume:
        raise FileError(
            "there is work in this folder already",
            source=str(folder),
            remedy=f"--resume goes on with it; {_ANOTHER}",
        )
    there = Manifest.read(folder)
    if there.shard != manifest.shard:
        raise InputMismatchError(
            f"this folder is shard {there.shard}'s, not {manifest.shard}'s",
            source=str(folder),
            remedy=f"give the same --shard, {_ANOTHER}",
        )
    if differing := there.unlike(manifest):
        raise InputMismatchError(
            f"made with other settings ({differing})",
            source=str(folder),
            remedy=f"give the same grammar and options, {_ANOTHER}",
        )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Make the folder, for one process: the lock ends with it, however it ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stream = open(folder / "lock", "ab")
    except OSError as error:
        raise FileError(f"folder cannot be made or used ({error.strerror})", source=str(folder)) from None
    with stream:
        try:
            fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            raise FileError(
                "another process is at work in this folder",
                source=str(folder),
                remedy=f"wait for it, {_ANOTHER}",
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
