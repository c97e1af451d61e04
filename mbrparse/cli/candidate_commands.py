"""``mbrparse rerank`` and ``combine``: one tree a sentence, of candidates or of several systems'."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import click

from mbrparse.cli import model_options, options
from mbrparse.cli.commands import InputFile, Text, argument, command, count_option, group, numbers, option
from mbrparse.cli.messages import compilation_noted, note, with_progress
from mbrparse.cli.objective_options import CandidateOptions, ObjectiveChoice, ObjectiveOptions, output_paths
from mbrparse.files import source_name
from mbrparse.treebank import binarize, brackets, candidate_files
from mbrparse.treebank.formats.formats import read_parse_file

# Of CandidateOptions --risk alone is for candidates that are there.
_FOUND = ("k_best", "samples", "seed", "candidates")


@command
def rerank(
    candidates: str = option(
        type=InputFile(),
        required=True,
        help="The candidates, as parse --candidates writes them: number of the sentence, natural log "
        "probability and tree on each line, tab-separated.",
    ),
    objectives: ObjectiveOptions = group(ObjectiveOptions, without=("exact", "space", "items")),
    risk: CandidateOptions = group(CandidateOptions, without=_FOUND),
    known: model_options.InputOptions = group(
        model_options.InputOptions, without=("form", "tokenize", "tagged")
    ),
    form: Any = option(choices=["binarized", "original"], help="The form of the trees (default: detected)."),
    max_length: int | None = count_option(help="Leave longer sentences their first candidate."),
    output: str = options.output(
        "Where to write; with several objectives a pattern such as build/{objective}.mrg."
    ),
    details: str | None = option(
        metavar="FILE", help="Write one JSON line a sentence: status, expected scores."
    ),
) -> None:
    """Choose among candidates: of each sentence the tree with the greatest expected score.

    Scores are expected under a grammar (-g), under another model's posteriors (--posteriors), or else under
    the candidates' own probabilities, normalized over each sentence's. minimum-risk always uses these
    own probabilities, with a criterion (--risk). Each sentence gets one line of output, a tree as it is in
    the file.
    """
    from mbrparse.decode.parser.parsing import write_parses
    from mbrparse.decode.parser.reranking import Reranker, lines_of
    from mbrparse.decode.parser.score import find_form
    from mbrparse.decode.parser.sentences import GivenTree

    if known.grammar is None and not known.posteriors:
        options.refuse((*model_options.LABEL_OPTIONS, "mix"), "--posteriors")
        options.refuse(("normalize", "start"), "--grammar")
    else:
        known.check()
    objectives = objectives.filled()
    paths = output_paths(output, objectives.names)
    named = {"--output": paths, "--details": details}
    options.check_outputs(named, known.files, {"--candidates": candidates})
    rows, source = objectives.objectives(), source_name(candidates)
    model = known.model() if known.grammar is not None or known.posteriors else None
    blocks = list(candidate_files.read_candidates(candidates, known.encoding))
    given = (GivenTree(one.tree, one.sentence - 1, source, one.line) for one in chain.from_iterable(blocks))
    found = find_form(given, form)
    if form is None:
        note(f"trees are read as {found.form}: {found.because} (--form overrides this)")
    rates = risk.tree_rates(found.form == "original")
    reranker = Reranker(rows, model, found.form, rates, max_length=max_length)
    with compilation_noted():
        choices = with_progress(reranker.choices(blocks, source), "reranking", len(blocks))
        account = write_parses((lines_of(one, rows) for one in choices), paths, details)
    account.tell(note)


_VOTED = ("labelled-f", "general-recall", "bracketed-f", "minimum-risk")


@dataclass(frozen=True)
class VotedObjective(ObjectiveOptions):
    """The objective of combined trees."""

    names: Any = option(
        "--objective",
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
    encoding: str = options.encoding()


@command
def combine(
    files: tuple[str, ...] = argument(nargs=-1, metavar="[FILE]..."),
    voting: VoteOptions = group(VoteOptions, "Votes"),
    foreign: model_options.LabelOptions = group(model_options.LabelOptions, "Votes"),
    objectives: VotedObjective = group(VotedObjective, "Objective", ("weights", "exact", "space", "items")),
    risk: CandidateOptions = group(CandidateOptions, "Objective", _FOUND),
    output: str = options.output(),
    details: str | None = option(
        metavar="FILE", help="Write one JSON line a sentence: expected scores, shares."
    ),
) -> None:
    """Combine the trees of several systems, FILES of the same sentences, into one tree for each sentence.

    A constituent's share of the votes takes the place of its posterior, and an objective finds the tree.
    Shares of votes are not probabilities: the scores in --details are expected of votes, not of correct
    trees. docs/combining.md names the settings of published methods. Trees are n-ary, without wrappers around
    their roots; a parse that is missing, '(())', does not vote.
    """
    from mbrparse.decode.parser import votes
    from mbrparse.decode.parser.parsing import write_parses
    from mbrparse.decode.posteriors.given_posteriors import checked_weights

    if bool(files) == (voting.candidates is not None):
        raise click.UsageError("Give either FILES or --candidates.")
    paths = [*files, *voting.dev, *filter(None, (voting.candidates, voting.weights_from))]
    options.check_outputs({"--output": output, "--details": details}, {"FILE": paths})
    [row] = objectives.objectives()
    if row.name == "minimum-risk" and voting.weights_by == "label":
        raise click.UsageError("--objective minimum-risk weighs whole trees: leave --weights-by out.")
    rates, marks = risk.tree_rates(debinarize=True), foreign.marks()

    def read(path: str) -> tuple[str, list[brackets.ReadTree]]:
        trees = with_progress(read_parse_file(path, voting.encoding), f"reading {path}")
        return source_name(path), list(binarize.our_trees(trees, marks, True, source_name(path)))

    if voting.candidates is not None:
        options.refuse(("weights", "weights_from", *model_options.LABEL_OPTIONS), "FILES")
        blocks = candidate_files.read_candidates(voting.candidates, voting.encoding)
        given = votes.Votes.of_candidates(blocks, source_name(voting.candidates))
    else:
        if voting.weights_from is None:
            options.refuse(("dev", "weights_by"), "--weights-from")
            weights: votes.Weights = {"": checked_weights(voting.weights, len(files), "systems")}
        elif voting.weights is not None or len(voting.dev) != len(files):
            raise click.UsageError(
                f"--weights-from needs --dev once for each of {len(files)} FILES, and no --weights."
            )
        else:
            source, gold = read(voting.weights_from)
            weights = votes.precision(gold, source, [read(path) for path in voting.dev], voting.weights_by)
            shown = zip(files, weights[""], strict=True)
            note("weights, precision: " + ", ".join(f"{path} {weight:.4f}" for path, weight in shown))
        systems = [read(path) for path in files]
        for path, trees in systems:
            if none := [number for number, (_, tree, _) in enumerate(trees, start=1) if tree is None]:
                more = f" (and {len(none) - 1} more)" if len(none) > 1 else ""
                note(f"{path}: no parse of sentence {none[0]}{more}: left out of the vote")
        given = votes.Votes.of_systems(systems, weights)
    with compilation_noted():
        lines = given.lines(row, rates, details is not None, with_progress)
        account = write_parses(lines, [output], details)
    note(str(account))
