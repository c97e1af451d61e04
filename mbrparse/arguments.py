"""Which numbers and which types arguments have, at the door of the command line and at that of Python."""

from __future__ import annotations

import builtins
import collections.abc
import functools
import inspect
import numbers
import sys
import types
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, TypeVar, Union, Unpack, get_args, get_origin

from mbrparse.errors import ArgumentError, shortened

#: The most of a count, and of a seed: arrays, JSON and random generators hold these.
MOST_COUNT, MOST_SEED = 10**9, 2**63 - 1
#: Of resamples: their time and memory grow with it.
MOST_RESAMPLES = 10**6

Called = TypeVar("Called", bound=Callable[..., Any])
_ABSTRACT = {int: numbers.Integral, float: numbers.Real}


def checked(function: Called) -> Called:
    """The function or class, which raises ArgumentError for an argument that is not of its annotated type.

    Types that are imported for type checkers only are any; containers are looked into, iterators are not.

    >>> @checked
    ... def total(prices: list[float], digits: int = 2) -> float: ...
    >>> total(["1"])
    Traceback (most recent call last):
    mbrparse.errors.ArgumentError: total: `prices` is list[float], not ['1'], a list
    """
    if isinstance(function, type):
        function.__init__ = checked(function.__init__)  # type: ignore[misc]
        return function
    signature = inspect.signature(function)
    name = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        for argument, value in signature.bind(*given, **named).arguments.items():
            parameter = signature.parameters[argument]
            kind = _evaluated(parameter.annotation, function.__module__)
            if parameter.kind is parameter.VAR_POSITIONAL:
                kind = types.GenericAlias(tuple, (kind, ...))
            elif get_origin(kind) is Unpack:
                check_types(name, get_args(kind)[0], value)
                continue
            _check(name, argument, parameter.annotation, kind, value)
        return function(*given, **named)

    return call  # type: ignore[return-value]


def check_types(name: str, kind: type, values: Mapping[str, Any]) -> None:
    """Raise ArgumentError for a value that is not of the type that a class annotates its name with."""
    for argument, value in values.items():
        if argument in kind.__annotations__:
            written = kind.__annotations__[argument]
            _check(name, argument, written, _evaluated(written, kind.__module__), value)


def _check(name: str, argument: str, written: Any, kind: Any, value: Any) -> None:
    parts = (kind, *get_args(kind))
    if int in parts and isinstance(value, int) and not -MOST_SEED <= value <= MOST_SEED:
        raise ArgumentError(f"{name}: `{argument}` has more than 64 bits")
    if argument == "seed" and isinstance(value, int) and value < 0:
        raise ArgumentError(f"{name}: `seed` is zero or more, not {value}")
    if not _is(value, kind):
        listed = [str(one) for part in parts if get_origin(part) is Literal for one in get_args(part)]
        wanted = f"one of {', '.join(listed)}" if listed else getattr(written, "__forward_arg__", written)
        shown = f"{shortened(repr(value), 60)}, a {type(value).__name__}"
        raise ArgumentError(f"{name}: `{argument}` is {wanted}, not {shown}")


class _Loose(dict[str, Any]):
    """The names of a module; any other is any type."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, Any)


@functools.cache
def _evaluated(written: Any, module: str) -> Any:
    written = getattr(written, "__forward_arg__", written)
    if not isinstance(written, str):
        return Any if written is inspect.Parameter.empty else written
    try:
        return eval(written, {}, _Loose(vars(sys.modules[module])))
    except (AttributeError, TypeError):  # of a module, or a generic type, that is not there
        return Any


def _is(value: Any, kind: Any) -> bool:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return any(_is(value, one) for one in inner)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if kind in _ABSTRACT:
        return isinstance(value, _ABSTRACT[kind]) and not isinstance(value, bool)
    if kind is None or _is_any(kind):
        return value is None or kind is not None
    if not isinstance(value, origin or kind) or origin is collections.abc.Callable or not inner:
        return isinstance(value, origin or kind)
    return _holds(value, inner, origin is tuple)


def _is_any(kind: Any) -> bool:
    protocol, known = (getattr(kind, name, False) for name in ("_is_protocol", "_is_runtime_protocol"))
    return kind is Any or not isinstance(get_origin(kind) or kind, type) or (protocol and not known)


def _holds(value: Any, inner: tuple[Any, ...], is_tuple: bool) -> bool:
    """Whether what is in a container is of these types; a text is no container of texts."""
    if isinstance(value, (str, bytes)):
        return isinstance(value, str) and (_is_any(inner[0]) or any(map(_is_any, get_args(inner[0]))))
    if isinstance(value, Mapping):
        return all(_is(key, inner[0]) and _is(one, inner[-1]) for key, one in value.items())
    if is_tuple and inner[-1] is not Ellipsis:
        return len(value) == len(inner) and all(map(_is, value, inner))
    return not isinstance(value, Collection) or all(_is(one, inner[0]) for one in value)
