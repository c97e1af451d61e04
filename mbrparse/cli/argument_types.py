"""Types of options and arguments whose values are text: names of files, and all else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem


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
