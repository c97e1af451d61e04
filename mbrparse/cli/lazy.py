"""Command groups that import a command when it is called, so that ``--help`` loads no library."""

from __future__ import annotations

import difflib
import importlib
from typing import Any

import click


class LazyGroup(click.Group):
    """A group of commands, each the function of its own name in the module NAME_command.

    ``lines`` maps the commands' names to their lines in the help; the modules lie in ``package``. A
    misspelt name is answered with the nearest one. An interruption keeps its text, as click.Abort.
    """

    def __init__(self, *args: Any, package: str, lines: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._package = package
        self._lines = lines

    def invoke(self, ctx: click.Context) -> Any:
        """Read a command's arguments and call it."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interruption:
            # click would write an empty line first.
            raise click.Abort(*interruption.args) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lines)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self._lines:
            return None
        function = name.replace("-", "_")
        command: click.Command = getattr(
            importlib.import_module(f"{self._package}.{function}_command"), function
        )
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
