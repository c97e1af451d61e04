"""``mbrparse reproduce``: from a treebank to the table of Goodman's three algorithms, in one command."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from mbrparse.cli.options import (
    NearestChoice,
    count_option,
    encoding_option,
    folder_option,
    jobs_option,
    label_options,
    note,
    with_progress,
)


@click.command()
@click.argument("corpus")
@folder_option("Folder for all files.")
@count_option("--max-length", help="Drop trees with more terminals.", default=40)
@click.option(
    "--test-fraction", default="0.1", show_default=True, metavar="F", help="Parse the last floor(N*F) trees."
)
@click.option("--seed", type=int, help="Draw the trees to parse at random instead.")
@click.option("--sections", metavar="02-21", help="Sections of wsj:DIR.")
@jobs_option()
@encoding_option()
@click.option(
    "--on-error",
    type=NearestChoice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="At a malformed tree: end with an error, or leave it out and count it.",
)
@label_options()
def reproduce(corpus: str, output: str, jobs: Any, **which: Any) -> None:
    """Binarize a treebank, split it, train, parse for three objectives, and print their table.

    CORPUS is a file, a folder, a zip, a glob, nltk:treebank, craft:PATH, wsj:DIR or embedded:flights
    (mbrparse corpora lists them all). The folder
    gets binarized.mrg, train.mrg, test.mrg, grammar.txt, a file of parses for each objective (Goodman's
    1996), details.jsonl and table.txt, as the commands binarize, split, train, parse and evaluate make
    them; and posteriors.npz and report.html, a page with every sentence (mbrparse report). A run that was
    interrupted goes on with the stage that it was at.
    """
    from mbrparse.experiments.goodman.reproduction import Corpus, Reproduction
    from mbrparse.grammar.kernel import announced

    if which["sections"] is not None and not corpus.startswith("wsj:"):
        raise click.UsageError("--sections goes with wsj:DIR.")
    command = shlex.join(["mbrparse", *sys.argv[1:]])
    reproduction = Reproduction(Corpus(corpus, **which), Path(output), jobs, note, with_progress, command)
    with announced(lambda: note("compiling kernels, once on this machine ...")):
        table = reproduction.run()
    click.echo(table, nl=False)
    if corpus.startswith("embedded:"):
        note(f"{corpus} was sampled from a hand-written grammar: its figures say nothing about English")
    note(f"{reproduction.page}: every sentence behind this table, to open in a browser")
