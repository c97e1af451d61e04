"""One run at a time writes an output or works in a folder; signals do not come in between."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mbrparse.errors import FileError


@contextmanager
def undisturbed() -> Iterator[None]:
    """Signals that come meanwhile, by any thread, act afterwards. (They act in the main thread alone.)"""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = {one: handler for one in numbers if (handler := signal.getsignal(one)) is not None}
    waiting: list[int] = []
    try:
        for number in handlers:
            signal.signal(number, lambda came, _: waiting.append(came))
        yield
    except KeyboardInterrupt:  # which ends the run: another signal would do no more
        waiting.clear()
        raise
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for came in waiting:
            signal.raise_signal(came)


@contextmanager
def only_run(path: str | Path) -> Iterator[None]:
    """Hold a folder, or a file, which is made if it is not there, and goes if nothing is written to it.

    The system lets go when the process ends. Raises FileError where another run holds it.
    """
    handle = None
    try:
        with undisturbed(), as_file_errors(path):
            handle = hold(path, path)
        yield
    finally:
        if handle is not None:
            with suppress(OSError):
                if os.path.isfile(path) and os.path.getsize(path) == 0:
                    os.unlink(path)
            os.close(handle)


@contextmanager
def run_folder(folder: Path) -> Iterator[None]:
    """Make a folder, and hold it; what was made and is empty in the end goes. Raises FileError."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    make_folder(folder)
    with only_run(folder):
        try:
            yield
        finally:
            for path in [*(path for path in folder.iterdir() if path.is_dir()), *made]:
                with suppress(OSError):  # it is not empty
                    path.rmdir()


def hold(path: str | Path, of: str | Path, mode: int = 0o666) -> int:
    """Open and lock a file or folder until it is closed; messages call it ``of``."""
    flags = os.O_RDONLY if os.path.isdir(path) else os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    handle = os.open(path, flags, mode)
    held = True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held = False
    except OSError:  # a file system without locks
        pass
    with suppress(FileNotFoundError):  # it was renamed meanwhile: the other run has just ended
        if held and os.path.samestat(os.fstat(handle), os.lstat(path)):
            return handle
    os.close(handle)
    remedy = "wait for it, or give another output"
    if os.path.isdir(path):
        raise FileError(f"another run works in {of}", remedy=remedy)
    raise FileError("another run is at work here", source=str(of), remedy=remedy)


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


@contextmanager
def as_file_errors(path: str | Path) -> Iterator[None]:
    """Raise FileError where an output cannot be opened or written; within, nothing else is done."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(path, error) from None


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
