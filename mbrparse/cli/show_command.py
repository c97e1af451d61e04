"""``mbrparse show``: one sentence's trees, drawn one below the other."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal

import click

from mbrparse.cli import messages, options
from mbrparse.cli.commands import InputFile, argument, command, count_option, group, option
from mbrparse.errors import CorpusError, FileError
from mbrparse.files import STANDARD, atomic_outputs, open_output, source_name


@dataclass(frozen=True)
class ShowOptions:
    """What is drawn, and how."""

    line: int = count_option(help="The number of the tree in each file.", default=1)
    differing: bool = option(
        is_flag=True, help="Draw the next tree, from --line on, that differs between the files."
    )
    compare: bool = option(
        is_flag=True,
        help="Compare two files with each other, such as two parsers' trees: all sentences in which they "
        "differ.",
    )
    labels_only: bool = option(
        is_flag=True, help="With --compare: mark only brackets that have another label."
    )
    spans_only: bool = option(
        is_flag=True, help="With --compare: mark only brackets that the other file lacks."
    )
    count: int | None = count_option(help="How many sentences to draw.  [default: 1, with --compare all]")
    debinarize: bool = option(is_flag=True, help="Show binarized trees as original ones.")
    format: str = option(
        choices=["text", "csv"],
        default="text",
        help="Drawings, or with --compare a row for each sentence.",
    )
    places: str | None = option(
        type=InputFile(),
        help="The binarized or split file that was parsed: its trees' places in their corpus are shown.",
    )
    svg: str | None = option(metavar="PATH", help="Also write the drawing as an SVG image.")
    latex: str | None = option(metavar="PATH", help="Also write the trees for LaTeX's package forest.")
    encoding: str = options.encoding()


@command
def show(
    files: tuple[str, ...] = argument(metavar="FILE...", nargs=-1, required=True),
    how: ShowOptions = group(ShowOptions),
) -> None:
    """Draw a tree, or the trees of one sentence from several files, one below the other.

    Constituents that the first file's tree lacks are marked with a star (and coloured, in a terminal
    and in images), with --compare those that the other file's tree lacks. Drawings that are wider than the
    terminal are folded.
    """
    from mbrparse.evaluate import differences
    from mbrparse.treebank.corpora.places import Places

    if how.labels_only and how.spans_only:
        raise click.UsageError("Give --labels-only or --spans-only, not both.")
    if len(files) < 2:
        options.refuse(["differing"], "two files at least")
    if how.compare and len(files) != 2:
        raise click.UsageError(f"--compare takes two files, not {len(files)}.")
    csv = how.format == "csv"
    if not how.compare:
        options.refuse(["labels_only", "spans_only", *["format"] * csv], "--compare")
    if csv:
        options.refuse(["svg", "latex"], "--format text")
    drawing = STANDARD if STANDARD not in (how.svg, how.latex) else None
    options.check_outputs({"the drawing": drawing, "--svg": how.svg, "--latex": how.latex}, {"FILE": files})
    only: Literal["labels", "spans", "all"] = (
        "labels" if how.labels_only else "spans" if how.spans_only else "all"
    )
    by = "--differing" if how.differing else None
    if how.compare:
        by = "--compare" if only == "all" else f"--{only}-only"
    count = how.count if how.compare else how.count or 1
    kind = only if how.compare else None
    found = differences.read_sentences(files, how.line, how.encoding, kind, how.debinarize)
    sentences = list(itertools.islice((one for one in found if one.differs or by is None), count))
    if not sentences:
        alike = {"labels": "labels of equal brackets", "spans": "brackets", "all": "trees"}[only]
        raise CorpusError(
            f"the {alike} of all files are alike from tree {how.line} on",
            remedy=f"leave out {by} to draw them",
        )
    known, names = Places(messages.note), [how.places] if how.places else list(map(source_name, files))
    source = next(filter(known.known, names), None)
    if how.places and source is None:
        raise FileError("no places beside it", source=how.places, remedy="name a file of binarize or split")
    if source is not None:
        # Such a file has one tree a line.
        sentences = [one._replace(place=known.of(source, one.number)) for one in sentences]
    if csv:
        with open_output(STANDARD) as stream:
            differences.write_differences(sentences, names[0], stream)
        return
    numbered, terminal = by is not None or (how.count or 1) > 1, sys.stdout.isatty()
    with ExitStack() as outputs:
        outputs.enter_context(atomic_outputs())
        for path, draw in ((how.svg, differences.svg_of), (how.latex, differences.latex_of)):
            if path is not None:
                outputs.enter_context(open_output(path)).write(f"{draw(sentences, numbered)}\n")
        if drawing is not None:
            text = differences.text_of(
                sentences,
                numbered,
                colours=terminal and "NO_COLOR" not in os.environ,
                unicode_lines=_takes_lines(),
                # What goes elsewhere than to a terminal stays whole.
                width=shutil.get_terminal_size().columns if terminal else None,
            )
            outputs.enter_context(open_output(drawing)).write(text)


def _takes_lines() -> bool:
    """Whether standard output's encoding has the characters that the branches are drawn with."""
    try:
        "─┌┐┬┴┼│".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
