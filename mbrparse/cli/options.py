"""Options that several commands share, and the check of the files that a command reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.core import ParameterSource

from mbrparse import errors, files
from mbrparse.cli import commands, messages
from mbrparse.files import STANDARD, open_output_bytes

# By the names of options and arguments, the paths that were given for them.
Paths = Mapping[str, str | Sequence[str] | None]


def inputs() -> Any:
    """INPUT..., files that are read one after the other; without one, standard input."""
    return commands.argument(nargs=-1, default=(STANDARD,), metavar="[INPUT]...")


def output(help: str = "Where to write (default: standard output).") -> Any:
    """``-o/--output PATH``, standard output by default."""
    return commands.option("-o", "--output", default=STANDARD, show_default=False, metavar="PATH", help=help)


def jobs(help: str = "Processes.") -> Any:
    """``--jobs N``, and ``--scheduler ADDRESS|FILE``: ``jobs`` is then the Scheduler."""

    def workers(context: click.Context, _: click.Parameter, number: int) -> Any:
        # --scheduler, which is eager, was read before.
        if (scheduler := context.params.pop("scheduler", None)) is None:
            return number
        typed = [context.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in _WORKERS]
        if all(typed):
            raise click.UsageError("Give --jobs or --scheduler, not both.")
        from mbrparse.jobs import Scheduler

        # The nearer one counts: the other may be in a configuration file.
        return number if typed[0] else Scheduler(scheduler)

    number = commands.count_option(default=1, most=1000, help=help, callback=workers)
    scheduler = commands.option(
        metavar="ADDRESS|FILE",
        is_eager=True,
        help="The scheduler of a running Dask cluster, whose workers are used instead of --jobs; whoever "
        "reaches it runs programs as you.",
    )
    return lambda name: [*number(name), *scheduler("scheduler")]


_WORKERS = ("jobs", "scheduler")


def encoding() -> Any:
    """``--encoding NAME`` of the inputs."""
    return commands.option(type=commands.Text(), default="utf-8", help="Encoding of the input.")


def prune() -> Any:
    """``--prune T``."""
    return commands.option(
        type=commands.Finite(min=0, max=1, max_open=True),
        default=0.0,
        show_default=False,
        metavar="T",
        help="For large grammars: leave out labels whose posterior over a span is at most T under the "
        "grammar without annotations, or for a DOP grammar under the treebank's PCFG (docs/pruning.md).  "
        "[default: 0, exact]",
    )


def checked(metavar: str, check: Any, **attributes: Any) -> Any:
    """An option of text that is refused where ``check`` raises MbrparseError."""

    def read(text: str) -> str:
        try:
            check(text)
        except errors.MbrparseError as error:
            raise click.BadParameter(messages.with_dashes(error)) from None
        return text

    return commands.option(type=commands.Text(metavar, read), **attributes)


@dataclass(frozen=True)
class ImageOptions:
    """Pictures of a chart, or of states."""

    svg: str | None = commands.option(metavar="PATH", help="Also draw a picture here, as SVG.")
    png: str | None = commands.option(metavar="PATH", help="Also draw a picture here, as PNG.")
    pdf: str | None = commands.option(metavar="PATH", help="Also draw a picture here, as PDF.")

    @property
    def files(self) -> dict[str, str]:
        """What is written, by option."""
        return {f"--{form}": path for form, path in vars(self).items() if path is not None}

    def write(self, draw: Callable[[str], bytes]) -> None:
        """Write the picture in each form that is wanted."""
        for form, path in vars(self).items():
            if path is not None:
                with open_output_bytes(path) as image:
                    image.write(draw(form))


def refuse(names: Iterable[str], needed: str) -> None:
    """End with a usage error where one of these parameters was given without the option it needs.

    ``no --option`` is one that it cannot be combined with.
    """
    context = click.get_current_context()
    known = {str(parameter.name): parameter for parameter in context.command.params}
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            with_it = f"needs {needed}"
            if needed.startswith("no "):
                with_it = f"cannot be combined with {needed.removeprefix('no ')}"
            raise click.UsageError(f"{max(known[name].opts, key=len)} {with_it}.")


def check_outputs(outputs: Paths, read: Paths | None = None, rewritten: Paths | None = None) -> None:
    """Refuse two outputs in one place, whatever they are called, or one in the place of an input.

    And two inputs that are one stream, which is read once.
    ``rewritten`` are inputs whose file --output may replace: it does so when all is read. That is not so of
    a file that standard output was appended to (``INPUT >> INPUT``). A device takes any number of outputs.
    Raises UsageError, and FileError for an output that cannot be opened.
    """
    written: dict[tuple[object, ...], tuple[str, str]] = {}
    for name, path in _each(outputs):
        files.check_output(path, appended=name == "--log")
        if (place := files.output_identity(path)) is None:
            continue
        if place in written:
            other, there = written[place]
            where = " and ".join(dict.fromkeys(map(errors.visible, (there, path))))
            where = "standard output" if where == STANDARD else where
            raise click.UsageError(f"{other} and {name} both go to {where}.")
        written[place] = name, path
    streams: dict[tuple[object, ...], str] = {}
    for name, path in [*_each(read), *_each(rewritten)]:
        if (place := files.input_identity(path)) is None:
            continue
        if not files.is_file(path):
            if place in streams:
                both = " and ".join(dict.fromkeys((streams[place], name)))
                raise click.UsageError(f"{both}: {files.source_name(path)} can be read only once.")
            streams[place] = name
        if place not in written:
            continue
        output, where = written[place]
        in_place = output != "--output" or where == STANDARD or files.is_written_in_place(where)
        if in_place or name not in (rewritten or {}):
            raise click.UsageError(f"{output} would overwrite {name}, which is read: {errors.visible(path)}.")


def _each(paths: Paths | None) -> Iterator[tuple[str, str]]:
    for name, given in (paths or {}).items():
        for path in [given] if isinstance(given, str) else given or ():
            yield name, path
