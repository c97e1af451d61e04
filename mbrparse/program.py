"""Which program this is: its version, a digest of its sources, their commit; signatures, which name it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from mbrparse import errors, version

_PACKAGE = Path(__file__).parent
_COMMIT = "git describe --always --abbrev=10 --dirty=+ --exclude=*"


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


@cache
def commit(package: Path = _PACKAGE) -> str | None:
    """The commit of the git checkout that the package stands in, with a + if files were changed since."""
    import subprocess

    run, environment = subprocess.check_output, {**os.environ, "GIT_DIR": ".git"}
    how: Any = {"cwd": package.parent, "env": environment, "stderr": subprocess.DEVNULL, "timeout": 10}
    with suppress(OSError, subprocess.SubprocessError):
        return str(run(_COMMIT.split(), text=True, **how).strip())
    return None


def signature(parts: Mapping[str, object]) -> str:
    """What figures depend on, ``key:value`` parts joined by ``|``, the program last; None is left out."""
    program = {"version": f"mbrparse-{version.__version__}", "sources": sources(), "commit": commit()}
    said = {key: _text(value) for key, value in {**parts, **program}.items() if value is not None}
    return errors.visible("|".join(map(":".join, said.items())))


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        value = [f"{key}={_text(one)}" for key, one in value.items() if one not in (None, "", [])]
    return ",".join(map(_text, value)) if isinstance(value, (list, tuple)) else str(value).replace("|", "%7C")
