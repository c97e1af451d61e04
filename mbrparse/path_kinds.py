"""What a path names: a file, a device, a pipe, or a stream that is open already.

The system is asked, not the name: ``/dev/shm/x`` is a file, and a pipe may have any name.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

STANDARD = "-"
#: Follows the name of a file of trees in that of its places in the corpus.
SIDECAR = ".places"

_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


def open_descriptor(path: str | Path) -> int | None:
    """The open descriptor that a path leads to: by name (/dev/stdout, /dev/fd/5), or 1 or 2 by its file.

    A file that standard output or error was redirected to must not be replaced: what others write to the
    same stream, before and after, would be lost.
    """
    found = _named_descriptor(path)
    if found is not None:
        return found
    try:
        status = os.stat(path)
    except OSError:
        return None
    for descriptor in (1, 2) if stat.S_ISREG(status.st_mode) else ():
        with suppress(OSError):
            if os.path.samestat(status, os.fstat(descriptor)):
                return descriptor
    return None


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
    """Whether an output will be a file, beside which others may lie."""
    return str(path) != STANDARD and not is_written_in_place(path)


def output_identity(path: str) -> tuple[object, ...] | None:
    """What an output's path names, equal for all names of one file or stream.

    None for a device, which takes any number of outputs; standard output takes one.
    """
    descriptor = 1 if path == STANDARD else _named_descriptor(path)
    try:
        status = os.stat(path) if descriptor is None else os.fstat(descriptor)
    except OSError:
        return _missing_identity(path) if descriptor is None else ("descriptor", descriptor)
    if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        return ("descriptor", 1) if descriptor == 1 else None
    return status.st_dev, status.st_ino


def input_identity(path: str) -> tuple[object, ...] | None:
    """The same of an input; None for all but files."""
    try:
        status = os.fstat(0) if path == STANDARD else os.stat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _named_descriptor(path: str | Path) -> int | None:
    try:
        name = os.path.abspath(path)
    except OSError:  # the working folder was deleted
        return None
    found = _DESCRIPTOR.fullmatch(name)
    return _STREAMS.get(name) if found is None else int(found[1])


def _missing_identity(path: str) -> tuple[object, ...]:
    """Of a file that is not there yet: its folder and its name, links followed."""
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    try:
        status = os.stat(folder)
    except OSError:
        return (target,)
    return status.st_dev, status.st_ino, name
