"""What ``mbrparse parse`` says of candidates: how many, where they are written, what chooses among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mbrparse.cli.options import Finite

if TYPE_CHECKING:
    from mbrparse.decode.parser_options import ParserOptions
    from mbrparse.evaluate.risk import TreeRates

Command = TypeVar("Command", bound=Callable[..., Any])


def candidates_options(command: Command) -> Command:
    """``--k-best``, ``--samples``, ``--candidates`` and ``--risk``; what is drawn else, and ``--seed``."""
    for option in (
        click.option(
            "--risk",
            metavar="CRITERION",
            help="What minimum-risk expects most of: a criterion of evaluate (labelled_f), counted on trees "
            "as they are written.",
        ),
        click.option(
            "--candidates",
            metavar="FILE",
            help="Write the candidates: number of the sentence, log probability and tree, tab-separated.",
        ),
        click.option(
            "--sampled-posteriors",
            is_flag=True,
            help="With a DOP grammar: take posteriors from --max-samples derivations, drawn, not from all.",
        ),
        click.option(
            "--max-error",
            type=Finite(min=0, max=1, max_open=True),
            metavar="P",
            help="With a DOP grammar: draw for most-probable-tree until the commonest tree is another with "
            "no more than this probability (0: --max-samples in any case).  [default: 0.01]",
        ),
        click.option(
            "--max-samples",
            type=click.IntRange(min=1),
            metavar="N",
            help="With a DOP grammar: how many derivations are drawn at most, for most-probable-tree, "
            "consistent-brackets and the like.  [default: 1000]",
        ),
        click.option("--seed", type=click.IntRange(min=0), help="Of what is drawn.  [default: 0]"),
        click.option(
            "--samples",
            type=click.IntRange(min=1),
            metavar="K",
            help="Candidates: the different trees of K derivations, drawn by their probabilities.",
        ),
        click.option(
            "--k-best",
            type=click.IntRange(min=1),
            metavar="K",
            help="Candidates: the different trees of the K most probable derivations.",
        ),
    ):
        command = option(command)
    return command


def check_candidates(drawn: bool, seed: int | None, candidates: str | None, options: ParserOptions) -> None:
    """A usage error for options without what they speak of; ``drawn``: what a DOP grammar draws."""
    if candidates is not None and not options.has_candidates:
        raise click.UsageError("--candidates needs --k-best or --samples.")
    if seed is not None and options.samples is None and not drawn:
        raise click.UsageError(
            "--seed goes with --samples, and with what a DOP grammar draws (--sampled-posteriors, "
            "most-probable-tree and the like)."
        )


def risk_of(criterion: str, debinarize: bool) -> TreeRates:
    """The criterion's scores of trees as they are written; a usage error for what is none."""
    from mbrparse.errors import MbrparseError
    from mbrparse.evaluate.risk import TreeRates

    try:
        return TreeRates(criterion, "original" if debinarize else "binarized")
    except MbrparseError as error:
        raise click.BadParameter(f"{error}.", param_hint="--risk") from None
