"""``mbrparse report``: a page with the table, every sentence behind its figures, and their trees."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass

import click

from mbrparse.cli.commands import SectionedCommand, option_group
from mbrparse.cli.comparison_options import ComparisonOptions
from mbrparse.cli.messages import log, note, with_progress
from mbrparse.cli.options import InputFile, Text, check_outputs, option
from mbrparse.files import STANDARD


def _named(texts: tuple[str, ...]) -> dict[str, str]:
    about = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise click.BadParameter(f"{text!r} is not of the form NAME=TEXT.")
        about[name.strip()] = value.strip()
    return about


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
        callback=lambda _context, _parameter, texts: _named(texts),
        help="What was run, shown on top: --about corpus=... --about split=... --about grammar=...",
    )


@click.command(cls=SectionedCommand)
@click.argument("gold")
@click.argument("parses", nargs=-1, required=True)
@option(
    "-o",
    "--output",
    required=True,
    metavar="PATH",
    help="The page: a file that ends in .html, else a folder (as of more than 10,000 sentences).",
)
@option_group("page", PageOptions, "Page")
@option_group("comparison", ComparisonOptions, "Comparison")
def report(
    gold: str,
    parses: tuple[str, ...],
    output: str,
    page: PageOptions,
    comparison: ComparisonOptions,
) -> None:
    """Write an HTML page with evaluate's table, in which each figure links to its sentences.

    GOLD and PARSES are as in evaluate. The page opens in any browser, without a network: the table,
    differences with intervals, breakdowns, calibration, and every sentence with its trees, its errors
    marked, and the chart of its posteriors.
    """
    from mbrparse.cli.model_options import read_given
    from mbrparse.evaluate.compare.evaluation import file_sources
    from mbrparse.evaluate.evalb.parameters import EvalbParameters, read_parameters
    from mbrparse.evaluate.report.pages import ReportOptions, write_report

    read = comparison.inputs(gold, parses, page.details)
    if STANDARD in page.details:
        raise click.UsageError("--details is read twice: give a file, not standard input.")
    if output.lower().endswith((".html", ".htm")) or output == STANDARD:
        check_outputs([("--output", output)], [*read, ("--posteriors", page.posteriors)])
    encoding = comparison.encoding
    parameters = None if comparison.evalb is None else read_parameters(comparison.evalb, log, encoding)
    settings = comparison.settings(parameters)
    about = {"command": shlex.join(["mbrparse", *sys.argv[1:]]), "corpus": gold, **page.about}
    given = None if page.posteriors is None else read_given(page.posteriors, settings.marks)
    written = write_report(
        *file_sources(gold, parses, settings, encoding, note),
        output,
        settings,
        ReportOptions(page.title, about, page.details, given),
        log if isinstance(settings.how, EvalbParameters) else note,
        lambda rows: with_progress(rows, "evaluate"),
    )
    if output != STANDARD:
        note(f"{written}: open it in a browser")
