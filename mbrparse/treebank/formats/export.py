"""The export format of NEGRA, TIGER and TüBa-D/Z, versions 3 and 4: a line a node, with its parent's number.

An edge's label becomes the function of the constituent below it (``NP-SB``); that of a word is left out, and
so are secondary edges, comments and tables of labels. Words below node 0 are punctuation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mbrparse.treebank import tree
from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.formats import conventions, discontinuous

_NODE = re.compile(r"#(\d{3,})")
_COMMENT = re.compile(r"\s%%.*")


def read_export(lines: Iterable[str], source: str, reading: conventions.Reading) -> Iterator[ReadTree]:
    """Yield the trees between ``#BOS`` and ``#EOS``, with the number of their sentence."""
    sentence: list[list[str]] | None = None
    began, name, lemmas = 0, "", False
    for number, line in enumerate(lines, start=1):
        fields = (_COMMENT.sub("", line) if "%%" in line else line).split()
        if not fields:
            continue
        if fields[0] == "#FORMAT":
            lemmas = fields[1:2] == ["4"]  # without a line of its own, the parents' column says so
        elif fields[0] == "#BOS" or (fields[0] == "#EOS" and sentence is not None):
            if sentence is not None:
                with reading.refusing("no tree of the export format", source, began):
                    if fields[0] == "#BOS":
                        raise ValueError("no #EOS")
                    yield ReadTree(began, _tree(sentence, lemmas, reading), name)
            sentence, began, name = ([] if fields[0] == "#BOS" else None), number, "".join(fields[1:2])
        elif sentence is not None:
            sentence.append(fields)
    if sentence is not None:
        with reading.refusing("no tree of the export format", source, began):
            raise ValueError("no #EOS")


def _tree(lines: list[list[str]], lemmas: bool, reading: conventions.Reading) -> tree.Tree:
    """The tree of a sentence's lines: word, lemma in version 4, tag, morphology, edge, parent, then pairs of
    secondary edges."""
    graph = discontinuous.SentenceGraph(reading)
    edges = list[tuple[discontinuous.Name, str, str]]()
    lemmas = lemmas or any(len(fields) > 5 and not fields[4].isdecimal() for fields in lines[:1])
    for place, fields in enumerate(lines):
        more = len(fields) - 5 - lemmas
        if more < 0:
            raise ValueError(f"{len(fields)} fields: {' '.join(fields)}")
        word, tag, edge, parent = fields[0], fields[1 + lemmas], fields[3 + lemmas], fields[4 + lemmas]
        node = _NODE.fullmatch(word) if word[0] == "#" else None
        name: discontinuous.Name = node[1] if node else place
        if node:
            graph.add_constituent(name, tag)
        else:
            graph.add_word(name, word, tag, fields[1] if lemmas else None)
        graph.secondary += more // 2
        if parent != "0":
            edges.append((name, parent, edge))
    for one in edges:
        graph.add_edge(*one)
    return graph.tree()
