"""Finished blocks, one behind the other in one file: what is there is never written again.

A record is a line of JSON, which says what follows, and the block's lines, compressed. A last line says that
no more blocks come. A file may end anywhere, as after ``kill -9``: what precedes is whole, and is known to
be by digests; so is a file that was damaged, up to where it is.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from mbrparse.decode.lines import Lines
from mbrparse.decode.work.stored_lines import restored, stored
from mbrparse.errors import FileError
from mbrparse.files import open_input
from mbrparse.replacements import unwritable
from mbrparse.state_files import MisfitError, record, state_of, state_text, text, whole

_HEAD = {"block": whole(), "sentences": whole(), "read": text, "bytes": whole(), "content": text}
_END = {"blocks": whole(), "read": text}
#: No line that begins a record is longer.
_LONGEST = 1000


class Block(NamedTuple):
    """A block that is there: its number in the input, from 0, and the digest of the input up to its end."""

    number: int
    sentences: int
    read: str
    place: int
    size: int


class End(NamedTuple):
    """How many blocks the input has, those of other shards too, and its digest."""

    blocks: int
    read: str


class BlocksFile:
    """The file, which is open only while it is read or written: merging has more of them than may be open.

    ``good`` is, after ``records``, how much of it is whole.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.good = 0

    def records(self) -> Iterator[Block | End]:
        """Yield the whole records from the beginning, none if there is no file; raises FileError."""
        self.good = 0
        if not self.path.exists():
            return
        with open_input(self.path) as stream:
            while (found := _next(stream, self.good)) is not None:
                one, self.good = found
                yield one

    def at(self, place: int) -> Block | End | None:
        """The record that begins there (None: there is no whole one); raises FileError."""
        with open_input(self.path) as stream:
            found = _next(stream, place)
        return None if found is None else found[0]

    def lines(self, block: Block) -> list[Lines]:
        """What was found of a block's sentences; raises FileError for what is damaged."""
        with open_input(self.path) as stream:
            stream.seek(block.place)
            data = stream.read(block.size)
        try:
            rows = zlib.decompress(data).decode("utf-8").split("\n") if block.sentences else []
            found = [restored(row) for row in rows]
            if len(found) != block.sentences:
                raise ValueError
        except (zlib.error, ValueError, KeyError, TypeError, AttributeError):
            raise FileError(
                f"block {block.number} is damaged", source=str(self.path), remedy="parse this shard again"
            ) from None
        return found

    def cut(self) -> bool:
        """Cut off what is not whole, after ``records``; whether there was any."""
        with _errors_told(self.path):
            size = os.path.getsize(self.path) if self.path.exists() else 0
            if size > self.good:
                os.truncate(self.path, self.good)
        return size > self.good

    def add(self, number: int, read: str, lines: Iterable[Lines]) -> None:
        """Write a finished block."""
        rows = list(map(stored, lines))
        data = zlib.compress("\n".join(rows).encode(), 1) if rows else b""
        self._append(
            {
                "block": number,
                "sentences": len(rows),
                "read": read,
                "bytes": len(data),
                "content": _digest(data),
            },
            data,
        )

    def finish(self, end: End) -> None:
        """Write that all blocks are there."""
        self._append(end._asdict(), b"")

    def _append(self, head: dict[str, Any], data: bytes) -> None:
        with _errors_told(self.path), open(self.path, "ab") as stream:
            stream.write(state_text(head).encode() + data)


def _next(stream: BinaryIO, place: int) -> tuple[Block | End, int] | None:
    """The record at a place of the file, and where it ends; None if there is no whole one."""
    stream.seek(place)
    line = stream.readline(_LONGEST)
    if not line.endswith(b"\n"):
        return None
    place += len(line)
    try:
        head = state_of(
            line.decode("utf-8"), lambda value: record(_END if "blocks" in value else _HEAD)(value)
        )
    except (MisfitError, UnicodeDecodeError):
        return None
    if "blocks" in head:
        return End(**head), place
    data = stream.read(head["bytes"])
    if len(data) != head["bytes"] or _digest(data) != head["content"]:
        return None
    return Block(head["block"], head["sentences"], head["read"], place, len(data)), place + len(data)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


@contextmanager
def _errors_told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from None
