"""What commands print on stderr: notes, progress, and that kernels are compiled."""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from mbrparse.errors import FileError, visible
from mbrparse.log import counted

if TYPE_CHECKING:
    pass

Item = TypeVar("Item")
#: Seconds between two lines about long work.
EVERY = 60.0


def compilation_noted() -> AbstractContextManager[object]:
    """A context that prints a line when kernels have to be compiled."""
    from mbrparse.charts.kernel import announced, folder

    def say() -> None:
        # What another command compiles later is told to those alone who sit and wait.
        if sys.stderr.isatty() or not any(folder().glob("*/*/*.nbi")):
            note("compiling kernels, once on this machine ...")

    return announced(say)


@contextmanager
def every_minute(tell: Callable[[], None]) -> Iterator[None]:
    """Call ``tell`` once a minute, in a thread, however long each part of the work takes."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(EVERY):
            tell()

    thread = threading.Thread(target=run, daemon=True)
    with suppress(RuntimeError):  # no thread can be started: nothing is told
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if thread.ident is not None:
            thread.join()


def with_progress(items: Iterable[Item], title: str, total: int | None = None) -> Iterator[Item]:
    """Pass items through, showing progress on stderr: on a terminal a bar, elsewhere a line a minute."""
    if not sys.stderr.isatty():
        done, all_of_them = 0, "" if total is None else f" of {total:,}"
        with every_minute(lambda: note(f"{title}: {done:,}{all_of_them}")):
            for item in items:
                yield item
                done += 1
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, description=title, total=total, console=Console(stderr=True), transient=True)


def note(message: str) -> None:
    """Print one line of information on stderr, with the program's name."""
    log(f"mbrparse: {with_dashes(message)}")


def log(message: str) -> None:
    """Print one line on stderr; that nobody reads it is no reason to end what is being done."""
    with suppress(OSError):
        click.echo(visible(message), err=True)


_REFRESHED = 0.2


class Watch:
    """A ``Progress`` that shows how far a run is, on a terminal and in a log."""

    def __init__(
        self, count: Callable[[], int] | None, part: range, workers: int | None, log: str | None
    ) -> None:
        """``count`` is that of the input's sentences, ``part`` the places of those that are worked at."""
        self._count, self._part, self._total = count, part, None if count is None else -1
        self._workers, self._log = workers, log
        self._began = self._shown_at = time.monotonic()
        self._done = 0

    def __call__(self, items: Iterable[Item], title: str, total: int | None = None) -> Iterator[Item]:
        """Yield each item; raises FileError where the log cannot be written."""
        self._began = self._shown_at = time.monotonic()
        with self._logged(title), self._shown(title) as advance:
            for item in items:
                yield item
                self._done += 1
                if time.monotonic() > self._shown_at + _REFRESHED:
                    self._shown_at = time.monotonic()
                    advance()

    @property
    def total(self) -> int | None:
        """The number of sentences that are worked at, if it can be known; counted when first asked for."""
        if self._total == -1 and self._count is not None:
            self._total = max(0, min(self._count(), self._part.stop) - self._part.start)
        return self._total

    def row(self) -> dict[str, Any]:
        """What there is to say."""
        seconds, total = time.monotonic() - self._began, self.total
        left = round(seconds * max(0, total - self._done) / self._done) if total and self._done else None
        return {
            "sentences": self._done,
            "per_second": round(self._done / max(seconds, 1e-3), 2),
            "seconds_left": left,
            "workers": self._workers,
        }

    @contextmanager
    def _shown(self, title: str) -> Iterator[Callable[[], None]]:
        if not sys.stderr.isatty():
            with every_minute(lambda: note(f"{title}: {self}")):
                yield lambda: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task(title, total=self.total)
            yield lambda: progress.update(bar, completed=self._done, description=f"{title}: {self}")

    def __str__(self) -> str:
        row = self.row()
        left = f", {row['seconds_left'] / 60:.0f} min left" if row["seconds_left"] else ""
        several = f", {row['workers']} workers" if row["workers"] not in (1, None) else ""
        return f"{counted(row['sentences'], 'sentence')}, {row['per_second']}/s{left}{several}"

    @contextmanager
    def _logged(self, title: str) -> Iterator[None]:
        if self._log is None:
            yield
            return
        try:
            stream = open(self._log, "a", encoding="utf-8")
        except OSError as error:
            raise FileError(f"cannot be written ({error.strerror})", source=self._log) from None
        with stream:
            finished = False
            try:
                with every_minute(lambda: self._write(stream, title, False)):
                    yield
                finished = True
            finally:
                self._write(stream, title, finished)

    def _write(self, stream: IO[str], title: str, finished: bool) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        stream.write(json.dumps({"time": now, "what": title, **self.row(), "done": finished}) + "\n")
        stream.flush()


_PARAMETER = re.compile(r"`([a-z][a-z_]*)(?:=([^`]*))?`")
#: Options that are not called as Python calls them.
_OPTIONS = {
    "unlabelled": "--labels none",
    "best_first": "--engine best-first",
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
