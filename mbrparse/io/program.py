"""Which program this is: its version, and a digest of its sources."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from mbrparse.io.version import __version__


@cache
def program(package: Path = Path(__file__).parents[1]) -> str:
    """The version and a digest of all source files, as they are when this is first called.

    Results are kept and joined only where both are the same. It reads some 2 MB, in 0.03 s.
    """
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        text = path.read_bytes()
        digest.update(f"\0{path.relative_to(package).as_posix()}\0{len(text)}\0".encode())
        digest.update(text)
    return f"{__version__} (sources {digest.hexdigest()[:12]})"
