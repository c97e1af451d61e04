"""What ``mbrparse parse`` maximizes: objectives, the space they search, and what their items speak of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import click

from mbrparse.cli.options import NearestChoice
from mbrparse.decode.objectives import OBJECTIVES, FScore, Item, Objective, Space
from mbrparse.errors import ObjectiveError, OptionsError

Command = TypeVar("Command", bound=Callable[..., Any])

GENERAL = "general-recall"
WEIGHTS = {"labelled": Item.LABELLED_SPAN, "bracketed": Item.SPAN}


def objective_options(command: Command) -> Command:
    """``--objective`` and what changes it, ``--space`` and ``--items``."""
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
            type=NearestChoice(["free", "nary", "grammar"]),
            help="Where to search: any binary tree with a label on each span, any constituents that do not "
            "cross, or the grammar's own trees.  [default: nary for general-recall and the Fs, free for the "
            "other recalls, consistent brackets and bracketed-tree, grammar for the others]",
        ),
        click.option(
            "--pooled",
            is_flag=True,
            help="With labelled-f or bracketed-f: the F of all sentences together, instead of each one's.",
        ),
        click.option(
            "--exact",
            is_flag=True,
            help="With labelled-f or bracketed-f: the expected F itself, no ratio of expectations; slow.",
        ),
        click.option(
            "--node-cost",
            type=float,
            metavar="COST",
            help="Taken off the gains for each constituent, with objectives that add up posteriors.",
        ),
        click.option(
            "--weight",
            "weights",
            metavar="ITEM=W",
            multiple=True,
            help="Of general-recall's gains: labelled=W, bracketed=W (repeatable).  [default: labelled=1]",
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


def chosen_objectives(
    names: Sequence[str],
    space: str | None,
    weights: Sequence[str] = (),
    node_cost: float | None = None,
    pooled: bool = False,
    exact: bool = False,
) -> tuple[Objective, ...]:
    """The rows of the table, as options change them; a usage error for what has no meaning."""
    if pooled and exact:
        raise click.UsageError("--pooled and --exact are two ways to sum up an F: give one of them.")
    f_score: FScore | None = "pooled" if pooled else "exact" if exact else None
    fs = [name for name in OBJECTIVES if OBJECTIVES[name].f_score]
    if f_score is not None and not set(names).intersection(fs):
        raise click.UsageError(f"--{f_score} goes with --objective {' or '.join(fs)}.")
    if weights and GENERAL not in names:
        raise click.UsageError(f"--weight goes with --objective {GENERAL}.")
    objectives = []
    for name in names:
        row = OBJECTIVES[name]
        try:
            if name == GENERAL and weights:
                row = replace(row, gains=_gains(weights))
            if space is not None:
                row = row.within(Space[space.upper()])
            if f_score is not None and name in fs:
                row = row.with_f(f_score)
            if node_cost is not None:
                row = row.with_node_cost(node_cost)
        except ObjectiveError as error:
            option = "--space" if space is not None else "--weight" if weights else "--node-cost"
            raise click.UsageError(f"{option}: {error}.") from None
        objectives.append(row)
    return tuple(objectives)


def _gains(weights: Sequence[str]) -> tuple[tuple[Item, float], ...]:
    found: dict[Item, float] = {}
    for text in weights:
        name, _, number = text.partition("=")
        try:
            item, weight = WEIGHTS[name], float(number)
        except (KeyError, ValueError):
            raise click.BadParameter(
                f"{text!r} is none of labelled=W, bracketed=W.", param_hint="--weight"
            ) from None
        found[item] = weight
    return tuple(found.items())


@contextmanager
def combinations_checked() -> Iterator[None]:
    """A usage error for options that the parser finds to have no meaning together."""
    try:
        yield
    except OptionsError as error:
        raise click.UsageError(f"{error.usage}.") from None
