"""The drawing of one tree as an SVG image, by svgling.

svgling draws by recursion: a tree deeper than ``MAX_DEPTH`` cannot be drawn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from mbrparse.errors import visible

Drawn = TypeVar("Drawn")

#: Levels of constituents; nltk and svgling run out of stack at about twice as many.
MAX_DEPTH = 200

#: Characters to the em: svgling guesses widths, and text that is wider than its guess is cut.
GLYPH_WIDTH = 1.6

# What XML cannot hold, of what ``visible`` leaves.
_NO_XML = re.compile("[\ufffe\uffff]")


class Node(Protocol):
    """What is drawn of a node of a tree."""

    @property
    def label(self) -> str: ...

    @property
    def word(self) -> str | None: ...

    @property
    def children(self) -> Sequence[Node]: ...

    @property
    def is_leaf(self) -> bool: ...

    def preorder(self) -> Iterator[Node]: ...


def draw_tree(tree: Node) -> str | None:
    """A tree as an SVG image, or None where it is too deep to be drawn.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> image = draw_tree(read_tree("(S (NP (DT the) (NN dog)) (VP (VB eats)))"))
    >>> image[:4], image.count("<text")
    ('<svg', 9)
    """
    if levels(tree) > MAX_DEPTH:
        return None
    try:
        return stack([lay_out(tree)])
    except RecursionError:  # called from deep within another program
        return None


def levels(tree: Node) -> int:
    """How many constituents stand above each other."""
    most, waiting = 0, [(tree, 0)]
    while waiting:
        node, above = waiting.pop()
        most = max(most, above)
        waiting.extend((child, above + 1) for child in node.children)
    return most


def convert(
    tree: Node, leaf: Callable[[Node], Drawn], inner: Callable[[int, str, list[Drawn]], Drawn]
) -> Drawn:
    """Build a library's tree: ``leaf`` of terminals, ``inner`` of a constituent's preorder number (from
    0, terminals not counted), its label, and what its children became.
    """
    nodes = list(tree.preorder())
    number = sum(not node.is_leaf for node in nodes)
    built: list[Drawn] = []
    for node in reversed(nodes):
        if node.is_leaf:
            built.append(leaf(node))
            continue
        number -= 1
        children = [built.pop() for _ in node.children]
        built.append(inner(number, node.label, children))
    return built[0]


def lay_out(tree: Node, label: Callable[[int, str], Any] = lambda _, text: text) -> Any:
    """svgling's layout of a tree, for ``stack``.

    ``label`` makes what is shown of a constituent's preorder number and label: a string or a svgling node.
    """
    import svgling
    from svgling.core import TreeOptions

    def leaf(node: Node) -> Any:
        return printable(node.label) if node.word is None else (printable(node.label), printable(node.word))

    def inner(number: int, text: str, children: list[Any]) -> Any:
        return (label(number, printable(text)), *children)

    return svgling.draw_tree(convert(tree, leaf, inner), options=TreeOptions(average_glyph_width=GLYPH_WIDTH))


def stack(layouts: Sequence[Any]) -> str:
    """svgling's layouts one below the other as an SVG image."""
    from svgling.figure import RowByRow

    svg: str = RowByRow(*layouts).get_svg().tostring()
    return svg


def printable(text: str) -> str:
    """Text for an image: control characters escaped (``visible``), what XML cannot hold U+FFFD."""
    return _NO_XML.sub("\ufffd", visible(text))
