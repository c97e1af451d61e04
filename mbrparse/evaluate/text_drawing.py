"""Drawings of trees in the terminal, by nltk, folded to its width."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from mbrparse.errors import visible
from mbrparse.evaluate.drawing import MARK, NO_PARSE, captioned, legend, too_deep
from mbrparse.evaluate.tree_differences import Sentence
from mbrparse.treebank.tree import Tree
from mbrparse.treebank.tree_drawing import levels

# In nltk's drawing the mark is one word with its label, distinct from a word "*" beside it.
_TEXT_MARK = MARK.replace(" ", "\u00a0")
_MARKED_LABEL = re.compile(rf"([^ \n]*){re.escape(_TEXT_MARK)}")
_IN_RED = "\x1b[31;1m{}\x1b[0m"
# Stands beside a character two columns wide while nltk counts characters; no label contains it.
_FILLER = "\u200b"
# Where a drawing may be cut: at blanks and branches, which without these characters are "_" and "|".
_BETWEEN = frozenset(" ─│┌┐┬┴┼")
_PLAIN_BRANCH = frozenset("_|")


def draw_text(
    sentences: Sequence[Sentence],
    colours: bool = False,
    unicode_lines: bool = True,
    width: int | None = None,
    numbered: bool = False,
) -> str:
    """The trees one below the other; with several of a sentence, each file's name above its tree.

    A drawing that is wider than ``width`` columns is cut into strips, one below the other. nltk draws by
    recursion: raises DrawingError for trees that are too deep.
    """
    blocks = []
    for captions, (name, tree, marks, _) in captioned(sentences, numbered):
        lines = [visible(caption) for caption in captions]
        if tree is None:
            lines.append(NO_PARSE)
        else:
            try:
                drawn = _lines_of(tree, marks, unicode_lines)
            except RecursionError:  # called from deep within another program
                raise too_deep(name, levels(tree)) from None
            lines += [_shown(line, colours) for line in _folded(drawn, width)]
        blocks.append("\n".join(lines) + "\n")
    meaning = legend(sentences)
    return "\n".join([*blocks, *([] if meaning is None else [visible(meaning) + "\n"])])


def _lines_of(tree: Tree, marks: frozenset[int], unicode_lines: bool) -> list[str]:
    """nltk's drawing; every character is one column wide."""
    import nltk
    from nltk.tree.prettyprinter import TreePrettyPrinter

    nodes = list(tree.preorder())
    number = sum(not node.is_leaf for node in nodes)
    built: list[Any] = []
    for node in reversed(nodes):
        label = _widened(node.label)
        if not node.is_leaf:
            number -= 1
            label += _TEXT_MARK if number in marks else ""
            built.append(nltk.Tree(label, [built.pop() for _ in node.children]))
        else:
            built.append(label if node.word is None else nltk.Tree(label, [_widened(node.word)]))
    text: str = TreePrettyPrinter(built[0]).text(unicodelines=unicode_lines, maxwidth=None)
    return text.rstrip("\n").split("\n")


def _folded(lines: list[str], width: int | None) -> list[str]:
    """The lines cut into strips of so many columns at most, between words; a row of dots parts them."""
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


def _shown(line: str, colours: bool) -> str:
    # nltk's own highlighting compares whole subtrees, for each node with each.
    form = _IN_RED if colours else "{}"
    line = line.replace(_FILLER, "").rstrip(" ")
    return _MARKED_LABEL.sub(lambda match: form.format(match.group(1) + MARK), line)


def _widened(text: str) -> str:
    text = visible(text)
    return text + _FILLER * sum(unicodedata.east_asian_width(character) in "WF" for character in text)
