"""``mbrparse show``: one sentence's trees, drawn one below the other."""

from __future__ import annotations

import os
import sys

import click

from mbrparse.cli.options import encoding_option
from mbrparse.cli.outputs import check_outputs
from mbrparse.files import STANDARD, open_output


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--line", type=click.IntRange(min=1), default=1, show_default=True, help="Which tree of each file."
)
@click.option("--svg", metavar="PATH", help="Write the drawing here too, as an SVG image.")
@encoding_option()
def show(files: tuple[str, ...], line: int, svg: str | None, encoding: str) -> None:
    """Draw a tree, or the same sentence's trees from several files one below the other.

    Constituents that the first file's tree lacks are marked with a star (and coloured, in a terminal
    and in SVG).
    """
    from mbrparse.evaluate.drawing import draw_svg, draw_text, mark, read_sentence

    if files.count(STANDARD) > 1:
        raise click.UsageError("standard input (-) can be read only once.")
    drawing = STANDARD if svg != STANDARD else None
    check_outputs([("the drawing", drawing), ("--svg", svg)], [("FILE", path) for path in files])
    trees = mark([read_sentence(path, line, encoding) for path in files])
    text = draw_text(trees, colours=_coloured(), unicode_lines=_takes_lines())
    image = draw_svg(trees) if svg is not None else ""
    if drawing is not None:
        with open_output(drawing) as stream:
            stream.write(text)
    if svg is not None:
        with open_output(svg) as stream:
            stream.write(image)


def _coloured() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _takes_lines() -> bool:
    """Whether standard output's encoding has the characters that the branches are drawn with."""
    try:
        "─┌┐┬┴┼│".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
