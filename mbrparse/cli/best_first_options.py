"""The options of ``mbrparse parse --engine best-first``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import click

from mbrparse.cli.options import Finite, NearestChoice, note, refuse_options

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--engine",
        type=NearestChoice(["exhaustive", "best-first"]),
        default="exhaustive",
        show_default=True,
        help="Fill the whole chart, or only as much as --until asks for; the options below are best-first's.",
    ),
    click.option(
        "--merit",
        metavar="NAME",
        default="boundary-trigram",
        show_default=True,
        help="The figure of merit that orders the agenda (an unknown name is answered with all of them).",
    ),
    click.option("--edges", type=click.IntRange(min=1), metavar="N", help="Make at most so many edges."),
    click.option(
        "--until",
        default="first-parse",
        show_default=True,
        metavar="WHEN",
        help="first-parse, exhausted, or mass:0.95: a share of the sentence's probability, which takes an "
        "exhaustive inside pass first.",
    ),
    click.option(
        "--beta-threshold",
        type=Finite(min=0, max=1),
        default=0.01,
        show_default=True,
        help="Pass an inside estimate's growth on when it exceeds this share.",
    ),
    click.option(
        "--statistics", metavar="FILE", help="What mbrparse train --statistics wrote; most merits need it."
    ),
)


def best_first_options(command: Command) -> Command:
    """Add the options, in the order of the help."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def best_first_search(
    engine: str,
    merit: str,
    edges: int | None,
    until: str,
    beta_threshold: float,
    statistics: str | None,
) -> Any:
    """How to search best-first; None for the exhaustive engine, which takes none of its options."""
    context = click.get_current_context()
    if engine == "exhaustive":
        refuse_options(("merit", "edges", "until", "beta_threshold", "statistics"), "--engine best-first")
        return None
    from mbrparse.decode.best_first.best_first import BestFirst, Until
    from mbrparse.decode.best_first.merits import MERITS
    from mbrparse.errors import MbrparseError
    from mbrparse.grammar.statistics.statistics_file import read_statistics

    try:
        stop = Until.parse(until)
    except MbrparseError as error:
        raise click.BadParameter(str(error), param_hint="--until") from None
    merit = NearestChoice(list(MERITS)).convert(merit, _parameter(context, "merit"), context)
    how = BestFirst(merit, stop, edges, beta_threshold)
    if stop.name == "mass":
        note("--until mass: each sentence is first given an exhaustive inside pass")
    return how if statistics is None else replace(how, statistics=read_statistics(statistics))


def _parameter(context: click.Context, name: str) -> click.Parameter:
    return next(parameter for parameter in context.command.params if parameter.name == name)
