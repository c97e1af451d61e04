"""``mbrparse report``: a page with the table, every sentence behind its figures, and their trees."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import click

from mbrparse.cli.comparison_settings import check_comparison, form_options, profile_options, settings_of
from mbrparse.cli.options import check_outputs, encoding_option, note, tell, with_progress
from mbrparse.files import STANDARD


def _named(texts: tuple[str, ...]) -> dict[str, str]:
    about = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise click.BadParameter(f"{text!r} is not of the form NAME=TEXT.")
        about[name.strip()] = value.strip()
    return about


@click.command()
@click.argument("gold")
@click.argument("parses", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="PATH",
    help="The page: a file that ends in .html, else a folder (as of more than 10,000 sentences).",
)
@click.option(
    "--details",
    metavar="FILE",
    multiple=True,
    help="What parse --details wrote, once for all PARSES or once for each: expected scores, calibration.",
)
@click.option(
    "--posteriors",
    metavar="FILE.npz",
    help="The posteriors of the sentences' spans (docs/posteriors.md), drawn as a chart.",
)
@click.option("--title", metavar="TEXT", help="The page's heading.")
@click.option(
    "--about",
    metavar="NAME=TEXT",
    multiple=True,
    callback=lambda _context, _parameter, texts: _named(texts),
    help="What was run, to stand on top: --about corpus=... --about split=... --about grammar=...",
)
@profile_options()
@click.option(
    "--evalb", metavar="PRM", help="Compare as EVALB does, with this parameter file, as in evaluate."
)
@form_options()
@click.option("--all", "everything", is_flag=True, help="All criteria of evaluate --all.")
@click.option("--criteria", metavar="NAME,...", help="These columns instead, as in evaluate.")
@click.option("--criterion", metavar="NAME", help="By which breakdowns are drawn (default: labelled-recall).")
@click.option("--baseline", metavar="NAME", help="What differences are to (default: the first of PARSES).")
@click.option("--resamples", type=click.IntRange(min=0), help="For intervals and p-values, as in evaluate.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resamples.")
@encoding_option()
@click.pass_context
def report(
    context: click.Context, /, gold: str, parses: tuple[str, ...], output: str, **options: Any
) -> None:
    """Write a page to look at: evaluate's table, in which each figure leads to its sentences.

    GOLD and PARSES are as in evaluate. The page opens in any browser, without a network: the table,
    differences with intervals, breakdowns, calibration, and every sentence with its trees, its errors
    marked, and the chart of its posteriors.
    """
    from mbrparse.cli.file_options import read_given
    from mbrparse.evaluate.evalb.parameters import EvalbParameters, read_parameters
    from mbrparse.evaluate.evaluation import file_sources
    from mbrparse.evaluate.report.pages import Wishes, write_report

    _check(context, gold, parses, output, options)
    evalb = options["evalb"]
    parameters = None if evalb is None else read_parameters(evalb, tell, options["encoding"])
    settings = settings_of(options, parameters)
    about = {"command": shlex.join(["mbrparse", *sys.argv[1:]]), "corpus": gold, **options["about"]}
    given = None if options["posteriors"] is None else read_given(options["posteriors"])
    page = write_report(
        *file_sources(gold, parses, settings, options["encoding"]),
        output,
        settings,
        Wishes(options["title"], about, options["details"], given),
        tell if isinstance(settings.how, EvalbParameters) else note,
        lambda rows: with_progress(rows, "evaluate"),
    )
    if output != STANDARD:
        note(f"{page}: open it in a browser")


def _check(
    context: click.Context, gold: str, parses: tuple[str, ...], output: str, options: dict[str, Any]
) -> None:
    if [gold, *parses].count(STANDARD) > 1:
        raise click.UsageError("standard input (-) can be read only once.")
    check_comparison(context, options)
    if STANDARD in options["details"]:
        raise click.UsageError("--details is read twice: give a file, not standard input.")
    if len(options["details"]) not in (0, 1, len(parses)):
        raise click.UsageError("--details is given once for all PARSES, or once for each of them.")
    if output.lower().endswith((".html", ".htm")) or output == STANDARD:
        check_outputs(
            [("--output", output)],
            [("GOLD", gold), *(("PARSES", path) for path in parses), ("--evalb", options["evalb"])]
            + [("--details", path) for path in options["details"]]
            + [("--posteriors", options["posteriors"])],
        )
