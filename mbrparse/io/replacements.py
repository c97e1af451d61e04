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

from mbrparse.io.errors import FileError

#: Bytes of a file's name that the name of the one beside it repeats: file systems allow 255, some fewer.
_REPEATED = 100
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Replacement:
    """A new file beside the one that it is to replace; raises OSError where it could not be written."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self.target = os.path.realpath(path)
        folder, name = os.path.split(self.target)
        # Asked now, not when all the work is done: whether the name is too long, and the folder there.
        self._mode = _mode(self.target)
        os.stat(folder)
        begun = os.fsencode(name)[:_REPEATED].decode("utf-8", "ignore")
        self._beside = os.path.join(folder, f".{begun}.{os.urandom(4).hex()}")
        self.complete = False

    def open(self) -> int:
        """A descriptor to write to; the file gets the old one's permissions."""
        handle = os.open(
            self._beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if self._mode is None else self._mode
        )
        if self._mode is not None:
            os.fchmod(handle, self._mode)
        return handle

    def place(self) -> None:
        """Rename the temporary file to the target."""
        try:
            os.replace(self._beside, self.target)
        except OSError as error:
            raise unwritable(self.path, error) from None

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


def unwritable(path: str | Path, error: OSError) -> FileError:
    """The error for an output that cannot be opened or written."""
    if error.errno == errno.EISDIR:
        return FileError("is a directory, not a file", source=str(path))
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
