"""What an experiment has finished stands in its folder and is not done again, unless the settings are others.

A result is a JSON file with the settings that it was made with. Where results are files of other kinds
(grammars, parses), the folder has one file of settings for them all. Files are complete or absent, so that
an interrupted experiment goes on.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from mbrparse.aside import aside
from mbrparse.errors import FileError, InputMismatchError
from mbrparse.files import open_output
from mbrparse.reporting import Tell, say_nothing
from mbrparse.state_files import Shape, anything, mapping, read_state, record, write_state
from mbrparse.treebank.tree import Tree
from mbrparse.workers.executor import Jobs, executor
from mbrparse.workers.pool import WorkerDied, WorkersError
from mbrparse.workers.work import Work

# A result, as JSON has it; what a result depends on, by the name that messages call it.
Result = dict[str, Any]
Settings = dict[str, Any]


class Trial(Protocol):
    """One run of an experiment, by its number from 1; ``shape`` is what its results are."""

    @property
    def shape(self) -> Shape: ...

    def __call__(self, run: int, /) -> Result: ...


#: A file that an interrupted run was writing (see ``open_output``), where the run could not remove it.
LEFT_OVER = re.compile(r"\.(.+)\.[a-z0-9_]{8}")
_ANOTHER = "another folder: -o DIR"


def fingerprint(trees: Sequence[Tree]) -> str:
    """How many trees, and a digest of them.

    >>> fingerprint([])
    '0 (e3b0c44298fc1c14)'
    """
    digest = hashlib.sha256()
    for tree in trees:
        digest.update(f"{tree}\n".encode())
    return f"{len(trees)} ({digest.hexdigest()[:16]})"


def make_folder(folder: Path) -> None:
    """Make a folder, if it is not there; raises FileError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"folder cannot be made ({error.strerror})", source=str(folder)) from None


def clear_left_overs(folder: Path, names: Container[str]) -> None:
    """Remove what an earlier run left half-written of files with these names."""
    for path in folder.iterdir():
        found = LEFT_OVER.fullmatch(path.name)
        if found is not None and found[1] in names:
            path.unlink()


def claim_folder(folder: Path, settings: Settings, parts: Iterable[str]) -> None:
    """Keep the settings in a new folder; in one that has some, raise InputMismatchError for others.

    ``parts`` are the names of what the settings speak of: without settings, none may be there.
    """
    path = folder / "settings.json"
    if path.exists():
        _check(path, settings, read_json(path, mapping(anything)))
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


def read_result(path: Path, settings: Settings, shape: Shape) -> Result | None:
    """The result that stands in a file, if there is one; raises InputMismatchError for other settings.

    Raises FileError for a result that is not of this shape.
    """
    if not path.exists():
        return None

    def of_settings(content: Any) -> None:
        record({"settings": mapping(anything), "result": anything})(content)
        # With others a result may well be of another shape, and that is then not what is wrong with it.
        if content["settings"] == settings:
            record({"settings": mapping(anything), "result": shape})(content)

    content = read_json(path, of_settings)
    _check(path, settings, content["settings"])
    result: Result = content["result"]
    return result


def write_result(path: Path, settings: Settings, result: Result) -> None:
    """Write a result and what it was made with."""
    write_state(path, {"settings": settings, "result": result})


def read_json(path: Path, shape: Shape) -> dict[str, Any]:
    """Read an object of this shape; raises FileError for anything else."""
    return read_state(path, shape, "a result of this experiment", "remove it")


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write an object for people to read, complete or not at all."""
    with open_output(path) as stream:
        json.dump(content, stream, indent=2)
        stream.write("\n")


def run_all(
    work: Trial, folder: Path, runs: int, settings: Settings, jobs: Jobs, tell: Tell = say_nothing
) -> Iterator[tuple[int, Result]]:
    """Yield every run (from 1) and its result: those that are there first, then the others as they finish.

    ``tell`` hears of workers that are lost. Raises FileError for a result there that is not one of the
    trial's.
    """
    make_folder(folder)
    files = {run: folder / f"run-{run:02}.json" for run in range(1, runs + 1)}
    clear_left_overs(folder, {path.name for path in files.values()})
    there = {run: read_result(path, settings, work.shape) for run, path in files.items()}
    yield from ((run, result) for run, result in there.items() if result is not None)
    missing = [run for run, result in there.items() if result is None]
    for run, result in _done(work, missing, jobs, tell):
        write_result(files[run], settings, result)
        yield run, result


def _check(path: Path, settings: Settings, there: Settings) -> None:
    for name in {**settings, **there}:
        if settings.get(name) != there.get(name):
            raise InputMismatchError(
                f"made with other settings ({name}: {there.get(name)}, now {settings.get(name)})",
                source=str(path),
                remedy=f"give the same input and options, or {_ANOTHER}",
            )


def _done(
    work: Callable[[int], Result], runs: list[int], jobs: Jobs, tell: Tell
) -> Iterator[tuple[int, Result]]:
    """Yield runs as they finish. One that a worker died of is tried once more, and named at the end."""
    if not runs:
        return
    died: set[int] = set()
    lost: dict[int, str] = {}
    begun = Work(partial(_begin, work), partial(aside, work))
    with executor(jobs, begun, tell) as pool:
        under_way: dict[Future[Result], int] = {pool.submit(begun, run): run for run in runs}
        waiting = set(under_way)
        for future in pool.completed(waiting):
            run = under_way[future]
            try:
                result = future.result()
            except WorkerDied as death:
                if run in died:
                    lost[run] = str(death)
                else:
                    died.add(run)
                    again = pool.submit(begun, run)
                    under_way[again] = run
                    waiting.add(again)
                continue
            yield run, result
    if lost:
        runs_lost = (f"run {run}: two processes died of it ({lost[run]})" for run in sorted(lost))
        raise WorkersError(
            "; ".join(runs_lost),
            remedy="is there memory enough? The other runs are kept: the same command goes on, and --jobs 1 "
            "takes less",
        )


def _begin(work: Callable[[int], Result]) -> Callable[[int], Result]:
    return work
