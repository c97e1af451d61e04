"""The options that say what is parsed, and with what: a grammar, or posteriors of another model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mbrparse.cli.option_groups import option_group
from mbrparse.cli.options import NearestChoice, encoding_option, note, refuse_options
from mbrparse.files import STANDARD

if TYPE_CHECKING:
    from mbrparse.decode.posteriors.posteriors_file import GivenPosteriors
    from mbrparse.treebank.labels import LabelMarks

Command = TypeVar("Command", bound=Callable[..., Any])

# They need charts, which posteriors from elsewhere take the place of.
CHART_OPTIONS = (
    "space",
    "items",
    "precision",
    "jobs",
    "scheduler",
    "write_posteriors",
    "engine",
    "merit",
    "edges",
    "until",
    "beta_threshold",
    "statistics",
)


@dataclass(frozen=True)
class InputOptions:
    """What is parsed with, and how the input is read."""

    grammar: str | None
    posteriors: str | None
    form: Any
    encoding: str
    joiner: str | None = None
    continuation: str | None = None

    def check(self, input: str) -> None:
        """Raise UsageError unless there is either a grammar, or posteriors and no option of charts."""
        if self.posteriors is None:
            refuse_options(("joiner", "continuation"), "--posteriors")
            if self.grammar is None:
                raise click.UsageError("Missing option '-g' / '--grammar' (or '--posteriors').")
            return
        if self.grammar is not None:
            raise click.UsageError("--posteriors takes the place of --grammar: give one of them.")
        refuse_options(CHART_OPTIONS, "--grammar")
        if self.posteriors == input == STANDARD:
            raise click.UsageError("INPUT and --posteriors cannot both be standard input.")

    def given(self) -> GivenPosteriors:
        """The posteriors, read."""
        return read_given(str(self.posteriors), label_marks(self.joiner, self.continuation))


def input_options(*more: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """The group ``source``; ``more`` are further options of it (see ``label_marks_options``)."""
    return option_group(
        "source",
        InputOptions,
        "Grammar and input",
        click.option("-g", "--grammar", metavar="GRAMMAR", help="A grammar of mbrparse train."),
        click.option(
            "--posteriors",
            metavar="FILE.npz",
            help="Instead of a grammar: the posteriors of another model (docs/posteriors.md).",
        ),
        *more,
        click.option(
            "--input",
            "form",
            type=NearestChoice(["trees", "tokens"]),
            help="The form of INPUT (default: told by its first character).",
        ),
        encoding_option(),
    )


def label_marks_options(command: Command) -> Command:
    """``--continuation`` and ``--joiner``, for labels of another program; ``label_marks`` reads them."""
    for name, text in (
        ("--joiner", "What joins unary chains in another program's labels, such as :: ('': nothing)."),
        ("--continuation", "The ending of another program's continuations, such as '|<'."),
    ):
        command = click.option(name, metavar="TEXT", help=text)(command)
    return command


def label_marks(joiner: str | None, continuation: str | None) -> LabelMarks | None:
    """How another program writes its labels; None without options that say so."""
    from mbrparse.treebank.labels import LabelMarks

    if joiner is None and continuation is None:
        return None
    return LabelMarks(joiner or "", continuation or "")


def read_given(path: str, marks: LabelMarks | None = None) -> GivenPosteriors:
    """Read posteriors; note arrays that are ignored, and when no span covers a whole sentence."""
    from mbrparse.decode.posteriors.posteriors_file import read_posteriors

    given = read_posteriors(path, marks)
    if given.ignored:
        note(f"{given.source}: ignored the arrays {', '.join(map(repr, given.ignored))}")
    if len(given.g) and given.usual_root() is None:
        note(
            f"{given.source}: no span covers a whole sentence, so its root is called X; if 'end' is the last "
            "word itself, write end + 1"
        )
    return given
