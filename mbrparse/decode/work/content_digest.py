"""A digest of what a value holds, whichever file it was read from and whatever machine asks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np


def content_digest(value: Any) -> str:
    """Sixteen hexadecimal digits; raises TypeError for what is neither data nor made of it.

    Values of different types, and containers of different sizes, differ.

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
