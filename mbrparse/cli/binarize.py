"""``mbrparse binarize``: clean and binarize a treebank."""

from __future__ import annotations

import math
from typing import Any

import click

from mbrparse.cli.options import NearestChoice, encoding_option, note, output_option, with_progress


def _sibling_count(text: str) -> float:
    if text == "inf":
        return math.inf
    if text.isdigit():
        return int(text)
    raise click.BadParameter(f"{text!r} is neither 0, 1, 2, ... nor inf")


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@output_option()
@click.option(
    "--unary",
    type=NearestChoice(["top", "bottom", "join"]),
    default="top",
    show_default=True,
    help="Which label survives a singleton production over a constituent. "
    "Over a preterminal the preterminal stays.",
)
@click.option(
    "--functions",
    type=NearestChoice(["strip", "keep"]),
    default="strip",
    show_default=True,
    help="Cut labels at the first - or =, or keep them whole.",
)
@click.option(
    "--direction",
    type=NearestChoice(["right", "left"]),
    default="right",
    show_default=True,
    help="Where the continuations branch.",
)
@click.option(
    "--hmarkov",
    type=_sibling_count,
    metavar="N|inf",
    default="0",
    show_default=True,
    help="How many of the siblings still to come a continuation's label names.",
)
@click.option(
    "--vmarkov",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many levels a label speaks of, its own included (1: no parents).",
)
@click.option("--max-length", type=click.IntRange(min=1), help="Drop trees with more terminals.")
@click.option("--sections", metavar="02-21", help="Sections of wsj:DIR.")
@encoding_option()
@click.option(
    "--on-error",
    type=NearestChoice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="At a malformed tree: end with an error, or leave it out and count it.",
)
def binarize(
    inputs: tuple[str, ...],
    output: str,
    unary: Any,
    functions: Any,
    direction: Any,
    hmarkov: float,
    vmarkov: int,
    max_length: int | None,
    sections: str | None,
    encoding: str,
    on_error: str,
) -> None:
    """Clean and binarize a treebank.

    INPUT is a file, "-", a folder, a glob, nltk:NAME (nltk:treebank), wsj:DIR (LDC layout, see
    --sections) or embedded:flights.
    """
    from mbrparse.files import open_output
    from mbrparse.treebank.binarize import Binarization
    from mbrparse.treebank.brackets import write_tree
    from mbrparse.treebank.corpora import read_corpus
    from mbrparse.treebank.prepare import Account, Preparation, prepare

    if sections is not None and not any(spec.startswith("wsj:") for spec in inputs):
        raise click.UsageError("--sections goes with wsj:DIR.")
    how = Preparation(unary, functions, Binarization(direction, hmarkov, vmarkov), max_length)
    account = Account()

    def trees() -> Any:
        for spec in inputs:
            # What an NLTK reader cannot read is not the user's to mend: it is always skipped.
            skip = account.skip if on_error == "skip" or spec.startswith("nltk:") else None
            yield from read_corpus(spec, encoding=encoding, sections=sections, on_error=skip)

    with open_output(output) as stream:
        for tree in with_progress(prepare(trees(), how, account), "binarizing"):
            write_tree(tree, stream)
    note(str(account))
