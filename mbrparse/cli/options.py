"""Options that several commands share, progress and messages, and the check of output files."""

from __future__ import annotations

import difflib
import functools
import math
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from mbrparse.cli.option_types import InputFile, PathName, Text
from mbrparse.errors import MbrparseError, visible
from mbrparse.files import STANDARD, check_output, input_identity, is_written_in_place, output_identity

Item = TypeVar("Item")

#: Seconds between two lines about long work.
EVERY = 60.0


class NearestChoice(click.Choice[str]):
    """A choice that names the nearest one for a misspelt value."""

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        message = super().get_invalid_choice_message(value, ctx)
        near = difflib.get_close_matches(str(value), [str(choice) for choice in self.choices], n=1)
        return message + (f" Did you mean {near[0]!r}?" if near else "")


class Finite(click.FloatRange):
    """A range of numbers, which neither nan nor inf belongs to (every range of click's has nan)."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


#: The metavars of options that are paths.
_PATHS = ("FILE", "FILE.npz", "PATH", "DIR", "FOLDER", "ADDRESS|FILE")


# The functions below return decorators of commands, which are fields of an option group as well
# (``option_group``): hence Any.


def inputs_argument() -> Any:
    """INPUT..., files that are read one after the other; without one, standard input."""
    return click.argument("inputs", nargs=-1, default=(STANDARD,), metavar="[INPUT]...")


def option(*names: str, choices: Sequence[str] | None = None, **attributes: Any) -> Any:
    """click's option, whose default is shown; ``choices`` are its values, if there are few.

    Paths are known by their metavar. Without names it is for a field of an option group, which names it.
    """
    if choices is not None:
        attributes["type"] = NearestChoice(choices)
    elif attributes.get("metavar") in _PATHS:
        attributes["type"] = PathName(attributes["metavar"])
    made = functools.partial(click.option, **{"show_default": True, **attributes})
    return made(*names) if names else made


def count_option(*names: str, least: int = 1, most: int | None = None, **attributes: Any) -> Any:
    """A whole number of at least ``least``, at most ``most``."""
    return option(*names, type=click.IntRange(least, most), **attributes)


def output_option(help: str = "Where to write (default: standard output).") -> Any:
    """``-o/--output PATH``, standard output by default."""
    return option("-o", "--output", default=STANDARD, show_default=False, metavar="PATH", help=help)


def folder_option(help: str) -> Any:
    """``-o/--output DIR``, a folder for several files."""
    return option("-o", "--output", required=True, metavar="DIR", help=help)


def jobs_option(help: str = "Processes.") -> Any:
    """``--jobs N`` and ``--scheduler ADDRESS|FILE``."""
    jobs, scheduler = count_option("--jobs", default=1, help=help), scheduler_option()
    return lambda command: jobs(scheduler(command))


def scheduler_option(does: str = "whose workers are used instead of --jobs") -> Any:
    """``--scheduler ADDRESS|FILE`` instead of ``--jobs``: the command's ``jobs`` is then the Scheduler."""

    def add(command: Callable[..., Any]) -> Any:
        @functools.wraps(command)
        def with_scheduler(*arguments: Any, scheduler: str | None = None, **options: Any) -> Any:
            if scheduler is not None and _scheduler_counts():
                from mbrparse.jobs import Scheduler

                options["jobs"] = Scheduler(scheduler)
            return command(*arguments, **options)

        return option(
            "--scheduler",
            metavar="ADDRESS|FILE",
            help=f"The scheduler of a running Dask cluster, {does}; whoever reaches it runs programs as you.",
        )(with_scheduler)

    return add


def _scheduler_counts() -> bool:
    """Whether --scheduler is nearer than --jobs, which may stand in a configuration file."""
    source = click.get_current_context().get_parameter_source
    given = [name for name in ("jobs", "scheduler") if source(name) is ParameterSource.COMMANDLINE]
    if len(given) == 2:
        raise click.UsageError("Give --jobs or --scheduler, not both.")
    return given != ["jobs"]


def encoding_option() -> Any:
    """``--encoding NAME`` of the inputs."""
    return option("--encoding", type=Text(), default="utf-8", help="Encoding of the input.")


def on_error_option(help: str) -> Any:
    """``--on-error stop|skip`` of commands that read treebanks."""
    return option("--on-error", choices=["stop", "skip"], default="stop", help=help)


def no_ids_option() -> Any:
    """``--no-ids`` of commands that write prepared trees."""
    return option(
        "--no-ids",
        is_flag=True,
        help="Write no PATH.places, which says of each tree what its file, line and ID in the corpus are.",
    )


def max_seconds_option(help: str) -> Any:
    """``--max-seconds SECONDS``; ParserOptions checks that they are above zero."""
    return option("--max-seconds", type=float, metavar="SECONDS", help=help)


def prune_option() -> Any:
    """``--prune T``."""
    return click.option(
        "--prune",
        type=Finite(min=0, max=1, max_open=True),
        default=0.0,
        metavar="T",
        help="For large grammars: leave out labels whose posterior over a span is at most T under the "
        "grammar without annotations, or for a DOP grammar under the treebank's PCFG (docs/pruning.md).  "
        "[default: 0, exact]",
    )


def _functions(text: str) -> str:
    from mbrparse.treebank.clean import categories

    try:
        categories(text)
    except MbrparseError as error:
        raise click.BadParameter(with_dashes(error)) from None
    return text


def functions_option() -> Any:
    """``--functions``: how categories are cut from a corpus's labels."""
    return option(
        "--functions",
        type=Text("strip|keep|after:CHARS|before:CHARS", _functions),
        default="strip",
        help="Cut labels to categories, or keep them whole. strip follows the corpus; in files it cuts at "
        "the first - or =, as after:-= does (before:+ cuts UTT+np to np).",
    )


def label_map_option() -> Any:
    """``--label-map FILE``."""
    return option(
        "--label-map",
        type=InputFile(),
        help="New names for categories and tags: an old and a new one a line, with * and ? in the old.",
    )


def refuse_options(names: Iterable[str], needed: str) -> None:
    """End with a usage error where one of these parameters was given without the option it needs."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} needs {needed}.")


def compilation_noted() -> AbstractContextManager[object]:
    """A context that prints a line when kernels have to be compiled."""
    from mbrparse.charts.kernel import announced, folder

    def say() -> None:
        # What another command compiles later is told to those alone who sit and wait.
        if sys.stderr.isatty() or not any(folder().glob("*/*.nbi")):
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


_PARAMETER = re.compile(r"`([a-z][a-z_]*)(?:=([^`]*))?`")


def with_dashes(text: object) -> str:
    """A message whose parameters are shown as options.

    >>> with_dashes("`max_length` needs `labels=none`")
    '--max-length needs --labels none'
    """

    def shown(found: re.Match[str]) -> str:
        name = f"--{found[1].replace('_', '-')}"
        return name if found[2] is None else f"{name} {found[2]}"

    return _PARAMETER.sub(shown, str(text))


def note(message: str) -> None:
    """Print one line of information on stderr, with the program's name."""
    log(f"mbrparse: {with_dashes(message)}")


def log(message: str) -> None:
    """Print one line on stderr; that nobody reads it is no reason to end what is being done."""
    with suppress(OSError):
        click.echo(visible(message), err=True)


# What an option or argument is called, and the path that was given for it.
Named = tuple[str, str | None]


def check_outputs(
    outputs: Sequence[Named], read: Iterable[Named] = (), rewritten: Iterable[Named] = ()
) -> None:
    """Refuse two outputs in one place, whatever they are called, or one in the place of an input.

    ``rewritten`` are inputs whose file --output may replace: it does so when all is read. That is not so of
    a file that standard output was appended to (``INPUT >> INPUT``). A device takes any number of outputs.
    Raises UsageError, and FileError for an output that cannot be opened.
    """
    written: dict[tuple[object, ...], tuple[str, str]] = {}
    for name, path in outputs:
        if path is None:
            continue
        check_output(path)
        place = output_identity(path)
        if place is None:
            continue
        if place in written:
            raise click.UsageError(_twice(written[place], (name, path)))
        written[place] = name, path
    for inputs, replaced in ((read, False), (rewritten, True)):
        for name, path in inputs:
            place = None if path is None else input_identity(path)
            if path is None or place not in written:
                continue
            output, where = written[place]
            if not replaced or output != "--output" or where == STANDARD or is_written_in_place(where):
                raise click.UsageError(f"{output} would overwrite {name}, which is read: {visible(path)}.")


def with_places(outputs: Sequence[Named], no_ids: bool = False) -> list[Named]:
    """Outputs that are files of trees, and the sidecars that are written with them."""
    from mbrparse.treebank.corpora.places import sidecar

    beside = [(f"the places of {name}", sidecar(path)) for name, path in outputs if path is not None]
    return [*outputs, *([] if no_ids else beside)]


def _twice(one: tuple[str, str], other: tuple[str, str]) -> str:
    names = f"{one[0]} and {other[0]}"
    if one[1] == other[1]:
        return f"{names} both go to {_called(one[1])}."
    return f"{names} both go to one place: {_called(one[1])} and {_called(other[1])}."


def _called(path: str) -> str:
    return "standard output" if path == STANDARD else visible(path)
