"""Long runs and many machines: processes, parts of an input, and runs that are continued."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from mbrparse.cli import options
from mbrparse.cli.commands import Finite, InputFile, Text, option
from mbrparse.cli.messages import compilation_noted, note, with_progress
from mbrparse.files import PART, is_file
from mbrparse.log import counted

if TYPE_CHECKING:
    from mbrparse.decode.parser.parsing import Worker

Result = TypeVar("Result")
_SHARD = re.compile(r"([1-9][0-9]{0,6})/([1-9][0-9]{0,6})")
#: What the settings of a run that is resumed leave out: results do not depend on it.
_NO_SETTINGS = {"jobs", "scheduler", "log", "resume", "strict", "inputs", "trees"}


@dataclass(frozen=True)
class WorkOptions:
    """Who does the work, how much of it, and what is kept on the way."""

    jobs: Any = options.jobs()
    max_seconds: float | None = option(
        type=Finite(min=0, min_open=True),
        metavar="SECONDS",
        help="A sentence that takes longer falls back. The output then depends on the machine.",
    )
    shard: str | None = option(
        type=Text("I/N"), help="Only the I-th of N parts of the input; their outputs are to be concatenated."
    )
    resume: bool = option(
        is_flag=True,
        help="Continue the outputs of a run that was interrupted (PATH.part), if there are any.",
    )
    log: str | None = option(
        metavar="FILE", help="Add a JSON line a minute: sentences done, a second, seconds left, workers."
    )

    @contextlib.contextmanager
    def results(
        self,
        make: Callable[[], Worker[Any, Result]],
        items: Iterable[Any],
        count: Callable[[], int] | None,
        title: str,
        paths: Sequence[str],
        inputs: Sequence[str],
        others: Sequence[str] = (),
        headings: int = 0,
    ) -> Iterator[tuple[int, int, Iterator[Result]]]:
        """Let ``make``'s workers do the items, and write its outputs so that --resume can continue them.

        ``count`` counts all of the input; ``others`` are options whose outputs cannot be resumed, and were
        given. Yields the numbers of sentences before the results, and of those in the outputs, and results.
        """
        from mbrparse.decode.parser.parsing import run

        part = self._part(count)
        outputs: contextlib.AbstractContextManager[int] = contextlib.nullcontext(0)
        why = next(iter(others), None)
        if not all(Path(path).is_file() for path in inputs):
            why = "an input that is no file"
        if not all(map(is_file, paths)):
            why = "an output that is no file"
        if self.resume and why is not None:
            raise click.UsageError(f"--resume cannot be combined with {why}: it continues files.")
        if why is None:
            from mbrparse.settings import resumable_outputs

            parts = [f"{path}{PART}" for path in paths]
            options.check_outputs(
                {"the part of --output": [*parts, f"{parts[0]}.settings"]},
                {"INPUT": [*inputs, *chain(*(files for _, files in _files()))]},
            )
            outputs = resumable_outputs(paths, _settings(inputs), self.resume, headings)
        with outputs as done, compilation_noted():
            if done:
                note(f"{counted(done, 'sentence')} of an earlier run are kept, and not counted below")
            first = part.start + done

            @functools.cache
            def total() -> int | None:
                return None if count is None else max(0, min(count(), part.stop) - first)

            results = run(make, items, self.jobs, self.max_seconds, range(first, part.stop), note)
            workers = self.jobs if isinstance(self.jobs, int) else None
            yield first, done, with_progress(results, title, total, workers, self.log)

    def _part(self, count: Callable[[], int] | None) -> range:
        """The places of this shard's sentences; a usage error where sentences cannot be counted."""
        if self.shard is None:
            return range(sys.maxsize)
        read = _SHARD.fullmatch(self.shard)
        if read is None or int(read[1]) > int(read[2]):
            raise click.UsageError(f"--shard is I/N, the I-th of N from 1/N to N/N, not {self.shard!r}.")
        if count is None:
            raise click.UsageError("--shard counts sentences: it needs files, no standard input or pipe.")
        number, parts, total = int(read[1]), int(read[2]), count()
        end = sys.maxsize if number == parts else total * number // parts
        return range(total * (number - 1) // parts, end)

    @property
    def begins(self) -> bool:
        """Whether the first sentence is among those of this shard."""
        return self.shard is None or self.shard.startswith("1/")


def _files() -> Iterator[tuple[str, list[str]]]:
    """The files that options of this command name, by option."""
    context = click.get_current_context()
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if isinstance(parameter.type, InputFile) and value is not None:
            paths = [value] if isinstance(value, str) else value
            yield str(parameter.name), [path for path in paths if Path(path).is_file()]


def _settings(inputs: Sequence[str]) -> dict[str, Any]:
    """The options of this command, and digests of the files that it reads."""
    from mbrparse.settings import file_digest

    context = click.get_current_context()
    settings: dict[str, Any] = {"command": context.command.name, "inputs": list(map(file_digest, inputs))}
    read = dict(_files())
    for name, value in context.params.items():
        given = context.get_parameter_source(name) is not ParameterSource.DEFAULT
        if given and name not in _NO_SETTINGS and value not in (None, ()):
            plain = value if isinstance(value, (bool, int, float, str)) else repr(value)
            settings[name] = list(map(file_digest, read[name])) if name in read else plain
    return settings
