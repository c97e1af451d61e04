"""Mutated inputs of every kind, each in a process forked from one warm parent: ``make fuzz``.

    python tests/fuzz/fuzz.py --seconds 600 --seed 1 [--inputs 100000] [--folder build/fuzz] [--jobs 2]

An input is a command line and its files, all of it determined by the seed and the input's number. It must end
by itself, with exit code 0, 1 or 2, without a traceback, a warning, a process or a temporary file left
behind; an error is one line; a parse has a line for each sentence. Every kind of failure is kept once in
FOLDER/failures, with its files and a command that replays it. Nothing outside of FOLDER can be written.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

# Before numpy and numba are imported: the parent must have one thread, and its cache a place of its own.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "MPLBACKEND": "agg"}
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--inputs", type=int, help="at most (default: as many as there is time for)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def make_folder(folder: Path) -> None:
    """The folder, emptied of an earlier run's; refused where something else lies there."""
    mark = folder / ".fuzz"
    if folder.exists() and any(folder.iterdir()) and not mark.exists():
        sys.exit(f"fuzz: {folder} holds other things than an earlier run; name another --folder")
    for name in ("seeds", "work", "cache", "home", "failures"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    mark.touch()


def keep_kernels(folder: Path) -> None:
    """Give the run a copy of the compiled kernels: the user's own cannot be written."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    theirs = Path(os.environ.get("NUMBA_CACHE_DIR") or cache, "mbrparse", "kernels")
    if theirs.is_dir():
        shutil.copytree(theirs, folder / "cache" / "mbrparse" / "kernels")
    os.environ |= {"NUMBA_CACHE_DIR": str(folder / "cache"), "HOME": str(folder / "home")}
    os.environ |= {"XDG_CACHE_HOME": str(folder / "home"), "MPLCONFIGDIR": str(folder / "home")}


def main() -> None:
    """Confine, warm up, try, say what was found; exit code 1 where anything failed."""
    given = arguments()
    folder = given.folder.resolve()
    make_folder(folder)
    keep_kernels(folder)
    from confinement import NotConfinedError, confine

    try:
        confine(folder, folder / "work")
    except NotConfinedError as error:
        sys.exit(f"fuzz: refuses to run, since files elsewhere would not be safe: {error}")
    from campaign import run

    sys.exit(run(folder, given.seed, given.seconds, given.inputs, given.jobs))


if __name__ == "__main__":
    main()
