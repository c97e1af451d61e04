"""Machine code of kernels, called from Python without numba.

numba puts a wrapper around a compiled function that takes Python objects. It needs nothing of numba but what
three small extension modules in C export; these are loaded here by themselves, as ``import numba`` takes some
hundred milliseconds. Python's own linker of LLVM (llvmlite) does the rest.
"""

from __future__ import annotations

import builtins
import ctypes
import importlib
import pickle
import sys
import threading
from collections.abc import Callable
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from llvmlite import binding as llvm

_LOADING = threading.RLock()


class Environment(NamedTuple):
    """What numba calls the environment of a function: Python objects that its code needs."""

    symbol: str
    objects: bytes  # a pickled list


class MachineCode(NamedTuple):
    """A kernel for arguments of given types."""

    module: str
    name: str
    wrapper: str  # the symbol of the function that takes Python objects
    environments: tuple[Environment, ...]  # its own, and those of what it calls that are not empty
    needed: tuple[str, ...]  # symbols that are not its own
    code: bytes  # an object file


def load(machine_code: MachineCode) -> Callable[..., Any]:
    """What calls a kernel. Raises ImportError if something that it needs is missing."""
    # A second thread would find numba's modules half made.
    with _LOADING:
        return _load(machine_code)


def _load(machine_code: MachineCode) -> Callable[..., Any]:
    dynfunc = _export_symbols()
    engine = _new_engine()  # the first lets LLVM look into this process
    for symbol in machine_code.needed:
        # LLVM ends the process where it misses one.
        if llvm.address_of_symbol(symbol) is None:
            raise ImportError(f"{machine_code.name} needs {symbol}")
    engine.add_object_file(llvm.ObjectFileRef.from_data(machine_code.code))
    engine.finalize_object()
    module = importlib.import_module(machine_code.module)
    own, *others = environments = [dynfunc.Environment(vars(module)) for _ in machine_code.environments]
    for given, environment in zip(machine_code.environments, environments, strict=True):
        environment.consts[:] = pickle.loads(given.objects)
        if address := engine.get_global_value_address(given.symbol):
            ctypes.c_void_p.from_address(address).value = id(environment)
    called: Callable[..., Any] = dynfunc.make_function(
        module,
        machine_code.name,
        f"compiled wrapper for {machine_code.name!r}",
        engine.get_function_address(machine_code.wrapper),
        own,
        (engine, others),  # which live as long as the function
    )
    return called


def _new_engine() -> Any:
    """A linker of its own for each kernel: copies of what they call do not meet."""
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


@cache
def _export_symbols() -> Any:
    """Tell LLVM what wrappers may call; returns the module that makes functions."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    dynfunc = extension("numba._dynfunc")
    for prefix, module in (
        ("numba_", extension("numba._helperlib")),
        ("numba_", dynfunc),
        ("NRT_", extension("numba.core.runtime._nrt_python")),
    ):
        for name, address in module.c_helpers.items():
            llvm.add_symbol(name if name.startswith("_") else prefix + name, address)
    if "numba" not in sys.modules:
        llvm.add_symbol("numba_unpickle", ctypes.cast(_UNPICKLE, ctypes.c_void_p).value)
    llvm.add_symbol("_Py_NoneStruct", id(None))
    for error in vars(builtins).values():
        if isinstance(error, type) and issubclass(error, BaseException):
            llvm.add_symbol(f"PyExc_{error.__name__}", id(error))
    return dynfunc


_unpickled: dict[tuple[int, bytes], Any] = {}


def _unpickle(data: int, size: int, digest: int) -> Any:
    """The object, one each time, that code holds pickled, such as the type of an array that it returns.

    numba's own of that name imports all of numba.
    """
    key = data, ctypes.string_at(digest, 20)
    if key not in _unpickled:
        _unpickled[key] = pickle.loads(ctypes.string_at(data, size))
    return _unpickled[key]


_UNPICKLE = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(_unpickle)


def extension(name: str) -> ModuleType | Any:
    """An extension module of numba, without the packages around it."""
    if name in sys.modules:
        return sys.modules[name]
    package = find_spec("numba")
    if package is None or package.origin is None:
        raise ImportError("numba is missing")
    stem = Path(package.origin).parent.joinpath(*name.split(".")[1:])
    for suffix in EXTENSION_SUFFIXES:
        path = stem.with_name(stem.name + suffix)
        if path.exists():
            spec = spec_from_file_location(name, path)
            assert spec is not None
            assert spec.loader is not None
            # A later import of numba finds it under its name.
            sys.modules[name] = module_from_spec(spec)
            spec.loader.exec_module(sys.modules[name])
            return sys.modules[name]
    return importlib.import_module(name)
