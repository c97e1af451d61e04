"""Opening inputs and writing outputs, with ``-`` for the standard streams.

Outputs are written beside their final place and renamed when complete, so that an interrupted run
leaves either the old file or none, never half a file.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from mbrparse.errors import FileError

STANDARD = "-"

# Halves of characters, which no output can hold.
_SURROGATE = re.compile("[\ud800-\udfff]")

#: How many bytes are decoded at a time.
_PIECE = 2**16


def source_name(path: str | Path) -> str:
    """How a path is called in messages.

    >>> source_name("-"), source_name("a.mrg")
    ('<stdin>', 'a.mrg')
    """
    return "<stdin>" if str(path) == STANDARD else str(path)


@contextmanager
def open_input(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file, or standard input for ``-``, for reading bytes."""
    if str(path) == STANDARD:
        yield sys.stdin.buffer
        return
    try:
        stream = open(path, "rb")
    except FileNotFoundError:
        raise FileError("no such file", source=str(path)) from None
    except IsADirectoryError:
        raise FileError("is a directory, not a file", source=str(path)) from None
    except OSError as error:
        raise FileError(f"cannot be read ({error.strerror})", source=str(path)) from None
    with stream:
        yield stream


def read_lines(path: str | Path, encoding: str = "utf-8") -> Iterator[str]:
    """Yield the decoded lines of a file; they end at ``\\n`` alone, and a byte-order mark is dropped.

    Raises FileError, with the line, where the bytes are not text in ``encoding``.
    """
    number, begun = 1, ""
    with open_input(path) as stream:
        try:
            for text in _decoded(stream, _decoder(encoding)):
                if _SURROGATE.search(text):  # of encodings that write characters by their numbers
                    raise UnicodeError
                *lines, begun = (begun + text).split("\n")
                if number == 1 and lines:
                    lines[0] = lines[0].removeprefix("\ufeff")
                for line in lines:
                    yield line + "\n"
                number += len(lines)
        except UnicodeError:
            raise FileError(
                f"bytes that are not {encoding}",
                source=source_name(path),
                line=number,
                remedy="name the file's encoding, e.g. --encoding latin-1",
            ) from None
        if begun:
            yield begun.removeprefix("\ufeff") if number == 1 else begun


def _decoded(stream: BinaryIO, decoder: codecs.IncrementalDecoder) -> Iterator[str]:
    """Yield the text of a stream piece by piece, all that precedes bad bytes before UnicodeError."""
    more = True
    while more:
        # What a pipe holds now, without waiting for more.
        data: bytes = stream.read1(_PIECE)  # type: ignore[attr-defined]
        more = bool(data)
        before = decoder.getstate()
        try:
            text = decoder.decode(data, final=not more)
        except UnicodeError:
            decoder.setstate(before)
            yield _up_to_bad_bytes(decoder, data)
            raise
        yield text


def _up_to_bad_bytes(decoder: codecs.IncrementalDecoder, data: bytes) -> str:
    good: list[str] = []
    with suppress(UnicodeError):
        for place in range(len(data)):
            good.append(decoder.decode(data[place : place + 1]))
    return "".join(good)


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    try:
        io.TextIOWrapper(io.BytesIO(), encoding)  # which refuses what is no text encoding (rot13, base64)
        return codecs.getincrementaldecoder(encoding)()
    except (LookupError, ValueError):  # ValueError: a name with a zero in it
        raise FileError(f"there is no encoding {encoding!r}", remedy="e.g. --encoding latin-1") from None


@contextmanager
def open_output(path: str | Path) -> Iterator[TextIO]:
    """Open a UTF-8 text output, or standard output for ``-``; complete or absent, never half.

    Raises FileError where it cannot be opened or written.
    """
    try:
        if str(path) == STANDARD:
            # Whatever the terminal speaks, data are UTF-8.
            if isinstance(sys.stdout, io.TextIOWrapper):
                sys.stdout.reconfigure(encoding="utf-8", newline="\n")
            yield sys.stdout
            sys.stdout.flush()
        elif Path(path).is_dir():
            raise FileError("is a directory, not a file", source=str(path))
        elif _in_place(path):
            with open(path, "a", encoding="utf-8", newline="\n") as stream:
                yield stream
        else:
            with (
                _beside(Path(os.path.realpath(path))) as handle,
                open(handle, "w", encoding="utf-8", newline="\n", closefd=False) as stream,
            ):
                yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _unwritable(path, error) from None


@contextmanager
def open_output_bytes(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for bytes, complete or absent as ``open_output`` has it; raises FileError."""
    try:
        if Path(path).is_dir():
            raise FileError("is a directory, not a file", source=str(path))
        with (
            _beside(Path(os.path.realpath(path))) as handle,
            open(handle, "wb", closefd=False) as stream,
        ):
            yield stream
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: str | Path, error: OSError) -> FileError:
    return FileError(
        f"cannot be written ({error.strerror})",
        source="<stdout>" if str(path) == STANDARD else str(path),
        remedy="does its folder exist, has the disk room, and may you write there?",
    )


def _in_place(path: str | Path) -> bool:
    """Whether the path is a device or a pipe (/dev/stderr, a process substitution).

    Renaming a file over such a one would replace it.
    """
    return str(path).startswith("/dev/") or (Path(path).exists() and not Path(path).is_file())


@contextmanager
def _beside(target: Path) -> Iterator[int]:
    """A new file beside ``target``, open for writing, that takes its place when all went well."""
    handle, beside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        try:
            yield handle
        finally:
            os.close(handle)
        os.chmod(beside, target.stat().st_mode if target.exists() else 0o666 & ~_umask())
        os.replace(beside, target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
