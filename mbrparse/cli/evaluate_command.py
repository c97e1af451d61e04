"""``mbrparse evaluate``: a gold file and parse files in, a table of criteria out, or EVALB's output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.comparison_settings import check_comparison, form_options, profile_options, settings_of
from mbrparse.cli.evalb_output import evalb_parameters, print_as_evalb, write_counts
from mbrparse.cli.options import (
    NearestChoice,
    check_outputs,
    encoding_option,
    note,
    output_option,
    scheduler_option,
    tell,
    with_progress,
)
from mbrparse.files import STANDARD, open_output, together

if TYPE_CHECKING:
    from mbrparse.evaluate.evalb.parameters import EvalbParameters
    from mbrparse.evaluate.tables.rate_tables import Format


@click.command()
@click.argument("gold")
@click.argument("parses", nargs=-1)
@click.option(
    "--runs",
    metavar="NAME=FILE,FILE,...",
    multiple=True,
    help="Parse files of several runs of one system (other seeds, say): their mean, spread and tests over "
    "sentences and runs. PARSES beside them are systems of one run.",
)
@profile_options()
@click.option(
    "--evalb",
    metavar="PRM",
    help="Compare as EVALB does, with this parameter file (see above): a file, or EVALB's own COLLINS.prm, "
    "new.prm or sample.prm.",
)
@click.option("--strict", is_flag=True, help="With --evalb: sentences left out mean exit code 1.")
@form_options()
@click.option(
    "--all", "everything", is_flag=True, help="Add the bracketed tree rate, precisions and F scores."
)
@click.option(
    "--criteria",
    "criteria",
    metavar="NAME,...",
    help="These columns instead, such as labelled-f,leaf-ancestor,tagging-accuracy.",
)
@click.option(
    "--by",
    type=NearestChoice(["length", "label", "confusions", "depth", "width", "attachment"]),
    help="A breakdown instead: rates by sentence length; precision and recall by label, by a constituent's "
    "depth or width; attachment of PPs and coordinations; labels confused.",
)
@click.option(
    "--details",
    "details",
    metavar="FILE",
    multiple=True,
    help="What parse --details wrote, once for all PARSES or once for each: tells how many fell back.",
)
@click.option(
    "--criterion",
    metavar="NAME",
    help="By which the differences of several PARSES are told, such as labelled-tree "
    "(default: labelled-recall; with --evalb bracketing-f).",
)
@click.option(
    "--significance",
    "everything_told",
    is_flag=True,
    help="Tell the differences by all criteria, with both tests, and the p-values of all pairs.",
)
@click.option("--baseline", metavar="NAME", help="What differences are to (default: the first of PARSES).")
@click.option(
    "--resamples",
    type=click.IntRange(min=0),
    help="For the significance of differences between several parse files; 0: untested "
    "(default: 10000; 1000 with more than 10,000 sentences).",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resamples.")
@click.option(
    "--format",
    type=NearestChoice(["text", "markdown", "latex", "csv", "json"]),
    help="How the table is written (default: text); csv and json have rates of 0 to 1.",
)
@click.option("--per-sentence", metavar="PATH", help="Write the table of counts here, as CSV.")
@scheduler_option("whose workers resample")
@output_option()
@encoding_option()
@click.pass_context
def evaluate(context: click.Context, /, gold: str, parses: tuple[str, ...], **options: Any) -> None:
    """Compare parses with gold trees: a row for each file of PARSES, a column for each criterion.

    The criteria are Goodman's (1996): the share of trees and of constituents that are right with
    their labels, as brackets, or at least cross nothing. GOLD and PARSES hold the same sentences in
    the same order; "(())" or an empty line is a sentence without a parse, which fails every tree
    criterion; "not empty" is the share of the others, fall-backs among them. With several parse files,
    letters behind a figure name those that it beats by more than chance, and below stands how each
    differs from the first.

    A file of candidates (parse --candidates) has two rows: its first trees, and the oracle, the best
    of each sentence's by --criterion (or labelled F).

    --evalb PRM GOLD PARSE prints what EVALB prints, to the letter, and the coverage on standard error
    (EVALB leaves sentences without a parse out). With --format, --by or several parse files, its
    figures stand in tables like any others.
    """
    runs = files_of_runs(options["runs"])
    check_options(context, gold, parses, runs, options)
    parameters = None if options["evalb"] is None else evalb_parameters(options["evalb"], options["encoding"])
    tables = len(parses) != 1 or any(
        options[name] for name in ("format", "by", "details", "criteria", "runs")
    )
    tables = tables or options["average"] != "pooled" or _is_candidate_file(parses[0], options["encoding"])
    if parameters is None or tables:
        complete = _print_tables(gold, parses, runs, parameters, options)
    else:
        complete = print_as_evalb(gold, parses[0], parameters, options)
    if options["strict"] and not complete:
        context.exit(1)


def _is_candidate_file(path: str, encoding: str) -> bool:
    from mbrparse.treebank.candidate_files import is_candidate_file

    return is_candidate_file(path, encoding)


def _print_tables(
    gold: str,
    parses: tuple[str, ...],
    runs: dict[str, list[str]],
    parameters: EvalbParameters | None,
    options: dict[str, Any],
) -> bool:
    """A table of rates, or a breakdown. Whether every sentence counts."""
    from mbrparse.evaluate.evalb.parameters import EvalbParameters
    from mbrparse.evaluate.evaluation import evaluate_files

    settings = settings_of(options, parameters, by=options["by"], everything=options["everything_told"])
    result = evaluate_files(
        gold,
        parses,
        settings,
        tell if isinstance(settings.how, EvalbParameters) else note,  # EVALB's messages begin as EVALB's
        lambda rows: with_progress(rows, "evaluate"),
        options["encoding"],
        options["details"],
        runs,
        options.get("jobs", 1),
    )
    form: Format = options["format"] or "text"
    text = result.render(form)
    with together():
        if options["per_sentence"] is not None:
            with open_output(options["per_sentence"]) as counts:
                write_counts(result.counts, counts)
        with open_output(options["output"]) as stream:
            stream.write(text)
    if form == "csv":
        tell(result.summary.signature)
    return bool((result.table["parsed"] > 0).all())


def files_of_runs(given: tuple[str, ...]) -> dict[str, list[str]]:
    """The files of each system."""
    runs: dict[str, list[str]] = {}
    for text in given:
        name, equals, files = text.partition("=")
        if not name or not equals or not all(files.split(",")):
            raise click.UsageError(f"--runs {text!r} is not NAME=FILE,FILE,...")
        if name in runs:
            raise click.UsageError(f"--runs names {name!r} twice: give all its files at once.")
        runs[name] = files.split(",")
    return runs


def check_options(
    context: click.Context,
    gold: str,
    parses: tuple[str, ...],
    runs: dict[str, list[str]],
    options: dict[str, Any],
) -> None:
    """End with a usage error where arguments and options do not go together."""
    several = [path for files in runs.values() for path in files]
    if not parses and not several:
        raise click.UsageError("Missing argument 'PARSES...' (or --runs).")
    if several:
        for name in ("by", "details", "strict"):
            if options[name]:
                raise click.UsageError(f"--{name} means nothing with --runs.")
    if [gold, *parses, *several].count(STANDARD) > 1:
        raise click.UsageError("standard input (-) can be read only once.")
    check_comparison(context, options)
    check_outputs(
        [("--output", options["output"]), ("--per-sentence", options["per_sentence"])],
        [("GOLD", gold), *(("PARSES", path) for path in parses), ("--evalb", options["evalb"])]
        + [("--runs", path) for path in several]
        + [("--details", path) for path in options["details"]],
    )
    if len(options["details"]) not in (0, 1, len(parses)):
        raise click.UsageError("--details is given once for all PARSES, or once for each of them.")
    if options["criterion"] is not None and options["everything_told"]:
        raise click.UsageError("--significance tells differences by all criteria: leave --criterion out.")
    if options["strict"] and options["evalb"] is None:
        raise click.UsageError("--strict goes with --evalb: the other criteria leave no sentence out.")
