"""The chart kernels in plain Python with counters: what a chart costs in operations, not in seconds.

The kernels' own Python is run, with vectors that count what is done with them; arrays that count how often
they are read tell the rest.
"""

from __future__ import annotations

from collections import Counter
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbrparse.charts.base import vector


class CountedReads(np.ndarray[Any, Any]):
    """An array that counts how often a single element is read."""

    reads: int = 0

    def __getitem__(self, index: Any) -> Any:
        self.reads = self.reads + 1
        return np.asarray(self)[index]


def counted(array: NDArray[Any]) -> CountedReads:
    """A copy of an array, its counter at zero."""
    return np.array(array).view(CountedReads)


def counting_vectors(counts: Counter[str]) -> dict[str, Any]:
    """Stand-ins for charts.base.vector: rows as small arrays, each operation counted by its name."""

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

    return {
        "load": load,
        "store": store,
        "load_from": load_from,
        "store_to": store_to,
        "multiply_add": multiply_add,
        "multiply": multiply,
        "choose_greater": choose_greater,
        "zeros": lambda array: np.zeros(array.shape[1], array.dtype),
        "repeated": lambda array, value: np.full(array.shape[1], value, array.dtype),
        "spread": lambda array, index: array[int(index)],
        "add": lambda first, second: first + second,
        "maximum": np.maximum,
        "any_positive": lambda value: bool((value > 0).any()),
    }


def _from(array: Any, place: int, offset: int) -> Any:
    """A view of the numbers of one vector."""
    begin = int(place) + int(offset)
    return array.reshape(-1)[begin : begin + vector.VECTOR_BYTES // array.itemsize]


def uncompiled(user: ModuleType, counts: Counter[str]) -> dict[str, Any]:
    """The kernels that a module calls, by their names there, in plain Python as is all that they call."""
    stand_ins = counting_vectors(counts)
    made: dict[int, Any] = {}

    def plain(kernel: Any) -> Any:
        if id(kernel) not in made:
            code, scope = kernel.py_func.__code__, dict(kernel.py_func.__globals__)
            made[id(kernel)] = FunctionType(code, scope, code.co_name)
            for name in code.co_names:
                value = scope.get(name)
                if _is_kernel(value):
                    scope[name] = plain(value)
                elif value is not None and value is vars(vector).get(name):
                    scope[name] = stand_ins.get(name, value)
        return made[id(kernel)]

    return {name: plain(value) for name, value in vars(user).items() if _is_kernel(value)}


def _is_kernel(value: object) -> bool:
    return callable(getattr(value, "py_func", None))
