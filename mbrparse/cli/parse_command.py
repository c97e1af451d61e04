"""``mbrparse parse``, and ``mbrparse merge``, which makes one run's files of the results of shards."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from mbrparse.cli.commands import SectionedCommand, option_group
from mbrparse.cli.file_options import InputOptions, OutputOptions, output_paths
from mbrparse.cli.objective_options import ObjectiveOptions, combinations_checked
from mbrparse.cli.options import check_outputs, inputs_argument, note, option, output_option, with_progress
from mbrparse.cli.search_options import BestFirstOptions, CandidateOptions, DopOptions, LimitOptions
from mbrparse.cli.work_options import WorkOptions

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
    from mbrparse.decode.parser.parse_files import ParseAccount, write_parses
    from mbrparse.decode.parser.parse_input import Job
    from mbrparse.decode.parser.sentences import read_files
    from mbrparse.decode.parser_options import ParserOptions

    part = machines.part()
    trees.check(part is not None)
    source.check(*inputs, labels=trees.write_posteriors is not None and part is None)
    paths = [] if part is not None else output_paths(trees.output, objectives.distinct)
    files = [("--details", trees.details), ("--write-posteriors", trees.write_posteriors)]
    files += [("--candidates", candidates.candidates), ("--log", machines.log)]
    check_outputs(
        [] if part is not None else [*(("--output", path) for path in paths), *files],
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
    job = Job(known, options, trees.details is not None, collected is not None, trees.mark_fallback)
    chunks = partial(read_files, inputs, source.read_form, source.encoding)
    with machines.lines(job, inputs, chunks, part, candidates.candidates is not None) as results:
        for remark in remarks:
            note(remark)
        if part is None:
            account = write_parses(results, paths, trees.details, collected, candidates=candidates.candidates)
        else:
            account = ParseAccount.of(results)
            note(f"shard {part} is done; when all are, mbrparse merge writes their files")
    account.tell(note)
    if trees.strict and account.reasons:
        raise click.exceptions.Exit(3)


@click.command()
@click.argument("parts", metavar="PART...", nargs=-1, required=True)
@output_option("Where to write; with several objectives a pattern such as build/{objective}.mrg.")
@option("--details", metavar="FILE", help="Write the details, if parse had --details.")
@option(
    "--write-posteriors",
    metavar="FILE.npz",
    help="Write the posteriors, if parse had --write-posteriors.",
)
@option("--candidates", metavar="FILE", help="Write the candidates, if parse had --candidates.")
def merge(
    parts: tuple[str, ...],
    output: str,
    details: str | None,
    write_posteriors: str | None,
    candidates: str | None,
) -> None:
    """Merge the shards of a run of parse into the files that one run would have written.

    PARTs are the folders of mbrparse parse --shard I/N --work FOLDER, for each I from 1 to N, in any order.
    They are checked first: none may be missing, given twice, unfinished or damaged, and all must have been
    parsed by one version with the same grammar, input and options.
    """
    from mbrparse.decode.parser.parse_files import write_parses
    from mbrparse.decode.parser.parse_input import numbered
    from mbrparse.decode.parser.stored_lines import CODEC, writer_of
    from mbrparse.run.manifest import NAME
    from mbrparse.run.shard_folders import ShardFolders
    from mbrparse.run.work_folder import BLOCKS

    merged = ShardFolders(parts, CODEC, with_progress)
    writer = writer_of(merged.manifest)
    paths = output_paths(output, merged.manifest.settings["objectives"])
    kept = {
        "--details": (details, merged.manifest.settings["details"]),
        "--write-posteriors": (write_posteriors, writer is not None),
        "--candidates": (candidates, merged.manifest.settings["candidates"]),
    }
    for name, (path, there) in kept.items():
        if path is not None and not there:
            raise click.UsageError(f"{name}: the parts have none: parse was run without {name}.")
    check_outputs(
        [*(("--output", path) for path in paths), *((name, path) for name, (path, _) in kept.items())],
        [("PART", f"{part}/{file}") for part in parts for file in (NAME, BLOCKS)],
    )
    collected = None if writer is None or write_posteriors is None else (writer, write_posteriors)
    results = with_progress(numbered(merged.lines()), "merging", merged.sentences)
    account = write_parses(results, paths, details, collected, candidates=candidates)
    for name, (path, there) in kept.items():
        if there and path is None:
            note(f"not written, though the parts have it: {name} FILE")
    account.tell(note)
