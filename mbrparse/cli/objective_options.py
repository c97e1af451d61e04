"""What ``mbrparse parse`` maximizes: objectives, the space they search, and what their items speak of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from mbrparse.cli.options import NearestChoice
from mbrparse.decode.objectives import OBJECTIVES, Objective, Space
from mbrparse.errors import ObjectiveError, OptionsError

Command = TypeVar("Command", bound=Callable[..., Any])


def objective_options(command: Command) -> Command:
    """``--objective``, ``--space`` and ``--items``."""
    for option in (
        click.option(
            "--items",
            type=NearestChoice(["projected", "symbol"]),
            default="projected",
            show_default=True,
            help="What gains speak of: labels, summed over the symbols that have them, or symbols.",
        ),
        click.option(
            "--space",
            type=NearestChoice(["free", "grammar"]),
            help="Where to search: any binary tree with a label on each span, or the grammar's own trees.  "
            "[default: free for the recalls, grammar for the others]",
        ),
        click.option(
            "--objective",
            "names",
            type=NearestChoice(list(OBJECTIVES)),
            multiple=True,
            default=["labelled-recall"],
            show_default=True,
            help="What the returned tree maximizes the expectation of (repeatable).",
        ),
    ):
        command = option(command)
    return command


def chosen_objectives(names: Sequence[str], space: str | None) -> tuple[Objective, ...]:
    """The rows of the table; a usage error for a space in which one of them has no meaning."""
    objectives = [OBJECTIVES[name] for name in names]
    if space is not None:
        try:
            objectives = [objective.within(Space[space.upper()]) for objective in objectives]
        except ObjectiveError as error:
            raise click.UsageError(f"--space {space}: {error}.") from None
    return tuple(objectives)


@contextmanager
def combinations_checked() -> Iterator[None]:
    """A usage error for options that the parser finds to have no meaning together."""
    try:
        yield
    except OptionsError as error:
        raise click.UsageError(f"{error.usage}.") from None
