"""Groups of options: a command gets one frozen object for each, and its help one section."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar, cast

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def option_group(
    name: str, kind: type[Any], section: str, *options: Callable[[Any], Any]
) -> Callable[[Command], Command]:
    """A decorator that adds ``options`` and hands them to the command as its parameter ``name``.

    ``kind`` is a dataclass whose fields are named as the options' parameters; a field whose option is not
    among ``options`` keeps its default. ``section`` is the heading above the options in the help of a
    ``SectionedCommand``.
    """
    names = [field.name for field in fields(kind)]

    def add(command: Command) -> Command:
        @functools.wraps(command)
        def collected(*arguments: Any, **given: Any) -> Any:
            group = kind(**{field: given.pop(field) for field in names if field in given})
            return command(*arguments, **given, **{name: group})

        wrapped: Any = collected
        before = len(getattr(wrapped, "__click_params__", ()))
        for option in reversed(options):
            wrapped = option(wrapped)
        for parameter in wrapped.__click_params__[before:]:
            parameter.__dict__["section"] = section
        return cast("Command", wrapped)

    return add


class SectionedCommand(click.Command):
    """A command whose help lists its options in sections; those without one stand last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(parameter, "section", ""), []).append(record)
        others = sections.pop("", [])
        for title, records in [*sections.items(), ("Other options", others)]:
            with formatter.section(title):
                formatter.write_dl(records)
