"""One word a line: the export format of NEGRA, TIGER and TüBa-D/Z, and columns as in CoNLL-2012.

The export format (versions 3 and 4) has a line a node, with its parent's number. An edge's label becomes the
function of the constituent below it (``NP-SB``); that of a word is left out, and so are secondary edges,
comments and tables of labels. Words below node 0 are punctuation.

A table has a column of bracket parts: a part such as ``(S(NP*)`` has the word in the place of ``*``; ``*``
alone is a word of the open constituent. Sentences have empty lines between them, and lines that begin with
``#`` are comments. The tag stands in the column before the parts, the word in the one before that; of two
columns the first has words, which then are terminals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain

from mbrparse.treebank.brackets import ReadTree
from mbrparse.treebank.formats import discontinuous
from mbrparse.treebank.formats.conventions import Reading
from mbrparse.treebank.tree import Tree

_NODE = re.compile(r"#(\d{3,})")
_COMMENT = re.compile(r"\s%%.*")


def read_export(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
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
                    yield ReadTree(began, _graph_tree(sentence, lemmas, reading), name)
            sentence, began, name = ([] if fields[0] == "#BOS" else None), number, "".join(fields[1:2])
        elif sentence is not None:
            sentence.append(fields)
    if sentence is not None:
        with reading.refusing("no tree of the export format", source, began):
            raise ValueError("no #EOS")


def _graph_tree(lines: list[list[str]], lemmas: bool, reading: Reading) -> Tree:
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


_PART = re.compile(r"((?:\([^\s()*]*)*)\*(\)*)")
_DOCUMENT = re.compile(r"#begin document \(?([^;\s)]*)\)?(?:; *part +(\S+))?")


def part_columns(rows: list[list[str]]) -> list[int]:
    """The columns (from 0) of a sentence that have bracket parts which make one tree."""
    found = []
    for column in range(1, min(map(len, rows), default=0)):
        parts = [_part(row[column]) for row in rows]
        depth, ends = 0, False
        for part in parts:
            depth = -1 if part is None or ends else depth + len(part[0]) - part[1]
            ends = depth == 0
            if depth < 0:
                break
        if ends:
            found.append(column)
    return found


def read_columns(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees; those of a document are named by it, its part and their number."""
    column = None if reading.own.column is None else reading.own.column - 1
    rows: list[list[str]] = []
    began, document, sentences = 1, "", 0
    for number, line in enumerate(chain(lines, ["\n"]), start=1):
        fields = line.split()
        if line.startswith("#") and not rows:
            if begins := _DOCUMENT.match(line):
                document, sentences = "/".join(filter(None, begins.groups())), 0
        elif fields:
            began = began if rows else number
            rows.append(fields)
        elif rows:
            sentences += 1
            name = f"{document}/{sentences}" if document else ""
            with reading.refusing("no tree in columns", source, began):
                if column is None:
                    column = next(iter(part_columns(rows)), None)
                if column is None:
                    raise ValueError("no column of bracket parts, such as (S(NP*)")
                yield ReadTree(began, _column_tree(rows, column), name)
            rows = []


@lru_cache(maxsize=1 << 16)
def _part(text: str) -> tuple[list[str], int] | None:
    """The labels that a part opens, and how many it closes; None of what is no part."""
    found = _PART.fullmatch(text)
    return None if found is None else (found[1].split("(")[1:], len(found[2]))


def _column_tree(rows: list[list[str]], column: int) -> Tree:
    open_labels: list[str] = []
    children: list[list[Tree]] = [[]]
    for row in rows:
        if not 0 < column < len(row):
            raise ValueError(f"no column {column + 1} in: {' '.join(row)}")
        part = _part(row[column])
        if part is None or (not open_labels and children[0]):
            raise ValueError(f"{row[column]!r} is no part of one tree")
        labels, closed = part
        for label in labels:
            open_labels.append(label)
            children.append([])
        if column == 1:
            children[-1].append(Tree(discontinuous.written(row[0])))
        else:
            children[-1].append(discontinuous.written_leaf(row[column - 1], row[column - 2]))
        for _ in range(closed):
            if not open_labels:
                raise ValueError("closing bracket without an opening one")
            inside = children.pop()
            children[-1].append(Tree(open_labels.pop(), inside))
    if open_labels or len(children[0]) != 1:
        raise ValueError("unbalanced brackets")
    return children[0][0]
