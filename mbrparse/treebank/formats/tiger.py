"""TIGER-XML (German and others): terminals, nonterminals and labelled edges between them.

An edge's label becomes the function of the constituent below it (``NP-SB``); that of a word is left out, and
so are secondary edges. Words that hang from the top, or from nothing, are punctuation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.formats.conventions import Reading
from mbrparse.treebank.formats.discontinuous import SentenceGraph
from mbrparse.treebank.formats.xml_elements import xml_elements
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    from xml.etree import ElementTree


def read_tiger(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of a file of ``<s>`` elements, one at a time."""
    for line, element in xml_elements(lines, source, "s", reading):
        with reading.refusing("no tree of TIGER-XML", source, line):
            yield ReadTree(line, _tree(element, reading), element.get("id", ""))


def _tree(sentence: ElementTree.Element, reading: Reading) -> Tree:
    graph = SentenceGraph(reading)
    for node in sentence.iter("t"):
        graph.add_word(node.attrib["id"], node.attrib["word"], node.attrib["pos"], node.get("lemma"))
    for node in sentence.iter("nt"):
        graph.add_constituent(node.attrib["id"], node.attrib["cat"])
    for node in sentence.iter("nt"):
        for edge in node.iter("edge"):
            graph.add_edge(edge.attrib["idref"], node.attrib["id"], edge.get("label", ""))
    graph.secondary += sum(1 for _ in sentence.iter("secedge"))
    return graph.tree()
