"""``mbrparse experiment calibration``: does a parser get the score that it expects?"""

from __future__ import annotations

from typing import Any

import click

from mbrparse.cli.options import NearestChoice, note, output_option, with_progress
from mbrparse.cli.outputs import check_outputs


@click.command()
@click.argument("input")
@click.option(
    "--samples", type=click.IntRange(min=2), default=5000, show_default=True, help="Trees to sample."
)
@click.option("--seed", type=int, default=1996, show_default=True, help="Seed of the sampling.")
@click.option(
    "--test-fraction", default="0.1", show_default=True, metavar="F", help="Held-out share, the last."
)
@click.option(
    "--max-length", type=click.IntRange(min=2), default=40, show_default=True, help="Leave longer out."
)
@click.option("--format", type=NearestChoice(["text", "markdown", "csv"]), default="text", show_default=True)
@output_option()
def calibration(
    input: str, samples: int, seed: int, test_fraction: str, max_length: int, format: Any, output: str
) -> None:
    """Compare expected with measured recall, on sampled and on held-out sentences.

    A grammar is trained on INPUT (as for binarize) without its last part. For each objective the table
    shows the recall that the parser expects of its trees, the recall they have, and the 99% interval
    around the expectation.
    """
    from mbrparse.experiments.goodman.calibration import calibrate, show
    from mbrparse.files import open_output

    check_outputs([("--output", output)], [("INPUT", input)])
    found = calibrate(input, samples, seed, test_fraction, max_length, note, with_progress)
    with open_output(output) as stream:
        stream.write(show(found, format))
