"""The most memory that this process has held; in a file of its own, which imports nothing large."""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path


def peak_memory() -> float:
    """MB of this process at most; Linux's getrusage would count the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"^VmHWM:\s*(\d+) kB", status.read_text("utf-8"), re.MULTILINE)
        if found:
            return int(found[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 if sys.platform != "darwin" else 1024**2)
