"""Trials in processes forked from this one, alone or in a row, under limits of time, memory and files."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trials import Trial

from mbrparse.cli.main import main

CPU_SECONDS, SECONDS, MEMORY, FILE_SIZE = 20, 120, 2**30, 2**26


@dataclass(frozen=True)
class Outcome:
    """How a command ended: ``code`` is its exit code, or -N for signal N; None: it ran out of time."""

    code: int | None
    out: bytes
    err: str
    outlived: bool
    left: tuple[str, ...]


Judge = Callable[[Trial, Outcome, Path], str | None]


def run_alone(trial: Trial, place: Path) -> Outcome:
    """Run a trial in a process of its own; its folder is ``place/files``, made anew."""
    _lay_out(trial, place)
    child = os.fork()
    if child == 0:
        ended = 70
        try:
            os.setpgid(0, 0)
            ended = _perform(trial, place)
        finally:
            os._exit(ended)
    with _Watched(child) as watched:
        in_time = watched.ends_within(SECONDS)
    return _outcome(trial, place, watched.code if in_time else None, watched.outlived)


def run_row(
    trials: Iterable[tuple[int, Trial]], place: Path, judge: Judge
) -> Iterator[tuple[int, str | None]]:
    """Run trials one after the other in one process; yield each one's number and failure.

    The row breaks off after one that ends the process or runs out of time.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            os.close(reading)
            for number, trial in trials:
                os.write(writing, f"{json.dumps([number, None])}\n".encode())
                _lay_out(trial, place)
                code = _perform(trial, place)
                kind = judge(trial, _outcome(trial, place, code, False), place / "files")
                os.write(writing, f"{json.dumps([number, kind or ''])}\n".encode())
        finally:
            os._exit(0)
    os.close(writing)
    begun: int | None = None
    with _Watched(child) as watched, open(reading, "rb", buffering=0) as stream:
        while select.select([stream], [], [], SECONDS)[0] and (line := stream.readline()):
            number, kind = json.loads(line)
            begun = number if kind is None else None
            if kind is not None:
                yield number, kind or None
        watched.ends_within(0 if begun is None else 1)
    if begun is not None:
        yield begun, "ended the process"


class _Watched:
    """A child and its group: whatever of it lives at the end of the block is killed."""

    def __init__(self, child: int) -> None:
        self.child, self.outlived = child, False
        self.code: int | None = None
        self._handle = os.pidfd_open(child)

    def __enter__(self) -> _Watched:
        return self

    def ends_within(self, seconds: float) -> bool:
        """Wait for the end."""
        waiting = select.poll()
        waiting.register(self._handle, select.POLLIN)
        return bool(waiting.poll(seconds * 1000))

    def __exit__(self, *error: object) -> None:
        if not self.ends_within(0):
            os.kill(self.child, signal.SIGKILL)
        os.close(self._handle)
        self.code = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
        for _ in range(40):
            try:
                os.killpg(self.child, 0)
            except ProcessLookupError:
                return
            time.sleep(0.05)
        self.outlived = True
        os.killpg(self.child, signal.SIGKILL)


def _lay_out(trial: Trial, place: Path) -> None:
    os.chdir(place.parent)
    shutil.rmtree(place, ignore_errors=True)
    (place / "files").mkdir(parents=True)
    (place / "tmp").mkdir()
    trial.write(place / "files")


def _outcome(trial: Trial, place: Path, code: int | None, outlived: bool) -> Outcome:
    files = place / "files"
    left = [path for path in files.rglob(".*") if str(path.relative_to(files)) not in trial.files]
    left += (place / "tmp").iterdir()
    err = (place / "err").read_text("utf-8", "backslashreplace")
    code = None if code == -signal.SIGXCPU else code
    return Outcome(code, (place / "out").read_bytes(), err, outlived, tuple(path.name for path in left))


def _perform(trial: Trial, place: Path) -> int:
    """Be ``mbrparse`` with these arguments, streams and limits; returns the exit code."""
    os.chdir(place / "files")
    tempfile.tempdir = str(place / "tmp")
    streams = trial.stdin or os.devnull, str(place / "out"), str(place / "err")
    for number, name in enumerate(streams):
        handle = os.open(name, os.O_RDONLY if number == 0 else os.O_CREAT | os.O_WRONLY)
        os.dup2(handle, number)
        os.close(handle)
    report = os.dup(2)
    faulthandler.enable(report)
    faulthandler.register(signal.SIGXCPU, report, chain=True)
    _set_limits()
    _set_streams(trial.streams)
    sys.argv = ["mbrparse", *trial.arguments]
    code: object = 1
    try:
        main()
    except SystemExit as leaving:
        code = leaving.code
    except BaseException:
        os.write(report, traceback.format_exc().encode("utf-8", "backslashreplace"))
    if sys.stderr is not None:
        sys.stderr.flush()
    os.close(report)
    return code if isinstance(code, int) else 70


def _set_limits() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    space = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for what, limit in (
        (resource.RLIMIT_CPU, round(used.ru_utime + used.ru_stime) + CPU_SECONDS),
        (resource.RLIMIT_AS, space + MEMORY),
        (resource.RLIMIT_FSIZE, FILE_SIZE),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (limit, resource.getrlimit(what)[1]))


def _set_streams(how: str) -> None:
    """Streams as the interpreter makes them at its start."""
    encoding = "ascii" if how == "ascii" else "utf-8"
    if how.endswith("full"):
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1 if how.startswith("stdout") else 2)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = open(1, "w", encoding=encoding, errors="strict", closefd=False)
    sys.stderr = open(2, "w", encoding=encoding, errors="backslashreplace", buffering=1, closefd=False)
    if how.endswith("closed"):
        name = how.removesuffix(" closed")
        os.close(("stdin", "stdout", "stderr").index(name))
        setattr(sys, name, None)
