"""Where the machine code of kernels is kept.

numba's own cache compares the file of a kernel alone; after a function that it calls has changed in another
file, the old machine code goes on running. Here all kernels share one folder, whose name is a digest of
what they were made of: the kernels' sources and whatever those import, numba's version, numpy's, the
processor. So nothing in it is ever stale, and a second copy of the same sources finds its kernels compiled.
The folder is

    $XDG_CACHE_HOME/mbrparse/kernels/<key>     (~/.cache, or the platform's equivalent)

or lies in the same way under NUMBA_CACHE_DIR where that is set. It holds one file for each kernel and
combination of argument types, written at once or not at all: the machine code, behind a digest of it.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mbrparse.grammar.machine_code import MachineCode

PACKAGE = Path(__file__).parents[1]
_NAME = "mbrparse"
# Folders of kernels that nobody used for so long are removed, in seconds.
MAX_AGE = 30 * 24 * 3600

_DIGEST_SIZE = hashlib.sha256().digest_size
_DECORATED = b"\n@kernel\n", b"\n@array_kernel\n"
_MENTION = b" " + PACKAGE.name.encode() + b"."
_DOTTED = re.compile(rb"\w+(?:\.\w+)*")

Function = Callable[..., Any]


def jit_disabled() -> bool:
    """Whether kernels are to run as Python, which numba's users ask for when they debug."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def kernel_sources() -> dict[str, bytes]:
    """Every file of the package that a kernel's machine code may depend on, by its module's name.

    Those are the files with kernels, what they import (a constant is compiled in, a tuple's fields are), what
    that imports, and so on.
    """
    texts: dict[str, bytes] = {}
    inside: dict[str, list[str]] = {}
    for path, room in _source_files(str(PACKAGE), PACKAGE.name):
        module = f"{room}.{os.path.basename(path).removesuffix('.py')}"
        inside.setdefault(room, []).append(module)
        with open(path, "rb") as stream:
            texts[module] = stream.read()
    waiting = [module for module, text in texts.items() if any(line in text for line in _DECORATED)]
    found = set(waiting)
    while waiting:
        for module in _named(texts[waiting.pop()]):
            # What is taken from a folder may be any of its files.
            new = {module} & texts.keys() or set(inside.get(module, ()))
            waiting.extend(new - found)
            found |= new
    return {module: texts[module] for module in sorted(found)}


def _source_files(folder: str, room: str) -> Iterator[tuple[str, str]]:
    """The Python files below a folder, each with the dotted name of its folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield entry.path, room
            elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                yield from _source_files(entry.path, f"{room}.{entry.name}")


def _named(text: bytes) -> set[str]:
    """The modules of the package that a file imports."""
    before, *mentions = text.split(_MENTION)
    named: set[str] = set()
    for mention in mentions:
        if before.endswith((b"from", b"import")) and (dotted := _DOTTED.match(mention)):
            named.add(f"{PACKAGE.name}.{dotted.group().decode()}")
        before = mention
    return named


def _digest_of_sources() -> bytes | None:
    digest = hashlib.sha256()
    try:
        for module, text in kernel_sources().items():
            digest.update(f"\0{module}\0{len(text)}\0".encode())
            digest.update(text)
    except OSError:  # sources that are not files: nothing is kept
        return None
    return digest.digest()


# Before any kernel is: what is imported after the sources were read may be newer than they, never older.
_SOURCES = _digest_of_sources()


def _version(package: str) -> bytes:
    """What tells a package's versions apart; its import would take long."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    with suppress(OSError):
        return Path(spec.origin).with_name("_version.py").read_bytes()
    from importlib.metadata import version

    return version(package).encode()


@cache
def kernel_key() -> str | None:
    """What the machine code of kernels depends on, as a name for a folder; None if sources are no files."""
    if _SOURCES is None:
        return None
    import numpy as np
    from llvmlite import binding as llvm

    machine = llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    # All of numba's settings, but for where it keeps things and on how many cores it runs.
    settings = {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith("NUMBA_") and not re.search("CACHE|THREAD", name)
    }
    digest = hashlib.sha256(_SOURCES)
    digest.update(repr((machine, sys.implementation.cache_tag, np.__version__, settings)).encode())
    for part in (_version("numba"), _version("llvmlite")):
        digest.update(hashlib.sha256(part).digest())
    with suppress(OSError):
        digest.update(Path(".numba_config.yaml").read_bytes())
    return digest.hexdigest()[:32]


@cache
def folder() -> Path:
    """Where the machine code of these kernels lies."""
    return _root() / "kernels" / str(kernel_key())


def _root() -> Path:
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(given, _NAME)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local, _NAME, "Cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / _NAME
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", _NAME)


class _State:
    used = False
    refused = False


def read(function: Function, types: str) -> MachineCode | None:
    """The machine code of a kernel for arguments of these types, or None."""
    if not _is_kept(function):
        return None
    with suppress(Exception):  # a damaged file is none
        content = _path(function, types).read_bytes()
        digest, kept = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
        # Damaged machine code would end the process.
        if hashlib.sha256(kept).digest() == digest:
            kept_types, code = pickle.loads(kept)
            if kept_types == types:
                _mark_used()
                return code  # type: ignore[no-any-return]
    return None


def write(function: Function, types: str, code: MachineCode) -> None:
    """Keep the machine code of a kernel for arguments of these types."""
    # Sources that were edited while this process runs are not what it compiles.
    if not _is_kept(function) or _State.refused or _digest_of_sources() != _SOURCES:
        return
    import uuid

    path = _path(function, types)
    draft = path.with_suffix(f".{uuid.uuid4().hex}")
    try:
        _make_folder()
        kept = pickle.dumps((types, code))
        draft.write_bytes(hashlib.sha256(kept).digest() + kept)
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        _State.refused = True
        print(
            f"mbrparse: kernels are compiled in memory, anew in each run, as {folder()} cannot be written"
            f" ({error.strerror}); set NUMBA_CACHE_DIR to a folder for them",
            file=sys.stderr,
        )


def _is_kept(function: Function) -> bool:
    """A kernel of elsewhere is not in the key."""
    return PACKAGE in Path(function.__code__.co_filename).parents and kernel_key() is not None


def _path(function: Function, types: str) -> Path:
    digest = hashlib.sha256(types.encode()).hexdigest()[:16]
    return folder() / f"{function.__module__}.{function.__qualname__}-{digest}.bin"


def _mark_used() -> None:
    """The folder's time says when its kernels were used last."""
    if not _State.used:
        _State.used = True
        with suppress(OSError):
            os.utime(folder())


def _make_folder() -> None:
    """Make the folder; where it is new, others may have become old."""
    if folder().is_dir():
        return
    import shutil

    folder().mkdir(parents=True, exist_ok=True)
    for other in folder().parent.iterdir():
        with suppress(OSError):
            if re.fullmatch(r"[0-9a-f]{32}", other.name) and time.time() - other.stat().st_mtime > MAX_AGE:
                shutil.rmtree(other, ignore_errors=True)
