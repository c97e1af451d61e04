"""The options of ``mbrparse parse`` that say what to maximize: objectives, search spaces, items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.option_types import Text
from mbrparse.cli.options import NearestChoice, option, with_dashes
from mbrparse.decode.objectives import OBJECTIVES, UNARY_COST, FScore, Item, Objective, Space
from mbrparse.errors import ObjectiveError, OptionsError

if TYPE_CHECKING:
    from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
    from mbrparse.grammar.pcfg import Grammar

GENERAL = "general-recall"
WEIGHTS = {"labelled": Item.LABELLED_SPAN, "bracketed": Item.SPAN}
#: Other names of objectives.
ALIASES = {"viterbi": "labelled-tree"}
_WHICH_RISK = (
    "'mbr' names no single objective: all objectives but labelled-tree (Viterbi) minimize a Bayes risk. "
    "Choose labelled-recall for constituents with their labels, bracketed-recall for constituents without "
    "labels, labelled-f for F, or minimum-risk for the risk of whole candidates by any criterion."
)


class ObjectiveChoice(NearestChoice):
    """The name of an objective, or an alias of one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "mbr":
            self.fail(_WHICH_RISK, param, ctx)
        return super().convert(ALIASES.get(value, str(value).replace("labeled", "labelled")), param, ctx)


def objective_option(**attributes: Any) -> Any:
    """``--objective NAME``, repeatable, as the parameter ``names``."""
    choice = ObjectiveChoice(list(OBJECTIVES))
    return option("--objective", "names", type=choice, metavar="NAME", multiple=True, **attributes)


@dataclass(frozen=True)
class ObjectiveOptions:
    """What the returned trees maximize."""

    names: tuple[str, ...] = objective_option(
        default=["labelled-recall"],
        help="What the returned tree maximizes the expectation of (repeatable). labelled-tree, also "
        "called viterbi, is the most probable derivation; the others minimize a Bayes risk: "
        + ", ".join(name for name in OBJECTIVES if name != "labelled-tree")
        + ".",
    )
    weights: tuple[str, ...] = option(
        "--weight",
        "weights",
        type=Text("ITEM=W"),
        multiple=True,
        help="The gains of general-recall: labelled=W, bracketed=W (repeatable).  [default: labelled=1]",
    )
    node_cost: float | None = option(
        type=float,
        metavar="COST",
        help="Subtract this for each constituent, with objectives that sum posteriors.",
    )
    exact: bool = option(
        is_flag=True,
        help="With labelled-f or bracketed-f: maximize the expected F itself instead of a ratio of "
        "expectations. This is slow.",
    )
    space: str | None = option(
        choices=["free", "nary", "grammar"],
        help="The trees to search: any binary tree with a label on each span, any set of constituents "
        "that do not cross, or the trees of the grammar.  [default: nary for general-recall and the Fs, "
        "free for the other recalls (with unary rules: nary, at --node-cost "
        f"{UNARY_COST:g}), consistent brackets and bracketed-tree, grammar for the others]",
    )
    items: Any = option(
        choices=["projected", "symbol"],
        default="projected",
        help="Sum posteriors over the symbols with the same label, or keep symbols apart.",
    )

    @property
    def distinct(self) -> tuple[str, ...]:
        """The names of the objectives, each once."""
        return tuple(dict.fromkeys(self.names))

    def objectives(self, unaries: bool = False) -> tuple[Objective, ...]:
        """The rows of the table of objectives, as the options change them.

        With ``unaries`` those for a grammar that has unary rules. Raises UsageError where options
        do not fit the objectives.
        """
        names = self.distinct
        f_score: FScore | None = "exact" if self.exact else None
        fs = [name for name in OBJECTIVES if OBJECTIVES[name].f_score]
        if f_score is not None and not set(names).intersection(fs):
            raise click.UsageError(f"--{f_score} goes with --objective {' or '.join(fs)}.")
        if self.weights and GENERAL not in names:
            raise click.UsageError(f"--weight goes with --objective {GENERAL}.")
        return tuple(self._row(name, f_score if name in fs else None, unaries) for name in names)

    def fitted(self, grammar: Grammar, unlabelled: bool) -> tuple[tuple[Objective, ...], list[str]]:
        """The rows for a grammar; if it has unary rules, also lines on which trees have unary nodes."""
        unaries = grammar.pcfg.has_unaries
        rows, lines = self.objectives(unaries and not unlabelled), []
        moved = [row.name for row, usual in zip(rows, self.objectives(), strict=True) if row != usual]
        free = [row.name for row in rows if row.space is Space.FREE]
        if moved:
            cost = UNARY_COST if self.node_cost is None else self.node_cost
            lines.append(
                f"{', '.join(moved)}: n-ary trees, at --node-cost {cost:g}, since the grammar has unary "
                "rules (--space free: binary ones, without unary nodes)"
            )
        if free and unaries:
            lines.append(f"{', '.join(free)}: trees of the space free leave out the grammar's unary nodes")
        return rows, lines

    def lines_of(self, given: GivenPosteriors) -> list[str]:
        """A line where there are constituents over one word, and trees without."""
        free = [row.name for row in self.objectives() if row.space is Space.FREE]
        over = given.over_words()
        if not free or over < 0.5 or given.seems_tagged():
            return []
        return [
            f"{', '.join(free)}: trees of the space free leave out constituents over one word, {over:,.0f} "
            "expected; labelled-f and other n-ary objectives keep them"
        ]

    def _row(self, name: str, f_score: FScore | None, unaries: bool) -> Objective:
        row, option = OBJECTIVES[name], "--weight"
        try:
            if name == GENERAL and self.weights:
                row = replace(row, gains=_gains(self.weights))
            option = "--space"
            if self.space is not None:
                row = row.within(Space[self.space.upper()])
            elif unaries:
                row = row.for_unaries(UNARY_COST if self.node_cost is None else 0.0)
            if f_score is not None:
                row = row.with_f(f_score)
            option = "--node-cost"
            return row if self.node_cost is None else row.with_node_cost(self.node_cost)
        except ObjectiveError as error:
            raise click.UsageError(f"{option}: {with_dashes(error)}.") from None


def _gains(weights: Sequence[str]) -> tuple[tuple[Item, float], ...]:
    found: dict[Item, float] = {}
    for text in weights:
        name, _, number = text.partition("=")
        try:
            item, weight = WEIGHTS[name.replace("labeled", "labelled")], float(number)
        except (KeyError, ValueError):
            raise click.BadParameter(
                f"{text!r} is none of labelled=W, bracketed=W.", param_hint="--weight"
            ) from None
        found[item] = weight
    return tuple(found.items())


#: What the command line calls options that it does not call as Python does.
_FLAGS = {
    "unlabelled": "--labels none",
    "best_first": "--engine best-first",
    "debinarized": "--debinarize",
}


@contextmanager
def combinations_checked() -> Iterator[None]:
    """Turn OptionsError, for options that cannot be combined, into a usage error."""
    try:
        yield
    except OptionsError as error:
        if error.option is None:
            raise click.UsageError(f"{with_dashes(error)}.") from None
        flag = _FLAGS.get(error.option, f"--{error.option.replace('_', '-')}")
        value = "" if error.value is None else f" {error.value}"
        raise click.UsageError(f"{flag}{value} {error.predicate}.") from None
