"""The chart kernels in plain Python with counters: what a chart costs in operations, not in seconds.

The kernels' own source is loaded a second time, uncompiled, with vectors that count what is done with
them; arrays that count how often they are read tell the rest.
"""

from __future__ import annotations

import sys
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mbrparse.grammar.charts

ROOM = Path(mbrparse.grammar.charts.__file__).parent


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
    """A stand-in for grammar.charts.vector: rows as small arrays, each operation counted by its name."""

    def load(array: Any, row: int, offset: int) -> Any:
        counts["load"] += 1
        return array[int(row) + int(offset)].copy()

    def store(array: Any, row: int, offset: int, value: Any) -> None:
        counts["store"] += 1
        array[int(row) + int(offset)] = value

    def multiply_add(first: Any, second: Any, total: Any) -> Any:
        counts["multiply_add"] += 1
        return first * second + total

    def multiply(first: Any, second: Any) -> Any:
        counts["multiply"] += 1
        return first * second

    def choose_greater(value: Any, bound: Any, then: Any, otherwise: Any) -> Any:
        return np.where(value > bound, then, otherwise)

    return _module(
        "mbrparse.grammar.charts.vector",
        load=load,
        store=store,
        multiply_add=multiply_add,
        multiply=multiply,
        choose_greater=choose_greater,
        zeros=lambda array: np.zeros(array.shape[1], array.dtype),
        spread=lambda array, index: array[int(index)],
        add=lambda first, second: first + second,
        maximum=np.maximum,
        any_positive=lambda value: bool((value > 0).any()),
    )


def _module(name: str, **members: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(members)
    return module


def uncompiled(*names: str, counts: Counter[str]) -> dict[str, Any]:
    """The functions of the named kernel files, in plain Python; later files see the earlier ones' copies."""
    stand_ins = {
        "mbrparse.grammar.kernel": _module("mbrparse.grammar.kernel", kernel=lambda function: function),
        "mbrparse.grammar.charts.vector": counting_vectors(counts),
    }
    real = dict(sys.modules)
    functions: dict[str, Any] = {}
    try:
        sys.modules.update(stand_ins)
        for name in names:
            full = f"mbrparse.grammar.charts.{name}"
            spec = spec_from_file_location(full, ROOM / f"{name.replace('.', '/')}.py")
            assert spec is not None
            assert spec.loader is not None
            module = module_from_spec(spec)
            sys.modules[full] = module
            spec.loader.exec_module(module)
            functions |= vars(module)
    finally:
        for name in (*stand_ins, *(f"mbrparse.grammar.charts.{name}" for name in names)):
            if name in real:
                sys.modules[name] = real[name]
            else:
                sys.modules.pop(name, None)
    return functions
