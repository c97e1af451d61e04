"""The standard streams, when they are closed, full, or nobody reads them."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def stand_in_for_closed() -> None:
    """Put something in the place of closed standard streams (``<&-``, ``>&-``, ``2>&-``).

    A file that is opened later would get the number of the closed one, and what is meant for the stream.
    To read or write a stand-in is the error that it is on a closed stream; messages to one are lost.
    """
    if sys.stdin is None:
        sys.stdin = open(os.open(os.devnull, os.O_WRONLY), encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8", errors="backslashreplace")


def flush_output() -> OSError | None:
    """Write what standard output still holds; the error, where it cannot be written.

    Nothing is tried again when the interpreter ends, which would complain, and change the exit code.
    """
    with suppress(OSError):
        _flush(sys.stderr)
    try:
        _flush(sys.stdout)
    except OSError as error:
        return error
    return None


def _flush(stream: object) -> None:
    try:
        stream.flush()  # type: ignore[attr-defined]
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[attr-defined]
        raise
