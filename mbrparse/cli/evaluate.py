"""``mbrparse evaluate``: a gold file and parse files in, a table of criteria out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mbrparse.cli.options import NearestChoice, encoding_option, output_option, with_progress
from mbrparse.files import STANDARD, open_output

if TYPE_CHECKING:
    from mbrparse.evaluate.agreement import Form
    from mbrparse.evaluate.criteria import Average
    from mbrparse.evaluate.gold import CrossingReference
    from mbrparse.evaluate.tables import Format


@click.command()
@click.argument("gold")
@click.argument("parses", nargs=-1, required=True)
@click.option(
    "--form",
    type=NearestChoice(["binarized", "original"]),
    default="binarized",
    show_default=True,
    help="The form of gold and parses: both binarized, or both debinarized.",
)
@click.option(
    "--crossing-reference",
    type=NearestChoice(["debinarized", "binarized"]),
    default="debinarized",
    show_default=True,
    help="What consistent brackets are judged against: the gold without continuations, or as it is.",
)
@click.option(
    "--average",
    type=NearestChoice(["pooled", "sentence"]),
    default="pooled",
    show_default=True,
    help="Sums over sums, or the mean of the sentences' rates (without those that have none).",
)
@click.option(
    "--all", "everything", is_flag=True, help="Add the bracketed tree rate, precisions and F scores."
)
@click.option(
    "--format",
    type=NearestChoice(["text", "markdown", "latex", "csv", "json"]),
    default="text",
    show_default=True,
    help="How the table is written; csv and json have rates of 0 to 1.",
)
@click.option("--per-sentence", metavar="PATH", help="Write the table of counts here, as CSV.")
@output_option()
@encoding_option()
def evaluate(
    gold: str,
    parses: tuple[str, ...],
    form: Form,
    crossing_reference: CrossingReference,
    average: Average,
    everything: bool,
    format: Format,
    per_sentence: str | None,
    output: str,
    encoding: str,
) -> None:
    """Compare parses with gold trees: a row for each file of PARSES, a column for each criterion.

    The criteria are Goodman's (1996): the share of trees and of constituents that are right with
    their labels, as brackets, or at least cross nothing. GOLD and PARSES hold the same sentences in
    the same order; "(())" or an empty line is a sentence without a parse, which fails every tree
    criterion and is counted against the coverage.
    """
    from mbrparse.evaluate.counts import compare_files, counts_table
    from mbrparse.evaluate.criteria import MORE, PAPER
    from mbrparse.evaluate.gold import Comparison
    from mbrparse.evaluate.tables import render, summarize

    if [gold, *parses].count(STANDARD) > 1:
        raise click.UsageError("standard input (-) can be read only once.")
    if form == "original" and crossing_reference == "binarized":
        raise click.UsageError("--crossing-reference binarized needs binarized trees, not --form original.")
    if per_sentence == output == STANDARD:
        raise click.UsageError("--per-sentence and the table cannot both go to standard output.")
    how = Comparison(form, crossing_reference)
    counts = counts_table(with_progress(compare_files(gold, parses, how, encoding), "evaluate"))
    summary = summarize(counts, gold, how, PAPER + MORE if everything else PAPER, average)
    if per_sentence is not None:
        with open_output(per_sentence) as stream:
            counts.to_csv(stream, index=False, lineterminator="\n")
    with open_output(output) as stream:
        stream.write(render(summary, format))
    if format == "csv":
        click.echo(summary.signature, err=True)
