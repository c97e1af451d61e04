"""The options of ``mbrparse parse`` about what is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mbrparse.cli.option_groups import option_group
from mbrparse.cli.options import NearestChoice, output_option
from mbrparse.files import STANDARD

if TYPE_CHECKING:
    from mbrparse.decode.parser_options import ParserOptions
    from mbrparse.decode.posteriors.posteriors_writer import PosteriorsWriter
    from mbrparse.grammar.dop.dop_grammar import DopGrammar
    from mbrparse.grammar.pcfg import PCFG

Command = TypeVar("Command", bound=Callable[..., Any])

PLACEHOLDER = "{objective}"


@dataclass(frozen=True)
class OutputOptions:
    """The form of the trees, and the files that are written."""

    output: str
    debinarize: bool
    fallback: Any
    labels: str
    details: str | None
    write_posteriors: str | None

    def posteriors_writer(self, grammar: PCFG | DopGrammar, options: ParserOptions) -> PosteriorsWriter:
        """What collects the posteriors for --write-posteriors; refuses what the file cannot hold."""
        from mbrparse.decode.posteriors.posteriors_writer import PosteriorsWriter
        from mbrparse.errors import PosteriorsError
        from mbrparse.grammar.dop.dop_grammar import DopGrammar

        if self.write_posteriors == STANDARD:
            raise click.UsageError("--write-posteriors needs a file: standard output is for trees.")
        if options.items == "symbol":
            raise click.UsageError("--write-posteriors needs --items projected: the file speaks of labels.")
        pcfg = grammar.pcfg if isinstance(grammar, DopGrammar) else grammar
        if pcfg.has_unaries:
            raise PosteriorsError(
                "a grammar with unary rules expects some labels more than once over a span, which the file "
                "cannot say",
                source=self.write_posteriors,
                remedy="train on trees without: mbrparse binarize --unary top, bottom or join",
            )
        return PosteriorsWriter(pcfg.labels, options.needs_consistency)


def output_options() -> Callable[[Command], Command]:
    """The group ``trees``."""
    return option_group(
        "trees",
        OutputOptions,
        "Output",
        output_option("Where to write; with several objectives a pattern such as build/{objective}.mrg."),
        click.option("--debinarize", is_flag=True, help="Write n-ary trees."),
        click.option(
            "--fallback",
            type=NearestChoice(["right-branching", "flat", "empty"]),
            default="right-branching",
            show_default=True,
            help="What to write for a sentence without a parse.",
        ),
        click.option(
            "--labels",
            type=NearestChoice(["guessed", "none"]),
            default="guessed",
            show_default=True,
            help="none: the published, unlabelled Bracketed Recall (root: the usual start symbol, other "
            "nodes X).",
        ),
        click.option(
            "--details", metavar="FILE", help="Write one JSON line a sentence: status, expected scores."
        ),
        click.option(
            "--write-posteriors",
            metavar="FILE.npz",
            help="Write the posteriors of labelled spans, in the form that --posteriors reads.",
        ),
    )


def output_paths(output: str, names: Sequence[str]) -> list[str]:
    """Where the trees of each objective are written; a usage error where all would go to one place."""
    if len(names) > 1 and PLACEHOLDER not in output:
        raise click.UsageError(f"With several objectives, --output must hold {PLACEHOLDER}.")
    return [output.replace(PLACEHOLDER, name) for name in names]
