"""Drawn trees: the layout of their parts, and SVG images of them.

Terminals are in one row at the bottom, branches have right angles. Units are ems of the text, x to the
right and y downwards from the upper left corner. Widths of text are guessed, since the viewer chooses the
font: wide enough for common ones. ``tree_png`` paints the same layout as PNG.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol
from xml.sax.saxutils import escape

from mbrparse.errors import visible

#: From one level of constituents to the next, and from a tag to its word.
_LEVEL, _WORD = 2.6, 1.5
#: Between neighbours, around a drawing, and from the middle of a text to its branches.
_GAP, _MARGIN, _ABOVE = 0.9, 0.8, 0.85
# What XML cannot hold, of what ``visible`` leaves.
_NO_XML = re.compile("[\ufffe\uffff]")


class Node(Protocol):
    """A node of a tree, as it is drawn."""

    @property
    def label(self) -> str: ...

    @property
    def word(self) -> str | None: ...

    @property
    def children(self) -> Sequence[Node]: ...

    @property
    def is_leaf(self) -> bool: ...

    def preorder(self) -> Iterator[Node]: ...


class Text(NamedTuple):
    """A text around its middle; ``marked`` ones are coloured, ``bold`` ones are headings."""

    x: float
    y: float
    text: str
    marked: bool = False
    bold: bool = False


class Branch(NamedTuple):
    """A line between two points."""

    x1: float
    y1: float
    x2: float
    y2: float


class Picture(NamedTuple):
    """A drawing of this width and height."""

    width: float
    height: float
    texts: list[Text]
    branches: list[Branch]


def lay_out(tree: Node, marks: Collection[int] = (), mark: str = "") -> Picture:
    """Lay out a tree.

    ``mark`` is added to the labels of the constituents with the preorder numbers ``marks`` (from 0, terminals
    not counted).
    """
    nodes = list(tree.preorder())
    number = sum(not node.is_leaf for node in nodes)
    shown = [(printable(node.label), False) for node in nodes]
    children: list[list[int]] = [[] for _ in nodes]
    heights, widths = [0] * len(nodes), [0.0] * len(nodes)
    waiting: list[int] = []  # places of nodes without their parents, the leftmost last
    for place, node in reversed(list(enumerate(nodes))):
        children[place] = [waiting.pop() for _ in node.children]
        waiting.append(place)
        number -= not node.is_leaf
        if not node.is_leaf and number in marks:
            shown[place] = (printable(node.label) + mark, True)
        own = (shown[place][0], printable(node.word or "") if node.is_leaf else "")
        below = sum(widths[child] for child in children[place])
        widths[place] = max(below, _GAP + max(map(width_of, own)))
        heights[place] = max((heights[child] + 1 for child in children[place]), default=0)
    words = any(node.is_leaf and node.word is not None for node in nodes)
    bottom = _MARGIN + 0.5 + _LEVEL * heights[0] + (_WORD if words else 0.0)
    tops = [
        # A bare terminal is drawn among the words.
        bottom if node.is_leaf and node.word is None else _MARGIN + 0.5 + _LEVEL * (heights[0] - height)
        for node, height in zip(nodes, heights, strict=True)
    ]
    picture = Picture(widths[0] + 2 * _MARGIN, bottom + 0.5 + _MARGIN, [], [])
    left = [_MARGIN] * len(nodes)
    for place, node in enumerate(nodes):
        x, y = left[place] + widths[place] / 2, tops[place]
        picture.texts.append(Text(x, y, *shown[place]))
        if node.is_leaf and node.word is not None:
            picture.texts.append(Text(x, bottom, printable(node.word)))
        if not children[place]:
            continue
        begin = x - sum(widths[child] for child in children[place]) / 2
        bar, feet = y + _LEVEL / 2, []
        for child in children[place]:
            left[child] = begin
            feet.append(begin + widths[child] / 2)
            begin += widths[child]
            picture.branches.append(Branch(feet[-1], bar, feet[-1], tops[child] - _ABOVE))
        picture.branches.append(Branch(x, y + _ABOVE, x, bar))
        picture.branches.append(Branch(feet[0], bar, feet[-1], bar))
    return picture


def line_of_text(text: str, bold: bool = False) -> Picture:
    """A line of text as a picture of its own."""
    text = printable(text)
    width = width_of(text) * (1.1 if bold else 1.0) + 2 * _MARGIN
    return Picture(width, 2.0, [Text(width / 2, 1.2, text, bold=bold)], [])


def stacked(pictures: Iterable[Picture]) -> Picture:
    """Pictures one below the other, each in the middle."""
    parts = list(pictures)
    width, height = max(part.width for part in parts), 0.0
    whole = Picture(width, sum(part.height for part in parts), [], [])
    for part in parts:
        right = (width - part.width) / 2
        whole.texts.extend(text._replace(x=text.x + right, y=text.y + height) for text in part.texts)
        whole.branches.extend(
            Branch(x1 + right, y1 + height, x2 + right, y2 + height) for x1, y1, x2, y2 in part.branches
        )
        height += part.height
    return whole


def levels(tree: Node) -> int:
    """The depth of a tree in constituents."""
    most, waiting = 0, [(tree, 0)]
    while waiting:
        node, above = waiting.pop()
        most = max(most, above)
        waiting.extend((child, above + 1) for child in node.children)
    return most


def width_of(text: str) -> float:
    """About how wide a text is.

    >>> width_of("NP") > width_of("np") > 1
    True
    """
    return sum(map(_width, text))


def printable(text: str) -> str:
    """Text for an image: control characters escaped (``visible``), what XML cannot hold U+FFFD."""
    return _NO_XML.sub("\ufffd", visible(text))


def _width(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    return 0.78 if character.isupper() or character in "mw@%&_" else 0.6


#: The most levels of constituents that are drawn: nltk runs out of stack in deeper trees.
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
