"""The command that runs, as signatures have it, and what it leaves beside the files that it writes."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import click
from click.core import ParameterSource

from mbrparse import files, provenance, settings
from mbrparse.cli.argument_types import InputFile, PathName
from mbrparse.errors import MbrparseError

# What changes no figure and no tree.
_SHOWN = {"jobs", "scheduler", "resume", "log", "strict", "no_ids"}
#: Defaults that are said, by command or method of training.
_SAID = {
    "grid": "names test_fraction train_size max_length resamples",
    "reproduce": "max_length test_fraction",
    "split-merge": "cycles merge smooth seed",
    "inside-outside": "nonterminals iterations seed",
}
_OUTPUTS = {"output", "train_output", "test_output", "dev_output", "write_posteriors"}
_GIVEN = (str, int, float, list, tuple)
_OTHERS = re.compile(r"\.(?:places|made|settings|checkpoint|tagger\.json|cycle-\d+)$")


def step(context: click.Context | None = None) -> provenance.Step:
    """This command with its arguments, and the digests of the files and corpora that it reads."""
    context = click.get_current_context() if context is None else context
    given = _given(context)
    paths = [
        str(value)
        for parameter, values in given
        if isinstance(parameter.type, PathName) or isinstance(parameter, click.Argument)
        for value in values
    ]
    names = {path: provenance.name_of(path) for path in paths}
    if len(set(names.values())) < len(names):
        names = {path: provenance.name_of(path, 2) for path in paths}
    words, read = [], dict[str, str]()
    for parameter, values in given:
        is_argument = isinstance(parameter, click.Argument)
        for value in values:
            text = files.encodable(names.get(str(value), str(value)))
            words.append(shlex.quote(text) if is_argument else _option(parameter, value, text))
            for path in _files(parameter, str(value)):
                if path != files.STANDARD and (digest := _digest(path)):
                    read[files.encodable(names.get(path) or provenance.name_of(path))] = digest
    return provenance.Step(" ".join([context.command_path, *words]), read)


def _given(context: click.Context) -> list[tuple[click.Parameter, Sequence[Any]]]:
    """The parameters that were given, and the defaults that are said, with their texts, arguments first."""
    command = context.command
    typed, _, _ = command.make_parser(context).parse_args(list(context.meta["typed"]))
    said = f"{_SAID.get(str(command.name), '')} {_SAID.get(str(context.params.get('method')), '')}".split()
    found = list[tuple[click.Parameter, Sequence[Any]]]()
    without = _SHOWN | ({"output"} if command.name == "grid" else set())
    for parameter in sorted(command.params, key=lambda one: not isinstance(one, click.Argument)):
        name = str(parameter.name)
        value = typed.get(name)
        if context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP:
            value = context.lookup_default(name)
        default = parameter.get_default(context)
        # click has values of its own for an argument that is not given, and for no default.
        if not isinstance(value, _GIVEN):
            value = None
        if isinstance(default, _GIVEN) and (
            value is None or context.params.get(name) == parameter.type_cast_value(context, default)
        ):
            value = default if name in said else None
        if name not in without and value is not None:
            found.append((parameter, value if isinstance(value, (list, tuple)) else [value]))
    return found


def _option(parameter: click.Parameter, value: Any, text: str) -> str:
    name = max(parameter.opts, key=len)
    if getattr(parameter, "is_flag", False):
        return name if value else max(parameter.secondary_opts, key=len, default=name)
    return f"{name}={shlex.quote(text)}"


def _files(parameter: click.Parameter, value: str) -> list[str]:
    """The files that an argument or an option reads: those of ``NAME=FILE,FILE``, too."""
    if isinstance(parameter, click.Argument):
        return [value]
    return re.split("[=,]", value) if isinstance(parameter.type, InputFile) else []


def _digest(path: str) -> str | None:
    if os.path.exists(path) and not os.path.isdir(path):
        return settings.file_digest(path) if os.path.isfile(path) else None
    from mbrparse.treebank.corpora.reading import corpus_digest

    with suppress(MbrparseError, OSError):
        return corpus_digest(path)
    return None


@contextmanager
def recorded(context: click.Context) -> Iterator[None]:
    """Keep beside the grammars and trees that are written within what made them."""
    this = step(context)
    given = [(parameter, str(value)) for parameter, values in _given(context) for value in values]
    before = provenance.steps_of([path for one in given for path in _files(*one)])
    others = {
        value
        for parameter, value in given
        if isinstance(parameter.type, PathName) and parameter.name not in _OUTPUTS
    }
    with files.replaced_files() as written:
        try:
            yield
        except click.exceptions.Exit:
            _keep(written, others, [*before, this])
            raise
        _keep(written, others, [*before, this])


def _keep(written: Sequence[str], others: set[str], steps: list[provenance.Step]) -> None:
    for path in dict.fromkeys(written):
        if path not in others and not _OTHERS.search(path):
            provenance.write(path, steps)
