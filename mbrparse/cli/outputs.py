"""The one check of where a command writes: no output in another's place, and none in that of what is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from mbrparse.errors import visible
from mbrparse.files import STANDARD, check_output
from mbrparse.places import is_in_place, place_read, place_written

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
        place = place_written(path)
        if place is None:
            continue
        if place in written:
            raise click.UsageError(_twice(written[place], (name, path)))
        written[place] = name, path
    for inputs, replaced in ((read, False), (rewritten, True)):
        for name, path in inputs:
            place = None if path is None else place_read(path)
            if path is None or place not in written:
                continue
            output, where = written[place]
            if not replaced or output != "--output" or where == STANDARD or is_in_place(where):
                raise click.UsageError(f"{output} would overwrite {name}, which is read: {visible(path)}.")


def _twice(one: tuple[str, str], other: tuple[str, str]) -> str:
    names = f"{one[0]} and {other[0]}"
    if one[1] == other[1]:
        return f"{names} both go to {_called(one[1])}."
    return f"{names} both go to one place: {_called(one[1])} and {_called(other[1])}."


def _called(path: str) -> str:
    return "standard output" if path == STANDARD else visible(path)
