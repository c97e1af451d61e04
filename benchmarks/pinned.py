"""One core and one thread for whoever imports this before numpy; and what machine it is."""

from __future__ import annotations

import argparse
import os
import platform
from importlib.metadata import version
from pathlib import Path

for _name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def pin() -> bool:
    """Keep this process, and those it starts, on the last of its cores; false where the OS cannot."""
    if not CORES:
        return False
    os.sched_setaffinity(0, {CORES[-1]})
    return True


def unpin() -> None:
    """Allow all cores again (for --jobs)."""
    if CORES:
        os.sched_setaffinity(0, set(CORES))


def arguments(description: str | None, corpus: bool = True) -> argparse.ArgumentParser:
    """What reads a benchmark's arguments, perhaps ``--corpus``; help is laid out as the description is."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if corpus:
        parser.add_argument("--corpus", help="default: nltk:treebank if it is there, else embedded:flights")
    return parser


def machine() -> str:
    """The machine in one line each of hardware and software."""
    name = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    packages = ", ".join(f"{package} {version(package)}" for package in ("numba", "numpy", "nltk"))
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return (
        f"{name}, {os.cpu_count()} cores{load}\nPython {platform.python_version()}, {packages}, "
        f"mbrparse {version('mbrparse')}"
    )
