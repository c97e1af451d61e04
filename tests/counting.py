"""The chart kernels in plain Python with counters: what a chart costs in operations, not in seconds.

The kernels' own files are imported a second time, uncompiled, with vectors that count what is done with
them; arrays that count how often they are read tell the rest.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbrparse.grammar import kernel
from mbrparse.grammar.charts.base import vector


class CountedReads(np.ndarray[Any, Any]):
    """An array that counts how often a single element is read."""

    reads: int = 0

    def __getitem__(self, index: Any) -> Any:
        self.reads = self.reads + 1
        return np.asarray(self)[index]


def counted(array: NDArray[Any]) -> CountedReads:
    """A copy of an array, its counter at zero."""
    return np.array(array).view(CountedReads)


def counting_vectors(counts: Counter[str]) -> ModuleType:
    """A stand-in for grammar.charts.base.vector: rows as small arrays, each operation counted by its name."""

    def load(array: Any, row: int, offset: int) -> Any:
        counts["load"] += 1
        return array[int(row) + int(offset)].copy()

    def store(array: Any, row: int, offset: int, value: Any) -> None:
        counts["store"] += 1
        array[int(row) + int(offset)] = value

    def load_from(array: Any, place: int, offset: int) -> Any:
        counts["load"] += 1
        return _from(array, place, offset).copy()

    def store_to(array: Any, place: int, offset: int, value: Any) -> None:
        counts["store"] += 1
        _from(array, place, offset)[:] = value

    def multiply_add(first: Any, second: Any, total: Any) -> Any:
        counts["multiply_add"] += 1
        return first * second + total

    def multiply(first: Any, second: Any) -> Any:
        counts["multiply"] += 1
        return first * second

    def choose_greater(value: Any, bound: Any, then: Any, otherwise: Any) -> Any:
        return np.where(value > bound, then, otherwise)

    return _module(
        vector.__name__,
        load=load,
        store=store,
        load_from=load_from,
        store_to=store_to,
        multiply_add=multiply_add,
        multiply=multiply,
        choose_greater=choose_greater,
        zeros=lambda array: np.zeros(array.shape[1], array.dtype),
        repeated=lambda array, value: np.full(array.shape[1], value, array.dtype),
        spread=lambda array, index: array[int(index)],
        add=lambda first, second: first + second,
        maximum=np.maximum,
        any_positive=lambda value: bool((value > 0).any()),
    )


def _from(array: Any, place: int, offset: int) -> Any:
    """A view of the numbers of one vector."""
    begin = int(place) + int(offset)
    return array.reshape(-1)[begin : begin + vector.VECTOR_BYTES // array.itemsize]


def _module(name: str, **members: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(members)
    return module


def uncompiled(user: ModuleType, counts: Counter[str]) -> dict[str, Any]:
    """The kernels that a module calls, by their names there, in plain Python as is all that they call."""
    kernels = {name: value for name, value in vars(user).items() if _is_kernel(value)}
    with _plain_kernel_files(counts):
        return {
            name: getattr(import_module(kernel.py_func.__module__), kernel.py_func.__name__)
            for name, kernel in kernels.items()
        }


@contextmanager
def _plain_kernel_files(counts: Counter[str]) -> Iterator[None]:
    """Here kernel files are imported anew, each from whatever file imports it, and nothing is compiled."""
    loaded = {name: module for name, module in sys.modules.items() if name.startswith("mbrparse.")}
    hidden = {name: module for name, module in loaded.items() if _defines_kernels(module)}
    for name in hidden:
        del sys.modules[name]
    stand_ins = {
        kernel.__name__: _module(kernel.__name__, kernel=lambda defined: defined),
        vector.__name__: counting_vectors(counts),
    }
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        # What nobody imported anew is put back too.
        for name in [name for name in {*sys.modules, *loaded} if name.startswith("mbrparse.")]:
            if sys.modules.get(name) is not loaded.get(name):
                _put_back(name, loaded.get(name))


def _defines_kernels(module: ModuleType) -> bool:
    values = list(vars(module).values())
    return any(_is_kernel(value) and value.__module__ == module.__name__ for value in values)


def _is_kernel(value: object) -> bool:
    return callable(getattr(value, "py_func", None))


def _put_back(name: str, module: ModuleType | None) -> None:
    """Let a name stand for this module again, or for none, also as an attribute of its package."""
    room, _, file = name.rpartition(".")
    if module is None:
        del sys.modules[name]
        vars(sys.modules[room]).pop(file, None)
    else:
        sys.modules[name] = module
        setattr(sys.modules[room], file, module)
