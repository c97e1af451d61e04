"""The one decorator of the compiled kernels, and where their machine code is kept.

numba's own cache compares the file of a kernel alone; after a function that it calls has changed in another
file, the old machine code goes on running. Here all kernels share one folder, whose name is a digest of
what they were made of: the kernels' sources and whatever those import, numba's version, the processor. So
nothing in it is ever stale, and a second copy of the same sources finds its kernels compiled. The folder is

    $XDG_CACHE_HOME/mbrparse/kernels/<key>     (~/.cache, or the platform's equivalent)

or lies in the same way under NUMBA_CACHE_DIR where that is set; ``python -m mbrparse.grammar.kernel``
prints it.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import numba
from numba.core import event
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.serialize import dumps
from numba.misc.appdirs import user_cache_dir

from mbrparse.aside import aside

Kernel = TypeVar("Kernel", bound=Callable[..., object])

PACKAGE = Path(__file__).parents[1]
# Folders of kernels that nobody used for so long are removed, in seconds.
MAX_AGE = 30 * 24 * 3600

_DECORATED = b"\n@kernel\n"
_NAMED = re.compile(rb"(?:from|import) (" + PACKAGE.name.encode() + rb"(?:\.\w+)+)")


def kernel(function: Kernel) -> Kernel:
    """Compile a function of arrays and numbers at its first call, and keep its machine code.

    No fast-math: sums keep their order, so that every batch and every machine gives the same trees.
    """
    compiled: Any = numba.njit(nogil=True, error_model="numpy")(function)
    # Under NUMBA_DISABLE_JIT it is the function itself.
    if hasattr(compiled, "_cache"):
        compiled.__class__ = _Kernel
        # A kernel of elsewhere is not in the key.
        if PACKAGE in Path(function.__code__.co_filename).parents:
            compiled._cache = _KeptKernel(f"{function.__module__}.{function.__qualname__}")
    return cast("Kernel", compiled)


class _Kernel(CPUDispatcher):
    """A kernel never runs where Python may raise KeyboardInterrupt: numba does not look for it."""

    def __call__(self, *arguments: Any) -> Any:
        return aside(super().__call__, *arguments)

    def compile(self, sig: Any) -> Any:
        """Compile or load; kernels that this one calls are made within."""
        with _MAKING:
            return super().compile(sig)


class _Making:
    """How long this process has been making kernels, whichever of its threads did."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way = 0
        self._began = 0.0
        self._total = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if self._under_way == 0:
                self._began = time.monotonic()
            self._under_way += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._under_way -= 1
            if self._under_way == 0:
                self._total += time.monotonic() - self._began

    def seconds(self) -> float:
        with self._lock:
            return self._total + (time.monotonic() - self._began if self._under_way else 0.0)


_MAKING = _Making()


def seconds_of_making() -> float:
    """How many seconds this process has spent on compiling and loading kernels until now."""
    return _MAKING.seconds()


@contextmanager
def announced(announce: Callable[[], None]) -> Iterator[None]:
    """Call ``announce`` once if a kernel has to be compiled, which is once per machine (and version)."""
    listener = _Listener(announce)
    event.register("numba:compile", listener)
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)


class _Listener(event.Listener):
    def __init__(self, announce: Callable[[], None]) -> None:
        self._announce: Callable[[], None] | None = announce

    def on_start(self, event: Any) -> None:
        if self._announce is not None:
            self._announce()
            self._announce = None

    def on_end(self, event: Any) -> None:
        pass


def kernel_sources() -> dict[str, bytes]:
    """Every file of the package that a kernel's machine code may depend on, by its module's name.

    Those are the files with kernels, what they import (a constant is compiled in, a tuple's fields are), what
    that imports, and so on.
    """
    texts: dict[str, bytes] = {}
    inside: dict[str, list[str]] = {}
    for folder, _, files in os.walk(PACKAGE):
        room = os.path.relpath(folder, PACKAGE.parent).replace(os.sep, ".")
        for name in files:
            if name.endswith(".py"):
                module = f"{room}.{name.removesuffix('.py')}"
                inside.setdefault(room, []).append(module)
                with open(os.path.join(folder, name), "rb") as stream:
                    texts[module] = stream.read()
    waiting = [module for module, text in texts.items() if _DECORATED in text]
    found = set(waiting)
    while waiting:
        for named in set(_NAMED.findall(texts[waiting.pop()])):
            module = named.decode()
            # What is taken from a folder may be any of its files.
            new = {module} & texts.keys() or set(inside.get(module, ()))
            waiting.extend(new - found)
            found |= new
    return {module: texts[module] for module in sorted(found)}


def kernel_key() -> str:
    """What the machine code of kernels depends on, as a name for a folder."""
    digest = hashlib.sha256()
    machine = cpu_target.target_context.codegen().magic_tuple()  # system, processor, what it can do
    python = sys.implementation.cache_tag
    flags = [getattr(numba.config, name) for name in ("OPT", "BOUNDSCHECK")]
    digest.update(repr((numba.__version__, llvmlite.__version__, python, machine, flags)).encode())
    for module, text in kernel_sources().items():
        digest.update(f"\0{module}\0{len(text)}\0".encode())
        digest.update(text)
    return digest.hexdigest()[:32]


def _key_of_now() -> str | None:
    try:
        return kernel_key()
    except OSError:  # sources that are not files: nothing is kept
        return None


# Before any kernel is: what is imported after the sources were read may be newer than they, never older.
_KEY = _key_of_now()
_CACHES = os.environ.get("NUMBA_CACHE_DIR")
_OURS = Path(_CACHES, "mbrparse") if _CACHES else Path(user_cache_dir("mbrparse", False))
FOLDER = _OURS / "kernels" / str(_KEY)


class _KeptKernel(_Cache):
    """The machine code of one kernel: a file for each signature, written at once or not at all.

    numba's own files of two processes that compile at once can get mixed up: they number signatures.
    """

    used = False
    refused = False

    def __init__(self, name: str) -> None:
        self._name = name
        self._enabled = True

    @property
    def cache_path(self) -> str:
        return str(FOLDER)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel for arguments of these types, or None."""
        if not self._enabled or _KEY is None:
            return None
        target_context.refresh()
        # Whatever a damaged file brings about, the kernel is compiled again.
        with suppress(Exception):
            kept_sig, result = pickle.loads(self._path(sig).read_bytes())
            if kept_sig == sig:
                _mark_used()
                return CompileResult._rebuild(target_context, *result)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the kernel for arguments of these types."""
        if not self._enabled or _KEY is None or _KeptKernel.refused or data.library.has_dynamic_globals:
            return
        # Sources that were edited while this process runs are not what it compiles.
        if _key_of_now() != _KEY:
            return
        path = self._path(sig)
        draft = path.with_suffix(f".{uuid.uuid4().hex}")
        try:
            _make_folder()
            draft.write_bytes(dumps((sig, data._reduce())))
            draft.replace(path)
        except OSError as error:
            _KeptKernel.refused = True
            print(
                f"mbrparse: kernels are compiled in memory, anew in each run, as {FOLDER} cannot be written"
                f" ({error.strerror}); set NUMBA_CACHE_DIR to a folder for them",
                file=sys.stderr,
            )

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        for path in FOLDER.glob(f"{self._name}-*"):
            path.unlink(missing_ok=True)

    def _path(self, sig: Any) -> Path:
        return FOLDER / f"{self._name}-{hashlib.sha256(str(sig).encode()).hexdigest()[:16]}.bin"


def _mark_used() -> None:
    """The folder's time says when its kernels were used last."""
    if not _KeptKernel.used:
        _KeptKernel.used = True
        with suppress(OSError):
            os.utime(FOLDER)


def _make_folder() -> None:
    """Make the folder; where it is new, others may have become old."""
    if FOLDER.is_dir():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for other in FOLDER.parent.iterdir():
        with suppress(OSError):
            if re.fullmatch(r"[0-9a-f]{32}", other.name) and time.time() - other.stat().st_mtime > MAX_AGE:
                shutil.rmtree(other, ignore_errors=True)


if __name__ == "__main__":
    print(FOLDER)
