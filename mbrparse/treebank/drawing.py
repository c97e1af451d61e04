"""Drawn trees: text and SVG images, both laid out by NLTK's printer, and LaTeX's package ``forest``.

Words stand in one row at the bottom, in the order of the sentence. Some constituents may be marked: with
``MARK`` behind their label, and a colour where there are colours.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import accumulate, count
from typing import Any, NamedTuple, Protocol
from xml.sax.saxutils import escape

from mbrparse.errors import visible
from mbrparse.latex import latex

#: The most levels of constituents that are drawn: NLTK runs out of stack in deeper trees.
MAX_DEPTH = 200
MARK = " *"
FONTS = "DejaVu Sans, Helvetica, Arial, sans-serif"

# In NLTK's drawing the mark is one word with its label, distinct from a word "*" beside it.
_ONE_WORD = MARK.replace(" ", "\u00a0")
_MARKED_LABEL = re.compile(rf"([^ \n]*){re.escape(_ONE_WORD)}")
_IN_RED = "\x1b[31;1m{}\x1b[0m"
# Beside a character two columns wide, while NLTK counts characters; no label contains it.
_FILLER = "\u200b"
# Where a drawing may be cut: at blanks and branches, which without these characters are "_" and "|".
_BETWEEN = frozenset(" ─│┌┐┬┴┼")
_PLAIN_BRANCH = frozenset("_|")
# What XML cannot hold, of what ``visible`` leaves.
_NO_XML = re.compile("[\ufffe\uffff]")


class Drawable(Protocol):
    """A tree or a node of one, as it is drawn."""

    @property
    def label(self) -> str: ...
    @property
    def word(self) -> str | None: ...
    @property
    def children(self) -> Sequence[Drawable]: ...
    def preorder(self) -> Iterator[Drawable]: ...
    def leaves(self) -> Sequence[Drawable]: ...


def levels(tree: Drawable) -> int:
    """The depth of a tree in constituents."""
    depth, level = 0, [tree]
    while level := [child for node in level for child in node.children]:
        depth += 1
    return depth


def _printer(tree: Drawable, marks: Collection[int], widened: Callable[[str], str] = visible) -> Any:
    """NLTK's printer of a tree, in which words are known by their places, and so stay in order."""
    import nltk
    from nltk.tree.prettyprinter import TreePrettyPrinter

    sentence = [widened(leaf.label if leaf.word is None else leaf.word) for leaf in tree.leaves()]
    nodes = list(tree.preorder())
    word, phrase = len(sentence), len(nodes) - len(sentence)
    built: list[Any] = []
    for node in reversed(nodes):
        label = widened(node.label)
        if node.children:
            phrase -= 1
            label += _ONE_WORD * (phrase in marks)
            built.append(nltk.Tree(label, [built.pop() for _ in node.children]))
        else:
            word -= 1
            built.append(word if node.word is None else nltk.Tree(label, [word]))
    return TreePrettyPrinter(built[0] if isinstance(built[0], nltk.Tree) else nltk.Tree("", built), sentence)


def draw_text(
    tree: Drawable,
    marks: Collection[int] = (),
    *,
    colours: bool = False,
    unicode_lines: bool = True,
    width: int | None = None,
) -> list[str]:
    """The lines of a drawing in a terminal.

    ``marks`` are the preorder numbers of constituents (from 0, terminals not counted). What is wider than
    ``width`` columns is cut into strips, one below the other. Raises RecursionError where it is called from
    deep within another program.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> print("\\n".join(draw_text(read_tree("(S (NP the dog) barks .)"), [1])))
              S
         ┌────┴────┬────┐
        NP *       │    │
     ┌───┴────┐    │    │
    the      dog barks  .
    """
    text: str = _printer(tree, marks, _widened).text(unicodelines=unicode_lines, maxwidth=None)
    form = _IN_RED if colours else "{}"
    return [
        # NLTK's own colours would be cut in two.
        _MARKED_LABEL.sub(lambda match: form.format(match[1] + MARK), line.replace(_FILLER, "").rstrip(" "))
        for line in _folded(text.rstrip("\n").split("\n"), width)
    ]


def _widened(text: str) -> str:
    text = visible(text)
    return text + _FILLER * sum(unicodedata.east_asian_width(character) in "WF" for character in text)


def _folded(lines: list[str], width: int | None) -> list[str]:
    """The lines cut into strips of ``width`` columns at most, between words; a row of dots parts them."""
    wide = max(map(len, lines))
    if width is None or wide <= width:
        return lines
    lines = [line.ljust(wide) for line in lines]
    folded: list[str] = []
    begin = 0
    while begin < wide:
        end = _cut(lines, begin, width) if wide - begin > width else wide
        strip = [line[begin:end].rstrip(" ") for line in lines]
        while not strip[0]:  # of a lower part of the tree
            del strip[0]
        folded += [*(["." * width] if folded else []), *strip]
        begin = end
    return folded


def _cut(lines: list[str], begin: int, width: int) -> int:
    """The last column that no word goes across; where there is none, the last that fits."""
    for end in range(begin + width, begin, -1):
        pairs = [line[end - 1 : end + 1] for line in lines]
        if all(not _BETWEEN.isdisjoint(pair) or _PLAIN_BRANCH.issuperset(pair) for pair in pairs):
            return end
    return begin + width


#: Pixels of an image: its text, from one row of nodes to the next, between neighbours, and around.
_EM, _LEVEL, _GAP, _MARGIN = 16, 40, 14, 13


class Drawing(NamedTuple):
    """A part of an image: its size, the texts and branches in it as SVG."""

    width: float
    height: float
    content: str


def heading(text: str, bold: bool = True) -> Drawing:
    """A line of text."""
    width = _width(text) * 1.1 + 2 * _MARGIN
    return Drawing(width, 2 * _EM, _text(width / 2, 1.5 * _EM, text, weight="bold" if bold else ""))


def drawing(tree: Drawable, marks: Collection[int] = ()) -> Drawing:
    """A tree, in NLTK's layout: each column of its grid is as wide as its widest text.

    A line stands for a tree that is too deep.
    """
    if levels(tree) > MAX_DEPTH:
        return heading(f"too deep to be drawn: more than {MAX_DEPTH} levels")
    printer = _printer(tree, marks)
    names = {n: node if isinstance(node, str) else str(node.label()) for n, node in printer.nodes.items()}
    columns: defaultdict[int, float] = defaultdict(float)
    for n, (_, column) in printer.coords.items():
        columns[column] = max(columns[column], _width(names[n]) + _GAP)
    ends = dict(zip(sorted(columns), accumulate(columns[column] for column in sorted(columns)), strict=True))
    place = {
        n: (_MARGIN + ends[column] - columns[column] / 2, _MARGIN + _EM / 2 + row * _LEVEL)
        for n, (row, column) in printer.coords.items()
    }
    branches = []
    for child, parent in printer.edges.items():
        (x, y), (above, top) = place[child], place[parent]
        bar = top + _LEVEL / 2
        branches.append(f"M{x:.1f} {y - _EM:.1f}V{bar:.1f}H{above:.1f}V{top + 0.75 * _EM:.1f}")
    texts = [
        _text(x, y + 0.35 * _EM, names[n].replace(_ONE_WORD, MARK), "crimson" * (_ONE_WORD in names[n]))
        for n, (x, y) in place.items()
    ]
    height = max(y for _, y in place.values()) + _EM / 2 + _MARGIN
    path = f'<path d="{"".join(branches)}" fill="none" stroke="black"/>' if branches else ""
    return Drawing(sum(columns.values()) + 2 * _MARGIN, height, path + "".join(texts))


def svg(parts: Iterable[Drawing]) -> str:
    """Drawings one below the other, each in the middle, as an SVG image on white."""
    parts = list(parts)
    width, top = max(part.width for part in parts), 0.0
    shown = []
    for part in parts:
        move = f"translate({(width - part.width) / 2:.1f} {top:.1f})"
        shown.append(f'<g transform="{move}">{part.content}</g>')
        top += part.height
    size = f'width="{width:.1f}" height="{top:.1f}" viewBox="0 0 {width:.1f} {top:.1f}"'
    font = f'font-family="{FONTS}" font-size="{_EM}" text-anchor="middle"'
    white = '<rect width="100%" height="100%" fill="white"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>{white}{"".join(shown)}</svg>'


def draw_tree(tree: Drawable) -> str | None:
    """A tree as an SVG image, or None where it is too deep to be drawn.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> image = draw_tree(read_tree("(S (NP (DT the) (NN dog)) (VP (VB eats)))"))
    >>> image[:4], image.count("<text")
    ('<svg', 9)
    """
    return None if levels(tree) > MAX_DEPTH else svg([drawing(tree)])


def _text(x: float, y: float, text: str, colour: str = "", weight: str = "") -> str:
    look = f' font-weight="{weight}"' if weight else ""
    colour = colour or "black"
    content = escape(_NO_XML.sub("\ufffd", text))
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}"{look} xml:space="preserve">{content}</text>'


def _width(text: str) -> float:
    """About how wide a text is, whatever font the viewer chooses.

    >>> _width("NP") > _width("np") > _EM
    True
    """
    wide = (unicodedata.east_asian_width(one) in "WF" for one in text)
    return _EM * sum(
        1.05 if is_wide else 0.78 if one.isupper() or one in "mw@%&_" else 0.6
        for one, is_wide in zip(text, wide, strict=True)
    )


def forest(tree: Drawable, marks: Collection[int] = ()) -> str:
    """The tree for LaTeX's package ``forest``; marked constituents are red.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> print(forest(read_tree("(S (NP-SBJ $) (VP (V x_1)))"), {1}))
    \\begin{forest}
    [{S}[{NP-SBJ}[{\\$}]][{VP *},text=red[{V}[{x\\_1}]]]]
    \\end{forest}
    """
    numbers = count()

    def drawn(node: Drawable) -> str:
        if not node.children:
            return _node(node.label, "" if node.word is None else _node(node.word))
        marked = next(numbers) in marks
        return _node(node.label + MARK * marked, ",text=red" * marked + "".join(map(drawn, node.children)))

    return f"\\begin{{forest}}\n{drawn(tree)}\n\\end{{forest}}"


def _node(text: str, rest: str = "") -> str:
    return f"[{{{latex(visible(text))}}}{rest}]"
