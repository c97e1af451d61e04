"""``mbrparse parse``: sentences in, one tree for each objective out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mbrparse.cli.commands import SectionedCommand
from mbrparse.cli.file_options import (
    InputOptions,
    OutputOptions,
    input_options,
    label_marks_options,
    output_options,
    output_paths,
)
from mbrparse.cli.objective_options import ObjectiveOptions, combinations_checked, objective_options
from mbrparse.cli.options import check_outputs, note
from mbrparse.cli.search_options import (
    BestFirstOptions,
    CandidateOptions,
    DopOptions,
    LimitOptions,
    best_first_options,
    candidate_options,
    dop_options,
    limit_options,
)
from mbrparse.cli.watching import Watch
from mbrparse.cli.work_options import WorkOptions, work_options

if TYPE_CHECKING:
    from mbrparse.decode.posteriors.posteriors_file import GivenPosteriors
    from mbrparse.grammar.grammar_kinds import Grammar


@click.command(cls=SectionedCommand)
@click.argument("input", default="-")
@input_options(label_marks_options)
@objective_options()
@output_options()
@limit_options()
@candidate_options()
@dop_options()
@best_first_options()
@work_options()
def parse(
    input: str,
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

    INPUT holds trees, whose tags or words are parsed, or lines of tokens. There is exactly one line of
    output for each sentence, in order, whatever happens to any one of them.
    """
    from mbrparse.decode.base.parser_options import ParserOptions
    from mbrparse.decode.parser.parse_files import ParseAccount, write_parses
    from mbrparse.decode.parser.parse_input import Job, parse_all
    from mbrparse.decode.parser.sentences import read_chunks
    from mbrparse.decode.parser.stored_lines import BLOCK
    from mbrparse.grammar.files.grammars import read_any_grammar
    from mbrparse.grammar.kernel import announced

    source.check(input)
    part = machines.part(objectives.pooled)
    paths = [] if part is not None else output_paths(trees.output, objectives.distinct)
    files = [("--details", trees.details), ("--write-posteriors", trees.write_posteriors)]
    files += [("--candidates", candidates.candidates), ("--log", machines.log)]
    check_outputs(
        [] if part is not None else [*(("--output", path) for path in paths), *files],
        [
            ("--grammar", source.grammar),
            ("--posteriors", source.posteriors),
            ("--statistics", best_first.statistics),
        ],
        [("INPUT", input)],
    )
    rows = objectives.objectives()
    search = best_first.search()
    with combinations_checked():
        options = ParserOptions(
            rows,
            trees.fallback,
            trees.labels == "none",
            trees.debinarize,
            limits.max_length,
            search,
            limits.precision,
            objectives.items,
            max_seconds=limits.max_seconds,
            k_best=candidates.k_best,
            samples=candidates.samples,
            seed=candidates.seed or 0,
            risk=candidates.tree_rates(trees.debinarize),
            prune=limits.prune,
            max_samples=dop.max_samples,
            max_error=dop.max_error,
            sampled_posteriors=dop.sampled_posteriors,
        )
    collected = None
    known: Grammar | GivenPosteriors
    draws = False
    if source.grammar is None:
        known = source.given()
    else:
        known = grammar = read_any_grammar(source.grammar)
        draws = grammar.kind == "dop" and options.draws
        if trees.write_posteriors is not None:
            collected = trees.posteriors_writer(grammar, options), trees.write_posteriors
    candidates.check(draws)
    job = Job(known, options, trees.details is not None, collected is not None)
    watch = Watch(input, machines.log)
    with (
        announced(lambda: note("compiling kernels, once on this machine ...")),
        machines.folder(part, job, candidates.candidates is not None) as folder,
    ):
        if folder is None:
            chunks = read_chunks(input, source.form, source.encoding)
        else:
            chunks = folder.wanted(read_chunks(input, source.form, source.encoding, BLOCK, BLOCK))
        kept = iter if folder is None else folder.kept
        with combinations_checked():
            results = parse_all(job, chunks, machines.jobs, note, watch, kept, watch.progress_state)
        if part is None:
            account = write_parses(results, paths, trees.details, collected, candidates=candidates.candidates)
        else:
            account = ParseAccount.of(results)
            note(f"shard {part} is done; when all are, mbrparse merge writes their files")
    note(str(account))
