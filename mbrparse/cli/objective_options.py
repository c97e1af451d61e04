"""What trees maximize: objectives, and the candidates and the risk of whole trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import click

import mbrparse as mp
from mbrparse.cli import commands, messages, options
from mbrparse.decode.objectives import ALIASES, GAINS, GENERAL, OBJECTIVES, UNARY_COST, Objective, Space
from mbrparse.errors import ObjectiveError

if TYPE_CHECKING:
    from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
    from mbrparse.grammar.pcfg import Grammar


_WHICH_RISK = (
    "'mbr' names no single objective: all objectives but labelled-tree (Viterbi) minimize a Bayes risk. "
    "Choose labelled-recall for constituents with their labels, bracketed-recall for constituents without "
    "labels, labelled-f for F, or minimum-risk for the risk of whole candidates by any criterion."
)


class ObjectiveChoice(commands.NearestChoice):
    """The name of an objective, or an alias of one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "mbr":
            self.fail(_WHICH_RISK, param, ctx)
        name = ALIASES.get(value, str(value).replace("labeled", "labelled"))
        return super().convert(name, param, ctx)


def objective_option(choices: Sequence[str] = tuple(OBJECTIVES), **attributes: Any) -> Any:
    """``--objective NAME``, repeatable: the different names."""
    return commands.option(
        "--objective",
        type=ObjectiveChoice(choices),
        metavar="NAME",
        multiple=True,
        callback=lambda _context, _option, names: tuple(dict.fromkeys(names)),
        **attributes,
    )


@dataclass(frozen=True)
class ObjectiveOptions:
    """What the returned trees maximize."""

    names: tuple[str, ...] = objective_option(
        help="What the returned tree maximizes the expectation of (repeatable). labelled-tree, also "
        "called viterbi, is the most probable derivation; the others minimize a Bayes risk: "
        + ", ".join(name for name in OBJECTIVES if name != "labelled-tree")
        + ".  [default: labelled-recall; of posteriors of n-ary trees labelled-f]",
    )
    weights: tuple[str, ...] = commands.option(
        "--weight",
        type=commands.Text("ITEM=W"),
        multiple=True,
        help="The gains of general-recall: labelled=W, bracketed=W (repeatable).  [default: labelled=1]",
    )
    node_cost: float | None = commands.option(
        type=commands.Finite(),
        metavar="COST",
        help="Subtract this for each constituent, with objectives that sum posteriors.",
    )
    exact: bool = commands.option(
        is_flag=True,
        help="With labelled-f or bracketed-f: maximize the expected F itself instead of a ratio of "
        "expectations. This is slow.",
    )
    space: str | None = commands.option(
        choices=["free", "nary", "grammar"],
        help="The trees to search: any binary tree with a label on each span, any set of constituents "
        "that do not cross, or the trees of the grammar.  [default: nary for general-recall and the Fs, "
        "free for the other recalls (with unary rules: nary, at --node-cost "
        f"{UNARY_COST:g}), consistent brackets and bracketed-tree, grammar for the others]",
    )
    items: Any = commands.option(
        choices=["projected", "symbol"],
        default="projected",
        help="Sum posteriors over the symbols with the same label, or keep symbols apart.",
    )

    def filled(self, usual: str = "labelled-recall") -> Self:
        """With the usual objective where none was asked for."""
        return self if self.names else replace(self, names=(usual,))

    def objectives(self, unaries: bool = False) -> tuple[Objective, ...]:
        """The rows of the table of objectives, as the options change them.

        With ``unaries`` those for a grammar that has unary rules. Raises UsageError where options
        do not fit the objectives.
        """
        fs = [name for name in OBJECTIVES if OBJECTIVES[name].f_score]
        if self.exact and not set(self.names).intersection(fs):
            raise click.UsageError(f"--exact needs --objective {' or '.join(fs)}.")
        if self.weights and GENERAL not in self.names:
            raise click.UsageError(f"--weight needs --objective {GENERAL}.")
        try:
            return tuple(self._row(name, unaries) for name in self.names)
        except ObjectiveError as error:
            raise click.UsageError(f"{messages.with_dashes(error)}.") from None

    def fitted(self, grammar: Grammar, unlabelled: bool) -> tuple[tuple[Objective, ...], list[str]]:
        """The rows for a grammar; if it has unary rules, also lines on which trees have unary nodes."""
        unaries = grammar.pcfg.has_unaries
        rows, lines = self.objectives(unaries and not unlabelled), []
        moved = [row.name for row, usual in zip(rows, self.objectives(), strict=True) if row != usual]
        free = [row.name for row in rows if row.space is Space.FREE]
        if moved:
            cost = UNARY_COST if self.node_cost is None else self.node_cost
            lines.append(
                f"{', '.join(moved)}: the grammar has unary rules, so trees are n-ary (--node-cost {cost:g}; "
                "--space free: binary trees without unary nodes)"
            )
        if free and unaries:
            lines.append(f"{', '.join(free)}: trees of --space free leave out the grammar's unary nodes")
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

    def _row(self, name: str, unaries: bool) -> Objective:
        exact = bool(self.exact) and OBJECTIVES[name].f_score is not None
        gains = _gains(self.weights) if name == GENERAL and self.weights else None
        space: Any = self.space
        return mp.objective(name, space, self.node_cost, exact=exact, weights=gains, unaries=unaries)


def _gains(weights: Sequence[str]) -> dict[str, float]:
    gains = dict[str, float]()
    for text in weights:
        name, _, number = text.partition("=")
        try:
            gains[name.replace("labeled", "labelled")] = float(number)
        except ValueError:
            name = ""
        if not gains.keys() <= GAINS.keys() or not name:
            raise click.BadParameter(f"{text!r} is none of labelled=W, bracketed=W.", param_hint="--weight")
    return gains


def output_paths(output: str, names: Sequence[str]) -> list[str]:
    """Where the trees of each objective are written; a usage error where all would go to one place."""
    if len(names) > 1 and "{objective}" not in output:
        raise click.UsageError("With several objectives, --output must hold {objective}.")
    return [output.replace("{objective}", name) for name in names]


@dataclass(frozen=True)
class CandidateOptions:
    """The candidates of each sentence, and the risk that chooses among them."""

    k_best: int | None = commands.count_option(
        metavar="K", most=10**6, help="Candidates: the different trees of the K most probable derivations."
    )
    samples: int | None = commands.count_option(
        metavar="K",
        most=10**6,
        help="Candidates: the different trees of K derivations, sampled by their probabilities.",
    )
    seed: int | None = commands.seed_option("Seed of all samples.  [default: 0]")
    candidates: str | None = commands.option(
        metavar="FILE",
        help="Write the candidates: number of the sentence, log probability and tree, tab-separated.",
    )
    risk: str | None = options.checked(
        "CRITERION",
        lambda name: mp.TreeRates(name),  # noqa: PLW0108  # imported when it is called
        help="The criterion that minimum-risk maximizes the expectation of, as evaluate names it "
        "(labelled_f), counted on trees as they are written.",
    )

    def check(self, has_samples: bool) -> None:
        """Raise UsageError for options that lack others; ``has_samples``: a DOP grammar draws some."""
        if self.candidates is not None and self.k_best is None and self.samples is None:
            raise click.UsageError("--candidates needs --k-best or --samples.")
        if self.seed is not None and self.samples is None and not has_samples:
            raise click.UsageError(
                "--seed needs --samples, or derivations drawn from a DOP grammar (--sampled-posteriors, "
                "most-probable-tree and the like)."
            )

    def tree_rates(self, debinarize: bool) -> mp.TreeRates | None:
        """The scores of --risk, on trees as they are written."""
        return (
            None if self.risk is None else mp.TreeRates(self.risk, "original" if debinarize else "binarized")
        )
