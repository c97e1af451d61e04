"""A kept failure once more, in a process of its own: ``python tests/fuzz/replay.py FOLDER``."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 240  # seconds
SHELL = {
    "stdin closed": "<&-",
    "stdout closed": ">&-",
    "stderr closed": "2>&-",
    "stdout full": "> /dev/full",
    "stderr full": "2> /dev/full",
}


def replay(folder: Path) -> int:
    """Run the command in a copy of its files; returns the exit code."""
    trial = json.loads((folder / "trial.json").read_text())
    streams = SHELL.get(trial["streams"], "")
    stdin = shlex.quote(trial["stdin"] or "/dev/null")
    line = f"{shlex.join([sys.executable, '-m', 'mbrparse', *trial['arguments']])} < {stdin} {streams}"
    print((folder / "command").read_text(), end="", flush=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if trial["streams"] == "ascii":
        environment["PYTHONIOENCODING"] = "ascii"
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(folder / "files", place, dirs_exist_ok=True)
        limits = "ulimit -v 8000000 -f 65536"
        done = subprocess.run(
            ["bash", "-c", f"{limits}; {line}"], cwd=place, env=environment, timeout=LIMIT, check=False
        )
    print(f"exit code {done.returncode}")
    return done.returncode


if __name__ == "__main__":
    for name in sys.argv[1:]:
        replay(Path(name))
