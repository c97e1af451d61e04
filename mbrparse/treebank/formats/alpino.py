"""Alpino's trees (Dutch): XML of dependency trees whose nodes say which words they cover.

A node with an index and no word refers to another constituent, and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.formats.conventions import Reading, leaf_word
from mbrparse.treebank.formats.discontinuous import Part, WordOrder, written_leaf
from mbrparse.treebank.formats.xml_elements import xml_elements
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    from xml.etree import ElementTree

COINDEXED = "coindexed node without a word"
_TOP, _HEAD, _PUNCTUATION = "top", "hd", "punct"


def read_alpino(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of a file of ``<alpino_ds>`` elements, one at a time."""
    for line, element in xml_elements(lines, source, "alpino_ds", reading):
        with reading.refusing("no tree of Alpino's", source, line):
            yield ReadTree(line, _tree(element.find("node"), reading))


def _tree(root: ElementTree.Element | None, reading: Reading) -> Tree:
    if root is None or "word" in root.attrib:
        raise ValueError("no constituent")
    marks = [node for node in root if node.get("pos") == _PUNCTUATION]
    for mark in marks:
        root.remove(mark)
    places = [int(node.attrib["begin"]) for node in root.iter("node") if "word" in node.attrib]
    order = WordOrder(places, [_word(mark, reading) for mark in marks], reading)
    tree = order.tree(root.attrib["cat"], _parts(root, order, reading))
    return tree.children[0] if len(tree.children) == 1 and tree.label == _TOP else tree


def _parts(node: ElementTree.Element, order: WordOrder, reading: Reading) -> list[Part]:
    found: list[Part] = []
    for child in node:
        is_head = child.get("rel") == _HEAD
        if "word" in child.attrib:
            found.append(order.word(*_word(child, reading), is_head))
        elif inside := _parts(child, order, reading):
            found += order.constituent(child.attrib["cat"], inside, is_head)
        else:
            reading.removed[COINDEXED] += 1
    return found


def _word(node: ElementTree.Element, reading: Reading) -> tuple[int, Tree]:
    word = node.attrib["word"]
    chosen = leaf_word(word, node.get("root", word), reading.conventions.leaves)
    return int(node.attrib["begin"]), written_leaf(node.attrib["pos"], chosen)
