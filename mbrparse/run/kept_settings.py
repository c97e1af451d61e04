"""The settings that results depend on: what is kept was made with the same settings, or is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from mbrparse.io.errors import InputMismatchError, shortened

#: What a result depends on, by the name that messages use; values are as JSON has them.
Settings = dict[str, Any]
_SHOWN = 3


def differences(kept: Settings, now: Settings, word: str = "now") -> str:
    """What differs between kept settings and those of this run; empty where nothing does.

    >>> differences({"fallback": "flat", "details": True}, {"fallback": "empty", "details": True})
    'fallback: "flat", now "empty"'
    """
    names = [name for name in {**kept, **now} if kept.get(name) != now.get(name)]
    shown = [f"{name.replace('_', ' ')}: {_shown(kept, name)}, {word} {_shown(now, name)}" for name in names]
    return "; ".join((*shown[:_SHOWN], *(["..."] if len(names) > _SHOWN else [])))


def check_settings(source: object, kept: Settings, now: Settings, remedy: str) -> None:
    """Raise InputMismatchError where what is kept in ``source`` was made with other settings."""
    if differing := differences(kept, now):
        raise InputMismatchError(f"made with other settings ({differing})", source=str(source), remedy=remedy)


def _shown(settings: Settings, name: str) -> str:
    return shortened(json.dumps(settings.get(name)), 60)


def content_digest(value: Any) -> str:
    """Sixteen hexadecimal digits of a value's content, the same on every machine.

    Values of different types, and containers of different sizes, differ. Raises TypeError for what is
    neither data nor made of data.

    >>> content_digest(("a", 1)) == content_digest(("a", 1)), content_digest((1, 2)) == content_digest((12,))
    (True, False)
    """
    digest = hashlib.sha256()
    _feed(value, digest.update)
    return digest.hexdigest()[:16]


def _feed(value: Any, update: Callable[[bytes], None]) -> None:
    kind = type(value).__name__
    if value is None or isinstance(value, (bool, int, float, str, Enum)):
        update(f"{kind} {value!r}\n".encode(errors="backslashreplace"))
    elif isinstance(value, np.ndarray):
        update(f"array {value.dtype.str} {value.shape}\n".encode())
        update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Mapping):
        update(f"mapping {len(value)}\n".encode())
        for key, item in value.items():
            _feed(key, update)
            _feed(item, update)
    elif isinstance(value, (tuple, list)):
        update(f"{kind} {len(value)}\n".encode())
        for item in value:
            _feed(item, update)
    elif is_dataclass(value):
        update(f"{kind}\n".encode())
        for field in fields(value):
            _feed(getattr(value, field.name), update)
    else:
        raise TypeError(f"no digest of a {kind}")
