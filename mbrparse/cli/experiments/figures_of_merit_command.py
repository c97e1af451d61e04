"""``mbrparse experiment figures-of-merit``: Caraballo & Charniak's (1998) comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mbrparse.cli.options import Finite, encoding_option, folder_option, jobs_option, note


@click.command()
@click.argument("input")
@folder_option("Folder for figures, tables and plots.")
@click.option("--grammar", metavar="GRAMMAR", help="Parse with this grammar instead of counting one.")
@click.option("--statistics", metavar="FILE", help="Its statistics (default: by expectation).")
@click.option("--merit", "merits", metavar="NAME", multiple=True, help="Only these (repeatable).")
@click.option("--sentences", type=click.IntRange(min=1), default=300, show_default=True, help="At most.")
@click.option("--min-length", type=click.IntRange(min=1), default=3, show_default=True)
@click.option(
    "--max-length", type=click.IntRange(min=2), default=30, show_default=True, help="Of both parts."
)
@click.option("--test-fraction", default="0.1", show_default=True, metavar="F", help="Held out, the last.")
@click.option("--mass", type=Finite(0, 1, True, True), default=0.95, show_default=True)
@click.option("--beta-threshold", type=Finite(min=0, max=1), default=0.01, show_default=True)
@jobs_option()
@encoding_option()
def figures_of_merit(
    input: str,
    output: str,
    grammar: str | None,
    statistics: str | None,
    merits: tuple[str, ...],
    mass: float,
    beta_threshold: float,
    jobs: Any,
    **selection: Any,
) -> None:
    """Compare figures of merit by the work that they need to find most of a sentence's probability.

    A grammar and its statistics are counted from all of INPUT (as for binarize) but its last part, whose
    sentences are parsed: to exhaustion, and with each merit until --mass of the probability is found. The
    folder gets a file for each sentence (what is there is not done again), the tables shares, lengths and
    curves as .txt, .md and .csv, every sentence's figures as sentences.csv, and the plots curves and
    lengths as .svg and .png. With --grammar (from inside-outside training, say) statistics come from a file,
    or by expectation over the training part.
    """
    from mbrparse.decode.best_first.merits import MERITS
    from mbrparse.experiments.caraballo_charniak.merit_comparison import (
        Model,
        Search,
        Selection,
        compare_merits,
    )

    unknown = [name for name in merits if name not in MERITS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(MERITS)}", param_hint="--merit")
    if statistics is not None and grammar is None:
        raise click.UsageError("--statistics needs the --grammar it belongs to.")
    names = tuple(MERITS) if not merits else tuple(dict.fromkeys(merits))
    search = Search(names, mass, beta_threshold)
    model = Model(grammar, statistics)
    click.echo(compare_merits(input, Path(output), Selection(**selection), model, search, jobs, note))
