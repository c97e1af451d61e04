"""The options of ``parse`` and ``score`` for long runs: jobs, limits, shards, resuming, a log; progress."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from mbrparse.cli.objective_options import combinations_checked
from mbrparse.cli.option_types import InputFile, Text
from mbrparse.cli.options import (
    compilation_noted,
    every_minute,
    jobs_option,
    max_seconds_option,
    note,
    option,
)
from mbrparse.errors import FileError
from mbrparse.files import STANDARD, is_file
from mbrparse.log import counted

if TYPE_CHECKING:
    from mbrparse.decode.parser.parsing import Job

Item = TypeVar("Item")
Result = TypeVar("Result")

_REFRESHED = 0.2
_SHARD = re.compile(r"([1-9][0-9]{0,6})/([1-9][0-9]{0,6})")
#: What the settings of a run that is resumed leave out: results do not depend on it.
_NO_SETTINGS = {"jobs", "scheduler", "log", "resume", "strict", "inputs", "trees"}


@dataclass(frozen=True)
class WorkOptions:
    """Who does the work, how much of it, and what is kept on the way."""

    jobs: Any = jobs_option()
    max_seconds: float | None = max_seconds_option(
        "Fall back on a sentence that takes longer, in a process of its own. The output then depends on the "
        "machine."
    )
    shard: str | None = option(
        type=Text("I/N"), help="Only the I-th of N parts of the input; their outputs are to be concatenated."
    )
    resume: bool = option(
        is_flag=True,
        help="Go on with the outputs of a run that was interrupted (PATH.part), if there are any.",
    )
    log: str | None = option(
        metavar="FILE", help="Add a JSON line a minute: sentences done, a second, seconds left, workers."
    )

    @contextmanager
    def results(
        self,
        job: Job[Item, Result],
        items: Iterable[Item],
        done: int,
        count: Callable[[], int] | None,
        title: str,
    ) -> Iterator[tuple[int, Iterator[Result]]]:
        """The number of sentences before those of a job, and its results.

        ``done`` sentences stand in outputs already, ``count`` counts all of the input.
        """
        from mbrparse.decode.parser.parsing import run

        part = self.part(count)
        part = range(part.start + done, part.stop)
        watch = Watch(count, part, self.jobs if isinstance(self.jobs, int) else None, self.log)
        with compilation_noted():
            with combinations_checked():
                found = run(job, items, self.jobs, self.max_seconds, part, note)
            yield part.start, watch(found, title)

    def part(self, count: Callable[[], int] | None) -> range:
        """The places of this shard's sentences, of so many; a usage error where they cannot be counted."""
        if self.shard is None:
            return range(sys.maxsize)
        found = _SHARD.fullmatch(self.shard)
        if found is None or int(found[1]) > int(found[2]):
            raise click.UsageError(f"--shard is I/N, the I-th of N from 1/N to N/N, not {self.shard!r}.")
        if count is None:
            raise click.UsageError("--shard counts sentences: it needs files, not standard input.")
        number, parts = int(found[1]), int(found[2])
        total = count()
        end = sys.maxsize if number == parts else total * number // parts
        return range(total * (number - 1) // parts, end)

    @property
    def begins(self) -> bool:
        """Whether the first sentence is among those of this shard."""
        return self.shard is None or self.shard.startswith("1/")

    @contextmanager
    def outputs(
        self, paths: Sequence[str], inputs: Sequence[str], others: Sequence[str] = (), headings: int = 0
    ) -> Iterator[int]:
        """Write these outputs so that --resume can go on with them, if it can; yields what is done of them.

        ``others`` are options whose outputs cannot be resumed, and were given.
        """
        from mbrparse.settings import resumable_outputs

        why = next(iter(others), None)
        if STANDARD in inputs or not all(Path(path).is_file() for path in inputs):
            why = "an input that is no file"
        if not all(map(is_file, paths)):
            why = "an output that is no file"
        if self.resume and why is not None:
            raise click.UsageError(f"--resume goes on with files, which {why} leaves no room for.")
        if why is not None:
            yield 0
            return
        with resumable_outputs(paths, _settings(inputs), self.resume, headings) as done:
            if done:
                note(f"{counted(done, 'sentence')} of an earlier run are kept, and not counted below")
            yield done


def _settings(inputs: Sequence[str]) -> dict[str, Any]:
    """The options of this command, and digests of the files that it reads."""
    from mbrparse.settings import file_digest

    context = click.get_current_context()
    settings: dict[str, Any] = {"command": context.command.name}
    settings["inputs"] = [file_digest(path) for path in inputs]
    for parameter in context.command.params:
        name = str(parameter.name)
        value = context.params.get(name)
        if name in _NO_SETTINGS or value in (None, ()):
            continue
        if isinstance(parameter.type, InputFile):
            paths = [value] if isinstance(value, str) else value
            value = [file_digest(path) for path in paths if Path(path).is_file()]
        elif not isinstance(value, (bool, int, float, str)):
            value = repr(value)
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            settings[name] = value
    return settings


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
