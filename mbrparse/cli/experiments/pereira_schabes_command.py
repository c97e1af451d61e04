"""``mbrparse experiment pereira-schabes``: Goodman's (1996) Table 1 and Figure 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mbrparse.cli.options import encoding_option, folder_option, jobs_option, note, with_progress


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@folder_option("Folder for results, table and figure.")
@click.option("--runs", type=click.IntRange(min=1), default=10, show_default=True)
@click.option(
    "--train", type=click.IntRange(min=1), default=700, show_default=True, help="Sentences trained on."
)
@click.option("--test", type=click.IntRange(min=1), default=88, show_default=True, help="Sentences parsed.")
@click.option("--nonterminals", type=click.IntRange(min=1), default=15, show_default=True)
@click.option("--iterations", type=click.IntRange(min=0), default=75, show_default=True)
@click.option("--brackets/--no-brackets", default=True, show_default=True, help="In training.")
@click.option("--max-length", type=click.IntRange(min=2), help="Leave longer sentences out.")
@click.option("--seed", default=0, show_default=True, help="Of splits and random starts.")
@jobs_option()
@encoding_option()
def pereira_schabes(
    inputs: tuple[str, ...],
    output: str,
    runs: int,
    brackets: bool,
    max_length: int | None,
    jobs: Any,
    encoding: str,
    **numbers: int,
) -> None:
    """Train by inside-outside on bracketed text; compare Labelled Tree and Bracketed Recall parses.

    INPUT is a treebank, as mbrparse binarize reads it. Each run has its own training sentences, test
    sentences and random grammar; both decoders parse the test sentences after every iteration. The
    folder gets a result for each run (what is there is not done again), Table 1 as table1.txt, .md, .tex
    and .csv, and Figure 2 as figure2.svg and .png. Table 1 goes to standard output.
    """
    from mbrparse.experiments.goodman.bracketed_training import compare_decoders
    from mbrparse.experiments.goodman.bracketed_trial import Design

    design = Design(brackets=brackets, **numbers)
    click.echo(
        compare_decoders(
            inputs, Path(output), design, runs, max_length, jobs, encoding, tell=note, progress=with_progress
        )
    )
