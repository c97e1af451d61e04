"""``binarize``, ``split``, ``train`` and ``parse`` as stages of one command, which takes their options."""

from __future__ import annotations

import copy
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

import click
from click.core import ParameterSource

from mbrparse.cli.binarize_command import binarize
from mbrparse.cli.label_options import LABEL_OPTIONS
from mbrparse.cli.option_types import InputFile, PathName
from mbrparse.cli.parse_command import parse
from mbrparse.cli.train_command import train
from mbrparse.cli.treebank_commands import split

COMMANDS: dict[str, click.Command] = {"binarize": binarize, "split": split, "train": train, "parse": parse}
#: The stages whose options are taken.
STAGES = ("binarize", "train", "parse")
# What the command says itself: files between the stages, workers, and what is about a single call.
_OWN = {"grammars", "names", "posteriors", "mix", "form", "statistics", "debinarize", "least", "strict"}
_OWN |= {"curve", "jobs", "resume", "shard", *LABEL_OPTIONS}


def stage_options(stage: str) -> dict[str, click.Option]:
    """By their names (``hmarkov``), a stage's options but for outputs and what its caller says itself."""
    return {
        option.opts[0].removeprefix("--"): option
        for option in COMMANDS[stage].params
        if isinstance(option, click.Option)
        and option.name not in _OWN
        and (isinstance(option.type, InputFile) or not isinstance(option.type, PathName))
        and (stage == "binarize" or option.name != "encoding")
    }


def call_stage(stage: str, arguments: Iterable[str]) -> None:
    """Call a command with these arguments; raises UsageError for wrong ones, and the command's errors."""
    try:
        with COMMANDS[stage].make_context(f"mbrparse {stage}", list(arguments)) as context:
            COMMANDS[stage].invoke(context)
            return
    except click.UsageError as error:
        message = error.format_message()
    # Not from within the handler: the other error has a context, which no process could send.
    raise click.UsageError(f"{stage}: {message}")


class _Forwarded(click.Option):
    """A stage's option: its text is checked here, and handed on as it is."""

    stage: str
    word: str  #: what the stage calls it

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """Return a value that the option's type takes."""
        super().type_cast_value(ctx, value)
        return value


def words(option: click.Option, name: str, value: Any) -> list[str]:
    """An option called ``name`` with a value as arguments; raises click's errors for one it does not take."""
    if option.is_flag:
        return [name] if option.type_cast_value(click.get_current_context(), value) else option.secondary_opts
    values = value if option.multiple and not isinstance(value, str) else [value]
    option.type_cast_value(click.get_current_context(), values if option.multiple else value)
    return [f"{name}={one}" for one in values]


def takes_stage_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the stages to a command's own; its parameter ``stages`` has those that were given.

    An option that the command has itself, or an earlier stage, is called after its stage (``--train-seed``).
    """
    own: list[click.Parameter] = command.__dict__["__click_params__"]
    taken = {name for parameter in own for name in (*parameter.opts, str(parameter.name))}
    forwarded: list[_Forwarded] = []
    for stage in STAGES:
        for name, option in stage_options(stage).items():
            if stage == "binarize" and f"--{name}" in taken:
                continue  # which the command hands to this stage itself
            made: Any = copy.copy(option)
            made.__class__, made.hidden = _Forwarded, True
            made.stage, made.word = stage, f"--{name}"
            if f"--{name}" in taken:
                made.opts = [f"--{stage}-{name}"]
            if option.name in taken:
                made.name = f"{stage}_{option.name}"
            forwarded.append(made)
        taken.update(name for option in forwarded for name in (option.opts[0], str(option.name)))

    @functools.wraps(command)
    def collected(*arguments: Any, **given: Any) -> Any:
        source = click.get_current_context().get_parameter_source
        stages: dict[str, list[str]] = {stage: [] for stage in STAGES}
        for option in forwarded:
            value = given.pop(str(option.name))
            if source(str(option.name)) is not ParameterSource.DEFAULT:
                stages[option.stage] += words(option, option.word, value)
        return command(*arguments, stages=stages, **given)

    lines = [inspect.cleandoc(command.__doc__ or "")]
    for stage in STAGES:
        names = ", ".join(option.opts[0] for option in forwarded if option.stage == stage)
        text = f"Options of {stage} (mbrparse {stage} --help): {names}."
        lines.append("\b\n" + textwrap.fill(text, 76, break_on_hyphens=False))
    collected.__doc__ = "\n\n".join(lines)
    collected.__dict__["__click_params__"] = [*forwarded[::-1], *own]
    return collected
