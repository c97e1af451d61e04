"""What runs on a cluster's workers: tasks of a function that each thread of a worker makes once."""

from __future__ import annotations

import pickle
import platform
import threading
import time
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from mbrparse.program import program
from mbrparse.state_files import short_digest

#: How many functions a thread keeps: training has two, one for each of its texts.
KEPT = 4


class Answer(NamedTuple):
    """The result of a task, or what it raised, and the seconds that it took."""

    result: Any
    error: Exception | None
    seconds: float


class OutOfMemory(Exception):  # noqa: N818  # like Python's own
    """A task needed more memory than its worker has."""


class VersionMismatch(Exception):  # noqa: N818
    """A worker whose results might differ; the text says which versions it has."""


class Packed(NamedTuple):
    """A pickled value and the digest of its content, by which workers know that they have it."""

    key: str
    data: bytes

    @classmethod
    def of(cls, value: Any) -> Packed:
        """Pack a value."""
        data = pack(value)
        return cls(short_digest(data), data)


#: Its attributes are the functions that a thread has made, by digest: no two threads share a parser.
_made = threading.local()


@cache
def versions() -> dict[str, str]:
    """The versions that the bytes of a result may depend on."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"mbrparse": program(), "Python": ".".join(platform.python_version_tuple()[:2])}
    for package in ("numpy", "numba"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "none"
    return found


def pack(value: Any) -> bytes:
    """Pickle and compress a value."""
    return zlib.compress(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), 1)


def unpack(data: bytes) -> Any:
    """The value that was packed."""
    return pickle.loads(zlib.decompress(data))


def perform(needed: dict[str, str], key: str, make: bytes | None, call: bytes, *shared: Any) -> bytes:
    """Do a task; what it raises is returned in its Answer.

    ``call`` holds the places of the shared values among the arguments, the function (None: what ``make``
    makes), its arguments and keyword arguments.
    """
    here = versions()
    if here != needed:
        other = [f"{name} {here[name]}, not {needed[name]}" for name in needed if here[name] != needed[name]]
        return pack(Answer(None, VersionMismatch(", ".join(other)), 0.0))
    started = time.perf_counter()
    try:
        places, function, arguments, named = unpack(call)
        for place, value in zip(places, shared, strict=True):
            arguments[place] = value
        if function is None and make is not None:
            function = _function(key, make)
        started = time.perf_counter()
        return pack(Answer(function(*arguments, **named), None, time.perf_counter() - started))
    except MemoryError:
        vars(_made).clear()
        return pack(Answer(None, OutOfMemory("out of memory"), time.perf_counter() - started))
    except Exception as error:
        try:
            return pack(Answer(None, error, 0.0))
        except Exception:
            return pack(Answer(None, RuntimeError(f"the result of a task cannot be sent: {error}"), 0.0))


def _function(key: str, make: bytes) -> Callable[..., Any]:
    """The function of this digest, made once; the least recently used one is dropped for it."""
    functions: dict[str, Callable[..., Any]] = vars(_made)
    function = functions.pop(key, None)
    if function is None:
        while len(functions) >= KEPT:
            del functions[next(iter(functions))]
        function = unpack(make)()
    functions[key] = function
    return function
