"""click's commands as mbrparse has them: groups of commands imported when called, and groups of options."""

from __future__ import annotations

import difflib
import functools
import importlib
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, TypeVar, cast

import click


class LazyGroup(click.Group):
    """A group of commands, each the function of its own name in the module NAME_command.

    ``lines`` maps the commands' names to their lines in the help; the modules lie beside this one, and
    ``modules`` names those that are called otherwise. A misspelt name is answered with the nearest one.
    """

    def __init__(self, *args: Any, lines: dict[str, str], modules: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lines = lines
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lines)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self._lines:
            return None
        function = name.replace("-", "_")
        module = self._modules.get(name, f"{function}_command")
        command: click.Command = getattr(importlib.import_module(f"mbrparse.cli.{module}"), function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._lines.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self._lines and not name.startswith("-"):
            near = difflib.get_close_matches(name, self._lines, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)


Command = TypeVar("Command", bound=Callable[..., Any])


def option_group(
    name: str, kind: type[Any], section: str = "Options", without: Sequence[str] = ()
) -> Callable[[Command], Command]:
    """A decorator that hands a command's options to it together, as its parameter ``name``.

    ``kind`` is a dataclass. Its fields are named as the parameters of the options, which are their defaults;
    the fields ``without`` get None, and no option. ``section`` is the heading above the options in the help
    of a ``SectionedCommand``; a class's own options come before inherited ones.
    """
    listed = sorted(fields(kind), key=lambda field: field.name not in kind.__annotations__)
    decorators: dict[str, Any] = {field.name: field.default for field in listed if field.name not in without}
    for field, decorator in decorators.items():
        if isinstance(decorator, functools.partial):  # an option that is called as its field
            decorators[field] = decorator(f"--{field.replace('_', '-')}")

    def add(command: Command) -> Command:
        @functools.wraps(command)
        def collected(*arguments: Any, **given: Any) -> Any:
            group = kind(**dict.fromkeys(without), **{field: given.pop(field) for field in decorators})
            return command(*arguments, **given, **{name: group})

        before = len(getattr(command, "__click_params__", ()))
        wrapped: Any = collected
        for decorator in reversed(decorators.values()):
            wrapped = decorator(wrapped)
        for parameter in wrapped.__click_params__[before:]:
            parameter.__dict__["section"] = section
        return cast("Command", wrapped)

    return add


class SectionedCommand(click.Command):
    """A command whose help lists its options in sections, in the order of their first options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
