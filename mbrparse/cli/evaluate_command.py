"""``mbrparse evaluate`` and ``report``: a gold file and parse files in, tables and pages out."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from mbrparse.arguments import MOST_RESAMPLES
from mbrparse.cli import model_options, options
from mbrparse.cli.commands import InputFile, Text, argument, command, count_option, group, option, seed_option
from mbrparse.cli.messages import log, note, with_progress
from mbrparse.evaluate.criteria import COVERAGE, criterion_name
from mbrparse.files import STANDARD, atomic_outputs, open_output, source_name

if TYPE_CHECKING:
    import pandas as pd

    from mbrparse.evaluate.compare.evaluation import EvaluationSettings
    from mbrparse.evaluate.evalb.parameters import EvalbParameters
    from mbrparse.evaluate.tables import Format


@dataclass(frozen=True)
class ComparisonOptions(model_options.LabelOptions):
    """What counts, how it is averaged, and what differences are tested."""

    profile: str | None = option(
        choices=["goodman", "evalb", "spmrl", "prpn", "on-lstm", "diora", "compound-pcfg"],
        help="The published evaluation to follow (see docs/evaluation.md; default: goodman).",
    )
    keep_punctuation: bool = option(
        is_flag=True, help="With the profiles of unsupervised parsing: count all terminals as words."
    )
    evalb: str | None = option(
        type=InputFile("PRM"),
        help="Compare as EVALB does, with this parameter file: a file, or EVALB's own COLLINS.prm, "
        "new.prm or sample.prm.",
    )
    form: Any = option(
        choices=["binarized", "original"],
        default="binarized",
        help="Compare binarized trees, or original ones (binarized files are un-binarized first).",
    )
    unaries: bool = option(is_flag=True, help="The trees keep unary productions (binarize --unary keep).")
    crossing_reference: Any = option(
        choices=["debinarized", "binarized"],
        default="debinarized",
        help="The gold trees of consistent brackets: without continuations, or binarized.",
    )
    average: Any = option(
        choices=["pooled", "sentence"],
        default="pooled",
        help="The ratio of sums over all sentences, or the mean of the sentences' rates where they have one.",
    )
    everything: bool = option(
        "--all", is_flag=True, help="Add the bracketed tree rate, precisions and F scores."
    )
    criteria: str | None = option(
        type=Text("NAME,..."),
        help="Use these columns instead, such as labelled-f,leaf-ancestor,tagging-accuracy.",
    )
    criterion: str | None = option(
        type=Text("NAME"),
        help="The criterion of differences and breakdowns, such as labelled-tree (default: "
        "labelled-recall; with --evalb bracketing-f).",
    )
    baseline: str | None = option(
        type=Text("NAME"), help="Compare the others with this one (default: the first of PARSES)."
    )
    resamples: int | None = count_option(
        most=MOST_RESAMPLES,
        least=0,
        help="Resamples for the significance of differences; 0: no test (default: 10000; 1000 with more "
        "than 10,000 sentences).",
    )
    seed: int = seed_option("Seed of the resamples.", default=0)
    correction: Any = option(
        choices=["none", "holm"],
        default="none",
        help="Correct the p-values of each criterion for the number of pairs (Holm 1979).",
    )
    encoding: str = options.encoding()

    def inputs(
        self, gold: str, parses: Sequence[str], details: Sequence[str], runs: Sequence[str] = ()
    ) -> options.Paths:
        """What is read, with ``details`` and ``runs`` of the command; raises UsageError for wrong numbers."""
        if len(details) not in (0, 1, len(parses)):
            raise click.UsageError("--details is given once for all PARSES, or once for each of them.")
        several = {"PARSES": parses, "--runs": runs, "--details": details}
        return {"GOLD": gold, "--evalb": self.evalb, **several}

    def parameters(self) -> EvalbParameters | None:
        """Those of --evalb."""
        from mbrparse.evaluate.evalb.parameters import read_parameters

        return None if self.evalb is None else read_parameters(self.evalb, log, self.encoding)

    def settings(self, parameters: EvalbParameters | None, **more: Any) -> EvaluationSettings:
        """The settings of the evaluation; ``parameters`` are those of --evalb, ``more`` other settings.

        Raises MbrparseError where the options mean nothing together.
        """
        from mbrparse.evaluate.compare.comparison import evaluation_settings

        if self.criteria is not None:
            options.refuse(["everything"], "no --criteria, which names the columns")
        same = "profile keep_punctuation form unaries crossing_reference average baseline resamples seed"
        return evaluation_settings(
            evalb=parameters,
            criteria="all"
            if self.everything
            else "paper"
            if self.criteria is None
            else _names(self.criteria),
            context=True,
            criterion=None if self.criterion is None else criterion_name(self.criterion),
            correction=self.correction,
            marks=self.marks(),
            log=log,
            progress=with_progress,
            **{name: getattr(self, name) for name in same.split()},
            **more,
        )


def _pairs(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """NAME=TEXT, several times, each name once."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = map(str.strip, text.partition("="))
        if not name or not equals or name in pairs:
            raise click.BadParameter(f"{text!r} is not NAME=..., each NAME once.")
        pairs[name] = value
    return pairs


def _names(text: str) -> tuple[str, ...]:
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
    output: str = options.output()

    def check(self, runs: bool, evalb: bool) -> None:
        """Raise UsageError for options that mean nothing together, or with --runs, or without --evalb."""
        if runs:
            options.refuse(["by", "details", "strict"], "no --runs")
        if self.calibration:
            options.refuse(
                ["by", "all_tests", "profile", "evalb"], "no --calibration: that is a table of its own"
            )
            if not self.details:
                raise click.UsageError("--calibration needs --details FILE.")
        if self.all_tests:
            options.refuse(["criterion"], "no --significance: that prints differences by all criteria")
        if self.format in ("csv", "json"):
            options.refuse(["columns"], f"another --format: {self.format} has all columns")
        if not evalb:
            options.refuse(["strict"], "--evalb: the other criteria leave no sentence out")


@command
def evaluate(
    gold: str = argument(),
    parses: tuple[str, ...] = argument(nargs=-1),
    runs: dict[str, str] = option(
        type=InputFile("NAME=FILE,FILE,..."),
        multiple=True,
        callback=_pairs,
        help="Parse files of several runs of one system (other seeds, say): their mean, spread and tests "
        "over sentences and runs. PARSES beside them are systems of one run.",
    ),
    comparison: ComparisonOptions = group(ComparisonOptions, "Comparison"),
    tables: TableOptions = group(TableOptions, "Output"),
) -> None:
    """Compare parses with gold trees: a row for each file of PARSES, a column for each criterion.

    The criteria are Goodman's (1996): the share of trees and of constituents that are right with their
    labels, right as brackets, or cross nothing (cons., also called zero crossing). GOLD and PARSES hold the
    same sentences in the same order; "(())" or an empty line is a sentence without a parse, which fails every
    tree criterion; "not empty" is the share of the others, with fall-backs. With several parse files,
    letters behind a figure name those that are significantly worse, and the differences from the first file
    are printed below the table.

    A file of candidates (parse --candidates) has two rows: its first trees, and the oracle, the best
    of each sentence's by --criterion (or labelled F).

    --evalb PRM GOLD PARSE prints what EVALB prints, to the letter, and the coverage on standard error
    (EVALB leaves sentences without a parse out). With --format, --by or several parse files, its
    figures are in the usual tables.
    """
    from mbrparse.evaluate.compare.evaluation import evaluate_files, file_sources
    from mbrparse.treebank.candidate_files import is_candidate_file

    systems = {name: files.split(",") for name, files in runs.items()}
    several = [path for files in systems.values() for path in files]
    if not parses and not several:
        raise click.UsageError("Missing argument 'PARSES...' (or --runs).")
    tables.check(bool(several), comparison.evalb is not None)
    read = comparison.inputs(gold, parses, tables.details, several)
    options.check_outputs({"--output": tables.output, "--per-sentence": tables.per_sentence}, read)
    encoding, columns = comparison.encoding, tables.columns or ()
    parameters = comparison.parameters()
    if parameters is not None and parameters.debug:
        note(f"{comparison.evalb}: DEBUG has no effect; --per-sentence and --by show more")
    if comparison.criteria is None and tables.by is None:
        # What is shown is counted: columns may be criteria that are not among the usual ones.
        counted = ",".join(name for name in columns if not (name == "fell_back" and tables.details))
        comparison = replace(comparison, criteria=counted or None)
    settings = comparison.settings(parameters, by=tables.by, everything=tables.all_tests)
    if (
        parameters is not None
        and len(parses) == 1
        and not any((tables.format, columns, tables.by, tables.details, comparison.criteria, runs))
        and comparison.average == "pooled"
        and not is_candidate_file(parses[0], encoding)
    ):
        _print_as_evalb(gold, parses[0], settings, encoding, tables)
        return
    if tables.calibration:
        from mbrparse.evaluate.report.marked_trees import compare_sources
        from mbrparse.evaluate.report.records import calibrated

        sources = file_sources(gold, parses, settings, encoding)
        untested = replace(settings, resamples=0, criteria=(COVERAGE,))
        result = calibrated(compare_sources(*sources, untested, tables.details))
    else:
        result = evaluate_files(gold, parses, settings, encoding, tables.details, systems)
    for path in parses:
        if is_candidate_file(path, encoding):
            note(f"{path}: candidates: a row for the first of each sentence, and one for the best (oracle)")
    text = result.render(tables.format or "text", columns)
    with atomic_outputs():
        if tables.per_sentence is not None:
            with open_output(tables.per_sentence) as counts:
                counts.write(_placed(result.counts, source_name(gold)))
        with open_output(tables.output) as stream:
            stream.write(text)
    if tables.format == "csv":
        log(result.summary.signature)
    if tables.strict and not (result.counts["parsed"] > 0).all():
        raise click.exceptions.Exit(1)


def _placed(counts: pd.DataFrame, gold: str) -> str:
    """The table of counts as CSV, with the places of the gold trees of this file in its last columns."""
    import pandas as pd

    from mbrparse.evaluate.tables import csv_of
    from mbrparse.treebank.corpora.places import COLUMNS, Places

    known = Places(note)
    places = [known.of(gold, line) for line in counts["gold_line"].tolist()]
    return csv_of(counts.join(pd.DataFrame(places, columns=list(COLUMNS))))


def _print_as_evalb(
    gold: str, parses: str, settings: EvaluationSettings, encoding: str, tables: TableOptions
) -> None:
    """EVALB's own output, the coverage on standard error."""
    from mbrparse.evaluate.align import Sides
    from mbrparse.evaluate.compare import evaluation, profiles
    from mbrparse.evaluate.evalb.summary import Report, evalb_scores

    messages: list[str] = []

    def complain(message: str) -> None:
        messages.append(message)
        log(message)

    parameters: Any = settings.how
    correct, [source] = evaluation.file_sources(gold, [parses], settings, encoding)
    sides = Sides()
    [scores] = evalb_scores(sides.watch(correct), [sides.watch(source)], parameters, complain)
    report = Report(source.name, parameters.cutoff)
    with atomic_outputs():
        with open_output(tables.output) as stream:
            stream.writelines(report.lines(with_progress(scores, "evaluate")))
        if tables.per_sentence is not None:
            with open_output(tables.per_sentence) as counts:
                counts.write(_placed(report.counts, correct.source))
    profiles.check_sides(sides, parameters)
    coverage, is_complete = report.coverage()
    note(coverage)
    if tables.strict and (messages or not is_complete):
        raise click.exceptions.Exit(1)


@dataclass(frozen=True)
class PageOptions:
    """What a page shows beside the comparison."""

    details: tuple[str, ...] = option(
        type=InputFile(),
        multiple=True,
        help="The file that parse --details wrote, once for all PARSES or once for each: adds expected "
        "scores and calibration.",
    )
    posteriors: str | None = option(
        type=InputFile("FILE.npz"),
        help="The posteriors of the sentences' spans (docs/posteriors.md), drawn as a chart.",
    )
    title: str | None = option(type=Text(), help="The page's heading.")
    about: dict[str, str] = option(
        type=Text("NAME=TEXT"),
        multiple=True,
        callback=_pairs,
        help="What was run, shown on top: --about corpus=... --about split=... --about grammar=...",
    )


@command
def report(
    gold: str = argument(),
    parses: tuple[str, ...] = argument(nargs=-1, required=True),
    output: str = option(
        "-o",
        "--output",
        required=True,
        metavar="PATH",
        help="The page: a file that ends in .html, else a folder (as of more than 10,000 sentences).",
    ),
    page: PageOptions = group(PageOptions, "Page"),
    comparison: ComparisonOptions = group(ComparisonOptions, "Comparison"),
) -> None:
    """Write an HTML page with evaluate's table, in which each figure links to its sentences.

    GOLD and PARSES are as in evaluate. The page opens in any browser, without a network: the table,
    differences with intervals, breakdowns, calibration, and every sentence with its trees, its errors
    marked, and the chart of its posteriors.
    """
    from mbrparse.decode.posteriors.posteriors_file import read_posteriors
    from mbrparse.evaluate.compare.evaluation import file_sources
    from mbrparse.evaluate.report.pages import ReportOptions, write_report

    read = comparison.inputs(gold, parses, page.details)
    if output.lower().endswith((".html", ".htm")) or output == STANDARD:
        options.check_outputs({"--output": output}, {**read, "--posteriors": page.posteriors})
    parameters = comparison.parameters()
    settings = comparison.settings(parameters)
    about = {"command": shlex.join(["mbrparse", *sys.argv[1:]]), "corpus": gold, **page.about}
    given = None if page.posteriors is None else read_posteriors(page.posteriors, settings.marks)
    written = write_report(
        *file_sources(gold, parses, settings, comparison.encoding),
        output,
        settings,
        ReportOptions(page.title, about, page.details, given),
    )
    if output != STANDARD:
        note(f"{written}: open it in a browser")
