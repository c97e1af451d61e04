"""The options of ``mbrparse parse`` about search: limits, candidates, DOP's samples, best-first search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.option_types import InputFile, Text
from mbrparse.cli.options import (
    Finite,
    NearestChoice,
    count_option,
    note,
    option,
    prune_option,
    refuse_options,
    with_dashes,
)

if TYPE_CHECKING:
    from mbrparse.evaluate.compare.candidates import TreeRates


@dataclass(frozen=True)
class LimitOptions:
    """What bounds charts and searches, as ``ParserOptions`` names it."""

    max_length: int | None = count_option(
        help="Fall back on longer sentences (default: about 2 GB of chart)."
    )
    prune: float = prune_option()


@dataclass(frozen=True)
class CandidateOptions:
    """The candidates of each sentence, and the risk that chooses among them."""

    k_best: int | None = count_option(
        metavar="K", help="Candidates: the different trees of the K most probable derivations."
    )
    samples: int | None = count_option(
        metavar="K", help="Candidates: the different trees of K derivations, sampled by their probabilities."
    )
    seed: int | None = count_option(help="Seed of all samples.  [default: 0]", least=0)
    candidates: str | None = option(
        metavar="FILE",
        help="Write the candidates: number of the sentence, log probability and tree, tab-separated.",
    )
    risk: str | None = option(
        type=Text("CRITERION"),
        help="The criterion that minimum-risk maximizes the expectation of, as evaluate names it "
        "(labelled_f), counted on trees as they are written.",
    )

    def check(self, has_samples: bool) -> None:
        """Raise UsageError for options that lack others; ``has_samples``: a DOP grammar draws some."""
        if self.candidates is not None and self.k_best is None and self.samples is None:
            raise click.UsageError("--candidates needs --k-best or --samples.")
        if self.seed is not None and self.samples is None and not has_samples:
            raise click.UsageError(
                "--seed goes with --samples, and with what a DOP grammar draws (--sampled-posteriors, "
                "most-probable-tree and the like)."
            )

    def tree_rates(self, debinarize: bool) -> TreeRates | None:
        """The scores of --risk, on trees as they are written; UsageError for an unknown criterion."""
        if self.risk is None:
            return None
        from mbrparse.errors import MbrparseError
        from mbrparse.evaluate.compare.candidates import TreeRates

        try:
            return TreeRates(self.risk, "original" if debinarize else "binarized")
        except MbrparseError as error:
            raise click.BadParameter(f"{with_dashes(error)}.", param_hint="--risk") from None


@dataclass(frozen=True)
class DopOptions:
    """How many derivations are sampled from a DOP grammar, as ``ParserOptions`` names it."""

    max_samples: int | None = count_option(
        metavar="N",
        help="Sample at most so many derivations for most-probable-tree, consistent-brackets and the "
        "like.  [default: 1000]",
    )
    max_error: float | None = option(
        type=Finite(min=0, max=1, max_open=True),
        metavar="P",
        help="With most-probable-tree: stop when the probability that another tree is the most frequent "
        "one is at most P (0: always --max-samples).  [default: 0.01]",
    )
    sampled_posteriors: bool = option(
        is_flag=True, help="Estimate posteriors from --max-samples derivations instead of all."
    )


@dataclass(frozen=True)
class BestFirstOptions:
    """The engine, and the options of best-first search."""

    engine: str = option(
        choices=["exhaustive", "best-first"],
        default="exhaustive",
        help="Fill the whole chart, or only as much as --until asks for. The options below need best-first.",
    )
    merit: str = option(
        type=Text("NAME"),
        default="boundary-trigram",
        help="The figure of merit that orders the agenda (an unknown name is answered with all of them).",
    )
    edges: int | None = count_option(help="Make at most so many edges.", metavar="N")
    until: str = option(
        default="first-parse",
        type=Text("WHEN"),
        help="first-parse, exhausted, or mass:0.95, a share of the sentence's probability, for which "
        "there is an exhaustive inside pass first.",
    )
    beta_threshold: float = option(
        type=Finite(min=0, max=1),
        default=0.01,
        help="Propagate the growth of an inside estimate when it exceeds this share.",
    )
    statistics: str | None = option(
        type=InputFile(),
        help="The file that mbrparse train --statistics wrote; most figures of merit need it.",
    )

    def search(self) -> Any:
        """How to search best-first; None for the exhaustive engine, which takes none of these options."""
        context = click.get_current_context()
        if self.engine == "exhaustive":
            refuse_options(("merit", "edges", "until", "beta_threshold", "statistics"), "--engine best-first")
            return None
        from mbrparse.decode.best_first.best_first import MERITS, BestFirst, Until
        from mbrparse.errors import MbrparseError
        from mbrparse.training.tag_statistics import read_statistics

        try:
            until = Until.parse(self.until)
        except MbrparseError as error:
            raise click.BadParameter(with_dashes(error), param_hint="--until") from None
        parameter = next(known for known in context.command.params if known.name == "merit")
        merit = NearestChoice(list(MERITS)).convert(self.merit, parameter, context)
        if until.name == "mass":
            note("--until mass: each sentence is first given an exhaustive inside pass")
        statistics = None if self.statistics is None else read_statistics(self.statistics)
        return BestFirst(merit, until, self.edges, self.beta_threshold, statistics)
