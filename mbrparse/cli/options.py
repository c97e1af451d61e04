"""Options that several commands share, and the check of the files that a command reads and writes."""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from mbrparse.cli.messages import with_dashes
from mbrparse.errors import MbrparseError, visible
from mbrparse.files import STANDARD, check_output, input_identity, is_written_in_place, output_identity
from mbrparse.treebank.formats.conventions import CorpusReading


class _Named(click.types.StringParamType):
    """Text that the help calls ``metavar``."""

    def __init__(self, metavar: str = "FILE") -> None:
        self._metavar = metavar

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return self._metavar


class Text(_Named):
    """Text that names no file and no address; ``read`` makes the option's value of it."""

    def __init__(self, metavar: str = "TEXT", read: Callable[[str], Any] = str) -> None:
        super().__init__(metavar)
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self._read(super().convert(value, param, ctx))


def numbers(text: str) -> tuple[float, ...]:
    """Numbers with commas between.

    >>> numbers(".5, 2")
    (0.5, 2.0)
    """
    try:
        return tuple(map(float, text.split(",")))
    except ValueError:
        raise click.BadParameter(f"{text!r} is no list of numbers such as .5,.5") from None


class PathName(_Named):
    """The name of a file or folder; an empty text is none, though to pathlib it is the working folder."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not value or "\0" in value:
            self.fail(f"{value!r} is no name of a file.", param, ctx)
        return super().convert(value, param, ctx)


class InputFile(PathName):
    """A file to read, or several: ``NAME=FILE,FILE``; also ``-``, and names such as ``embedded:flights``."""


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


def jobs_option(help: str = "Processes.") -> Any:
    """``--jobs N``, and ``--scheduler ADDRESS|FILE``: the command's ``jobs`` is then the Scheduler."""

    def add(command: Callable[..., Any]) -> Any:
        @functools.wraps(command)
        def with_scheduler(*arguments: Any, scheduler: str | None = None, **options: Any) -> Any:
            if scheduler is not None and _scheduler_counts():
                from mbrparse.jobs import Scheduler

                options["jobs"] = Scheduler(scheduler)
            return command(*arguments, **options)

        cluster = option(
            "--scheduler",
            metavar="ADDRESS|FILE",
            help="The scheduler of a running Dask cluster, whose workers are used instead of --jobs; whoever "
            "reaches it runs programs as you.",
        )
        return count_option("--jobs", default=1, help=help)(cluster(with_scheduler))

    return add


def _scheduler_counts() -> bool:
    """Whether --scheduler is nearer than --jobs, which may be in a configuration file."""
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
        help="Write no PATH.places, the file with each tree's file, line and ID in the corpus.",
    )


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
            other, there = written[place]
            where = " and ".join(dict.fromkeys(map(visible, (there, path))))
            where = "standard output" if where == STANDARD else where
            raise click.UsageError(f"{other} and {name} both go to {where}.")
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


def _text(name: str, metavar: str, help: str) -> Any:
    def checked(text: str) -> str:
        try:
            CorpusReading(**{name: text})  # type: ignore[arg-type]
        except MbrparseError as error:
            raise click.BadParameter(with_dashes(error)) from None
        return text

    return option(type=Text(metavar, checked), default="", show_default=False, help=help)


@dataclass(frozen=True)
class CorpusOptions(CorpusReading):
    """How a treebank is read."""

    encoding: str = option(
        type=Text(),
        default="utf-8",
        help="Encoding of the input; of several (utf-8,latin-1) the first that all of a file fits.",
    )
    leaves: Any = option(
        choices=["word", "lemma", "both"],
        help="The leaves, where the corpus gives lemmas (both: word-lemma).",
    )
    drop: str = _text(
        "drop", "LABEL,...", "Remove constituents and tags labelled so (* and ? are wildcards)."
    )
    roots: str = _text(
        "roots", "LABEL,...", "Remove roots labelled so over one constituent, as TOP, ROOT and S1 are."
    )
    ids: str = _text("ids", "LABEL,...", "Labels of the names of trees, such as ID; they are removed.")
    terminals_below: str = _text(
        "terminals_below",
        "LEMMA=FORM",
        "Labels below a tag: lemma=form reads (NN (form dogs) (lemma dog)), lemma= (NN dogs (lemma dog)).",
    )
