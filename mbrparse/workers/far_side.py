"""What runs on a cluster's workers: tasks, by work that each thread of a worker begins once."""

from __future__ import annotations

import hashlib
import pickle
import platform
import threading
import time
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from mbrparse.version import __version__

#: So many pieces of work stay begun in a thread: training has two, its texts.
KEPT = 4


class Answer(NamedTuple):
    """What became of a task: its result, or what it raised; and how many seconds it took."""

    result: Any
    error: Exception | None
    seconds: float


class OutOfMemory(Exception):  # noqa: N818  # as of Python's own
    """A task took more memory than its worker has."""


class Mismatch(Exception):  # noqa: N818
    """A worker that would not compute the same; the text says what it has."""


class _Begun(threading.local):
    """By digest, the functions that a thread has begun: two threads never share a parser."""

    def __init__(self) -> None:
        self.functions: dict[str, Callable[..., Any]] = {}


_begun = _Begun()


@cache
def versions() -> dict[str, str]:
    """What the bytes of a result may depend on."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"mbrparse": __version__, "Python": ".".join(platform.python_version_tuple()[:2])}
    for package in ("numpy", "numba"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "none"
    return found


def packed(value: Any) -> bytes:
    """A value on its way."""
    return zlib.compress(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), 1)


def unpacked(data: bytes) -> Any:
    """A value that has arrived."""
    return pickle.loads(zlib.decompress(data))


class Data(NamedTuple):
    """Packed, with the digest of its contents: by which workers know that they have it."""

    key: str
    packed: bytes

    @classmethod
    def of(cls, value: Any) -> Data:
        """A value, packed."""
        data = packed(value)
        return cls(hashlib.sha256(data).hexdigest()[:16], data)


def held(data: bytes) -> bytes:
    """Keep data in the cluster, where workers get it from each other; it can be made again."""
    return data


def held_value(data: bytes) -> Any:
    """Keep a value in the cluster."""
    return unpacked(data)


def perform(needed: dict[str, str], key: str, begin: bytes | None, call: bytes, *shared: Any) -> bytes:
    """Do a task: ``call`` is the function (None: what ``begin`` makes) and its arguments, packed.

    Places of shared values among the arguments are the first of what ``call`` holds. What a task raises is
    an answer like another.
    """
    mine = versions()
    if mine != needed:
        other = [f"{name} {mine[name]}, not {needed[name]}" for name in needed if mine[name] != needed[name]]
        return packed(Answer(None, Mismatch(", ".join(other)), 0.0))
    started = time.perf_counter()
    try:
        places, function, arguments, named = unpacked(call)
        for place, value in zip(places, shared, strict=True):
            arguments[place] = value
        work = _function(key, begin) if function is None and begin is not None else function
        started = time.perf_counter()
        answer = Answer(work(*arguments, **named), None, time.perf_counter() - started)
        return packed(answer)
    except MemoryError:
        _begun.functions.clear()
        return packed(Answer(None, OutOfMemory("out of memory"), time.perf_counter() - started))
    except Exception as error:
        return _failure(error)


def _failure(error: Exception) -> bytes:
    try:
        return packed(Answer(None, error, 0.0))
    except Exception:
        return packed(Answer(None, RuntimeError(f"what came of a task cannot be sent: {error}"), 0.0))


def _function(key: str, begin: bytes) -> Callable[..., Any]:
    functions = _begun.functions
    if key not in functions:
        while len(functions) >= KEPT:
            del functions[next(iter(functions))]
        functions[key] = unpacked(begin)()
    functions[key] = found = functions.pop(key)
    return found
