"""click's commands as mbrparse has them: a function whose parameters' defaults are options and arguments."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import click

from mbrparse.arguments import MOST_COUNT, MOST_SEED
from mbrparse.cli.argument_types import InputFile as InputFile  # noqa: PLC0414
from mbrparse.cli.argument_types import PathName as PathName  # noqa: PLC0414
from mbrparse.cli.argument_types import Text as Text  # noqa: PLC0414
from mbrparse.cli.messages import with_dashes
from mbrparse.errors import OptionsError


def numbers(text: str) -> tuple[float, ...]:
    """Numbers with commas between.

    >>> numbers(".5, 2")
    (0.5, 2.0)
    """
    try:
        return tuple(map(float, text.split(",")))
    except ValueError:
        raise click.BadParameter(f"{text!r} is no list of numbers such as .5,.5") from None


class NearestChoice(click.Choice[str]):
    """A choice that names the nearest one for a misspelt value."""

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        message = super().get_invalid_choice_message(value, ctx)
        near = difflib.get_close_matches(str(value), [str(choice) for choice in self.choices], n=1)
        return message + (f" Did you mean {near[0]!r}?" if near else "")


class Finite(click.FloatRange):
    """A range of numbers, which neither nan nor inf belongs to (every range of click's has nan)."""

    def __init__(self, min: float = -MOST_COUNT, max: float = MOST_COUNT, **opens: bool) -> None:
        super().__init__(min, max, **opens)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


#: The metavars of options that are paths.
_PATHS = ("FILE", "FILE.npz", "PATH", "DIR", "FOLDER", "ADDRESS|FILE")


def option(*names: str, choices: Sequence[str] | None = None, **attributes: Any) -> Any:
    """An option, as the default of the function's parameter or the group's field that has its value.

    It is named as that is, unless ``names`` are given, and its own default is shown. ``choices`` are its
    values, if there are few. Paths are known by their metavar.
    """
    if choices is not None:
        attributes["type"] = NearestChoice(choices)
    elif attributes.get("metavar") in _PATHS:
        attributes["type"] = PathName(attributes["metavar"])

    def made(name: str) -> Iterator[click.Parameter]:
        called = names or (f"--{name.replace('_', '-')}",)
        yield click.Option([*called, name], **{"show_default": True, **attributes})

    return made


def count_option(*names: str, least: int = 1, most: int = MOST_COUNT, **attributes: Any) -> Any:
    """A whole number of at least ``least``, at most ``most``."""
    return option(*names, type=click.IntRange(least, most), **attributes)


def seed_option(help: str, **attributes: Any) -> Any:
    """``--seed N``: all that random numbers depend on."""
    return count_option(least=0, most=MOST_SEED, help=help, **attributes)


def argument(**attributes: Any) -> Any:
    """An argument, as the default of the function's parameter that has its value."""

    def made(name: str) -> Iterator[click.Parameter]:
        yield click.Argument([name], **attributes)

    return made


class _Group(NamedTuple):
    kind: type[Any]
    section: str
    without: Sequence[str]
    made: dict[str, Any]  #: by field, what makes its options


def group(kind: type[Any], section: str = "Options", without: Sequence[str] = ()) -> Any:
    """Options that are handed to a function together, as the default of the parameter that has them.

    ``kind`` is a dataclass whose fields' defaults are options; the fields ``without`` get None, and no
    option. ``section`` is the heading above the options in the help. A class's own ones come before
    inherited ones.
    """
    listed = sorted(fields(kind), key=lambda field: field.name not in kind.__annotations__)
    made = {field.name: field.default for field in listed if field.name not in without}
    return _Group(kind, section, without, made)


#: Those that write grammars or trees, beside which they keep what made these.
_MAKERS = (
    "binarize",
    "debinarize",
    "split",
    "train",
    "parse",
    "combine",
    "rerank",
    "sample",
    "baseline",
    "convert",
)


def command(function: Callable[..., None]) -> click.Command:
    """The command that calls a function, and is named as that is."""
    parameters: list[click.Parameter] = []
    groups: dict[str, _Group] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        section, made = "Options", {name: parameter.default}
        if isinstance(parameter.default, _Group):
            groups[name] = parameter.default
            section, made = groups[name].section, groups[name].made
        for field, make in made.items():
            for one in make(field):
                one.__dict__["section"] = section
                parameters.append(one)

    def call(**given: Any) -> None:
        for name, (kind, _, without, made) in groups.items():
            given[name] = kind(**dict.fromkeys(without), **{field: given.pop(field) for field in made})
        try:
            function(**given)
        except OptionsError as error:
            raise click.UsageError(f"{with_dashes(error)}.") from None

    return _SectionedCommand(function.__name__, callback=call, params=parameters, help=function.__doc__)


class _SectionedCommand(click.Command):
    """A command whose help lists its options in sections, in the order of their first options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["typed"] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        if self.name not in _MAKERS:
            return super().invoke(ctx)
        from mbrparse.cli.recording import recorded

        with recorded(ctx):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
