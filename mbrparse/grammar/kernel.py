"""The decorator ``kernel``: functions of arrays and numbers that numba compiles, once on a machine.

numba keeps machine code by itself, and compiles a function anew when its own file changes; not when another
kernel that it calls changes, or a constant of another file. So all machine code lies in a folder whose name
is a digest of whatever kernels are made of: their files and what those import, numba's settings and version,
numpy's, Python's, the processor. Nothing in it is ever stale. The folder is

    $XDG_CACHE_HOME/mbrparse/kernels/<digest>     (~/.cache, or the platform's equivalent)

or lies in the same way under NUMBA_CACHE_DIR where that is set. Relative paths in these variables are
ignored, and a folder that others may write to, or replace, is not used. ``python -m mbrparse.grammar.kernel``
prints its path.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import numpy as np
from llvmlite import binding as llvm

from mbrparse.grammar.kernel_sources import SOURCES
from mbrparse.io.local_settings import no_local_settings

with no_local_settings():
    import numba
    import numba.extending
    from numba.core import event

_config: Any = numba.config  # whose names are made as it is imported
# The settings that numba would read from the working folder whenever it compiles; there is no public way.
_config._config_fname = os.devnull
# Folders of kernels that nobody used for so long are removed, in seconds.
MAX_AGE = 30 * 24 * 3600
_NAME = "mbrparse"

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile a function of arrays, numbers and named tuples of them at its first call.

    It releases the GIL. No fast-math: sums keep their order, so that every batch and every machine gives the
    same trees. Dividing by zero gives infinity or NaN, as in numpy.
    """
    with _cache_folder(function) as kept:
        made: Any = numba.njit(nogil=True, cache=kept, error_model="numpy")(function)
    if kept and not Path(made.stats.cache_path).is_relative_to(folder()):
        # numba could not use the folder, and chose another one, which nobody has checked.
        _warn_once(f"{folder()}: numba cannot use it")
        made = numba.njit(nogil=True, error_model="numpy")(function)
    return cast("Function", made)


def intrinsic(definition: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a typing context and argument types becomes one that kernels call with values."""
    return cast("Callable[..., Any]", numba.extending.intrinsic(definition))


@contextmanager
def _cache_folder(function: Callable[..., object]) -> Iterator[bool]:
    """Let numba keep a function that it is given in ``folder``; yields whether it can be kept."""
    kept = not _config.DISABLE_JIT and _is_in_digest(function.__code__.co_filename) and _ready()
    before = _config.CACHE_DIR  # which is the caller's, for functions of his own
    if kept:
        _config.CACHE_DIR = str(folder())
    try:
        yield kept
    finally:
        _config.CACHE_DIR = before


@cache
def _is_in_digest(path: str) -> bool:
    """Whether a file whose kernels are being defined is what the digest was made of."""
    return SOURCES is not None and SOURCES.hold(path)


@cache
def folder() -> Path:
    """Where the machine code of these kernels lies."""
    machine = llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    versions = numba.__version__, llvmlite.__version__, np.__version__, sys.implementation.cache_tag
    # All of numba's settings, but for where it keeps things and on how many cores it runs.
    settings = {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith("NUMBA_") and not re.search("CACHE|THREAD", name)
    }
    digest = hashlib.sha256(b"" if SOURCES is None else SOURCES.digest)
    digest.update(repr((machine, versions, settings)).encode())
    return _root() / "kernels" / digest.hexdigest()[:32]


def _root() -> Path:
    # A relative path would be another folder, and perhaps another user's, wherever the program is called.
    if os.path.isabs(given := os.environ.get("NUMBA_CACHE_DIR", "")):
        return Path(given).resolve() / _NAME
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local, _NAME, "Cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / _NAME
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given if os.path.isabs(given) else Path.home() / ".cache").resolve() / _NAME


@cache
def _ready() -> bool:
    """Whether the folder can be used; where it is new, others may have become old."""
    try:
        new = not folder().exists()
        for path in (folder().parents[1], folder().parent, folder()):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)
            _check_own(path)
        for path in folder().parents[1].parents:
            _check_parent(path)
        os.utime(folder())  # when its kernels were used last
        if new:
            _remove_old_folders()
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home folder
        _warn_once(f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error))
        return False
    return True


def _check_own(path: Path) -> None:
    """Raise PermissionError where others may write: machine code is run unseen."""
    found, link = path.stat(), path.lstat()  # a link of another user's could be turned later
    if hasattr(os, "geteuid") and not found.st_uid == link.st_uid == os.geteuid():
        raise PermissionError(None, "belongs to another user", str(path))
    if os.name == "posix" and found.st_mode & 0o022:
        raise PermissionError(None, "others may write to it", str(path))


def _check_parent(path: Path) -> None:
    """Raise PermissionError where others may put a folder of theirs in the place of ours, at any time."""
    if os.name != "posix":
        return
    found = path.stat()
    if found.st_uid not in (os.geteuid(), 0, os.stat("/").st_uid):  # in containers "/" need not be root's
        raise PermissionError(None, "belongs to another user", str(path))
    others = stat.S_IWOTH | (0 if found.st_gid in (os.getegid(), 0) else stat.S_IWGRP)
    if found.st_mode & others and not found.st_mode & stat.S_ISVTX:
        raise PermissionError(None, "others may write to it", str(path))


@cache
def _warn_once(reason: str) -> None:
    """Print why kernels are not kept, when the first of them is compiled."""
    event.register("numba:compile", _Once(lambda: _warn(reason)))


def _warn(reason: str) -> None:
    print(
        f"mbrparse: kernels are compiled in memory, anew in each run, as they cannot be kept ({reason});"
        " set NUMBA_CACHE_DIR to a folder that only you can write to",
        file=sys.stderr,
    )


def _remove_old_folders() -> None:
    import shutil

    for other in folder().parent.iterdir():
        with suppress(OSError):
            if re.fullmatch(r"[0-9a-f]{32}", other.name) and time.time() - other.stat().st_mtime > MAX_AGE:
                shutil.rmtree(other, ignore_errors=True)


class _Once(event.Listener):
    """Calls a function at the first event."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call: Callable[[], None] | None = call

    def on_start(self, event: Any) -> None:
        call, self._call = self._call, None
        if call is not None:
            call()

    def on_end(self, event: Any) -> None:
        pass


def announced(announce: Callable[[], None]) -> AbstractContextManager[object]:
    """Call ``announce`` once if a kernel has to be compiled, which is once per machine (and version)."""
    return cast("AbstractContextManager[object]", event.install_listener("numba:compile", _Once(announce)))


class _Stopwatch(event.Listener):
    """How long this process has been compiling and loading kernels, whichever of its threads did."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way = 0
        self._began = 0.0
        self._total = 0.0

    def on_start(self, event: Any) -> None:
        with self._lock:
            if self._under_way == 0:
                self._began = time.monotonic()
            self._under_way += 1

    def on_end(self, event: Any) -> None:
        with self._lock:
            self._under_way -= 1
            if self._under_way == 0:
                self._total += time.monotonic() - self._began

    def seconds(self) -> float:
        with self._lock:
            return self._total + (time.monotonic() - self._began if self._under_way else 0.0)


_STOPWATCH = _Stopwatch()
# The lock that numba holds while it compiles or loads a function.
event.register("numba:compiler_lock", _STOPWATCH)


def seconds_of_making() -> float:
    """How many seconds this process has spent on compiling and loading kernels until now."""
    return _STOPWATCH.seconds()


if __name__ == "__main__":
    print(folder())
