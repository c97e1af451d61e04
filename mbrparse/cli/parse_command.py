"""``mbrparse parse``: sentences in, trees out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import click

import mbrparse as mp
from mbrparse.cli import messages, model_options, objective_options, options, work_options
from mbrparse.cli.commands import Finite, InputFile, Text, command, count_option, group, option
from mbrparse.files import is_file
from mbrparse.treebank.labels import PLAIN


@dataclass(frozen=True)
class OutputOptions:
    """The form of the trees, and the files that are written."""

    output: str = options.output(
        "Where to write; with several objectives a pattern such as build/{objective}.mrg."
    )
    debinarize: bool = option(is_flag=True, help="Write n-ary trees.")
    fallback: Any = option(
        choices=["right-branching", "flat", "empty"],
        default="right-branching",
        help="What to write for a sentence without a parse.",
    )
    mark_fallback: bool = option(
        is_flag=True, help="Write ^FALLBACK behind the root's label of such a tree; evaluate ignores it."
    )
    strict: bool = option(is_flag=True, help="Exit with code 3 if any sentence fell back.")
    labels: str = option(
        choices=["guessed", "none"],
        default="guessed",
        help="none: the published, unlabelled Bracketed Recall (root: the usual start symbol, other "
        "nodes X).",
    )
    details: str | None = option(
        metavar="FILE", help="Write one JSON line a sentence: status, expected scores."
    )
    write_posteriors: str | None = option(
        metavar="FILE.npz",
        help="Write the posteriors of labelled spans, in the form that --posteriors reads.",
    )
    least: float = option(
        type=Finite(min=0, max=1), default=0.0, help="With --write-posteriors: leave out smaller ones."
    )


@dataclass(frozen=True)
class LimitOptions:
    """What bounds charts and searches, as ``ParserOptions`` names it."""

    max_length: int | None = count_option(
        help="Longer sentences fall back (default: those whose chart takes more than 2 GB)."
    )
    prune: float = options.prune()
    constrain: bool = option(
        is_flag=True,
        help="Brackets in INPUT, a sentence a line, are constituents that its parses must have: "
        "'I (VP saw (* the dog) )', * with any label (docs/constraints.md).",
    )


@dataclass(frozen=True)
class DopOptions:
    """The derivations that are sampled from a DOP grammar, as ``ParserOptions`` names it."""

    max_samples: int | None = count_option(
        metavar="N",
        help="Sample at most N derivations for most-probable-tree, consistent-brackets and the "
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
        help="The figure of merit that orders the agenda (an unknown name lists them all).",
    )
    edges: int | None = count_option(help="The greatest number of edges.", metavar="N")
    until: str = option(
        default="first-parse",
        type=Text("WHEN"),
        help="first-parse, exhausted, or mass:0.95: a share of the sentence's probability, which an "
        "exhaustive inside pass finds first.",
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
        if self.engine == "exhaustive":
            names = ("merit", "edges", "until", "beta_threshold", "statistics")
            options.refuse(names, "--engine best-first")
            return None
        try:
            until = mp.Until.parse(self.until)
        except mp.MbrparseError as error:
            raise click.BadParameter(messages.with_dashes(error), param_hint="--until") from None
        if until.name == "mass":
            messages.note("--until mass: each sentence is first given an exhaustive inside pass")
        statistics = None if self.statistics is None else mp.read_statistics(self.statistics)
        return mp.BestFirst(self.merit, until, self.edges, self.beta_threshold, statistics)


@command
def parse(
    inputs: tuple[str, ...] = options.inputs(),
    source: model_options.InputOptions = group(model_options.InputOptions, "Grammar and input"),
    objectives: objective_options.ObjectiveOptions = group(objective_options.ObjectiveOptions, "Objective"),
    trees: OutputOptions = group(OutputOptions, "Output"),
    limits: LimitOptions = group(LimitOptions, "Limits"),
    candidates: objective_options.CandidateOptions = group(objective_options.CandidateOptions, "Candidates"),
    dop: DopOptions = group(DopOptions, "DOP grammars"),
    best_first: BestFirstOptions = group(BestFirstOptions, "Best-first search"),
    machines: work_options.WorkOptions = group(work_options.WorkOptions, "Long runs and many machines"),
) -> None:
    """Parse sentences by minimum Bayes risk, or for the most probable derivation (Viterbi).

    Each --objective names a criterion, and the tree that maximizes its expectation is written. Charts are
    computed once for all objectives. With --posteriors another model's posteriors take the grammar's place.

    Each INPUT holds trees, whose tags or words are parsed, or lines of tokens. There is exactly one line of
    output for each sentence, in order, also where a sentence has no parse.
    """
    from mbrparse.decode.answers import ParserOptions
    from mbrparse.decode.parser.parsing import ParseWorker, write_parses
    from mbrparse.decode.parser.sentences import read_input

    if trees.write_posteriors is None:
        options.refuse(["least"], "--write-posteriors")
    if trees.strict and machines.resume:
        raise click.UsageError("--strict counts all sentences, but --resume parses the last ones only.")
    if limits.constrain:
        options.refuse(("form", "tokenize", "tagged"), "no --constrain")
    source.check(foreign=trees.write_posteriors is not None)
    options.check_outputs({}, {"INPUT": inputs, **source.files})  # before posteriors are read
    known: Any = source.given() if source.posteriors and not objectives.names else None
    objectives = objectives.filled(*(() if known is None else [known.objective]))
    paths = objective_options.output_paths(trees.output, objectives.names)
    whole = {"--write-posteriors": trees.write_posteriors, "--candidates": candidates.candidates}
    options.check_outputs(
        {"--output": paths, "--details": trees.details, "--log": machines.log, **whole},
        {**source.files, "--statistics": best_first.statistics},
        {"INPUT": inputs},
    )
    asked = ParserOptions(
        objectives.objectives(),
        trees.fallback,
        trees.labels == "none",
        trees.debinarize,
        best_first=best_first.search(),
        items=objectives.items,
        expectations=trees.details is not None or trees.write_posteriors is not None,
        k_best=candidates.k_best,
        samples=candidates.samples,
        seed=candidates.seed or 0,
        risk=candidates.tree_rates(trees.debinarize),
        **vars(limits),
        **vars(dop),
    )
    collected = None
    if source.posteriors:
        known = source.given() if known is None else known
        remarks = objectives.lines_of(known)
    else:
        known = grammar = source.read_grammars()
        rows, remarks = objectives.fitted(grammar, asked.unlabelled)
        asked = replace(asked, objectives=rows)
        if trees.write_posteriors is not None:
            from mbrparse.decode.posteriors import posteriors_file
            from mbrparse.decode.span_posteriors import LabelOrder

            if asked.items == "symbol":
                raise click.UsageError("--write-posteriors needs --items projected: the file holds labels.")
            crossing, order = asked.needs_consistency, LabelOrder.of(grammar)
            writer = posteriors_file.PosteriorsWriter(
                grammar.pcfg.labels, crossing, order, trees.least, source.marks() or PLAIN
            )
            collected = writer, trees.write_posteriors
    candidates.check(known.kind == "dop" and asked.draws)
    details, marked = trees.details is not None, trees.mark_fallback
    make = partial(ParseWorker, known, asked, details, collected is not None, marked)
    how = inputs, "brackets" if limits.constrain else source.read_form, source.encoding
    count = (lambda: sum(1 for _ in read_input(*how))) if all(map(is_file, inputs)) else None
    written = [*paths, *filter(None, [trees.details])]
    others = [name for name, path in whole.items() if path is not None]
    work = machines.results(make, read_input(*how), count, "parsing", written, inputs, others)
    with work as (first, _, results):
        for remark in remarks:
            messages.note(remark)
        account = write_parses(
            results, paths, trees.details, collected, candidates=candidates.candidates, first=first
        )
    account.tell(messages.note)
    if trees.strict and account.reasons:
        raise click.exceptions.Exit(3)
