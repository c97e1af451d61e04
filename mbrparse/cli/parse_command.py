"""``mbrparse parse``: sentences in, one tree for each objective out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.best_first_options import best_first_options, best_first_search
from mbrparse.cli.candidates_options import candidates_options, check_candidates, risk_of
from mbrparse.cli.objective_options import chosen_objectives, combinations_checked, objective_options
from mbrparse.cli.options import (
    NearestChoice,
    encoding_option,
    jobs_option,
    note,
    output_option,
    prune_option,
)
from mbrparse.cli.outputs import check_outputs
from mbrparse.cli.posteriors_options import (
    check_source,
    label_marks,
    label_marks_options,
    posteriors_option,
    posteriors_writer,
    read_given,
)
from mbrparse.cli.watching import Watch, log_option
from mbrparse.cli.work_options import chosen_shard, opened, work_options

if TYPE_CHECKING:
    from mbrparse.decode.posteriors.posteriors_file import GivenPosteriors
    from mbrparse.grammar.pcfg import PCFG

PLACEHOLDER = "{objective}"


@click.command()
@click.argument("input", default="-")
@click.option("-g", "--grammar", metavar="GRAMMAR", help="A grammar of mbrparse train.")
@posteriors_option()
@label_marks_options
@output_option("Where to write; with several objectives a pattern such as build/{objective}.mrg.")
@objective_options
@click.option(
    "--input", "form", type=NearestChoice(["trees", "tokens"]), help="Default: told by the first character."
)
@click.option("--debinarize", is_flag=True, help="Write n-ary trees.")
@click.option(
    "--fallback",
    type=NearestChoice(["right-branching", "flat", "empty"]),
    default="right-branching",
    show_default=True,
    help="What to write for a sentence without a parse.",
)
@click.option(
    "--labels",
    type=NearestChoice(["guessed", "none"]),
    default="guessed",
    show_default=True,
    help="none: the published, unlabelled Bracketed Recall (root: the usual start symbol, other nodes X).",
)
@click.option(
    "--max-length",
    type=click.IntRange(min=1),
    help="Fall back on longer sentences (default: about 2 GB of chart).",
)
@click.option(
    "--max-seconds",
    type=float,
    metavar="SECONDS",
    help="Fall back on a sentence that takes longer; best-first search gives the best found by then. What is "
    "written then depends on the machine.",
)
@click.option(
    "--precision",
    type=NearestChoice(["double", "single"]),
    default="double",
    show_default=True,
    help="Of the charts' numbers; single is for speed.",
)
@prune_option()
@jobs_option()
@log_option()
@click.option("--details", metavar="FILE", help="Write one JSON line a sentence: status, expected scores.")
@click.option(
    "--write-posteriors",
    metavar="FILE.npz",
    help="Write the posteriors of labelled spans, in the form that --posteriors reads.",
)
@work_options
@candidates_options
@best_first_options
@encoding_option()
def parse(
    input: str,
    grammar: str | None,
    posteriors: str | None,
    joiner: str | None,
    continuation: str | None,
    output: str,
    names: tuple[str, ...],
    space: str | None,
    weights: tuple[str, ...],
    node_cost: float | None,
    pooled: bool,
    exact: bool,
    items: Any,
    form: Any,
    debinarize: bool,
    fallback: Any,
    labels: str,
    max_length: int | None,
    max_seconds: float | None,
    prune: float,
    jobs: Any,
    log: str | None,
    details: str | None,
    write_posteriors: str | None,
    encoding: str,
    precision: Any,
    engine: str,
    k_best: int | None,
    samples: int | None,
    seed: int | None,
    max_samples: int | None,
    max_error: float | None,
    sampled_posteriors: bool,
    risk: str | None,
    candidates: str | None,
    shard: str | None,
    work: str | None,
    resume: bool,
    **search: Any,
) -> None:
    """Parse sentences for one objective or several; the charts are computed once for all.

    With --posteriors there is no grammar: another model says what it believes of the sentences' spans.

    INPUT holds trees, whose tags or words are parsed, or lines of tokens. There is exactly one line of
    output for each sentence, in order, whatever happens to any one of them.
    """
    from mbrparse.decode.parse_files import ParseAccount, write_parses
    from mbrparse.decode.parser_options import ParserOptions
    from mbrparse.decode.run import Job, parse_all
    from mbrparse.decode.sentences import read_chunks
    from mbrparse.decode.stored_lines import BLOCK
    from mbrparse.grammar.dop.dop_grammar import DopGrammar
    from mbrparse.grammar.grammars import read_any_grammar
    from mbrparse.grammar.kernel import announced

    check_source(input, grammar, posteriors)
    names = tuple(dict.fromkeys(names))
    part = chosen_shard(shard, work, resume, pooled)
    paths = [] if part is not None else output_paths(output, names)
    files = [("--details", details), ("--write-posteriors", write_posteriors)]
    files += [("--candidates", candidates), ("--log", log)]
    check_outputs(
        [] if part is not None else [*(("--output", path) for path in paths), *files],
        [("--grammar", grammar), ("--posteriors", posteriors), ("--statistics", search["statistics"])],
        [("INPUT", input)],
    )
    objectives = chosen_objectives(names, space, weights, node_cost, pooled, exact)
    best_first = best_first_search(engine, **search)
    with combinations_checked():
        options = ParserOptions(
            objectives,
            fallback,
            labels == "none",
            debinarize,
            max_length,
            best_first,
            precision,
            items,
            max_seconds=max_seconds,
            k_best=k_best,
            samples=samples,
            seed=seed or 0,
            risk=None if risk is None else risk_of(risk, debinarize),
            prune=prune,
            max_samples=max_samples,
            max_error=max_error,
            sampled_posteriors=sampled_posteriors,
        )
    collected = None
    source: PCFG | DopGrammar | GivenPosteriors
    if grammar is None:
        source = read_given(str(posteriors), label_marks(joiner, continuation))
    else:
        source = known = read_any_grammar(grammar)
        if write_posteriors is not None:
            collected = posteriors_writer(write_posteriors, known, options), write_posteriors
    check_candidates(isinstance(source, DopGrammar) and options.draws, seed, candidates, options)
    job = Job(source, options, details is not None, collected is not None)
    watch = Watch(input, log)
    with (
        announced(lambda: note("compiling kernels, once on this machine ...")),
        opened(work, resume, part, job, candidates is not None) as folder,
    ):
        if folder is None:
            chunks = read_chunks(input, form, encoding)
        else:
            chunks = folder.wanted(read_chunks(input, form, encoding, BLOCK, BLOCK))
        with combinations_checked():
            results = parse_all(
                job, chunks, jobs, note, watch, iter if folder is None else folder.kept, watch.standing
            )
        if part is None:
            account = write_parses(results, paths, details, collected, candidates=candidates)
        else:
            account = ParseAccount.of(results)
            note(f"shard {part} is done; when all are, mbrparse merge writes their files")
    note(str(account))


def output_paths(output: str, names: Sequence[str]) -> list[str]:
    """Where the trees of each objective are written; a usage error where all would go to one place."""
    if len(names) > 1 and PLACEHOLDER not in output:
        raise click.UsageError(f"With several objectives, --output must hold {PLACEHOLDER}.")
    return [output.replace(PLACEHOLDER, name) for name in names]
