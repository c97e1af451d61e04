"""Drawings of one sentence's trees, in the terminal or as SVG, with what differs from the first marked.

A constituent is marked if the first tree lacks it, span and projected label; of equal constituents (a
unary chain may hold some) as many stay unmarked as the first tree has. The mark is ``MARK`` after the
label, and a colour beside it where there are colours.

nltk and svgling draw by recursion: trees deeper than they can follow raise DrawingError.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from mbrparse.errors import InputMismatchError, LabelError, MbrparseError
from mbrparse.evaluate.agreement import yields_agree
from mbrparse.treebank.constituents import constituents
from mbrparse.treebank.labels import project
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    import nltk

MARK = " *"
NO_PARSE = "(no parse)"

#: nltk's and svgling's drawings stay legible, and quick, far below this.
MAX_DEPTH = 150

_COLOUR = "red"
_SVG_COLOUR = "crimson"
# Stands beside a character two columns wide while nltk counts characters; no label contains it.
_FILLER = "\u200b"


class DrawingError(MbrparseError):
    """A tree that the drawing libraries cannot draw."""


class NamedTree(NamedTuple):
    """A tree to be drawn (None: no parse), under the name of its file."""

    name: str
    tree: Tree | None


class Marked(NamedTuple):
    """A tree with its marks: the preorder numbers of the constituents that the first tree lacks."""

    name: str
    tree: Tree | None
    marks: frozenset[int]


def mark(trees: Sequence[NamedTree]) -> list[Marked]:
    """Mark each tree against the first.

    Raises InputMismatchError if they are not trees of one sentence.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> one, other = read_tree("(S (A x y) z)"), read_tree("(S x (A y z))")
    >>> [marked.marks for marked in mark([NamedTree("one", one), NamedTree("other", other)])]
    [frozenset(), frozenset({1})]
    """
    first = trees[0]
    if first.tree is None:
        return [Marked(*named, frozenset()) for named in trees]
    marked = []
    for named in trees:
        if named.tree is None:
            marked.append(Marked(*named, frozenset()))
            continue
        if not yields_agree(first.tree.leaves(), named.tree.leaves()):
            raise InputMismatchError(
                f"not the sentence of {first.name}: their terminals differ",
                source=named.name,
                remedy="show the files one at a time, or give the files of one run",
            )
        marked.append(Marked(*named, frozenset(_lacking(first.tree, named.tree))))
    return marked


def _lacking(first: Tree, tree: Tree) -> Iterator[int]:
    left = Counter(_spans(first))
    for number, span in enumerate(_spans(tree)):
        left[span] -= 1
        if left[span] < 0:
            yield number


def _spans(tree: Tree) -> list[tuple[int, int, str]]:
    return [(start, end, _projected(label)) for start, end, label in constituents(tree)]


def _projected(label: str) -> str:
    try:
        return project(label)
    except LabelError:  # an original label may be anything
        return label


def draw_text(trees: Sequence[Marked], colours: bool = False, unicode_lines: bool = True) -> str:
    """The trees one below the other for a terminal; with several, each file's name above its tree."""
    from nltk.tree.prettyprinter import TreePrettyPrinter

    blocks = []
    for name, tree, marks in trees:
        lines = [name] if len(trees) > 1 else []
        if tree is None:
            lines.append(NO_PARSE)
        else:
            with _depth_checked(name, tree):
                marked: list[nltk.Tree] = []
                drawn = _to_nltk(tree, marks, marked)
                # Without anything to highlight, nltk would colour everything.
                printer = TreePrettyPrinter(drawn, highlight=marked)
                text = printer.text(
                    unicodelines=unicode_lines, ansi=colours and bool(marked), nodecolor=_COLOUR, maxwidth=None
                )
            lines += [line.rstrip() for line in text.replace(_FILLER, "").rstrip("\n").split("\n")]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def draw_svg(trees: Sequence[Marked]) -> str:
    """The trees one below the other as an SVG image; with several, each file's name above its tree."""
    import svgling
    from svgling.figure import RowByRow

    rows: list[Any] = []
    for name, tree, marks in trees:
        if len(trees) > 1:
            rows.append(svgling.draw_tree(name, font_style=svgling.core.cssfont("sans-serif", "bold")))
        if tree is None:
            rows.append(svgling.draw_tree(NO_PARSE))
            continue
        with _depth_checked(name, tree):
            layout = svgling.draw_tree(tree.fold(_svg_leaf, _svg_inner))
            for path in paths_of(tree, marks):
                layout.set_node_style(path, text_color=_SVG_COLOUR)
            rows.append(layout)
    with _depth_checked(trees[0].name, trees[0].tree):
        svg: str = RowByRow(*rows).get_svg().tostring()
    return svg + "\n"
