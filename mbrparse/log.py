"""Messages and progress of long work: callers pass functions for them; what may be wrong is a warning."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, TypeVar

from mbrparse.errors import MbrparseError

Item = TypeVar("Item")

#: Takes one line of information.
Log = Callable[[str], None]


class Progress(Protocol):
    """Yields items and shows the progress; ``total`` is their number, where it is known."""

    def __call__(self, items: Iterable[Item], title: str, total: int | None = None) -> Iterator[Item]:
        """Yield each item."""
        ...


def counted(number: int, noun: str) -> str:
    """A number of things, for people.

    >>> counted(1, "sentence"), counted(2000, "word")
    ('1 sentence', '2000 words')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


@contextmanager
def meanwhile(work: Callable[[], object], seconds: float) -> Iterator[None]:
    """Do this every so many seconds, in a thread, however long each part of what is done within takes.

    What cannot be written now is written later, by whoever ends the work.
    """
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(seconds):
            with suppress(OSError, MbrparseError):
                work()

    thread, runs = threading.Thread(target=run, daemon=True), False
    try:
        with suppress(RuntimeError):  # no thread can be started
            thread.start()
            runs = True
        yield
    finally:
        ended.set()
        if runs:
            thread.join()


class MbrparseWarning(UserWarning):
    """What is read may not be what it looks like; parameters are named as in errors."""


def warn(message: str) -> None:
    """Warn where the package was called; the command line prints the message as a line on stderr."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals["__name__"].startswith(__package__):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, MbrparseWarning, level)


def no_log(line: str) -> None:
    """Drop a line of information."""


def no_progress(items: Iterable[Item], title: str, total: int | None = None) -> Iterator[Item]:  # noqa: ARG001
    """Pass items through, as ``Progress`` without a display."""
    return iter(items)
