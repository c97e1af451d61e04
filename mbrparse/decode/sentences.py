"""The sentences to parse: the terminals of trees, or lines of tokens."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from mbrparse.errors import CorpusError
from mbrparse.files import read_lines, source_name
from mbrparse.treebank.brackets import read_trees
from mbrparse.treebank.clean import TRACE
from mbrparse.treebank.tree import Tree

InputForm = Literal["trees", "tokens"]
# A sentence's terminals; their tags or words are parsed, and they are kept under the guessed tree.
Sentence = tuple[Tree, ...]


def read_sentences(
    path: str | Path, form: InputForm | None = None, encoding: str = "utf-8"
) -> Iterator[Sentence]:
    """Yield the sentences of a file of trees (without their traces) or of lines of tokens.

    Without ``form``, the first character that is not white space tells: a bracket begins trees. An
    empty line of tokens and an empty parse are sentences without terminals. Raises CorpusError for an
    input without sentences.
    """
    source = source_name(path)
    lines = read_lines(path, encoding)
    head: list[str] = []
    for line in lines:
        head.append(line)
        if line.strip():
            break
    else:
        raise CorpusError("no sentences in the input", source=source)
    if form is None:
        form = "trees" if head[-1].lstrip().startswith("(") else "tokens"
    # Lines that were read ahead keep their numbers: nothing is dropped.
    everything = itertools.chain(head, lines)
    return _of_trees(everything, source) if form == "trees" else _of_tokens(everything)


def _of_trees(lines: Iterable[str], source: str) -> Iterator[Sentence]:
    for _, tree in read_trees(lines, source):
        yield () if tree is None else tuple(leaf for leaf in tree.leaves() if leaf.label != TRACE)


def _of_tokens(lines: Iterable[str]) -> Iterator[Sentence]:
    for line in lines:
        tokens = line.rstrip("\r\n").replace("\t", " ").replace("(", "-LRB-").replace(")", "-RRB-")
        yield tuple(Tree(token) for token in tokens.split(" ") if token)
