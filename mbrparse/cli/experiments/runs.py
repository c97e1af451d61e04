"""Runs of an experiment: one result file for each, so that an interrupted experiment goes on."""

from __future__ import annotations

import json
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from mbrparse.errors import FileError, InputMismatchError
from mbrparse.files import open_output

# A result, as JSON has it; what a result depends on, by the name that messages call it.
Result = dict[str, Any]
Settings = dict[str, Any]


def finished_runs(folder: Path, runs: int, settings: Settings) -> dict[int, Result]:
    """The results (by run, from 1) that stand in a folder.

    Raises InputMismatchError where one comes from other settings.
    """
    found: dict[int, Result] = {}
    for run in range(1, runs + 1):
        path = run_file(folder, run)
        if not path.exists():
            continue
        try:
            content = json.loads(path.read_text("utf-8"))
            there, result = content["settings"], content["result"]
        except (OSError, ValueError, KeyError, TypeError):
            raise FileError("not a result of this experiment", source=str(path), remedy="remove it") from None
        for name in {**settings, **there}:
            if settings.get(name) != there.get(name):
                raise InputMismatchError(
                    f"this run was made with another {name}: {there.get(name)}, now {settings.get(name)}",
                    source=str(path),
                    remedy="give the same options and input, or another folder: -o DIR",
                )
        found[run] = result
    return found


def run_file(folder: Path, run: int) -> Path:
    """Where a run's result stands."""
    return folder / f"run-{run:02}.json"


def run_all(
    work: Callable[[int], Result], folder: Path, runs: int, settings: Settings, jobs: int
) -> Iterator[tuple[int, Result]]:
    """Yield every run and its result: those that are there first, then the others as they finish."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"folder cannot be made ({error.strerror})", source=str(folder)) from None
    done = finished_runs(folder, runs, settings)
    yield from done.items()
    missing = [run for run in range(1, runs + 1) if run not in done]
    for run, result in _in_order(work, missing) if jobs == 1 else _in_parallel(work, missing, jobs):
        with open_output(run_file(folder, run)) as stream:
            json.dump({"settings": settings, "result": result}, stream)
            stream.write("\n")
        yield run, result


def _in_order(work: Callable[[int], Result], runs: list[int]) -> Iterator[tuple[int, Result]]:
    return ((run, work(run)) for run in runs)


def _in_parallel(work: Callable[[int], Result], runs: list[int], jobs: int) -> Iterator[tuple[int, Result]]:
    pool = ProcessPoolExecutor(jobs, initializer=_leave_quietly)
    try:
        waiting = {pool.submit(work, run): run for run in runs}
        for future in as_completed(waiting):
            yield waiting[future], future.result()
    except BaseException:
        # Nothing of a half-done run is kept: there is no need to wait for it.
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _leave_quietly() -> None:
    """Ctrl-C reaches all processes: let a worker end by it, without a traceback of its own."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
