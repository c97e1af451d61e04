"""``mbrparse parse``: sentences in, trees out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from mbrparse.cli.commands import SectionedCommand, option_group
from mbrparse.cli.file_options import InputOptions, OutputOptions, output_paths
from mbrparse.cli.objective_options import ObjectiveOptions, combinations_checked
from mbrparse.cli.options import check_outputs, inputs_argument, note
from mbrparse.cli.search_options import BestFirstOptions, CandidateOptions, DopOptions, LimitOptions
from mbrparse.cli.work_options import WorkOptions
from mbrparse.files import STANDARD

if TYPE_CHECKING:
    from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
    from mbrparse.grammar.pcfg import Grammar


@click.command(cls=SectionedCommand)
@inputs_argument()
@option_group("source", InputOptions, "Grammar and input")
@option_group("objectives", ObjectiveOptions, "Objective")
@option_group("trees", OutputOptions, "Output")
@option_group("limits", LimitOptions, "Limits")
@option_group("candidates", CandidateOptions, "Candidates")
@option_group("dop", DopOptions, "DOP grammars")
@option_group("best_first", BestFirstOptions, "Best-first search")
@option_group("machines", WorkOptions, "Long runs and many machines")
def parse(
    inputs: tuple[str, ...],
    source: InputOptions,
    objectives: ObjectiveOptions,
    trees: OutputOptions,
    limits: LimitOptions,
    candidates: CandidateOptions,
    dop: DopOptions,
    best_first: BestFirstOptions,
    machines: WorkOptions,
) -> None:
    """Parse sentences by minimum Bayes risk, or for the most probable derivation (Viterbi).

    Each --objective names a criterion, and the tree that maximizes its expectation is written. Charts are
    computed once for all objectives. With --posteriors another model's posteriors take the grammar's place.

    Each INPUT holds trees, whose tags or words are parsed, or lines of tokens. There is exactly one line of
    output for each sentence, in order, whatever happens to any one of them.
    """
    from mbrparse.decode.answers import ParserOptions
    from mbrparse.decode.parser.output import write_parses
    from mbrparse.decode.parser.parsing import ParseJob
    from mbrparse.decode.parser.sentences import count_sentences, read_input

    trees.check(machines.resume)
    source.check(*inputs, labels=trees.write_posteriors is not None)
    paths = output_paths(trees.output, objectives.distinct)
    files = [("--details", trees.details), ("--write-posteriors", trees.write_posteriors)]
    files += [("--candidates", candidates.candidates), ("--log", machines.log)]
    check_outputs(
        [*(("--output", path) for path in paths), *files],
        [*source.files, ("--statistics", best_first.statistics)],
        [("INPUT", path) for path in inputs],
    )
    rows = objectives.objectives()
    search = best_first.search()
    with combinations_checked():
        options = ParserOptions(
            rows,
            trees.fallback,
            trees.labels == "none",
            trees.debinarize,
            best_first=search,
            items=objectives.items,
            k_best=candidates.k_best,
            samples=candidates.samples,
            seed=candidates.seed or 0,
            risk=candidates.tree_rates(trees.debinarize),
            **vars(limits),
            **vars(dop),
        )
    collected = None
    remarks: list[str] = []
    known: Grammar | GivenPosteriors
    draws = False
    if not source.grammars:
        known = given = source.given()
        remarks = objectives.lines_of(given)
    else:
        known = grammar = source.read_grammars()
        rows, remarks = objectives.fitted(grammar, options.unlabelled)
        options = replace(options, objectives=rows)
        draws = grammar.kind == "dop" and options.draws
        if trees.write_posteriors is not None:
            collected = trees.posteriors_writer(grammar, options, source.marks()), trees.write_posteriors
    candidates.check(draws)
    job = ParseJob(known, options, trees.details is not None, collected is not None, trees.mark_fallback)
    how = inputs, source.read_form, source.encoding
    count = None if STANDARD in inputs else partial(count_sentences, *how)
    written = [*paths, *filter(None, [trees.details])]
    others = [name for name, path in files[1:3] if path is not None]
    with (
        machines.outputs(written, inputs, others) as done,
        machines.results(job, read_input(*how), done, count, "parsing") as (first, results),
    ):
        for remark in remarks:
            note(remark)
        account = write_parses(
            results, paths, trees.details, collected, candidates=candidates.candidates, first=first
        )
    account.tell(note)
    if trees.strict and account.reasons:
        raise click.exceptions.Exit(3)
