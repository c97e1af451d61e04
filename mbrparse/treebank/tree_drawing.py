"""Drawn trees as SVG images."""

from __future__ import annotations

from xml.sax.saxutils import escape

from mbrparse.treebank.tree_layout import Node, Picture, Text, lay_out, levels

#: Levels of constituents; what is deeper is no picture for people, and nltk runs out of stack.
MAX_DEPTH = 200

#: Of marked texts.
COLOUR = "crimson"
#: Pixels to the em.
PIXELS = 16
FONTS = "DejaVu Sans, Helvetica, Arial, sans-serif"


def draw_tree(tree: Node) -> str | None:
    """A tree as an SVG image, or None where it is too deep to be drawn.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> image = draw_tree(read_tree("(S (NP (DT the) (NN dog)) (VP (VB eats)))"))
    >>> image[:4], image.count("<text")
    ('<svg', 9)
    """
    return None if levels(tree) > MAX_DEPTH else svg(lay_out(tree))


def svg(picture: Picture) -> str:
    """A picture as an SVG image on white, whatever the page behind it."""
    width, height = _number(picture.width), _number(picture.height)
    lines = "".join(
        f"M{_number(x1)} {_number(y1)}L{_number(x2)} {_number(y2)}" for x1, y1, x2, y2 in picture.branches
    )
    return "".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"',
            f' viewBox="0 0 {width} {height}"',
            f' font-family="{FONTS}" font-size="{PIXELS}" text-anchor="middle">',
            '<rect width="100%" height="100%" fill="white"/>',
            f'<path d="{lines}" fill="none" stroke="black"/>' if lines else "",
            *map(_text, picture.texts),
            "</svg>",
        )
    )


def _text(text: Text) -> str:
    weight = ' font-weight="bold"' if text.bold else ""
    colour = COLOUR if text.marked else "black"
    # Letters reach from their baseline up: half their height brings the middle to the point.
    place = f'x="{_number(text.x)}" y="{_number(text.y + 0.35)}"'
    return f'<text {place} fill="{colour}"{weight} xml:space="preserve">{escape(text.text)}</text>'


def _number(ems: float) -> str:
    return f"{PIXELS * ems:.1f}".removesuffix(".0")
