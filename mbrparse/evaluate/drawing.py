"""Drawings of one sentence's trees, in the terminal or as SVG, with what differs from the first marked.

A constituent is marked if the first tree lacks it, span and projected label; of equal constituents (a
unary chain may hold some) as many stay unmarked as the first tree has. The mark is ``MARK`` after the
label, and a colour beside it where there are colours.

``treebank.tree_drawing`` draws a tree without marks. nltk and svgling draw by recursion: a tree deeper
than ``MAX_DEPTH`` raises DrawingError.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mbrparse.errors import CorpusError, InputMismatchError, LabelError, MbrparseError, visible
from mbrparse.evaluate.agreement import no_trees, yields_agree
from mbrparse.files import source_name
from mbrparse.treebank.brackets import read_parse_file
from mbrparse.treebank.constituents import constituents
from mbrparse.treebank.labels import project
from mbrparse.treebank.tree import Tree
from mbrparse.treebank.tree_drawing import (
    GLYPH_WIDTH,
    MAX_DEPTH,
    Node,
    convert,
    lay_out,
    levels,
    printable,
    stack,
)

MARK = " *"
NO_PARSE = "(no parse)"

# In nltk's drawing the mark is one word with its label, told from a word "*" beside it.
_TEXT_MARK = MARK.replace(" ", "\u00a0")
_MARKED_LABEL = re.compile(rf"([^ \n]*){re.escape(_TEXT_MARK)}")
_IN_RED = "\x1b[31;1m{}\x1b[0m"
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


def read_sentence(path: str | Path, number: int, encoding: str = "utf-8") -> NamedTree:
    """The tree of a file's sentence (1-based) under the file's name; an empty line is an empty parse."""
    source = source_name(path)
    count = 0
    for count, (_, tree) in enumerate(read_parse_file(path, encoding), start=1):
        if count == number:
            return NamedTree(source, tree)
    if not count:
        raise no_trees(source)
    raise CorpusError(
        f"no tree {number}: the file holds {count}",
        source=source,
        remedy=f"give --line a number from 1 to {count}",
    )


def mark(trees: Sequence[NamedTree]) -> list[Marked]:
    """Mark each tree against the first.

    Raises InputMismatchError if they are not trees of one sentence.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> one, other = read_tree("(S (A x y) z)"), read_tree("(S x (A y z))")
    >>> [marked.marks for marked in mark([NamedTree("one", one), NamedTree("other", other)])]
    [frozenset(), frozenset({1})]
    """
    trees = [NamedTree(name, None if tree is None else _without_nameless_root(tree)) for name, tree in trees]
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
                remedy="show one file at a time, or files that hold the same sentences",
            )
        marked.append(Marked(*named, frozenset(_lacking(first.tree, named.tree))))
    return marked


def _without_nameless_root(tree: Tree) -> Tree:
    while tree.label == "" and len(tree.children) == 1:
        tree = tree.children[0]
    return tree


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
    blocks = []
    for name, tree, marks in trees:
        lines = [visible(name)] if len(trees) > 1 else []
        if tree is None:
            lines.append(NO_PARSE)
        else:
            with _drawable(name, tree):
                text = _text_of(tree, marks, colours, unicode_lines)
            lines += [line.rstrip(" ") for line in text.rstrip("\n").split("\n")]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _text_of(tree: Tree, marks: frozenset[int], colours: bool, unicode_lines: bool) -> str:
    import nltk
    from nltk.tree.prettyprinter import TreePrettyPrinter

    def leaf(node: Node) -> Any:
        if node.word is None:
            return _widened(node.label)
        return nltk.Tree(_widened(node.label), [_widened(node.word)])

    def inner(number: int, label: str, children: list[Any]) -> Any:
        return nltk.Tree(_widened(label) + (_TEXT_MARK if number in marks else ""), children)

    printer = TreePrettyPrinter(convert(tree, leaf, inner))
    text: str = printer.text(unicodelines=unicode_lines, maxwidth=None).replace(_FILLER, "")
    # nltk's own highlighting compares whole subtrees, for each node with each.
    shown = _IN_RED if colours else "{}"
    return _MARKED_LABEL.sub(lambda match: shown.format(match.group(1) + MARK), text)


def draw_svg(trees: Sequence[Marked]) -> str:
    """The trees one below the other as an SVG image; with several, each file's name above its tree."""
    import svgling
    from svgling.core import TreeOptions, cssfont, multiline_node

    plain = TreeOptions(average_glyph_width=GLYPH_WIDTH)
    title = TreeOptions(font_style=cssfont("sans-serif", "bold"), average_glyph_width=1.5)
    coloured = TreeOptions(text_color=_SVG_COLOUR)
    rows: list[Any] = []
    for name, tree, marks in trees:
        if len(trees) > 1:
            rows.append(svgling.draw_tree((printable(name),), options=title))
        if tree is None:
            rows.append(svgling.draw_tree((NO_PARSE,), options=plain))
            continue

        def label(number: int, text: str, marks: frozenset[int] = marks) -> Any:
            return multiline_node(text + MARK, options=coloured) if number in marks else text

        with _drawable(name, tree):
            rows.append(lay_out(tree, label))
    return stack(rows) + "\n"


def _widened(text: str) -> str:
    text = visible(text)
    return text + _FILLER * sum(unicodedata.east_asian_width(character) in "WF" for character in text)


@contextmanager
def _drawable(name: str, tree: Tree) -> Iterator[None]:
    depth = levels(tree)
    error = DrawingError(f"too deep to be drawn: {depth} levels, of {MAX_DEPTH} at most", source=name)
    if depth > MAX_DEPTH:
        raise error
    try:
        yield
    except RecursionError:  # called from deep within another program
        raise error from None
