"""Drawn trees as PNG images and PDF pages, by matplotlib: it needs no browser and no system's library."""

from __future__ import annotations

import re
import warnings
from typing import BinaryIO

from mbrparse.errors import MbrparseError
from mbrparse.local_settings import no_local_settings
from mbrparse.treebank.tree_drawing import COLOUR, PIXELS, Picture

#: Pixels of the image for each of the drawing: text stays sharp on a slide.
SCALE = 2
#: What matplotlib can paint, in each direction.
_MOST_PIXELS = 2**16 - 1
_POINTS = 72  # to the inch
_PDF_EM = 10  # points
# Families with many scripts, for what matplotlib's own font lacks.
_MORE_FONTS = ("Noto Sans CJK JP", "Noto Sans", "Noto Sans Arabic", "Noto Sans Hebrew", "Unifont")
_MISSING = re.compile(r"Glyph (\d+) ")


class PictureTooLargeError(MbrparseError):
    """A picture with too many pixels."""


def write_image(picture: Picture, stream: BinaryIO, form: str = "png") -> str:
    """Write a picture on white, as ``png`` or ``pdf``.

    Returns the characters that no font here has, which are drawn as boxes.

    Raises PictureTooLargeError.
    """
    with no_local_settings():
        from matplotlib import font_manager
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import LineCollection
        from matplotlib.figure import Figure

    size = [PIXELS * SCALE * ems for ems in (picture.width, picture.height)]
    if form == "png" and max(size) > _MOST_PIXELS:
        raise PictureTooLargeError(
            f"a drawing of {size[0]:.0f} x {size[1]:.0f} pixels, of {_MOST_PIXELS} at most each way",
            remedy="write it with --svg, which has no such limit",
        )
    known = set(font_manager.get_font_names())
    families = ["DejaVu Sans", *(name for name in _MORE_FONTS if name in known)]
    em = 1.0 if form == "png" else _PDF_EM / _POINTS  # inches
    dots = PIXELS * SCALE / em
    figure = Figure((em * picture.width, em * picture.height), dpi=dots, facecolor="white")
    FigureCanvasAgg(figure)
    panel = figure.add_axes((0, 0, 1, 1), xlim=(0, picture.width), ylim=(picture.height, 0))
    panel.set_axis_off()
    lines = [((x1, y1), (x2, y2)) for x1, y1, x2, y2 in picture.branches]
    panel.add_collection(LineCollection(lines, colors="black", linewidths=em * _POINTS / PIXELS))
    for x, y, text, marked, bold in picture.texts:
        panel.text(
            x,
            y,
            # Matplotlib 3.11 fails at this character in a PDF; it is invisible.
            text.replace("\ufeff", ""),
            ha="center",
            va="center_baseline",
            fontsize=em * _POINTS,
            family=families,
            color=COLOUR if marked else "black",
            weight="bold" if bold else "normal",
            parse_math=False,
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.savefig(stream, format=form, metadata={"CreationDate": None} if form == "pdf" else None)
    missing = (_MISSING.match(str(warning.message)) for warning in caught)
    return "".join(dict.fromkeys(chr(int(found[1])) for found in missing if found))
