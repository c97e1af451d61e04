"""Finished blocks of rows of text, one after the other in one file that only grows.

A record is a line of JSON and the block's rows, compressed. A last line says that no more blocks come. After
``kill -9`` the file may end anywhere, and it may be damaged: digests tell how far it is whole.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from mbrparse.files import as_file_errors, open_input
from mbrparse.state_files import SchemaError, record, short_digest, state_of, state_text, text, whole

_HEAD = {"block": whole(), "sentences": whole(), "read": text, "bytes": whole(), "content": text}
_END = {"blocks": whole(), "read": text}
#: No line that begins a record is longer.
_LONGEST = 1000


class Block(NamedTuple):
    """A finished block: its number in the input, from 0, and the digest of the input up to its end.

    ``end`` is where its record ends in the file, ``data`` its rows, compressed.
    """

    number: int
    sentences: int
    read: str
    end: int
    data: bytes

    def rows(self) -> list[str]:
        """The rows, one for each sentence; raises ValueError or zlib.error if they were not written here."""
        rows = zlib.decompress(self.data).decode("utf-8").split("\n") if self.sentences else []
        if len(rows) != self.sentences:
            raise ValueError
        return rows


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

    def records(self, offset: int = 0) -> Iterator[Block | End]:
        """Yield the whole records from an offset on, none if there is no file; raises FileError."""
        self.good = offset
        if not self.path.exists():
            return
        with open_input(self.path) as stream:
            stream.seek(offset)
            while (found := _next(stream)) is not None:
                self.good = stream.tell()
                yield found

    def truncate(self) -> bool:
        """Cut off what is not whole, after ``records``; whether there was any."""
        with as_file_errors(self.path):
            size = os.path.getsize(self.path) if self.path.exists() else 0
            if size > self.good:
                os.truncate(self.path, self.good)
        return size > self.good

    def add(self, number: int, read: str, rows: Sequence[str]) -> None:
        """Append a finished block."""
        data = zlib.compress("\n".join(rows).encode(), 1) if rows else b""
        head = {"block": number, "sentences": len(rows), "read": read}
        self._append({**head, "bytes": len(data), "content": short_digest(data)}, data)

    def finish(self, end: End) -> None:
        """Append that all blocks are there."""
        self._append(end._asdict(), b"")

    def _append(self, head: dict[str, Any], data: bytes) -> None:
        with as_file_errors(self.path), open(self.path, "ab") as stream:
            stream.write(state_text(head).encode() + data)


def _next(stream: BinaryIO) -> Block | End | None:
    """The next record; None if there is no whole one."""
    line = stream.readline(_LONGEST)
    try:
        head = state_of(
            line.decode("utf-8"), lambda value: record(_END if "blocks" in value else _HEAD)(value)
        )
    except (SchemaError, UnicodeDecodeError):
        return None
    if not line.endswith(b"\n"):
        return None
    if "blocks" in head:
        return End(**head)
    data = stream.read(head["bytes"])
    if len(data) != head["bytes"] or short_digest(data) != head["content"]:
        return None
    return Block(head["block"], head["sentences"], head["read"], stream.tell(), data)
