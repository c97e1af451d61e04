"""``mbrparse parse --posteriors``: trees from another model's posteriors, without a grammar."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mbrparse.cli.options import note, refuse_options
from mbrparse.files import STANDARD

if TYPE_CHECKING:
    from mbrparse.decode.parser_options import ParserOptions
    from mbrparse.decode.posteriors.posteriors_file import GivenPosteriors
    from mbrparse.decode.posteriors.posteriors_writer import PosteriorsWriter
    from mbrparse.grammar.dop.dop_grammar import DopGrammar
    from mbrparse.grammar.pcfg import PCFG
    from mbrparse.treebank.labels import LabelMarks

Command = TypeVar("Command", bound=Callable[..., Any])

# They speak of charts, or of the time that charts take.
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


def posteriors_option() -> Callable[[Command], Command]:
    """``--posteriors FILE.npz``."""
    return click.option(
        "--posteriors",
        metavar="FILE.npz",
        help="Instead of a grammar: what another model believes of each span (docs/posteriors.md).",
    )


def label_marks_options(command: Command) -> Command:
    """``--joiner`` and ``--continuation``, of another program's labels; ``label_marks`` reads them."""
    for name, text in (
        ("--joiner", "What joins chains in another program's labels, such as :: ('': nothing does)."),
        ("--continuation", "What its continuations have behind their label, such as '|<'."),
    ):
        command = click.option(name, metavar="TEXT", help=text)(command)
    return command


def label_marks(joiner: str | None, continuation: str | None) -> LabelMarks | None:
    """How another program writes its labels; None where nothing was said of it."""
    from mbrparse.treebank.labels import LabelMarks

    if joiner is None and continuation is None:
        return None
    return LabelMarks(joiner or "", continuation or "")


def check_source(input: str, grammar: str | None, posteriors: str | None) -> None:
    """Either a grammar or posteriors, and with posteriors nothing that only charts understand."""
    if posteriors is None:
        refuse_options(("joiner", "continuation"), "--posteriors")
        if grammar is None:
            raise click.UsageError("Missing option '-g' / '--grammar' (or '--posteriors').")
        return
    if grammar is not None:
        raise click.UsageError("--posteriors takes the place of --grammar: give one of them.")
    refuse_options(CHART_OPTIONS, "--grammar")
    if posteriors == input == STANDARD:
        raise click.UsageError("INPUT and --posteriors cannot both be standard input.")


def read_given(path: str, marks: LabelMarks | None = None) -> GivenPosteriors:
    """Read the posteriors; what else the file holds is told, and where no span is a whole sentence."""
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


def posteriors_writer(path: str, grammar: PCFG | DopGrammar, options: ParserOptions) -> PosteriorsWriter:
    """What ``--write-posteriors`` collects; refuses what the file cannot say."""
    from mbrparse.decode.posteriors.posteriors_writer import PosteriorsWriter
    from mbrparse.errors import PosteriorsError
    from mbrparse.grammar.dop.dop_grammar import DopGrammar

    if path == STANDARD:
        raise click.UsageError("--write-posteriors needs a file: standard output is for trees.")
    if options.items == "symbol":
        raise click.UsageError("--write-posteriors needs --items projected: the file speaks of labels.")
    pcfg = grammar.pcfg if isinstance(grammar, DopGrammar) else grammar
    if pcfg.has_unaries:
        raise PosteriorsError(
            "a grammar with unary rules expects some labels more than once over a span, which the file "
            "cannot say",
            source=path,
            remedy="train on trees without: mbrparse binarize --unary top, bottom or join",
        )
    return PosteriorsWriter(pcfg.labels, options.needs_consistency)
