"""Compiling kernels: the only file that imports numba when it is imported."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

from numba.core import codegen, compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher, cpu_target
from numba.extending import intrinsic

from mbrparse.grammar.machine_code import Environment, MachineCode, extension

_OPTIONS: dict[str, Any] = {"nopython": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# What numba begins the symbols of environments with, and a symbol in LLVM's text where it needs no quotes.
_ENVIRONMENT = "_ZN08NumbaEnv"
_SYMBOL = re.compile(r"@([\w.$-]+)")


class _Linked(codegen.JITCodeLibrary):
    """Code that does not run from here: it is linked into other code, or written into an object file."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _Pipeline(compiler.Compiler):
    """numba's, but that nothing of what it makes is loaded."""

    def compile_extra(self, function: Any) -> Any:
        context = self.state.targetctx  # of this compilation alone
        self.state.library = _Linked(context.codegen(), function.__qualname__)
        context.get_executable = _stand_in
        return super().compile_extra(function)


def _stand_in(library: Any, described: Any, environment: Any) -> Any:
    """What other kernels know a kernel by; it is not to be called."""
    library._ensure_finalized()
    return extension("numba._dynfunc").make_function(
        described.lookup_module(), described.qualname, "", 0, environment, (library,)
    )


def inner_dispatcher(function: Callable[..., Any], counts: bool) -> Any:
    """What compiles a kernel for other kernels; ``counts``: references to arrays are counted."""
    return _dispatcher(function, no_cpython_wrapper=True, _nrt=counts)


def _dispatcher(function: Callable[..., Any], **options: Any) -> Any:
    return CPUDispatcher(function, {}, {**_OPTIONS, **options}, pipeline_class=_Pipeline)


def intrinsic_type(definition: Callable[..., Any]) -> Any:
    """numba's type of an operation."""
    made = intrinsic(definition)
    cpu_target.typing_context.refresh()
    return cpu_target.typing_context.resolve_value_type(made)


def compiled(function: Callable[..., Any], arguments: tuple[Any, ...], counts: bool) -> MachineCode:
    """Compile a kernel for being called from Python with arguments of these types."""
    outer = _dispatcher(function, _nrt=counts)
    with global_compiler_lock:
        result = outer._compiler.compile(tuple(map(outer.typeof_pyval, arguments)), None)
        module = result.library._final_module
        code = result.library.codegen._tm.emit_object(module)
    described = result.fndesc
    return MachineCode(
        described.modname,
        described.qualname,
        described.llvm_cpython_wrapper_name,
        _environments(module, described.env_name),
        _needed(module),
        code,
    )


def _needed(module: Any) -> tuple[str, ...]:
    """The symbols that a module uses and leaves to others."""
    used = set(_SYMBOL.findall(re.sub(r"(?m)^declare .*$", "", str(module))))
    return tuple(
        value.name
        for values in (module.functions, module.global_variables)
        for value in values
        if value.is_declaration and not value.name.startswith("llvm.") and value.name in used
    )


def _environments(module: Any, own: str) -> tuple[Environment, ...]:
    """A function's own environment, and those of others in its module that hold something."""
    found = [Environment(own, _objects(own))]
    for variable in module.global_variables:
        symbol = variable.name
        if symbol.startswith(_ENVIRONMENT) and symbol != own and lookup_environment(symbol).consts:
            found.append(Environment(symbol, _objects(symbol)))
    return tuple(found)


def _objects(symbol: str) -> bytes:
    return pickle.dumps(list(lookup_environment(symbol).consts))
