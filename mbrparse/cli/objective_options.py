"""What ``mbrparse parse`` maximizes: objectives, the space they search, and what their items speak of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mbrparse.cli.options import NearestChoice

if TYPE_CHECKING:
    from mbrparse.decode.objectives import Objective
    from mbrparse.decode.parser_options import ParserOptions

Command = TypeVar("Command", bound=Callable[..., Any])

# Named here so that --help loads no numerical library; a test holds them to the table of objectives.
OBJECTIVE_NAMES = [
    "labelled-tree",
    "labelled-recall",
    "bracketed-recall",
    "parent-child",
    "productions",
    "max-rule-sum",
    "max-rule-product",
]


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
            type=NearestChoice(OBJECTIVE_NAMES),
            multiple=True,
            default=["labelled-recall"],
            show_default=True,
            help="What the returned tree maximizes the expectation of (repeatable).",
        ),
    ):
        command = option(command)
    return command


def chosen_objectives(names: Sequence[str], space: str | None, labels: str) -> tuple[Objective, ...]:
    """The rows of the table; a usage error for a space in which one of them has no meaning."""
    from mbrparse.decode.objectives import OBJECTIVES, Space

    objectives = [OBJECTIVES[name] for name in names]
    if space is not None:
        try:
            objectives = [objective.within(Space[space.upper()]) for objective in objectives]
        except ValueError as error:
            raise click.UsageError(f"--space {space}: {error}.") from None
    if labels == "none" and all(o.labels_matter or o.derives for o in objectives):
        raise click.UsageError(
            "--labels none needs an objective that does not look at labels, in the free space: "
            "bracketed-recall."
        )
    return tuple(objectives)


def check_combination(options: ParserOptions) -> None:
    """A usage error for options that have no meaning together."""
    if options.items == "symbol" and not any(o.projectable for o in options.objectives):
        raise click.UsageError("--items symbol needs another objective: labelled-tree has rules for items.")
    if not options.needs_forest:
        return
    what = "--items symbol" if options.items == "symbol" else "This objective"
    if options.best_first is not None:
        raise click.UsageError(f"{what} needs --engine exhaustive.")
    if options.precision == "single":
        raise click.UsageError(f"{what} needs --precision double.")
