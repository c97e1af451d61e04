"""``mbrparse show``: one sentence's trees, drawn one below the other."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mbrparse.cli.commands import options
from mbrparse.cli.options import check_outputs, count_option, encoding_option, note, option
from mbrparse.io.errors import visible
from mbrparse.io.files import STANDARD, atomic_outputs, open_output, open_output_bytes
from mbrparse.io.path_kinds import is_file

if TYPE_CHECKING:
    from mbrparse.evaluate.drawing import Sentence


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@options(
    count_option("--line", help="The number of the tree in each file.", default=1),
    option(
        "--differing",
        is_flag=True,
        help="Draw the next tree, from --line on, that differs between the files.",
    ),
    count_option("--count", help="Draw so many sentences.", default=1),
    option("--svg", metavar="PATH", help="Also write the drawing as an SVG image."),
    option("--png", metavar="PATH", help="Also write the drawing as a PNG image."),
    encoding_option(),
)
def show(
    files: tuple[str, ...],
    line: int,
    differing: bool,
    count: int,
    svg: str | None,
    png: str | None,
    encoding: str,
) -> None:
    """Draw a tree, or the trees of one sentence from several files, one below the other.

    Constituents that the first file's tree lacks are marked with a star (and coloured, in a terminal
    and in images). Drawings that are wider than the terminal are folded.
    """
    if files.count(STANDARD) > 1:
        raise click.UsageError("standard input (-) can be read only once.")
    if differing and len(files) < 2:
        raise click.UsageError("--differing compares files: give two of them at least.")
    drawing = STANDARD if svg != STANDARD else None
    _check_endings(svg, png)
    check_outputs(
        [("the drawing", drawing), ("--svg", svg), ("--png", png)], [("FILE", path) for path in files]
    )
    sentences = _sentences(files, line, differing, count, encoding)
    _write(sentences, differing or count > 1, drawing, svg, png)


def _check_endings(svg: str | None, png: str | None) -> None:
    if png == STANDARD:
        raise click.UsageError("--png needs a file: standard output is for the drawing.")
    for name, path in (("--svg", svg), ("--png", png)):
        ending = name.replace("--", ".")
        if path is not None and is_file(path) and Path(path).suffix.lower() != ending:
            raise click.UsageError(
                f"{name} writes an image of that kind, and {visible(path)} does not end in {ending}: "
                "name it so, or give the other of --svg and --png."
            )


def _sentences(
    files: tuple[str, ...], line: int, differing: bool, count: int, encoding: str
) -> list[Sentence]:
    from mbrparse.evaluate.drawing import read_sentences
    from mbrparse.io.errors import CorpusError

    found = read_sentences(files, line, encoding)
    if not differing:
        return list(itertools.islice(found, count))
    sentences = list(itertools.islice((sentence for sentence in found if sentence.differs), count))
    if not sentences:
        raise CorpusError(
            f"the trees of all files are alike from tree {line} on",
            remedy="leave out --differing to draw them",
        )
    return sentences


def _write(
    sentences: list[Sentence], numbered: bool, drawing: str | None, svg: str | None, png: str | None
) -> None:
    from mbrparse.evaluate.drawing import draw_picture
    from mbrparse.evaluate.text_drawing import draw_text
    from mbrparse.treebank.tree_drawing import svg as as_svg

    text = draw_text(sentences, _coloured(), _takes_lines(), _width(), numbered)
    picture = draw_picture(sentences, numbered) if svg is not None or png is not None else None
    missing = ""
    with ExitStack() as outputs:
        outputs.enter_context(atomic_outputs())
        if png is not None and picture is not None:
            from mbrparse.treebank.tree_png import write_png

            missing = write_png(picture, outputs.enter_context(open_output_bytes(png)))
        if svg is not None and picture is not None:
            outputs.enter_context(open_output(svg)).write(f"{as_svg(picture)}\n")
        if drawing is not None:
            outputs.enter_context(open_output(drawing)).write(text)
    if missing:
        note(f"{png}: no font here has {missing}, drawn as boxes; an SVG image leaves fonts to its viewer")


def _coloured() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _width() -> int | None:
    """The terminal's; what goes elsewhere stays whole."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _takes_lines() -> bool:
    """Whether standard output's encoding has the characters that the branches are drawn with."""
    try:
        "─┌┐┬┴┼│".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
