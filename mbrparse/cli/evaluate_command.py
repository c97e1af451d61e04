"""``mbrparse evaluate``: a gold file and parse files in, a table of criteria out, or EVALB's output."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from mbrparse.cli.commands import SectionedCommand, option_group
from mbrparse.cli.comparison_options import ComparisonOptions
from mbrparse.cli.messages import log, note, with_progress
from mbrparse.cli.options import InputFile, Text, check_outputs, option, output_option
from mbrparse.files import STANDARD, atomic_outputs, open_output, source_name

if TYPE_CHECKING:
    import pandas as pd

    from mbrparse.evaluate.evalb.parameters import EvalbParameters
    from mbrparse.evaluate.tables import Format


def _names(text: str) -> tuple[str, ...]:
    from mbrparse.evaluate.criteria import criterion_name

    return tuple(map(criterion_name, text.split(",")))


@dataclass(frozen=True)
class TableOptions:
    """What is shown of a comparison, and where."""

    by: Any = option(
        choices=["length", "label", "confusions", "depth", "width", "attachment"],
        help="Print a breakdown instead: rates by sentence length; precision and recall by label, by a "
        "constituent's depth or width; attachment of PPs and coordinations; labels confused.",
    )
    details: tuple[str, ...] = option(
        type=InputFile(),
        multiple=True,
        help="The file that parse --details wrote, once for all PARSES or once for each: adds how many fell "
        "back.",
    )
    calibration: bool = option(
        is_flag=True,
        help="Print instead what --details expected of trees beside what they are: expectation errors, "
        "reliability in ten bins, ECE.",
    )
    all_tests: bool = option(
        "--significance",
        "all_tests",
        is_flag=True,
        help="Print the differences by all criteria, with both tests, and the p-values of all pairs.",
    )
    format: Format | None = option(
        choices=["text", "markdown", "latex", "csv", "json"],
        help="The format of the table (default: text); csv and json have rates of 0 to 1.",
    )
    columns: tuple[str, ...] | None = option(
        type=Text("NAME,...", _names),
        help="Show these columns only, in this order: criteria such as labelled-f,coverage, or with --by the "
        "breakdown's. csv and json have all.",
    )
    per_sentence: str | None = option(
        metavar="PATH", help="Write the table of counts here, as CSV, with the gold trees' places."
    )
    strict: bool = option(is_flag=True, help="With --evalb: exit with 1 if sentences are left out.")
    output: str = output_option()


@click.command(cls=SectionedCommand)
@click.argument("gold")
@click.argument("parses", nargs=-1)
@option(
    "--runs",
    type=InputFile("NAME=FILE,FILE,..."),
    multiple=True,
    help="Parse files of several runs of one system (other seeds, say): their mean, spread and tests "
    "over sentences and runs. PARSES beside them are systems of one run.",
)
@option_group("comparison", ComparisonOptions, "Comparison")
@option_group("tables", TableOptions, "Output")
def evaluate(
    gold: str,
    parses: tuple[str, ...],
    runs: tuple[str, ...],
    comparison: ComparisonOptions,
    tables: TableOptions,
) -> None:
    """Compare parses with gold trees: a row for each file of PARSES, a column for each criterion.

    The criteria are Goodman's (1996): the share of trees and of constituents that are right with their
    labels, right as brackets, or cross nothing (cons., also called zero crossing). GOLD and PARSES hold the
    same sentences in the same order; "(())" or an empty line is a sentence without a parse, which fails every
    tree criterion; "not empty" is the share of the others, fall-backs among them. With several parse files,
    letters behind a figure name those that are significantly worse, and the differences from the first file
    are printed below the table.

    A file of candidates (parse --candidates) has two rows: its first trees, and the oracle, the best
    of each sentence's by --criterion (or labelled F).

    --evalb PRM GOLD PARSE prints what EVALB prints, to the letter, and the coverage on standard error
    (EVALB leaves sentences without a parse out). With --format, --by or several parse files, its
    figures are in tables as others are.
    """
    from mbrparse.evaluate.evalb.parameters import read_parameters
    from mbrparse.treebank.candidate_files import is_candidate_file

    systems = files_of_runs(runs)
    several = [path for files in systems.values() for path in files]
    if not parses and not several:
        raise click.UsageError("Missing argument 'PARSES...' (or --runs).")
    if several:
        for name in ("by", "details", "strict"):
            if getattr(tables, name):
                raise click.UsageError(f"--{name} cannot be combined with --runs.")
    if tables.calibration and (not tables.details or STANDARD in tables.details):
        raise click.UsageError("--calibration needs --details FILE, which is read twice.")
    if tables.calibration and (tables.by or tables.all_tests or comparison.profile or comparison.evalb):
        raise click.UsageError(
            "--calibration compares all constituents, and is a table of its own: leave --by, --significance, "
            "--profile and --evalb out."
        )
    read = comparison.inputs(gold, parses, tables.details, several)
    check_outputs([("--output", tables.output), ("--per-sentence", tables.per_sentence)], read)
    if comparison.criterion is not None and tables.all_tests:
        raise click.UsageError("--significance prints differences by all criteria: leave --criterion out.")
    if tables.columns and tables.format in ("csv", "json"):
        raise click.UsageError(f"--format {tables.format} has all columns: leave --columns out.")
    if tables.strict and comparison.evalb is None:
        raise click.UsageError("--strict needs --evalb: the other criteria leave no sentence out.")
    encoding = comparison.encoding
    parameters = None if comparison.evalb is None else read_parameters(comparison.evalb, log, encoding)
    if parameters is not None and parameters.debug:
        note(f"{comparison.evalb}: DEBUG has no effect; --per-sentence and --by show more")
    if (
        parameters is None
        or len(parses) != 1
        or any((tables.format, tables.columns, tables.by, tables.details, comparison.criteria, runs))
        or comparison.average != "pooled"
        or is_candidate_file(parses[0], encoding)
    ):
        complete = _print_tables(gold, parses, systems, parameters, comparison, tables)
    else:
        complete = _print_as_evalb(gold, parses[0], parameters, comparison, tables)
    if tables.strict and not complete:
        raise click.exceptions.Exit(1)


def _print_tables(
    gold: str,
    parses: tuple[str, ...],
    runs: dict[str, list[str]],
    parameters: EvalbParameters | None,
    comparison: ComparisonOptions,
    tables: TableOptions,
) -> bool:
    """A table of rates, or a breakdown. Whether every sentence counts."""
    from mbrparse.evaluate.compare.evaluation import evaluate_files, file_sources
    from mbrparse.evaluate.evalb.parameters import EvalbParameters
    from mbrparse.treebank.candidate_files import is_candidate_file

    columns = tables.columns or ()
    if comparison.criteria is None and tables.by is None:
        # What is shown is counted: columns may be criteria that are not among the usual ones.
        counted = ",".join(name for name in columns if not (name == "fell_back" and tables.details))
        comparison = replace(comparison, criteria=counted or None)
    settings = comparison.settings(parameters, by=tables.by, everything=tables.all_tests)
    say = log if isinstance(settings.how, EvalbParameters) else note  # EVALB's messages begin as EVALB's
    encoding, progress = comparison.encoding, partial(with_progress, title="evaluate")
    if tables.calibration:
        from mbrparse.evaluate.criteria import COVERAGE
        from mbrparse.evaluate.report.marked_trees import compare_sources
        from mbrparse.evaluate.report.records import calibrated

        sources = file_sources(gold, parses, settings, encoding)
        untested = replace(settings, resamples=0, criteria=(COVERAGE,))
        result = calibrated(compare_sources(*sources, untested, say, progress, tables.details))
    else:
        result = evaluate_files(gold, parses, settings, say, progress, encoding, tables.details, runs)
    for path in parses:
        if is_candidate_file(path, encoding):
            note(f"{path}: candidates: a row for the first of each sentence, and one for the best (oracle)")
    form: Format = tables.format or "text"
    text = result.render(form, columns)
    with atomic_outputs():
        if tables.per_sentence is not None:
            with open_output(tables.per_sentence) as counts:
                counts.write(_placed(result.counts, source_name(gold)))
        with open_output(tables.output) as stream:
            stream.write(text)
    if form == "csv":
        log(result.summary.signature)
    return bool((result.counts["parsed"] > 0).all())


def _placed(counts: pd.DataFrame, gold: str) -> str:
    """The table of counts as CSV, with the places of the gold trees of this file in its last columns."""
    import pandas as pd

    from mbrparse.evaluate.tables import csv_of
    from mbrparse.treebank.corpora.places import COLUMNS, Places

    known = Places(note)
    places = [known.of(gold, line) for line in counts["gold_line"].tolist()]
    return csv_of(counts.join(pd.DataFrame(places, columns=list(COLUMNS))))


def _print_as_evalb(
    gold: str,
    parses: str,
    parameters: EvalbParameters,
    comparison: ComparisonOptions,
    tables: TableOptions,
) -> bool:
    """EVALB's own output, the coverage on standard error. Whether every sentence counts."""
    from mbrparse.evaluate.align import gold_file, parse_files, with_our_labels
    from mbrparse.evaluate.evalb.summary import Report, evalb_scores

    messages: list[str] = []
    encoding, marks = comparison.encoding, comparison.marks()
    sources = [gold_file(gold, encoding), *parse_files([parses], encoding)]
    correct, source = (with_our_labels(one, marks, True, note) for one in sources)

    def complain(message: str) -> None:
        messages.append(message)
        log(message)

    [scores] = evalb_scores(correct, [source], parameters, complain)
    report = Report(source.name, parameters.cutoff)
    with ExitStack() as outputs:
        outputs.enter_context(atomic_outputs())
        counts = outputs.enter_context(open_output(tables.per_sentence)) if tables.per_sentence else None
        stream = outputs.enter_context(open_output(tables.output))
        for line in report.lines(with_progress(scores, "evaluate")):
            stream.write(line)
        if counts is not None:
            counts.write(_placed(report.counts, correct.source))
    coverage, is_complete = report.coverage()
    note(coverage)
    return not messages and is_complete


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
