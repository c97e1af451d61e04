"""``mbrparse show``: one sentence's trees, drawn one below the other."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from mbrparse.cli.commands import option_group
from mbrparse.cli.messages import note
from mbrparse.cli.options import InputFile, check_outputs, count_option, encoding_option, option
from mbrparse.files import STANDARD, atomic_outputs, open_output, source_name

if TYPE_CHECKING:
    from mbrparse.evaluate.differences import Kind, Sentence


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
    labels_only: bool = option(is_flag=True, help="Of these differences, equal brackets with other labels.")
    spans_only: bool = option(is_flag=True, help="Of these differences, other brackets with any labels.")
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
    encoding: str = encoding_option()

    @property
    def kind(self) -> Kind | None:
        """The kind of differences, if not all; UsageError for two."""
        if self.labels_only and self.spans_only:
            raise click.UsageError("Give --labels-only or --spans-only, not both.")
        return "labels" if self.labels_only else "spans" if self.spans_only else None


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@option_group("how", ShowOptions)
def show(files: tuple[str, ...], how: ShowOptions) -> None:
    """Draw a tree, or the trees of one sentence from several files, one below the other.

    Constituents that the first file's tree lacks are marked with a star (and coloured, in a terminal
    and in images), with --compare those that the other file's tree lacks. Drawings that are wider than the
    terminal are folded.
    """
    from mbrparse.errors import FileError
    from mbrparse.evaluate.differences import read_sentences, write_differences
    from mbrparse.treebank.corpora.places import Places

    compare, only = how.compare, how.kind
    if files.count(STANDARD) > 1:
        raise click.UsageError("standard input (-) can be read only once.")
    if how.differing and len(files) < 2:
        raise click.UsageError("--differing compares files: give two of them at least.")
    if compare and len(files) != 2:
        raise click.UsageError(f"--compare takes two files, not {len(files)}.")
    if not compare and (only or how.format == "csv"):
        raise click.UsageError(f"--{f'{only}-only' if only else 'format csv'} needs --compare.")
    images = {"svg": how.svg, "latex": how.latex}
    given = {form: path for form, path in images.items() if path is not None}
    if given and how.format == "csv":
        raise click.UsageError("--format csv draws no images.")
    drawing = STANDARD if STANDARD not in given.values() else None
    outputs = [("the drawing", drawing), *((f"--{form}", path) for form, path in given.items())]
    check_outputs(outputs, [("FILE", path) for path in files])
    found = read_sentences(
        files, how.line, how.encoding, (only or "all") if compare else None, how.debinarize
    )
    by = f"--{only}-only" if only else "--compare" if compare else "--differing" if how.differing else None
    sentences = _chosen(found, how.line, by, how.count if compare else how.count or 1)
    known, names = Places(note), [how.places] if how.places else list(map(source_name, files))
    source = next(filter(known.known, names), None)
    if how.places and source is None:
        raise FileError("no places beside it", source=how.places, remedy="name a file of binarize or split")
    if source is not None:
        # Such a file has one tree a line.
        sentences = (one._replace(place=known.of(source, one.number)) for one in sentences)
    if how.format == "csv":
        with open_output(STANDARD) as stream:
            write_differences(sentences, names[0], stream)
    else:
        _write(list(sentences), by is not None or (how.count or 1) > 1, drawing, given)


def _chosen(
    found: Iterator[Sentence], line: int, differing: str | None, count: int | None
) -> Iterator[Sentence]:
    """The first ``count`` sentences (None: all), with ``differing`` of those that differ."""
    from mbrparse.errors import CorpusError

    chosen = itertools.islice((one for one in found if one.differs or not differing), count)
    first = next(chosen, None)
    if first is None:
        alike = {"--labels-only": "labels of equal brackets", "--spans-only": "brackets"}
        raise CorpusError(
            f"the {alike.get(differing or '', 'trees')} of all files are alike from tree {line} on",
            remedy=f"leave out {differing} to draw them",
        )
    return itertools.chain([first], chosen)


def _write(sentences: list[Sentence], numbered: bool, drawing: str | None, images: dict[str, str]) -> None:
    from mbrparse.evaluate.differences import latex_of, svg_of, text_of

    terminal = sys.stdout.isatty()
    text = text_of(
        sentences,
        numbered,
        colours=terminal and "NO_COLOR" not in os.environ,
        unicode_lines=_takes_lines(),
        # What goes elsewhere than to a terminal stays whole.
        width=shutil.get_terminal_size().columns if terminal else None,
    )
    with ExitStack() as outputs:
        outputs.enter_context(atomic_outputs())
        for form, path in images.items():
            image = latex_of(sentences, numbered) if form == "latex" else svg_of(sentences, numbered)
            outputs.enter_context(open_output(path)).write(f"{image}\n")
        if drawing is not None:
            outputs.enter_context(open_output(drawing)).write(text)


def _takes_lines() -> bool:
    """Whether standard output's encoding has the characters that the branches are drawn with."""
    try:
        "─┌┐┬┴┼│".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
