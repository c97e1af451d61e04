"""What the text of an option is: just text, or the name of a file to read.

Text of any other type may name what is written, or connected to. A configuration file that nobody named sets
no such option (``config_file``): one whose type was forgotten is refused, not obeyed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from mbrparse.errors import visible
from mbrparse.files import is_file


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

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not value or "\0" in value:
            self.fail(f"{value!r} is no name of a file.", param, ctx)
        return super().convert(value, param, ctx)


class ImageFile(PathName):
    """A file to write, whose name ends as its format does: ``svg``."""

    def __init__(self, form: str) -> None:
        super().__init__("PATH")
        self._form = form

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        if is_file(path) and Path(path).suffix.lower() != f".{self._form}":
            self.fail(
                f"{visible(path)} does not end in .{self._form}: name it so, or give the option of its kind."
            )
        return path


class InputFile(PathName):
    """A file to read, or several: ``NAME=FILE,FILE``; also ``-``, and names such as ``embedded:flights``."""
