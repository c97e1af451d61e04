"""What makes functions compiled kernels: ``kernel``, and ``array_kernel`` for those that make arrays.

A kernel is called from Python with arrays, numbers and (named) tuples of them. What it becomes for arguments
of given types is compiled once on a machine (``kernel_compiler``) and kept (``kernel_cache``); from then on
it is loaded and called without numba (``machine_code``), whose import alone takes longer than a sentence.

``python -m mbrparse.grammar.kernel`` prints the folder of machine code.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from mbrparse.aside import aside, heard
from mbrparse.grammar import kernel_cache

if TYPE_CHECKING:
    from mbrparse.grammar.machine_code import MachineCode

Function = TypeVar("Function", bound=Callable[..., object])
Tables = TypeVar("Tables", bound=tuple[Any, ...])


def kernel(function: Function) -> Function:
    """Compile a function of arrays and numbers at its first call, and keep its machine code.

    No fast-math: sums keep their order, so that every batch and every machine gives the same trees.

    It makes no arrays, nor calls a kernel that returns some: so it counts no references to those of its
    arguments, which would take longer than what little a call may be for. It returns numbers; or arrays of
    its arguments, if none but such kernels call it: others would release what is not their own.
    """
    return cast("Function", function if kernel_cache.jit_disabled() else Kernel(function, counts=False))


def array_kernel(function: Function) -> Function:
    """A kernel that makes arrays, and counts references to all of them."""
    return cast("Function", function if kernel_cache.jit_disabled() else Kernel(function, counts=True))


class Kernel:
    """A function that runs as machine code, one for each combination of its arguments' types.

    It never runs where Python may raise KeyboardInterrupt: machine code does not look for it.
    """

    def __init__(self, function: Callable[..., Any], counts: bool) -> None:
        """``counts``: references to arrays are counted, without which it cannot make any."""
        update_wrapper(self, function)
        self._counts = counts
        self._name = f"{function.__module__}.{function.__qualname__}"
        self.py_func = function
        self._callables: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._lock = threading.Lock()
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        types = tuple(_types_of(arguments))
        if (called := self._callables.get(types)) is not None:
            return aside(called, *arguments)
        # To compile takes seconds, whatever the work at hand.
        return heard(self._make_and_call, types, arguments)

    def __repr__(self) -> str:
        return f"<kernel {self._name}>"

    def __reduce__(self) -> str:
        """Pickled, for other processes, it is its name: each loads its own machine code."""
        return self.py_func.__qualname__

    @property
    def _numba_type_(self) -> Any:
        """What numba takes this for, within another kernel."""
        from mbrparse.grammar.kernel_compiler import inner_dispatcher

        if self._dispatcher is None:
            self._dispatcher = inner_dispatcher(self.py_func, self._counts)
        return self._dispatcher._numba_type_

    def _make_and_call(self, types: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
        from mbrparse.grammar.machine_code import load

        with self._lock, _MAKING:
            if types not in self._callables:
                self._callables[types] = self._kept(types) or load(self._compiled(types, arguments))
        return self._callables[types](*arguments)

    def _kept(self, types: tuple[Any, ...]) -> Callable[..., Any] | None:
        """What an earlier process has compiled, or None."""
        from mbrparse.grammar.machine_code import load

        code = kernel_cache.read(self.py_func, _described(types))
        # Whatever a damaged file brings about, the kernel is compiled again.
        try:
            return None if code is None else load(code)
        except Exception:
            return None

    def _compiled(self, types: tuple[Any, ...], arguments: tuple[Any, ...]) -> MachineCode:
        for announce in list(_ANNOUNCEMENTS):
            announce()
        from mbrparse.grammar.kernel_compiler import compiled

        code = compiled(self.py_func, arguments, self._counts)
        kernel_cache.write(self.py_func, _described(types), code)
        return code


class Intrinsic:
    """An operation within kernels, given by what numba calls for its type and code."""

    def __init__(self, definition: Callable[..., Any]) -> None:
        self.__doc__ = definition.__doc__
        self._definition = definition
        self._type: Any = None

    @property
    def _numba_type_(self) -> Any:
        from mbrparse.grammar.kernel_compiler import intrinsic_type

        if self._type is None:
            self._type = intrinsic_type(self._definition)
        return self._type


def intrinsic(definition: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a typing context and argument types becomes one that kernels call with values."""
    return cast("Callable[..., Any]", Intrinsic(definition))


class Later:
    """A module that is imported when something of it is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


def steady(tables: type[Tables]) -> type[Tables]:
    """A class of named tuples that stay as they are: what machine code depends on is found once for each."""
    names = ("__doc__", "__module__", "__qualname__")
    return type(tables.__name__, (tables, _Steady), {name: getattr(tables, name) for name in names})


class _Steady:
    """What is mixed into such a class."""

    _types: _Types | None = None

    def find_types(self) -> _Types:
        """Instead of the types of its parts."""
        assert isinstance(self, tuple)
        types = (type(self), *_types_of(self))
        self._types = _KNOWN.setdefault(types, _Types(types))
        return self._types

    def __getstate__(self) -> None:
        """Another process finds its own."""


class _Types:
    """Those of a steady tuple: one object for the same types, which compares at once."""

    def __init__(self, types: tuple[Any, ...]) -> None:
        self.types = types


_KNOWN: dict[tuple[Any, ...], _Types] = {}

# C_CONTIGUOUS, F_CONTIGUOUS, ALIGNED, WRITEABLE: what numba distinguishes beside the kind and the axes.
_FLAGS = 0x1 | 0x2 | 0x100 | 0x400
_NUMBERS = {int, float, bool, type(None)}


def _type_of(value: Any) -> Any:
    """What machine code depends on, as far as an argument's value says it; it can be hashed."""
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype, value.ndim, value.flags.num & _FLAGS
    if issubclass(kind, _Steady):
        return value._types or value.find_types()
    if issubclass(kind, tuple):
        return kind, *_types_of(value)
    if kind in _NUMBERS or isinstance(value, np.generic):
        return kind
    if (bits := getattr(value, "bit_generator", None)) is not None:  # of random numbers
        return kind, type(bits)
    raise TypeError(f"no kernel takes a {kind.__name__}")


def _types_of(values: tuple[Any, ...]) -> list[Any]:
    """Of each; a call for most of them would take as long as the rest."""
    found: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            found.append((value.dtype, value.ndim, value.flags.num & _FLAGS))
        else:
            found.append(kind if kind in _NUMBERS else _type_of(value))
    return found


def _described(types: Any) -> str:
    """The same in words, for other processes."""
    if isinstance(types, _Types):
        types = types.types
    if isinstance(types, tuple):
        return f"({' '.join(map(_described, types))})"
    if isinstance(types, np.dtype):
        return str(types.descr if types.names else types.str)
    if isinstance(types, type):
        return f"{types.__module__}.{types.__qualname__}"
    return str(types)


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


_ANNOUNCEMENTS: list[Callable[[], None]] = []


@contextmanager
def announced(announce: Callable[[], None]) -> Iterator[None]:
    """Call ``announce`` once if a kernel has to be compiled, which is once per machine (and version)."""

    def once() -> None:
        if once in _ANNOUNCEMENTS:
            _ANNOUNCEMENTS.remove(once)
            announce()

    _ANNOUNCEMENTS.append(once)
    try:
        yield
    finally:
        if once in _ANNOUNCEMENTS:
            _ANNOUNCEMENTS.remove(once)


if __name__ == "__main__":
    print(kernel_cache.folder())
