"""XML of TIGER and of Alpino, read one element after another, as text that no other part changes.

TIGER-XML (German and others) has terminals, nonterminals and labelled edges between them. An edge's label
becomes the function of the constituent below it (``NP-SB``); that of a word is left out, and so are secondary
edges. Words that hang from the top, or from nothing, are punctuation.

Alpino's trees (Dutch) are dependency trees whose nodes say which words they cover. A node with an index and
no word refers to another constituent, and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mbrparse.errors import CorpusError
from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.formats.conventions import Reading, leaf_word
from mbrparse.treebank.formats.discontinuous import Part, SentenceGraph, WordOrder, written_leaf
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    from xml.etree import ElementTree

# An element of more characters than these is no sentence.
_LONGEST = 1 << 24


def xml_elements(
    lines: Iterable[str], source: str, tag: str, reading: Reading
) -> Iterator[tuple[int, ElementTree.Element]]:
    """Yield each element of a name with the line that it begins on; one that is malformed is an error of
    ``reading``.

    Raises CorpusError at a declaration of entities, which can blow a file up, and where an element does not
    end.
    """
    from xml.etree import ElementTree

    begins, ends = re.compile(rf"<{tag}(?=[\s>/])"), f"</{tag}>"
    text, began, size = list[str](), 0, 0
    for number, line in enumerate(lines, start=1):
        if "<!ENTITY" in line:
            raise CorpusError("XML that declares entities", source=source, line=number)
        rest = line
        while True:
            if not text:
                begin = begins.search(rest)
                if begin is None:
                    break
                rest, began, size = rest[begin.start() :], number, 0
            if ends not in rest:
                text.append(rest)
                size += len(rest)
                if size > _LONGEST:
                    raise CorpusError(f"<{tag}> without an end", source=source, line=began)
                break
            before, end, after = rest.partition(ends)
            text += (before, end)
            with reading.refusing("no XML", source, began):
                yield began, ElementTree.fromstring("".join(text))
            text, rest = [], after
    if text:
        with reading.refusing("no XML", source, began):
            raise ValueError(f"<{tag}> without an end")


def read_tiger(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of a file of ``<s>`` elements, one at a time."""
    for line, element in xml_elements(lines, source, "s", reading):
        with reading.refusing("no tree of TIGER-XML", source, line):
            yield ReadTree(line, _tiger_tree(element, reading), element.get("id", ""))


def _tiger_tree(sentence: ElementTree.Element, reading: Reading) -> Tree:
    graph = SentenceGraph(reading)
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


COINDEXED = "coindexed node without a word"
_TOP, _HEAD, _PUNCTUATION = "top", "hd", "punct"


def read_alpino(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of a file of ``<alpino_ds>`` elements, one at a time."""
    for line, element in xml_elements(lines, source, "alpino_ds", reading):
        with reading.refusing("no tree of Alpino's", source, line):
            yield ReadTree(line, _alpino_tree(element.find("node"), reading))


def _alpino_tree(root: ElementTree.Element | None, reading: Reading) -> Tree:
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
