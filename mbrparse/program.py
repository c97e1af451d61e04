"""Which program this is: its version, a digest of its sources; signatures, which name it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from mbrparse import errors, version

_PACKAGE = Path(__file__).parent


@cache
def sources(package: Path = _PACKAGE) -> str:
    """Twelve hexadecimal digits of all source files, some 2 MB, as they are when this is first called."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        text = path.read_bytes()
        digest.update(f"\0{path.relative_to(package).as_posix()}\0{len(text)}\0".encode())
        digest.update(text)
    return digest.hexdigest()[:12]


def program(package: Path = _PACKAGE) -> str:
    """The version and the digest; results are kept and joined only where both are the same."""
    return f"{version.__version__} (sources {sources(package)})"


def signature(parts: Mapping[str, object]) -> str:
    """What figures depend on, ``key:value`` parts joined by ``|``, the program last; None is left out."""
    program = {"version": f"mbrparse-{version.__version__}", "sources": sources()}
    said = {key: _text(value) for key, value in {**parts, **program}.items() if value is not None}
    return errors.visible("|".join(map(":".join, said.items())))


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        value = [f"{key}={_text(one)}" for key, one in value.items() if one not in (None, "", [])]
    return ",".join(map(_text, value)) if isinstance(value, (list, tuple)) else str(value).replace("|", "%7C")
