"""What commands print on stderr: notes, progress, and that kernels are compiled."""

from __future__ import annotations

import json
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from mbrparse.errors import MbrparseError, visible
from mbrparse.log import MbrparseWarning, meanwhile
from mbrparse.one_run import as_file_errors

Item = TypeVar("Item")
#: Seconds between two lines about long work.
EVERY = 60.0


def compilation_noted() -> AbstractContextManager[object]:
    """A context that prints a line when kernels have to be compiled."""
    from mbrparse.charts.kernel import announced, folder

    def say() -> None:
        # Where some kernels are there, only who waits at a terminal needs to know of more.
        if sys.stderr.isatty() or not any(folder().glob("*/*/*.nbi")):
            note("compiling kernels, once on this machine ...")

    return announced(say)


def with_progress(
    items: Iterable[Item],
    title: str,
    total: int | Callable[[], int | None] | None = None,
    workers: int | None = None,
    log: str | None = None,
) -> Iterator[Item]:
    """Pass items through, showing progress on stderr: on a terminal a bar, elsewhere a line a minute.

    ``total`` may be a function that counts when it is first needed; where that fails, nothing is foretold. A
    JSON line a minute, and one at the end, is added to the file ``log``.
    """
    done, finished, began, terminal = 0, False, time.monotonic(), sys.stderr.isatty()

    def known() -> int | None:
        with suppress(MbrparseError):  # of a file that is gone or changed: who reads it says so
            return total() if callable(total) else total
        return None

    def row() -> dict[str, Any]:
        seconds, all_of_them = max(time.monotonic() - began, 1e-3), known()
        left = round(seconds * max(0, all_of_them - done) / done) if all_of_them and done else None
        speed = round(done / seconds, 2)
        return {"sentences": done, "per_second": speed, "seconds_left": left, "workers": workers}

    def write(finished: bool = False) -> None:
        if log is not None:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            with as_file_errors(log), open(log, "a", encoding="utf-8") as stream:
                stream.write(json.dumps({"time": now, "what": title, **row(), "done": finished}) + "\n")

    def say() -> None:
        write()
        if not terminal:
            found = row()
            left = f", {found['seconds_left'] / 60:.0f} min left" if found["seconds_left"] else ""
            note(f"{title}: {done:,} done, {found['per_second']} a second{left}")

    with ExitStack() as stack:
        stack.callback(lambda: write(finished))
        stack.enter_context(meanwhile(say, EVERY))
        if terminal:
            from rich.console import Console
            from rich.progress import Progress

            bar = stack.enter_context(Progress(console=Console(stderr=True), transient=True))
            items = bar.track(items, total=known(), description=title)
        for item in items:
            yield item
            done += 1
        finished = True


def note(message: str, name: str = "mbrparse: ") -> None:
    """Print one line on stderr, with the program's name; that nobody reads it does not end the work."""
    with suppress(OSError):
        click.echo(visible(with_dashes(f"{name}{message}")), err=True)


@contextmanager
def warnings_noted() -> Iterator[None]:
    """Print warnings of the package as notes, each text once; others as Python does."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", MbrparseWarning)
        usual, said = warnings.showwarning, set[str]()

        def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
            if not issubclass(category, MbrparseWarning):
                usual(message, category, *place)
            elif (text := str(message)) not in said:
                said.add(text)
                note(text)

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def log(message: str) -> None:
    """Print one line on stderr as it is."""
    note(message, name="")


_PARAMETER = re.compile(r"`([a-z][a-z_]*)(?:=([^`]*))?`")
#: Options that are not called as Python calls them.
_OPTIONS = {
    "unlabelled": "--labels none",
    "best_first": "--engine best-first",
    "marks": "--label-style",
    "debinarized": "--debinarize",
}


def with_dashes(text: object) -> str:
    """A message whose parameters are shown as options.

    >>> with_dashes("`max_length` needs `labels=none`")
    '--max-length needs --labels none'
    """

    def shown(found: re.Match[str]) -> str:
        name = _OPTIONS.get(found[1], f"--{found[1].replace('_', '-')}")
        return name if found[2] is None else f"{name} {found[2]}"

    return _PARAMETER.sub(shown, str(text))
