"""Alpino's trees (Dutch): XML of dependency trees whose nodes say which words they cover.

A node with an index and no word refers to another constituent, and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.formats.conventions import Reading, leaf_word
from mbrparse.treebank.formats.discontinuous import Phrase, Word, continuous, written
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
    words = sum("word" in node.attrib for node in root.iter("node"))
    marks = [node for node in root if node.get("pos") == _PUNCTUATION]
    for mark in marks:
        root.remove(mark)
    found = _node(root, reading) if len(marks) < words else Phrase(root.attrib["cat"], ())
    if not isinstance(found, Phrase):
        raise ValueError("no words")
    tree = continuous(found, reading, [_word(mark, reading) for mark in marks])
    return tree.children[0] if len(tree.children) == 1 and tree.label == _TOP else tree


def _node(node: ElementTree.Element, reading: Reading) -> Phrase | Word | None:
    if "word" in node.attrib:
        return _word(node, reading)
    children = [found for child in node if (found := _node(child, reading)) is not None]
    if not children:
        reading.removed[COINDEXED] += 1
        return None
    return Phrase(node.attrib["cat"], children, node.get("rel") == _HEAD)


def _word(node: ElementTree.Element, reading: Reading) -> Word:
    word = node.attrib["word"]
    chosen = leaf_word(word, node.get("root", word), reading.conventions.leaves)
    leaf = Tree(node.attrib["pos"], word=written(chosen))
    return Word(int(node.attrib["begin"]), leaf, node.get("rel") == _HEAD)
