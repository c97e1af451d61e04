"""Options from a file: ``mbrparse.toml``, or the table ``[tool.mbrparse]`` of ``pyproject.toml``.

Only the folder that a command is called in is looked at, and a line says what was taken from where. A table
is a command, a key a long option without its dashes; what the command line says wins. Whoever made the folder
made the file: unless the command line names it, it sets no outputs and no addresses, and reads files of the
folder only.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from mbrparse import errors, files
from mbrparse.cli.commands import InputFile, Text
from mbrparse.cli.messages import note

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


def use_defaults(context: click.Context, config: str | None) -> None:
    """Use the options of a file as a command's defaults, and print that; without one, of the folder's."""
    path = config
    if path is None and Path(OWN).is_file():
        path = OWN
    # A project's own file concerns us only where it names us.
    elif path is None and Path(SHARED).is_file() and _TOOL.encode() in Path(SHARED).read_bytes():
        path = SHARED
    name, group = context.invoked_subcommand, context.command
    if path is None or name is None or not isinstance(group, click.Group):
        return
    context.default_map = defaults_of(group, context, read_config(path), name, path, config is not None)
    if context.default_map.get(name):
        note(f"options of {name} from {path} (--no-config ignores them)")


def read_config(path: str | Path) -> dict[str, Any]:
    """The tables of a file, by command; raises FileError."""
    with files.open_input(path) as stream:
        data = stream.read()
    try:
        content = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # ValueError also of bytes, and of integers of any length
        raise errors.FileError(
            f"not TOML: {error}", source=files.source_name(path), remedy="mend it, or --no-config"
        ) from None
    for name in _TOOL.split(".") if Path(path).name == SHARED else ():
        content = content.get(name, {}) if isinstance(content, dict) else content
    if not isinstance(content, dict):
        raise errors.FileError(f"[{_TOOL}] is no table", source=files.source_name(path))
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
            raise errors.FileError(
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
    defaults = {}
    for key, value in table.items():
        if key not in known:
            raise _error(source, f"{where} has no option {key!r}", key, known)
        option, what = known[key], f"{where} {key}"
        several = value if option.multiple and isinstance(value, list) else [value]
        for one in several:
            if isinstance(one, bool) is not option.is_flag or not isinstance(one, (str, int, float)):
                takes = "true or false" if option.is_flag else "text or a number"
                raise errors.FileError(f"{what} is {one!r}: it takes {takes}", source=source)
            if not named and (wrong := _unsafe(option, str(one))):
                raise errors.FileError(
                    f"{what}: only a file that --config names may set {wrong}",
                    source=source,
                    remedy=f"give --{key} on the command line, or: mbrparse --config {source} ...",
                )
        texts = [one if option.is_flag else str(one) for one in several]
        defaults[str(option.name)] = given = texts if option.multiple else texts[0]
        try:
            option.type_cast_value(context, given)
        except click.BadParameter as error:
            raise errors.FileError(f"{what}: {error.message}", source=source) from None
    return defaults


def _unsafe(option: click.Option, text: str) -> str:
    """What only a file that the command line names may set, if this value is such; else an empty text."""
    if isinstance(option.type, _HARMLESS):
        return ""
    if not isinstance(option.type, InputFile):
        return "outputs and schedulers"
    here = Path().resolve()
    # A bundle's options have blanks between, and may be quoted.
    paths = [here / part for part in (text, *re.split(r"[=,:;\s]", re.sub(r"[\\'\"]", "", text)))]
    return "" if all(path.resolve().is_relative_to(here) for path in paths) else "paths outside of its folder"


def _error(source: str, message: str, wrong: str, known: Iterable[str]) -> errors.FileError:
    remedy = errors.did_you_mean(wrong, known, f"there are {', '.join(known)}")
    return errors.FileError(message, source=source, remedy=remedy)
