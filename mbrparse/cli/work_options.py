"""The options of ``parse`` and ``score`` for long runs: jobs, shards, resuming, a log; progress."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from mbrparse.cli.objective_options import combinations_checked
from mbrparse.cli.option_types import Text
from mbrparse.cli.options import compilation_noted, every_minute, jobs_option, note, option
from mbrparse.errors import FileError
from mbrparse.files import STANDARD
from mbrparse.log import ProgressState, counted

if TYPE_CHECKING:
    from mbrparse.decode.parser.parse_files import Lines
    from mbrparse.decode.parser.parse_input import Job
    from mbrparse.decode.parser.score_input import ScoreJob
    from mbrparse.run.in_order import Chunk
    from mbrparse.run.manifest import Shard
    from mbrparse.run.work_folder import WorkFolder


Item = TypeVar("Item")

_REFRESHED = 0.2


class Watch:
    """A ``Progress`` that shows what stands in ``progress_state``, on a terminal and in a log."""

    def __init__(self, sources: Sequence[str], log: str | None) -> None:
        """``sources`` are the files that are worked at."""
        known = all(source != STANDARD and Path(source).is_file() for source in sources)
        self.progress_state = ProgressState(sum(map(os.path.getsize, sources)) if known else None)
        self._log = log
        self._began = self._shown_at = time.monotonic()
        self._done = 0

    def __call__(self, items: Iterable[Item], title: str, total: int | None = None) -> Iterator[Item]:
        """Yield each item; raises FileError where the log cannot be written."""
        self._began = self._shown_at = time.monotonic()
        self._done = 0
        with self._logged(title), self._shown(title, total) as advance:
            for item in items:
                yield item
                self._done += 1
                if time.monotonic() > self._shown_at + _REFRESHED:
                    self._shown_at = time.monotonic()
                    advance()

    def row(self) -> dict[str, Any]:
        """What there is to say; what is left is reckoned by the share of the input that is done."""
        now, seconds = self.progress_state, time.monotonic() - self._began
        known = now.size is not None and now.read > 0
        left = round(seconds * max(0.0, (now.size or 0) / now.read - 1)) if known else None
        return {
            "sentences": self._done,
            "per_second": round(self._done / max(seconds, 1e-3), 2),
            "seconds_left": left,
            "workers": now.workers,
            "retries": now.retries,
        }

    @contextmanager
    def _shown(self, title: str, total: int | None) -> Iterator[Callable[[], None]]:
        if not sys.stderr.isatty():
            with every_minute(lambda: note(f"{title}: {self}")):
                yield lambda: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task(title, total=self.progress_state.size if total is None else total)

            def advance() -> None:
                done = self.progress_state.read if total is None else self._done
                progress.update(bar, completed=done, description=f"{title}: {self}")

            yield advance

    def __str__(self) -> str:
        row = self.row()
        # Nothing is known of what is left, either, when all of a small input is read.
        left = f", {row['seconds_left'] / 60:.0f} min left" if row["seconds_left"] else ""
        several = f", {row['workers']} workers" if row["workers"] != 1 else ""
        again = f", {row['retries']} retries" if row["retries"] else ""
        return f"{counted(row['sentences'], 'sentence')}, {row['per_second']}/s{left}{several}{again}"

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


@dataclass(frozen=True)
class WorkOptions:
    """Who does the work, and what is kept of it on the way."""

    jobs: Any = jobs_option()
    log: str | None = option(
        metavar="FILE",
        help="Add a JSON line a minute: sentences done, a second, seconds left, workers, retries.",
    )
    work: str | None = option(
        metavar="FOLDER", help="Keep finished sentences there, so that a run that was killed can be resumed."
    )
    resume: bool = option(
        is_flag=True, help="Go on with what is in the --work folder, if anything is, to the same output."
    )
    shard: str | None = option(
        type=Text("I/N"),
        help="Parse the I-th of N parts of the input into the --work folder; when all parts are there, "
        "mbrparse merge writes --output and the other files.",
    )

    def part(self) -> Shard | None:
        """The shard, if one is asked for; a usage error for options that lack others."""
        for name, given in (("--shard", self.shard is not None), ("--resume", self.resume)):
            if given and self.work is None:
                raise click.UsageError(f"{name} needs --work FOLDER.")
        if self.shard is None:
            return None
        from mbrparse.run.manifest import Shard

        with combinations_checked():
            return Shard.parse(self.shard)

    @contextmanager
    def lines(
        self,
        job: Job | ScoreJob,
        sources: Sequence[str],
        chunks: Callable[[int | None], Iterator[Chunk]],
        part: Shard | None = None,
        candidates: bool = False,
    ) -> Iterator[Iterator[Lines]]:
        """The lines of a job's sentences, in their order; ``chunks`` reads the ``sources``, with a size."""
        from mbrparse.decode.parser import stored_lines
        from mbrparse.decode.parser.parse_input import parse_all

        watch = Watch(sources, self.log)
        with compilation_noted(), self._folder(part, job, candidates) as folder:
            wanted = chunks(None) if folder is None else folder.wanted(chunks(stored_lines.BLOCK))
            kept = iter if folder is None else folder.kept
            with combinations_checked():
                found = parse_all(job, wanted, self.jobs, note, watch, kept, watch.progress_state)
            yield found

    @contextmanager
    def _folder(
        self, part: Shard | None, job: Job | ScoreJob, candidates: bool
    ) -> Iterator[WorkFolder[Lines] | None]:
        """The work folder, if one is asked for; an interruption says what the folder keeps."""
        if self.work is None:
            yield None
            return
        from mbrparse.decode.parser.stored_lines import CODEC, CODEC_WITHOUT_CANDIDATES, settings_of
        from mbrparse.run.manifest import WHOLE, Manifest
        from mbrparse.run.work_folder import work_folder

        manifest = Manifest(settings_of(job, candidates), part or WHOLE)
        codec = CODEC if candidates else CODEC_WITHOUT_CANDIDATES
        with work_folder(self.work, manifest, codec, self.resume, note) as folder:
            try:
                yield folder
            except KeyboardInterrupt:
                raise KeyboardInterrupt(
                    f"after {folder.sentences} sentences: {self.work} keeps them, --resume goes on"
                ) from None
