"""The results of an experiment, kept in its folder: with the same settings, no run is repeated.

A result is a JSON file with the settings that it was made with. Where results are files of other kinds
(grammars, parses), one file of settings stands for all of them. Files are complete or absent, so that an
interrupted experiment can be resumed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from mbrparse.errors import FileError
from mbrparse.files import SIDECAR, make_folder, open_output
from mbrparse.log import Log, no_log
from mbrparse.program import program
from mbrparse.run.jobs import Jobs, open_pool
from mbrparse.run.manifest import PROGRAM, Settings, check_settings
from mbrparse.run.pool import TaskFunction, WorkerDied, WorkersError
from mbrparse.state_files import Schema, anything, mapping, read_state, record, short_digest, write_state

#: A result, as JSON has it.
Result = dict[str, Any]


class Trial(Protocol):
    """One run of an experiment, by its number from 1; ``schema`` is that of its results."""

    @property
    def schema(self) -> Schema: ...

    def __call__(self, run: int, /) -> Result: ...


#: A temporary file of ``open_output``, left by a run that could not remove it.
LEFT_OVER = re.compile(r"\.(.+)\.[a-z0-9_]{8}")
_ANOTHER = "another folder: -o DIR"


def fingerprint(trees: Sequence[object]) -> str:
    """The number of trees, and a digest of them.

    >>> fingerprint([])
    '0 (e3b0c44298fc1c14)'
    """
    text = "".join(f"{tree}\n" for tree in trees)
    return f"{len(trees)} ({short_digest(text.encode())})"


def clear_left_overs(folder: Path, names: Container[str]) -> None:
    """Remove temporary files of an earlier run for files with these names, and for their sidecars."""
    for path in folder.iterdir():
        found = LEFT_OVER.fullmatch(path.name)
        if found is not None and found[1].removesuffix(SIDECAR) in names:
            path.unlink()


def claim_folder(folder: Path, settings: Settings, parts: Iterable[str]) -> None:
    """Write the settings, with the program's, into a new folder; raise InputMismatchError if one has others.

    ``parts`` are the names of the files that the settings are about: without settings, none may be there.
    """
    path, settings = folder / "settings.json", {PROGRAM: program(), **settings}
    if path.exists():
        _check(path, read_json(path, mapping(anything)), settings)
        return
    make_folder(folder)
    for part in parts:
        if (folder / part).exists():
            raise FileError(
                "results, but no settings.json says of what",
                source=str(folder / part),
                remedy=f"give {_ANOTHER}",
            )
    write_json(path, settings)


def read_result(path: Path, settings: Settings, schema: Schema) -> Result | None:
    """Read a result, if the file is there; raises InputMismatchError for other settings.

    Raises FileError for a result that is not of this schema.
    """
    if not path.exists():
        return None

    def check(content: Any) -> None:
        record({"settings": mapping(anything), "result": anything})(content)
        # With other settings a result may be of another schema: the settings are what is reported.
        if content["settings"] == settings:
            record({"settings": mapping(anything), "result": schema})(content)

    content = read_json(path, check)
    _check(path, content["settings"], settings)
    result: Result = content["result"]
    return result


def read_json(path: Path, schema: Schema) -> dict[str, Any]:
    """Read an object of this schema; raises FileError for anything else."""
    return read_state(path, schema, "a result of this experiment", "remove it")


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write an object for people to read, complete or not at all."""
    with open_output(path) as stream:
        json.dump(content, stream, indent=2)
        stream.write("\n")


def run_all(
    trial: Trial, folder: Path, runs: int, settings: Settings, jobs: Jobs, log: Log = no_log
) -> Iterator[tuple[int, Result]]:
    """Yield every run (from 1) and its result: those that are kept first, then the others as they finish.

    Lost workers are reported to ``log``. Raises FileError for a kept result that is not of the trial's
    schema, WorkersError for runs that workers died of.
    """
    make_folder(folder)
    settings = {PROGRAM: program(), **settings}
    files = {run: folder / f"run-{run:02}.json" for run in range(1, runs + 1)}
    clear_left_overs(folder, {path.name for path in files.values()})
    kept = {run: read_result(path, settings, trial.schema) for run, path in files.items()}
    yield from ((run, result) for run, result in kept.items() if result is not None)
    missing = [run for run, result in kept.items() if result is None]
    for run, result in _finished(trial, missing, jobs, log):
        write_state(files[run], {"settings": settings, "result": result})
        yield run, result


def _check(path: Path, kept: Settings, now: Settings) -> None:
    check_settings(path, kept, now, "give the same input and options", _ANOTHER)


def _finished(
    trial: Callable[[int], Result], runs: list[int], jobs: Jobs, log: Log
) -> Iterator[tuple[int, Result]]:
    """Yield runs as they finish. A run whose worker died is retried once, and named at the end."""
    if not runs:
        return
    retried: set[int] = set()
    lost: dict[int, str] = {}
    function = TaskFunction(partial(partial, trial), trial)
    with open_pool(jobs, function, log) as pool:
        under_way: dict[Future[Result], int] = {pool.submit(function, run): run for run in runs}
        waiting = list(under_way)
        for future in pool.completed(waiting):
            run = under_way[future]
            try:
                yield run, future.result()
            except WorkerDied as death:
                if run in retried:
                    lost[run] = str(death)
                else:
                    retried.add(run)
                    again = pool.submit(function, run)
                    under_way[again] = run
                    waiting.append(again)
    if lost:
        raise WorkersError(
            "; ".join(f"run {run}: two processes died of it ({lost[run]})" for run in sorted(lost)),
            remedy="is there enough memory? The other runs are kept: the same command goes on, and --jobs 1 "
            "needs less",
        )
