"""``mbrparse experiment beyond-recall``: trees that may grow, and consistent brackets, beside Goodman's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mbrparse.cli.options import encoding_option, folder_option, jobs_option, note


@click.command()
@click.argument("input")
@folder_option("Folder for parses, tables and the plot.")
@click.option(
    "--test-fraction", default="0.1", show_default=True, metavar="F", help="Held-out share, the last."
)
@click.option(
    "--max-length", type=click.IntRange(min=2), default=40, show_default=True, help="Leave longer out."
)
@click.option(
    "--resamples", type=click.IntRange(min=1), default=10_000, show_default=True, help="For significance."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resamples.")
@jobs_option()
@encoding_option()
def beyond_recall(input: str, output: str, **options: Any) -> None:
    """Compare what Goodman (1996) announced or left out with his algorithms.

    A grammar over tags is counted from INPUT (as for binarize) without its last part, whose sentences are
    parsed. One table compares n-ary trees with the original gold, by precision, recall and F; one binary
    trees, by consistent brackets; the last columns of each are the rates that the trees expect.
    A curve shows precision against recall over the cost of a node. The folder gets all parses, and the tables
    as .txt, .md, .tex and .csv. What is there of an earlier run is not done again.
    """
    from mbrparse.experiments.beyond_recall.beyond_recall import compare_beyond_recall
    from mbrparse.grammar.kernel import announced

    with announced(lambda: note("compiling kernels, once on this machine ...")):
        text = compare_beyond_recall(input, Path(output), tell=note, **options)
    click.echo(text)
