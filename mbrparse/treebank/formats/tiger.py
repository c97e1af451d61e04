"""TIGER-XML (German and others): terminals, nonterminals and labelled edges between them.

An edge's label becomes the function of the constituent below it (``NP-SB``); that of a word is left out, and
so are secondary edges. Words that hang from the top, or from nothing, are punctuation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mbrparse.treebank import tree
from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.formats import conventions, discontinuous
from mbrparse.treebank.formats.xml_elements import xml_elements

if TYPE_CHECKING:
    from xml.etree import ElementTree


def read_tiger(lines: Iterable[str], source: str, reading: conventions.Reading) -> Iterator[ReadTree]:
    """Yield the trees of a file of ``<s>`` elements, one at a time."""
    for line, element in xml_elements(lines, source, "s", reading):
        with reading.refusing("no tree of TIGER-XML", source, line):
            yield ReadTree(line, _tree(element, reading), element.get("id", ""))


def _tree(sentence: ElementTree.Element, reading: conventions.Reading) -> tree.Tree:
    graph = discontinuous.SentenceGraph(reading)
    edges = list[tuple[str, str, str]]()
    for node in sentence.iter():
        if node.tag == "t":
            graph.add_word(node.attrib["id"], node.attrib["word"], node.attrib["pos"], node.get("lemma"))
        elif node.tag == "nt":
            name = node.attrib["id"]
            graph.add_constituent(name, node.attrib["cat"])
            edges += [(edge.attrib["idref"], name, edge.get("label", "")) for edge in node.iter("edge")]
        elif node.tag == "secedge":
            graph.secondary += 1
    for edge in edges:
        graph.add_edge(*edge)
    return graph.tree()
