"""Options from a file: ``mbrparse.toml``, or the table ``[tool.mbrparse]`` of ``pyproject.toml``.

Only the folder that a command is called in is looked at, and a line says what was taken from where. A table
is a command, a key a long option without its dashes; what the command line says wins. Whoever made the folder
made the file: unless the command line names it, it sets no outputs and no addresses, and reads files of the
folder only.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from mbrparse.cli.options import InputFile, Text
from mbrparse.errors import FileError
from mbrparse.files import open_input, source_name

OWN, SHARED = "mbrparse.toml", "pyproject.toml"
_TOOL = "tool.mbrparse"
# The types of options that name neither files nor addresses.
_HARMLESS = (
    click.types.BoolParamType,
    click.types.IntParamType,
    click.types.FloatParamType,
    click.Choice,
    Text,
)


def config_in(folder: Path) -> tuple[str, dict[str, Any]] | None:
    """The file and its tables that hold for commands called in a folder; None: there is none."""
    own, shared = folder / OWN, folder / SHARED
    if own.is_file():
        return OWN, read_config(own)
    # A project's own file concerns us only where it names us.
    if shared.is_file() and _TOOL.encode() in shared.read_bytes():
        return SHARED, read_config(shared)
    return None


def read_config(path: str | Path) -> dict[str, Any]:
    """The tables of a file, by command; raises FileError."""
    with open_input(path) as stream:
        data = stream.read()
    try:
        content = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # ValueError also of bytes, and of integers of any length
        raise FileError(
            f"not TOML: {error}", source=source_name(path), remedy="mend it, or --no-config"
        ) from None
    if Path(path).name == SHARED:
        content = content.get("tool", {}).get("mbrparse", {})
    if not isinstance(content, dict):
        raise FileError(f"[{_TOOL}] is no table", source=source_name(path))
    return content


def defaults_of(
    group: click.Group,
    context: click.Context,
    tables: Mapping[str, Any],
    name: str,
    source: str,
    named: bool = True,
) -> dict[str, Any]:
    """click's default_map for a command (or a group of commands) from a file's tables.

    ``named``: whether the command line names the file. Raises FileError for tables that are no commands, and
    for what the command's own table says wrong, or may not say.
    """
    commands = group.list_commands(context)
    for table, value in tables.items():
        if table not in commands:
            where = "a command" if context.parent is None else f"one of {context.info_name}"
            raise _error(source, f"[{table}] is not {where}", table, commands)
        if not isinstance(value, dict):
            raise FileError(
                f"{table} is a command: write its options in a table", source=source, remedy=f"[{table}]"
            )
    if name not in tables:
        return {}
    command = group.get_command(context, name)
    assert command is not None
    if isinstance(command, click.Group):
        inner = click.Context(command, parent=context, info_name=name)
        below = [defaults_of(command, inner, tables[name], sub, source, named) for sub in tables[name]]
        return {name: {sub: values for found in below for sub, values in found.items()}}
    return {name: _options(command, context, tables[name], f"[{name}]", source, named)}


def _options(
    command: click.Command,
    context: click.Context,
    table: Mapping[str, Any],
    where: str,
    source: str,
    named: bool,
) -> dict[str, Any]:
    known = {
        name.removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option)
        for name in option.opts
        if name.startswith("--") and name != "--help"
    }
    found = {}
    for key, value in table.items():
        if key not in known:
            raise _error(source, f"{where} has no option {key!r}", key, known)
        option = known[key]
        several = value if option.multiple and isinstance(value, list) else [value]
        for one in several:
            _check(option, one, f"{where} {key}", source)
            if not named and (wrong := _unsafe(option, str(one))):
                raise FileError(
                    f"{where} {key}: only a file that --config names may set {wrong}",
                    source=source,
                    remedy=f"give --{key} on the command line, or: mbrparse --config {source} ...",
                )
        texts = [one if option.is_flag else str(one) for one in several]
        try:
            option.type_cast_value(context, texts if option.multiple else texts[0])
        except click.BadParameter as error:
            raise FileError(f"{where} {key}: {error.message}", source=source) from None
        found[str(option.name)] = texts if option.multiple else texts[0]
    return found


def _check(option: click.Option, value: Any, where: str, source: str) -> None:
    """Raise FileError for a value that is not of the option's type."""
    expected = "text"
    kinds: tuple[type, ...] = (str, int, float)
    if option.is_flag:
        expected, kinds = "true or false", (bool,)
    elif isinstance(option.type, click.types.IntParamType):
        expected, kinds = "a whole number", (int,)
    elif isinstance(option.type, click.types.FloatParamType):
        expected, kinds = "a number", (int, float)
    if type(value) not in kinds:
        listed = f"a list of values, each {expected}," if option.multiple else expected
        raise FileError(f"{where} is {value!r}: it takes {listed}", source=source)


def _unsafe(option: click.Option, text: str) -> str:
    """What only a file that the command line names may set, if this value is such; else an empty text."""
    if isinstance(option.type, _HARMLESS):
        return ""
    if not isinstance(option.type, InputFile):
        return "outputs and schedulers"
    here = Path().resolve()
    paths = [here / part for part in (text, *re.split("[=,:]", text))]
    return "" if all(path.resolve().is_relative_to(here) for path in paths) else "paths outside of its folder"


def _error(source: str, message: str, wrong: str, known: Iterable[str]) -> FileError:
    near = difflib.get_close_matches(wrong, list(known), n=1)
    remedy = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    return FileError(message, source=source, remedy=remedy)
