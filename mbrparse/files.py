"""Opening inputs and writing outputs, with ``-`` for the standard streams.

Outputs are written beside their final name and renamed when complete, those of one command together, so that
an interrupted run leaves the old files or none, never half a file. What is no file, but a device, a pipe or a
stream that is open already, is written directly: the system is asked, not the name.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO, TextIO
from zlib import crc32

from mbrparse.errors import FileError
from mbrparse.one_run import as_file_errors, hold, undisturbed, unwritable

STANDARD = "-"
#: Follows the name of a file of trees in that of its places in the corpus.
SIDECAR = ".places"
#: Follows the name of a grammar or a file of trees in that of the commands that made it.
MADE = ".made"
#: Follows the name of an output that a later run can go on with.
PART = ".part"

#: The errors of a full disk, a closed stream and a broken device.
UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF, errno.EIO)
#: Half characters, which file names that are not UTF-8 are made of, can only be written escaped.
_ERRORS = "backslashreplace"
#: Bytes of a file's name that the name of the one beside it repeats: file systems allow 255, some fewer.
_REPEATED = 100
_LONGEST_NAME = 255  # bytes

# The handler of decoding errors that puts half a character, which no output can hold, in the place of bytes.
_MARK = "mbrparse-mark"
codecs.register_error(_MARK, lambda error: ("\udcff", error.end))  # type: ignore[attr-defined]
_SURROGATE = re.compile("[\ud800-\udfff]")
_GZIP = b"\x1f\x8b"
#: What to do about a text with zeros in it.
ZEROS = "this is no text, or UTF-16 without a mark, which `encoding=utf-16-le` reads"
# Byte-order marks that no UTF-8 text begins with, the longer before those that they begin with.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

# /dev/zero, /dev/full, /dev/random and /dev/urandom of Linux.
_ENDLESS = [os.makedev(1, minor) for minor in (5, 7, 8, 9)]

_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


def source_name(path: str | Path) -> str:
    """How a path is called in messages.

    >>> source_name("-"), source_name("a.mrg")
    ('<stdin>', 'a.mrg')
    """
    return "<stdin>" if str(path) == STANDARD else str(path)


def encodable(text: str) -> str:
    """Text whose half characters, which file names that are not UTF-8 are made of, are escaped."""
    return text.encode(errors=_ERRORS).decode()


@contextmanager
def open_input(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file, or standard input for ``-``, for reading bytes; within, nothing else is done.

    Raises FileError where it cannot be opened or read.
    """
    if "\0" in str(path):  # which the system refuses by an error of another kind
        raise FileError("no such file", source=str(path))
    try:
        if str(path) == STANDARD:
            yield sys.stdin.buffer
        else:
            with open(path, "rb") as stream:
                if os.fstat(stream.fileno()).st_rdev in _ENDLESS:
                    raise FileError("is a device without an end, not a file", source=str(path))
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


def bad_bytes(source: str, line: int, encoding: str | None = None, text: str = "") -> FileError:
    """The error for a line that is no text; ``text`` is what was made of it."""
    if encoding is None:
        remedy = "this is no text" if "\0" in text else "convert it: iconv -f latin1 -t utf-8"
    else:
        remedy = ZEROS if "\0" in text else "name the file's encoding, e.g. `encoding=latin-1`"
    return FileError(f"bytes that are not {encoding or 'utf-8'}", source=source, line=line, remedy=remedy)


def holds_bad_bytes(text: str) -> bool:
    """Whether text has half characters, which stand for bad bytes and are no text themselves."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def decode_lines(
    stream: BinaryIO, source: str, encoding: str | None = None, bad: list[int] | None = None
) -> Iterator[str]:
    """Yield the lines of an open stream, as ``read_lines`` does of a file; messages call it ``source``.

    With ``bad``, bytes that are no text become half characters, and the numbers of their lines are appended.
    """
    name = "utf-8" if encoding is None else encoding
    begun = b""
    with suppress(LookupError, ValueError):
        if codecs.lookup(name).name in ("utf-8", "utf-8-sig"):
            peek = getattr(stream, "peek", None)
            begun = peek(4) if peek is not None else b""
            name = next((marked for mark, marked in _MARKS.items() if begun.startswith(mark)), name)
    if begun.startswith(_GZIP):
        raise FileError("is compressed", source=source, remedy="unpack it: gunzip")
    try:
        text = io.TextIOWrapper(stream, name, errors=_MARK, newline="\n")
    except (LookupError, ValueError):  # ValueError: a name with a zero or half a character in it
        raise FileError(f"there is no encoding {encoding!r}", remedy="e.g. `encoding=latin-1`") from None
    number = 0
    try:
        for number, line in enumerate(text, start=1):
            if holds_bad_bytes(line):
                if bad is None:
                    # The first line of a picture may have no zero.
                    raise bad_bytes(source, number, encoding, line + begun.decode("latin-1"))
                bad.append(number)
            yield line.removeprefix("\ufeff") if number == 1 else line
    except UnicodeError:  # of decoders that mark nothing: UTF-16 without a byte-order mark
        raise bad_bytes(source, number + 1, encoding) from None
    finally:
        with suppress(ValueError):  # which is closed already
            text.detach()


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
    with _write_errors(path):
        if str(path) == STANDARD:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:
            with _descriptor(path) as handle, open(handle, "wb", closefd=False) as stream:
                yield stream


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
def _descriptor(path: str | Path) -> Iterator[int]:
    """Where to write what is meant for a path."""
    if is_written_in_place(path):
        there = open_descriptor(path)
        with as_file_errors(path):
            handle = os.open(path, os.O_WRONLY | os.O_APPEND) if there is None else os.dup(there)
        try:
            yield handle
        finally:
            os.close(handle)
        return
    with atomic_outputs() as files:
        batch = _batch.get()
        file = _Replacement(path, batch is not None and batch[1])
        files.append(file)
        yield file.open()
        file.complete = True


def check_output(path: str | Path, appended: bool = False) -> None:
    """Raise FileError where an output could not be opened: before work is done for it."""
    if appended and os.path.exists(path):  # its folder may be closed
        with as_file_errors(path):
            open(path, "ab").close()
    elif is_file(path):
        _Replacement(path, grows=False)


# Replacing files.


def placed(path: str | Path) -> str:
    """The whole path of an output. A link is replaced, not followed: what it leads to was not named."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


class _Replacement:
    """A new file beside the one that it is to replace.

    With ``grows`` it is PATH.part, goes on behind what is there, and stays if the run fails. Raises FileError
    where it could not be written, and where the old one must not be.
    """

    def __init__(self, path: str | Path, grows: bool) -> None:
        self.path, self._grows = path, grows
        with as_file_errors(path):
            self._target = placed(path)
            folder, name = os.path.split(self._target)
            if os.path.basename(path) == "" or os.path.isdir(self._target):  # "" and "folder/"
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            # Asked now, not when all the work is done: whether the name is too long, the folder ours.
            self._mode: int | None = None
            with suppress(FileNotFoundError):
                mode = os.lstat(self._target).st_mode
                self._mode = None if stat.S_ISLNK(mode) else stat.S_IMODE(mode)
            os.stat(folder)
            if not os.access(folder, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        # As root, the system would allow it.
        if self._mode is not None and not (self._mode & 0o222 and os.access(self._target, os.W_OK)):
            raise FileError(
                "is protected against writing",
                source=str(path),
                remedy="choose another name, or allow it: chmod u+w",
            )
        begun, number = os.fsencode(name)[:_REPEATED].decode("utf-8", "ignore"), crc32(os.fsencode(name))
        hidden = os.path.join(folder, f".{begun}.{number:08x}")
        self._beside = self._target + PART if grows else hidden
        self._handle: int | None = None
        self.complete = False

    def open(self) -> int:
        """A descriptor to write to; the file gets the old one's permissions."""
        mode = 0o666 if self._mode is None else self._mode
        with undisturbed(), as_file_errors(self.path):
            if self._grows:
                self._handle = handle = os.open(self._beside, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, mode)
                os.lseek(handle, 0, os.SEEK_END)
            else:
                self._handle = handle = hold(self._beside, self.path, mode)
                os.ftruncate(handle, 0)
            if self._mode is not None:
                os.fchmod(handle, self._mode)
        return handle

    def place(self) -> None:
        """Rename the new file to the target."""
        with as_file_errors(self.path):
            os.replace(self._beside, self._target)
        self._close()

    def remove(self) -> None:
        """Remove the new file, if it was made and is no part."""
        if not self._grows and self._handle is not None:
            with suppress(OSError):
                os.unlink(self._beside)
        self._close()

    def _close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


#: The files of the innermost ``atomic_outputs``, and whether they are parts that grow.
_batch: ContextVar[tuple[list[_Replacement], bool] | None] = ContextVar("_batch", default=None)


#: Where the paths of files that were replaced are noted.
_replaced: ContextVar[list[str]] = ContextVar("_replaced", default=[])  # noqa: B039


@contextmanager
def replaced_files() -> Iterator[list[str]]:
    """The paths of the files that are written within, as far as they were placed."""
    token = _replaced.set([])
    try:
        yield _replaced.get()
    finally:
        _replaced.reset(token)


@contextmanager
def atomic_outputs(grow: bool = False) -> Iterator[list[_Replacement]]:
    """Replace all files opened within this context together, at its end, and only if it succeeds.

    Within another ``atomic_outputs`` they are replaced at the end of the outer one. With ``grow`` they are
    written to PATH.part, behind what an earlier run has left there, and it stays if this one fails, too.
    """
    outer = _batch.get()
    if outer is not None:
        yield outer[0]
        return
    files: list[_Replacement] = []
    token = _batch.set((files, grow))
    try:
        try:
            yield files
        except BrokenPipeError:
            # The reader of a pipe has left (| head), which is no error, unless it ends a file too.
            for file in files:
                if not file.complete:
                    raise FileError(
                        "not written: the reader of standard output left before all was done",
                        source=str(file.path),
                        remedy="write to a file instead of the pipe",
                    ) from None
            _place(files)
            raise
        _place(files)
    finally:
        _batch.reset(token)
        for file in files:
            file.remove()


def _place(files: list[_Replacement]) -> None:
    """Rename complete files; never one of two is new."""
    with undisturbed():
        for file in files:
            if file.complete:
                file.place()
                _replaced.get().append(str(file.path))
        files.clear()


# What a path names.


def open_descriptor(path: str | Path) -> int | None:
    """The open descriptor that a path leads to: by name (/dev/stdout, /dev/fd/5), or 1 or 2 by its file.

    A file that standard output or error was redirected to must not be replaced: what others write to the
    same stream, before and after, would be lost.
    """
    named = _named_descriptor(path)
    if named is not None:
        return named
    with suppress(OSError):
        status = os.stat(path)
        for descriptor in (1, 2) if stat.S_ISREG(status.st_mode) else ():
            if os.path.samestat(status, os.fstat(descriptor)):
                return descriptor
    return None


def _named_descriptor(path: str | Path) -> int | None:
    try:
        name = os.path.abspath(path)
    except OSError:  # the working folder was deleted
        return None
    number = _DESCRIPTOR.fullmatch(name)
    return _STREAMS.get(name) if number is None else int(number[1])


def is_written_in_place(path: str | Path) -> bool:
    """Whether an output is a device, a pipe, a socket or an open stream, which is written directly.

    A file is replaced when complete; renaming a file over a device or pipe would remove that.
    """
    if open_descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def is_file(path: str | Path) -> bool:
    """Whether a path is of a file, or will be: one can read it again, and others lie beside it.

    What comes by a pipe, a device or an open stream is read once.
    """
    return str(path) != STANDARD and not is_written_in_place(path)


def refuse_stream(path: str | Path) -> None:
    """Raise FileError for standard input and pipes, where an input is read several times."""
    if not is_file(path):
        raise FileError(
            "can be read once, and is to be read several times",
            source=source_name(path),
            remedy="write it to a file first",
        )


def sidecar(path: str | Path, suffix: str = SIDECAR) -> str | None:
    """Where what is kept beside a file is.

    None: standard output, devices and pipes have no sidecar, nor has a name that leaves no room for more.
    """
    beside = f"{path}{suffix}"
    fits = len(os.fsencode(os.path.basename(beside))) <= _LONGEST_NAME
    return beside if fits and is_file(path) and is_file(beside) else None


def output_identity(path: str) -> tuple[object, ...] | None:
    """What an output's path names, equal for all names of one file or stream.

    None for a device, which takes any number of outputs; standard output takes one.
    """
    descriptor = 1 if path == STANDARD else _named_descriptor(path)
    try:
        status = os.stat(path) if descriptor is None else os.fstat(descriptor)
    except OSError:
        if descriptor is not None:
            return ("descriptor", descriptor)
        folder, name = os.path.split(os.path.realpath(path))  # of a file that is not there yet
        with suppress(OSError):
            status = os.stat(folder)
            return status.st_dev, status.st_ino, name
        return folder, name
    if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        return ("descriptor", 1) if descriptor == 1 else None
    return status.st_dev, status.st_ino


def input_identity(path: str) -> tuple[object, ...] | None:
    """The same of an input; None for a device, which is read any number of times."""
    descriptor = 0 if path == STANDARD else _named_descriptor(path)
    try:
        status = os.stat(path) if descriptor is None else os.fstat(descriptor)
    except OSError:
        return None
    device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
    return None if device and descriptor is None else (status.st_dev, status.st_ino)
