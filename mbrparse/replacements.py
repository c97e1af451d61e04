"""Outputs that replace existing files when they are complete: one by one, or all of a command together."""

from __future__ import annotations

import errno
import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from mbrparse.errors import FileError

#: Bytes of a file's name that the name of the one beside it repeats: file systems allow 255, some fewer.
_REPEATED = 100
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: The errors of a full disk, a closed stream and a broken device.
UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF, errno.EIO)


class Replacement:
    """A new file beside the one that it is to replace.

    Raises FileError where it could not be written, and where that one must not be.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = path
        with as_file_errors(path):
            self.target = os.path.realpath(path)
            folder, name = os.path.split(self.target)
            # Asked now, not when all the work is done: whether the name is too long, and the folder there.
            self._mode = _mode(self.target)
            os.stat(folder)
            if os.path.basename(path) == "":  # "" and "folder/", of which realpath makes another name
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        # As root, the system would allow it.
        if self._mode is not None and not (self._mode & 0o222 and os.access(self.target, os.W_OK)):
            raise FileError(
                "is protected against writing",
                source=str(path),
                remedy="choose another name, or allow it: chmod u+w",
            )
        begun = os.fsencode(name)[:_REPEATED].decode("utf-8", "ignore")
        self._beside = os.path.join(folder, f".{begun}.{os.urandom(4).hex()}")
        self.complete = False

    def open(self) -> int:
        """A descriptor to write to; the file gets the old one's permissions."""
        mode = 0o666 if self._mode is None else self._mode
        with as_file_errors(self.path):
            handle = os.open(self._beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            if self._mode is not None:
                os.fchmod(handle, self._mode)
        return handle

    def place(self) -> None:
        """Rename the temporary file to the target."""
        with as_file_errors(self.path):
            os.replace(self._beside, self.target)

    def remove(self) -> None:
        """Remove the temporary file, if it is there."""
        with suppress(OSError):
            os.unlink(self._beside)


_batch: ContextVar[list[Replacement] | None] = ContextVar("_batch", default=None)


@contextmanager
def atomic_outputs() -> Iterator[list[Replacement]]:
    """Replace all files opened within this context together, at its end, and only if it succeeds.

    Within another ``atomic_outputs`` they are replaced at the end of the outer one.
    """
    outer = _batch.get()
    if outer is not None:
        yield outer
        return
    files: list[Replacement] = []
    token = _batch.set(files)
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


@contextmanager
def replacing(path: str | Path) -> Iterator[int]:
    """A descriptor for a file's new content, which replaces the file if the context succeeds."""
    with atomic_outputs() as files:
        file = Replacement(path)
        files.append(file)
        handle = file.open()
        try:
            yield handle
        finally:
            os.close(handle)
        file.complete = True


@contextmanager
def as_file_errors(path: str | Path) -> Iterator[None]:
    """Raise FileError where an output cannot be opened or written; within, nothing else is done."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(path, error) from None


def make_folder(folder: str | Path) -> None:
    """Make a folder and those that it is in, where they are not there; raises FileError."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"folder cannot be made ({error.strerror})",
            source=str(folder),
            remedy="name one within a folder that is there, and where you may write",
        ) from None


def unwritable(path: str | Path, error: OSError) -> FileError:
    """The error for an output that cannot be opened or written."""
    if error.errno == errno.EISDIR:
        what = "is a directory, not a file" if os.fspath(path) else "an output without a name"
        return FileError(what, source=str(path) or None, remedy="name a file, or - for standard output")
    return FileError(
        f"cannot be written ({error.strerror})",
        source=str(path),
        remedy="does its folder exist, has the disk room, and may you write there?",
    )


def _mode(path: str) -> int | None:
    """The permissions of a file, if there is one."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return stat.S_IMODE(mode)


def _place(files: list[Replacement]) -> None:
    """Rename complete files; signals are blocked, so that never one of two is new."""
    waiting = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        for file in files:
            if file.complete:
                file.place()
        files.clear()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, waiting)
