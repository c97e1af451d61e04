"""The decorator ``kernel``: functions of arrays and numbers that numba compiles, once on a machine.

numba compiles a function anew when its own file changes, but not when another kernel that it calls changes,
or a constant of another file. So machine code lies in a folder whose name is a digest of the function's
module, of the modules that it imports at its top (and of what these import), and of all else that decides
what is compiled: versions, settings, the processor. Nothing in it is ever stale, and a change elsewhere
compiles nothing. The folders lie in the user's cache folder (``platformdirs``), or in NUMBA_CACHE_DIR.
``python -m mbrparse.charts.kernel`` prints where.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import numpy as np
from llvmlite import binding as llvm
from platformdirs import user_cache_path

from mbrparse.local_settings import no_local_settings

# What numba looks for as it is imported, and kernels do without: its settings in YAML files, and the products
# of matrices, for which it imports scipy (a fifth of the time in which a sentence is parsed). Products in
# functions of others still find it.
_UNUSED = [name for name in ("yaml", "scipy", "scipy.linalg.cython_blas") if name not in sys.modules]
sys.modules.update(dict.fromkeys(_UNUSED, cast("Any", None)))
try:
    with no_local_settings():
        import numba
        import numba.extending
        import numba.np.arraymath
        from numba.core import event
        from numba.core.registry import cpu_target
        from numba.core.runtime.nrt import rtsys
finally:
    for name in _UNUSED:
        del sys.modules[name]

_config: Any = numba.config  # whose names are made as it is imported
if not _config.DISABLE_JIT:
    # What counts references is compiled in each process; to optimize it takes 5 MB. Kernels have it inlined.
    _context, _level = cpu_target.target_context, _config.OPT
    _config.OPT = 0
    rtsys.initialize(_context)
    _config.OPT = _level
# The settings that numba would read from the working folder whenever it compiles; there is no public way.
_config._config_fname = os.devnull
# Folders of kernels that nobody used for so long are removed, in seconds.
MAX_AGE = 30 * 24 * 3600
PACKAGE = Path(__file__).resolve().parents[1]

_IMPORT = re.compile(rb"^(?:from ([\w.]+) import (\([^)]*\)|.*)|import ([\w.]+))", re.MULTILINE)
_WORD = re.compile(rb"\w+")

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile a function of arrays, numbers and named tuples of them at its first call.

    It releases the GIL. No fast-math: sums keep their order, so that every machine gives the same trees.
    Dividing by zero gives infinity or NaN, as in numpy.
    """
    place = None if _config.DISABLE_JIT else _cache_folder(function.__module__)
    njit: Any = numba.njit  # whose types lack an option
    before = _config.CACHE_DIR  # which is the caller's, for functions of his own
    if place is not None:
        _config.CACHE_DIR = str(place)
    try:
        made = njit(nogil=True, cache=place is not None, error_model="numpy", no_cfunc_wrapper=True)(function)
    finally:
        _config.CACHE_DIR = before
    return cast("Function", made)


def inner_kernel(function: Function) -> Function:
    """Compile a function with each kernel that calls it, without what a call from Python takes.

    For Python it stays a function of Python. What it is given decides how long it takes to compile: a
    large tuple of arrays is taken apart wherever it is passed on.
    """
    made: Any = numba.extending.register_jitable(error_model="numpy")(function)
    return cast("Function", made)


def intrinsic(definition: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a typing context and argument types becomes one that kernels call with values."""
    return cast("Callable[..., Any]", numba.extending.intrinsic(definition))


@cache
def folder() -> Path:
    """Where the folders of kernels lie."""
    given = os.environ.get("NUMBA_CACHE_DIR", "")
    # A relative path would be another folder, and perhaps another user's, wherever the program is called.
    root = Path(given, "mbrparse") if os.path.isabs(given) else user_cache_path("mbrparse", appauthor=False)
    return root.resolve() / "kernels"


@cache
def _cache_folder(module: str) -> Path | None:
    """Where the machine code of a module's kernels lies; None where none can be kept."""
    if module.partition(".")[0] != PACKAGE.name or not _is_own():
        return None
    machine = llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    versions = numba.__version__, llvmlite.__version__, np.__version__, sys.implementation.cache_tag
    # All of numba's settings, but for where it keeps things and on how many cores it runs.
    settings = {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith("NUMBA_") and not re.search("CACHE|THREAD", name)
    }
    digest = hashlib.sha256(repr((machine, versions, settings)).encode())
    for path in sorted(_sources(module)):
        digest.update(f"\0{path.relative_to(PACKAGE)}\0".encode() + path.read_bytes())
    place = folder() / digest.hexdigest()[:32]
    with suppress(OSError):
        place.mkdir(exist_ok=True)
        os.utime(place)  # when its kernels were used last
    return place


@cache
def _is_own() -> bool:
    """Whether machine code can be kept: in a folder of the user's own that no other can write to.

    If not, the reason is printed when the first kernel is compiled.
    """
    reason = ""
    try:
        place = folder()
        new = not place.exists()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in (place, place.parent):
            status = path.stat()
            if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
                reason = f"{path}: others may write to it"
        if not reason and not os.access(place, os.W_OK):
            reason = f"{place}: cannot be written to"
        if not reason and not new:
            _remove_old_folders(place)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home folder
        reason = str(error)
    if reason:
        text = (
            f"mbrparse: kernels are compiled in memory, anew in each run, as they cannot be kept ({reason});"
            " set NUMBA_CACHE_DIR to a folder that only you can write to"
        )
        event.register("numba:compile", _Once(lambda: print(text, file=sys.stderr)))
    return not reason


def _remove_old_folders(place: Path) -> None:
    import shutil

    for other in place.iterdir():
        with suppress(OSError):
            if time.time() - other.stat().st_mtime > MAX_AGE:
                shutil.rmtree(other, ignore_errors=True)


@cache
def _sources(module: str) -> frozenset[Path]:
    """A module's file and the package's files that it imports at its top, and so on.

    They decide what its kernels are compiled to: a constant is compiled in, and so are the fields of a named
    tuple. Imports within functions do not matter.
    """
    path = PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    if module.partition(".")[0] != PACKAGE.name or not path.is_file():
        return frozenset()
    names = set()
    for source, imported, other in _IMPORT.findall(path.read_bytes()):
        names.add((source or other).decode())
        names.update(f"{source.decode()}.{name.decode()}" for name in _WORD.findall(imported))
    return frozenset([path]).union(*map(_sources, names))


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
    """Call ``announce`` once if a kernel has to be compiled, which is once per machine (and version).

    Where kernels cannot be kept nothing is announced: what is said instead is why.
    """
    once = _Once(announce if _is_own() else lambda: None)
    return cast("AbstractContextManager[object]", event.install_listener("numba:compile", once))


if __name__ == "__main__":
    print(folder())
