"""Many trials, on some processes, and the account of them."""

from __future__ import annotations

import gc
import json
import os
import re
import shlex
import shutil
import sys
import threading
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from confinement import check
from processes import run_alone, run_row
from seeds import Files, make_seeds
from trials import Trial, make_trial
from verdicts import failure

#: Inputs in a row in one process: forking is dearer than most inputs.
ROW = 25


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
    lanes = [_Lane(folder, seeds, seed, lane, jobs, began + seconds, inputs) for lane in range(jobs)]
    for process in [lane.start() for lane in lanes]:
        os.waitpid(process, 0)
    taken = time.monotonic() - began
    tried, found, once = 0, Counter[str](), Counter[str]()
    for lane in lanes:
        account = json.loads(lane.account.read_text())
        tried += account["tried"]
        found.update(account["found"])
        once.update(account["once"])
    print(
        f"fuzz: seed {seed}: {tried} inputs in {taken:.0f} s "
        f"({tried / taken:.0f} a second, {jobs} processes), {found.total()} failures of {len(found)} kinds"
    )
    for kind, count in found.most_common():
        print(f"{count:7} {kind}\n        {_kept(folder, kind)}")
    for kind, count in once.most_common():
        print(f"{count:7} only after other inputs in one process, not alone: {kind}")
    return int(bool(found))


@dataclass
class _Lane:
    """A process that tries every ``lanes``-th row of inputs, one process forked for each row.

    An input that fails, or ends its process, is tried again in a process of its own, which is what counts;
    those that play with streams or have processes of their own are tried so in the first place.
    """

    folder: Path
    seeds: Files
    seed: int
    lane: int
    lanes: int
    end: float
    inputs: int | None
    tried: int = 0
    found: Counter[str] = field(default_factory=Counter)
    once: Counter[str] = field(default_factory=Counter)

    @property
    def account(self) -> Path:
        """Where the figures stand in the end."""
        return self.folder / f"lane{self.lane}.json"

    @property
    def place(self) -> Path:
        """The folder that trials are run in."""
        return self.folder / "work" / str(self.lane)

    def start(self) -> int:
        """Fork the process; returns its number."""
        process = os.fork()
        if process:
            return process
        code = 1
        try:
            first = self.lane * ROW
            while time.monotonic() < self.end and (self.inputs is None or first < self.inputs):
                last = first + ROW if self.inputs is None else min(first + ROW, self.inputs)
                self._try(range(first, last))
                check(self.folder)
                first += ROW * self.lanes
            self.account.write_text(json.dumps({"tried": self.tried, "found": self.found, "once": self.once}))
            code = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)

    def _try(self, numbers: range) -> None:
        trials = {number: make_trial(self.seeds, f"{self.seed}:{number}") for number in numbers}
        row = [number for number, trial in trials.items() if not _wants_a_process(trial)]
        doubtful = [number for number in numbers if number not in row]
        kinds: dict[int, str] = {}
        while row:
            done = row[0]
            for done, kind in run_row(((number, trials[number]) for number in row), self.place, failure):
                if kind is not None:
                    doubtful.append(done)
                    kinds[done] = kind
            row = [number for number in row if number > done]
        for number in sorted(doubtful):
            if not self._judge(number, trials[number]) and number in kinds:
                self.once[kinds[number]] += 1
        self.tried += len(numbers)

    def _judge(self, number: int, trial: Trial) -> bool:
        """Try an input in a process of its own; whether it failed."""
        outcome = run_alone(trial, self.place)
        kind = failure(trial, outcome, self.place / "files")
        if kind is not None:
            self.found[kind] += 1
            if self.found[kind] == 1:
                _keep(_kept(self.folder, kind), trial, self.place, f"{self.seed}:{number}", kind)
        return kind is not None


def _wants_a_process(trial: Trial) -> bool:
    return bool(trial.streams) or "--jobs" in trial.arguments


def _kept(folder: Path, kind: str) -> Path:
    """A failure's folder."""
    return folder / "failures" / re.sub(r"[^\w.]+", "-", kind)[:120].strip("-")


def _keep(folder: Path, trial: Trial, place: Path, seed: str, kind: str) -> None:
    """Keep a failure with all that it takes to see it again."""
    if folder.exists():
        return
    (folder / "files").mkdir(parents=True)
    trial.write(folder / "files")
    for name in ("out", "err"):
        shutil.copyfile(place / name, folder / name)
    (folder / "trial.json").write_text(trial.as_json())
    source = f" < {shlex.quote(trial.stdin)}" if trial.stdin else ""
    (folder / "command").write_text(
        f"# {kind} (input {seed}{', ' + trial.streams if trial.streams else ''})\n"
        f"# python tests/fuzz/replay.py {folder}\n"
        f"mbrparse {shlex.join(trial.arguments)}{source}\n"
    )
