"""The options of ``mbrparse train``, by what they are of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.option_types import InputFile
from mbrparse.cli.options import Finite, count_option, jobs_option, option, refuse_options
from mbrparse.files import is_file

if TYPE_CHECKING:
    from mbrparse.grammar.unknown_words import UnknownKind


@dataclass(frozen=True)
class WordOptions:
    """What sentences are made of, and which words stand for unknown ones."""

    terminals: Any = option(
        choices=["tags", "words"], help="The terminals: tags, or words under preterminals.  [default: tags]"
    )
    unknown: Any = option(
        choices=["signature", "collins", "none"],
        help="The model of unknown words, trained on rare ones: by capitals, digits, hyphen and suffix; by "
        "the tag of a tagger, written to OUTPUT.tagger.json; or none, so that unseen words have no parse.  "
        "[default with words: signature]",
    )
    rare: int | None = count_option(
        least=2,
        metavar="N",
        help="Words seen fewer than N times are rare.  [default: signature 2, collins 6; with "
        "--method split-merge 21]",
    )

    @property
    def model(self) -> UnknownKind | None:
        """The model of unknown words, if there is one."""
        if self.terminals != "words" or self.unknown == "none":
            return None
        kind: UnknownKind = self.unknown or "signature"
        return kind

    def check(self, method: str, output: str) -> None:
        """Raise UsageError for options that lack others, or a file beside OUTPUT."""
        for name, needed in (
            ("--method counting, split-merge or dop", method != "inside-outside"),
            ("--terminals words", self.terminals == "words"),
        ):
            if not needed:
                refuse_options(["unknown", "rare"], name)
        if self.unknown == "none" and self.rare is not None:
            raise click.UsageError("--rare needs --unknown signature or collins.")
        if self.unknown == "collins" and method == "split-merge":
            raise click.UsageError("--unknown collins needs --method counting or dop.")
        if self.unknown == "collins" and not is_file(output):
            raise click.UsageError(
                "--unknown collins needs --output FILE: its tagger is written to FILE.tagger.json."
            )


@dataclass(frozen=True)
class FragmentOptions:
    """The fragments of a DOP grammar."""

    weights: Any = option(
        choices=["plain", "equal", "bonnema"],
        help="The weights of fragments: plain counts each once; with equal the nodes of a label share "
        "equally; bonnema also halves a fragment's weight for each inner node.  [default: plain]",
    )
    max_depth: int | None = count_option(
        help="The greatest depth of a fragment.  [default: any]", metavar="D"
    )


@dataclass(frozen=True)
class EstimationOptions:
    """Inside-outside re-estimation, as ``InsideOutside`` names it."""

    nonterminals: int = option(default=15, help="Nonterminals of the random first grammar.")
    init: str | None = option(
        type=InputFile("GRAMMAR"), help="Start from this grammar instead, one without unary rules."
    )
    iterations: int = count_option(help="At most so many.", default=75, least=0)
    tolerance: float | None = option(
        type=Finite(min=0), help="Stop when the cross-entropy (bits) changes by less."
    )
    brackets: bool = option(
        "--brackets/--no-brackets", default=True, help="Use the brackets, or the bare strings."
    )
    max_length: int | None = count_option(
        help="Leave longer sentences out (default: those whose charts would take more than 2 GB)."
    )
    heldout: str | None = option(type=InputFile(), help="Report the cross-entropy of these trees' strings.")
    curve: str | None = option(metavar="CSV", help="Write a row of figures for each iteration.")


@dataclass(frozen=True)
class SplitOptions:
    """Split-merge training, as ``SplitMerge`` names it."""

    cycles: int = count_option(help="How often all symbols are split.", default=4, least=0)
    merge: float = option(
        type=Finite(min=0, max=1), default=0.5, help="The fraction of splits that is merged back."
    )
    smooth: float = option(
        type=Finite(min=0, max=1),
        default=0.01,
        help="The weight of the mean of a symbol's states in the probabilities of each.",
    )


@dataclass(frozen=True)
class IterationOptions:
    """What methods of many iterations share."""

    seed: int = option(default=0, help="Seed of the random first grammar, or of the splits.")
    resume: bool = option(is_flag=True, help="Go on from OUTPUT.checkpoint; the result is identical.")
    jobs: Any = jobs_option("Threads.")
