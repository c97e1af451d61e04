"""Many trials, on some processes, and the account of them."""

from __future__ import annotations

import gc
import re
import shlex
import shutil
import sys
import threading
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from confinement import check
from processes import run_alone, run_row
from seeds import Files, make_seeds
from trials import Trial, make_trial
from verdicts import failure

ROOT = Path(__file__).resolve().parents[2]
#: Inputs in a row in one process: forking is dearer than most inputs.
ROW = 25
SHELL = {
    "stdin closed": "<&-",
    "stdout closed": ">&-",
    "stderr closed": "2>&-",
    "stdout full": "> /dev/full",
    "stderr full": "2> /dev/full",
}


@dataclass
class Account:
    """What came of inputs: how many were tried, and the kinds of failure, alone or only in a row."""

    tried: int = 0
    found: Counter[str] = field(default_factory=Counter)
    once: Counter[str] = field(default_factory=Counter)

    def add(self, other: Account) -> None:
        """Add another's figures."""
        self.tried += other.tried
        self.found += other.found
        self.once += other.once


def run(folder: Path, seed: int, seconds: float, inputs: int | None, jobs: int) -> int:
    """Try inputs 0, 1, ... until time or inputs are spent; print the figures; 1 if any failed."""
    seeds = make_seeds(folder / "seeds")
    if threading.active_count() > 1:
        raise RuntimeError("the parent of all trials has threads, which no fork takes along")
    for category in (RuntimeWarning, UserWarning):  # each time, not once in a process
        warnings.filterwarnings("always", category=category)
    gc.collect()
    gc.freeze()
    began = time.monotonic()
    total = Account()
    with ProcessPoolExecutor(jobs, get_context("fork")) as pool:
        lanes = [
            pool.submit(try_lane, folder, seeds, seed, lane, jobs, began + seconds, inputs)
            for lane in range(jobs)
        ]
        for future in lanes:
            total.add(future.result())
    taken, found = time.monotonic() - began, total.found
    rate = f"{total.tried / taken:.0f} a second, {jobs} processes"
    print(
        f"fuzz: seed {seed}: {total.tried} inputs in {taken:.0f} s ({rate}), "
        f"{found.total()} failures of {len(found)} kinds"
    )
    for kind, count in found.most_common():
        print(f"{count:7} {kind}\n        {kept(folder, kind)}")
    for kind, count in total.once.most_common():
        print(f"{count:7} only after other inputs in one process, not alone: {kind}")
    return int(bool(found))


def try_lane(
    folder: Path, seeds: Files, seed: int, lane: int, lanes: int, end: float, inputs: int | None
) -> Account:
    """Try every ``lanes``-th row of inputs until time or inputs are spent."""
    account, first = Account(), lane * ROW
    while time.monotonic() < end and (inputs is None or first < inputs):
        last = first + ROW if inputs is None else min(first + ROW, inputs)
        trials = {number: make_trial(seeds, f"{seed}:{number}") for number in range(first, last)}
        account.add(try_row(folder, trials, seed, folder / "work" / str(lane)))
        check(folder)
        first += ROW * lanes
    return account


def try_row(folder: Path, trials: dict[int, Trial], seed: int, place: Path) -> Account:
    """Try a row of inputs, most of them in one process.

    An input that fails, or ends its process, is tried again in a process of its own, which is what counts;
    those that play with streams or have processes of their own are tried so in the first place.
    """
    account = Account(len(trials))
    alone = [number for number, trial in trials.items() if trial.streams or "--jobs" in trial.arguments]
    row = [number for number in trials if number not in alone]
    suspected: dict[int, str] = {}
    while row:
        done = row[0]
        for done, kind in run_row(((number, trials[number]) for number in row), place, failure):
            if kind is not None:
                suspected[done] = kind
        row = [number for number in row if number > done]
    for number in sorted([*alone, *suspected]):
        trial = trials[number]
        kind = failure(trial, run_alone(trial, place), place / "files")
        if kind is not None:
            account.found[kind] += 1
            keep(kept(folder, kind), trial, place, f"{kind} (input {seed}:{number})")
        elif number in suspected:
            account.once[suspected[number]] += 1
    return account


def kept(folder: Path, kind: str) -> Path:
    """A failure's folder."""
    return folder / "failures" / re.sub(r"[^\w.]+", "-", kind)[:120].strip("-")


def keep(folder: Path, trial: Trial, place: Path, what: str) -> None:
    """Keep the first failure of a kind: its files, its output, and a script that runs it again."""
    if folder.exists():
        return
    (folder / "files").mkdir(parents=True)
    trial.write(folder / "files")
    for name in ("out", "err"):
        shutil.copyfile(place / name, folder / name)
    encoding = "PYTHONIOENCODING=ascii " * (trial.streams == "ascii")
    (folder / "replay").write_text(
        f"# {what}: bash {folder}/replay\n"
        f"cd $(mktemp -d) && cp -r {shlex.quote(str(folder))}/files/. . && ulimit -v 8000000 -f 65536\n"
        f"export PYTHONPATH={shlex.quote(str(ROOT))}\n"
        f"{encoding}{shlex.join([sys.executable, '-m', 'mbrparse', *trial.arguments])} "
        f"< {shlex.quote(trial.stdin or '/dev/null')} {SHELL.get(trial.streams, '')}\n"
        "echo exit code $?\n"
    )
