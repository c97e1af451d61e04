"""Finished blocks of rows of text, one after the other in one file that only grows.

A record is a line of JSON and the block's rows, compressed. A last line says that no more blocks come. After
``kill -9`` the file may end anywhere, and it may be damaged: digests tell how far it is whole.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from mbrparse.io.errors import FileError
from mbrparse.io.files import open_input
from mbrparse.io.replacements import unwritable
from mbrparse.io.state_files import SchemaError, record, state_of, state_text, text, whole

_HEAD = {"block": whole(), "sentences": whole(), "read": text, "bytes": whole(), "content": text}
_END = {"blocks": whole(), "read": text}
#: No line that begins a record is longer.
_LONGEST = 1000


class Block(NamedTuple):
    """A finished block: its number in the input, from 0, and the digest of the input up to its end."""

    number: int
    sentences: int
    read: str
    offset: int
    size: int


class End(NamedTuple):
    """The number of blocks of the input, those of other shards included, and the input's digest."""

    blocks: int
    read: str


class BlocksFile:
    """The file. It is open only while it is read or written: merging reads more files than may be open.

    After ``records``, ``good`` is the number of bytes that are whole.
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

    def at(self, offset: int) -> Block | End | None:
        """The record that begins there (None: there is no whole one); raises FileError."""
        with open_input(self.path) as stream:
            found = _next(stream, offset)
        return None if found is None else found[0]

    def rows(self, block: Block) -> list[str]:
        """The rows of a block, one for each sentence; raises FileError if it is damaged."""
        with open_input(self.path) as stream:
            stream.seek(block.offset)
            data = stream.read(block.size)
        try:
            rows = zlib.decompress(data).decode("utf-8").split("\n") if block.sentences else []
        except (zlib.error, ValueError):
            raise self.damaged(block) from None
        if len(rows) != block.sentences:
            raise self.damaged(block)
        return rows

    def damaged(self, block: Block) -> FileError:
        """The error for a block that cannot be read."""
        message = f"block {block.number} is damaged"
        return FileError(message, source=str(self.path), remedy="parse this shard again")

    def truncate(self) -> bool:
        """Cut off what is not whole, after ``records``; whether there was any."""
        with _as_file_errors(self.path):
            size = os.path.getsize(self.path) if self.path.exists() else 0
            if size > self.good:
                os.truncate(self.path, self.good)
        return size > self.good

    def add(self, number: int, read: str, rows: Sequence[str]) -> None:
        """Append a finished block."""
        data = zlib.compress("\n".join(rows).encode(), 1) if rows else b""
        head = {"block": number, "sentences": len(rows), "read": read}
        self._append({**head, "bytes": len(data), "content": _digest(data)}, data)

    def finish(self, end: End) -> None:
        """Append that all blocks are there."""
        self._append(end._asdict(), b"")

    def _append(self, head: dict[str, Any], data: bytes) -> None:
        with _as_file_errors(self.path), open(self.path, "ab") as stream:
            stream.write(state_text(head).encode() + data)


def _next(stream: BinaryIO, offset: int) -> tuple[Block | End, int] | None:
    """The record at an offset, and where it ends; None if there is no whole one."""
    stream.seek(offset)
    line = stream.readline(_LONGEST)
    if not line.endswith(b"\n"):
        return None
    offset += len(line)
    try:
        head = state_of(
            line.decode("utf-8"), lambda value: record(_END if "blocks" in value else _HEAD)(value)
        )
    except (SchemaError, UnicodeDecodeError):
        return None
    if "blocks" in head:
        return End(**head), offset
    data = stream.read(head["bytes"])
    if len(data) != head["bytes"] or _digest(data) != head["content"]:
        return None
    return Block(head["block"], head["sentences"], head["read"], offset, len(data)), offset + len(data)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


@contextmanager
def _as_file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from None
