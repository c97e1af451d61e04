"""``mbrparse combine``: one tree a sentence of several systems' trees, or of one parser's candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.commands import SectionedCommand, option_group
from mbrparse.cli.messages import compilation_noted, note, with_progress
from mbrparse.cli.model_options import (
    LABEL_OPTIONS,
    CandidateOptions,
    LabelOptions,
    ObjectiveChoice,
    ObjectiveOptions,
    combinations_checked,
)
from mbrparse.cli.options import (
    InputFile,
    Text,
    check_outputs,
    encoding_option,
    numbers,
    option,
    output_option,
    refuse_options,
)
from mbrparse.files import STANDARD

if TYPE_CHECKING:
    from mbrparse.decode.parser.votes import Votes
    from mbrparse.treebank.brackets import ReadTree
    from mbrparse.treebank.labels import LabelMarks

_VOTED = ("labelled-f", "general-recall", "bracketed-f", "minimum-risk")


@dataclass(frozen=True)
class VotedObjective(ObjectiveOptions):
    """The objective of combined trees."""

    names: Any = option(
        "--objective",
        "names",
        type=ObjectiveChoice(_VOTED),
        metavar="NAME",
        default="labelled-f",
        callback=lambda _context, _option, name: (name,),
        help=f"What the tree maximizes, g being shares of votes: {', '.join(_VOTED)} (the tree itself "
        "that is most like the others).",
    )


@dataclass(frozen=True)
class VoteOptions:
    """Whose trees vote, and what their votes weigh."""

    candidates: str | None = option(
        type=InputFile(),
        help="Instead of FILES: one parser's candidates (parse --candidates), by their probabilities.",
    )
    weights: Any = option(
        type=Text("W,W,...", numbers),
        help="The weights of the systems, which are divided by their sum.  [default: equal]",
    )
    weights_from: str | None = option(
        type=InputFile(),
        help="Gold trees to learn the weights from: the precision of each system's --dev trees.",
    )
    dev: tuple[str, ...] = option(
        type=InputFile(),
        multiple=True,
        help="With --weights-from: a system's trees of those sentences, once for each of FILES.",
    )
    weights_by: Any = option(
        choices=["system", "label"],
        default="system",
        help="With --weights-from: a weight for each system, or for each system and label.",
    )
    encoding: str = encoding_option()


@click.command(cls=SectionedCommand)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@option_group("voting", VoteOptions, "Votes")
@option_group("labels", LabelOptions, "Votes")
@option_group("objectives", VotedObjective, "Objective", without=("weights", "exact", "space", "items"))
@option_group("risk", CandidateOptions, "Objective", without=("k_best", "samples", "seed", "candidates"))
@output_option()
@option("--details", metavar="FILE", help="Write one JSON line a sentence: expected scores, shares.")
def combine(
    files: tuple[str, ...],
    voting: VoteOptions,
    labels: LabelOptions,
    objectives: VotedObjective,
    risk: CandidateOptions,
    output: str,
    details: str | None,
) -> None:
    """Combine the trees of several systems, FILES of the same sentences, into one tree for each sentence.

    A constituent's share of the votes takes the place of its posterior, and an objective finds the tree.
    Shares of votes are not probabilities: the scores in --details are expected of votes, not of correct
    trees. docs/combining.md names the settings of published methods. Trees are n-ary, without wrappers around
    their roots; a parse that is missing, '(())', does not vote.
    """
    from mbrparse.decode.parser.parsing import write_parses

    if bool(files) == (voting.candidates is not None):
        raise click.UsageError("Give either FILES or --candidates.")
    read = [*files, *voting.dev, *filter(None, (voting.candidates, voting.weights_from))]
    if read.count(STANDARD) > 1:
        raise click.UsageError("Only one file can be standard input.")
    check_outputs([("--output", output), ("--details", details)], [("FILE", path) for path in read])
    [row] = objectives.objectives()
    if row.name == "minimum-risk" and voting.weights_by == "label":
        raise click.UsageError("--objective minimum-risk weighs whole trees: leave --weights-by out.")
    rates = risk.tree_rates(debinarize=True)
    with compilation_noted(), combinations_checked():
        lines = _votes(files, voting, labels.marks()).lines(row, rates, details is not None, with_progress)
        account = write_parses(lines, [output], details)
    note(str(account))


def _votes(files: tuple[str, ...], voting: VoteOptions, marks: LabelMarks | None) -> Votes:
    from mbrparse.decode.parser.votes import Votes, Weights, precision
    from mbrparse.decode.posteriors.given_posteriors import checked_weights
    from mbrparse.files import source_name
    from mbrparse.treebank.binarize import our_trees
    from mbrparse.treebank.brackets import read_parse_file
    from mbrparse.treebank.candidate_files import read_candidates

    def read(path: str) -> tuple[str, list[ReadTree]]:
        trees = with_progress(read_parse_file(path, voting.encoding), f"reading {path}")
        return source_name(path), list(our_trees(trees, marks, True, source_name(path), note))

    if voting.candidates is not None:
        refuse_options(("weights", "weights_from", *LABEL_OPTIONS), "FILES")
        return Votes.of_candidates(
            read_candidates(voting.candidates, voting.encoding), source_name(voting.candidates)
        )
    if voting.weights_from is None:
        refuse_options(("dev", "weights_by"), "--weights-from")
        weights: Weights = {"": checked_weights(voting.weights, len(files), "systems")}
    elif voting.weights is not None or len(voting.dev) != len(files):
        raise click.UsageError(
            f"--weights-from needs --dev once for each of {len(files)} FILES, and no --weights."
        )
    else:
        source, gold = read(voting.weights_from)
        weights = precision(gold, source, [read(path) for path in voting.dev], voting.weights_by)
        shown = zip(files, weights[""], strict=True)
        note("weights, precision: " + ", ".join(f"{path} {weight:.4f}" for path, weight in shown))
    systems = [read(path) for path in files]
    for path, found in systems:
        if none := [number for number, (_, tree, _) in enumerate(found, start=1) if tree is None]:
            more = f" (and {len(none) - 1} more)" if len(none) > 1 else ""
            note(f"{path}: no parse of sentence {none[0]}{more}: left out of the vote")
    return Votes.of_systems(systems, weights)
