"""Opening inputs and writing outputs, with ``-`` for the standard streams.

Outputs are written to a temporary file and renamed when complete (``replacements``), so that an interrupted
run leaves either the old file or none, never half a file. Devices and pipes are written directly
(``path_kinds``).
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from mbrparse.errors import FileError
from mbrparse.path_kinds import STANDARD, is_file, is_written_in_place, open_descriptor
from mbrparse.replacements import (
    UNWRITTEN,
    Replacement,
    as_file_errors,
    atomic_outputs,
    replacing,
    unwritable,
)

__all__ = [
    "STANDARD",
    "atomic_outputs",
    "bad_bytes",
    "check_output",
    "decode_lines",
    "holds_bad_bytes",
    "open_input",
    "open_output",
    "open_output_bytes",
    "read_lines",
    "source_name",
]

# Halves of characters, which no output can hold.
_SURROGATE = re.compile("[\ud800-\udfff]")

# The handler of decoding errors that puts half a character in the place of bytes.
_MARK = "mbrparse-mark"
codecs.register_error(_MARK, lambda error: ("\udcff", error.end))  # type: ignore[attr-defined]

# Byte-order marks that no UTF-8 text begins with, the longer before those that they begin with.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

#: How many bytes are decoded at a time.
_PIECE = 2**16

#: Half characters, which file names that are not UTF-8 are made of, can only be written escaped.
_ERRORS = "backslashreplace"


def source_name(path: str | Path) -> str:
    """How a path is called in messages.

    >>> source_name("-"), source_name("a.mrg")
    ('<stdin>', 'a.mrg')
    """
    return "<stdin>" if str(path) == STANDARD else str(path)


@contextmanager
def open_input(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file, or standard input for ``-``, for reading bytes; within, nothing else is done.

    Raises FileError where it cannot be opened or read.
    """
    try:
        if str(path) == STANDARD:
            yield sys.stdin.buffer
        else:
            with open(path, "rb") as stream:
                yield stream
    except FileNotFoundError:
        raise FileError("no such file", source=str(path)) from None
    except IsADirectoryError:
        raise FileError("is a directory, not a file", source=source_name(path)) from None
    except OSError as error:
        raise FileError(f"cannot be read ({error.strerror})", source=source_name(path)) from None


def read_lines(path: str | Path, encoding: str | None = None) -> Iterator[str]:
    """Yield the decoded lines of a file; they end at ``\\n`` alone, and a byte-order mark is dropped.

    A mark of UTF-16 or UTF-32 says what the text is, where it would be read as UTF-8. Without ``encoding``:
    of a kind of file that is in UTF-8 and no other, such as a grammar. Raises FileError, with the line, where
    the bytes are not text in the encoding.
    """
    with open_input(path) as stream:
        yield from decode_lines(stream, source_name(path), encoding)


def bad_bytes(source: str, line: int, encoding: str | None = None) -> FileError:
    """The error for a line that is no text."""
    remedy = "name the file's encoding, e.g. --encoding latin-1"
    return FileError(
        f"bytes that are not {encoding or 'utf-8'}",
        source=source,
        line=line,
        remedy="convert it: iconv -f latin1 -t utf-8" if encoding is None else remedy,
    )


def holds_bad_bytes(text: str) -> bool:
    """Whether text has half characters, which stand for bad bytes and are no text themselves."""
    return _SURROGATE.search(text) is not None


def decode_lines(
    stream: BinaryIO, source: str, encoding: str | None = None, bad: list[int] | None = None
) -> Iterator[str]:
    """Yield the lines of an open stream, as ``read_lines`` does of a file; messages call it ``source``.

    With ``bad``, bytes that are no text become half characters, and the numbers of their lines are appended.
    """
    number, marked = 1, False

    def checked(line: str) -> str:
        if marked and holds_bad_bytes(line):
            if bad is None:
                raise bad_bytes(source, number, encoding)
            bad.append(number)
        return line.removeprefix("\ufeff") if number == 1 else line

    begun: list[str] = []  # pieces of a line, which may be as long as the file
    try:
        for text in _decoded(stream, _decoder("utf-8" if encoding is None else encoding)):
            marked = marked or holds_bad_bytes(text)
            *lines, rest = text.split("\n")
            if lines:
                lines[0] = "".join([*begun, lines[0]])
                begun.clear()
            begun.append(rest)
            for line in lines:
                yield checked(line) + "\n"
                number += 1
    except UnicodeError:  # of decoders that mark nothing: UTF-16 without a byte-order mark
        raise bad_bytes(source, number, encoding) from None
    if last := "".join(begun):
        yield checked(last)


def _decoded(stream: BinaryIO, decoder: codecs.IncrementalDecoder) -> Iterator[str]:
    """Yield the text of a stream piece by piece."""
    more = True
    first: bytes | None = b""
    while more:
        # What a pipe holds now, without waiting for more.
        data: bytes = stream.read1(_PIECE)  # type: ignore[attr-defined]
        more = bool(data)
        if first is not None:
            data = first + data
            if more and any(mark.startswith(data) for mark in _MARKS):  # it may be one, when there is more
                first = data
                continue
            first, decoder = None, _as_marked(data, decoder)
        yield decoder.decode(data, final=not more)


def _as_marked(data: bytes, decoder: codecs.IncrementalDecoder) -> codecs.IncrementalDecoder:
    """The decoder for text that begins so: what would be UTF-8 is not with the mark of another encoding."""
    if type(decoder) not in map(codecs.getincrementaldecoder, ("utf-8", "utf-8-sig")):
        return decoder
    return next((_decoder(name) for mark, name in _MARKS.items() if data.startswith(mark)), decoder)


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    try:
        io.TextIOWrapper(io.BytesIO(), encoding)  # which refuses what is no text encoding (rot13, base64)
        return codecs.getincrementaldecoder(encoding)(_MARK)
    except (LookupError, ValueError):  # ValueError: a name with a zero in it
        raise FileError(f"there is no encoding {encoding!r}", remedy="e.g. --encoding latin-1") from None


@contextmanager
def open_output(path: str | Path) -> Iterator[TextIO]:
    """Open a UTF-8 text output, or standard output for ``-``; complete or absent, never half.

    Raises FileError where it cannot be opened or written.
    """
    with _write_errors(path):
        if str(path) == STANDARD:
            # Whatever the terminal speaks, data are UTF-8.
            if isinstance(sys.stdout, io.TextIOWrapper):
                sys.stdout.reconfigure(encoding="utf-8", errors=_ERRORS, newline="\n")
            yield sys.stdout
            sys.stdout.flush()
        else:
            with (
                _descriptor(path) as handle,
                open(handle, "w", encoding="utf-8", errors=_ERRORS, newline="\n", closefd=False) as stream,
            ):
                yield stream


@contextmanager
def open_output_bytes(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file or standard output for bytes, complete or absent as ``open_output``; raises FileError."""
    if str(path) == STANDARD:
        with _write_errors(path):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    with _write_errors(path), _descriptor(path) as handle, open(handle, "wb", closefd=False) as stream:
        yield stream


def check_output(path: str | Path) -> None:
    """Raise FileError where an output could not be opened: before work is done for it."""
    if is_file(path):
        Replacement(path)


@contextmanager
def _write_errors(path: str | Path) -> Iterator[None]:
    """Raise FileError where an output cannot be written; errors of what makes its content pass."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in UNWRITTEN:
            raise unwritable("<stdout>" if str(path) == STANDARD else path, error) from None
        raise


@contextmanager
def as_temporary_errors() -> Iterator[None]:
    """Raise FileError where a temporary file cannot be made or written."""
    try:
        yield
    except OSError as error:
        raise FileError(
            f"no room for temporary files ({error.strerror})",
            source=os.environ.get("TMPDIR", tempfile.tempdir or "/tmp"),
            remedy="set TMPDIR to a folder that has room",
        ) from None


@contextmanager
def _descriptor(path: str | Path) -> Iterator[int]:
    """Where to write what is meant for a path."""
    if not is_written_in_place(path):
        with replacing(path) as handle:
            yield handle
        return
    there = open_descriptor(path)
    with as_file_errors(path):
        handle = os.open(path, os.O_WRONLY | os.O_APPEND) if there is None else os.dup(there)
    try:
        yield handle
    finally:
        os.close(handle)
