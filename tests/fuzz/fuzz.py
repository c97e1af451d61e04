"""Mutated inputs of every kind, each in a process forked from one warm parent: ``make fuzz``.

    python tests/fuzz/fuzz.py --seconds 600 --seed 1 [--inputs 100000] [--folder build/fuzz] [--jobs 2]

An input is a command line and its files, all of it determined by the seed and the input's number. It must end
by itself, with exit code 0, 1 or 2, without a traceback, a warning, a process or a temporary file left
behind; an error is one line; a parse has a line for each sentence. Every kind of failure is kept once in
FOLDER/failures, with its files and a script that replays it. Nothing outside of FOLDER can be written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from confinement import settle

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]


def main() -> None:
    """Confine, warm up, try, say what was found; exit code 1 where anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--inputs", type=int, help="at most (default: as many as there is time for)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    folder = given.folder.resolve()
    settle(folder)
    from campaign import run

    sys.exit(run(folder, given.seed, given.seconds, given.inputs, given.jobs))


if __name__ == "__main__":
    main()
