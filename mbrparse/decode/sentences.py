"""The sentences to parse: the terminals of trees, or lines of tokens."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from mbrparse.errors import CorpusError
from mbrparse.files import read_lines, source_name
from mbrparse.treebank.brackets import read_trees
from mbrparse.treebank.clean import TRACE
from mbrparse.treebank.tree import Tree

InputForm = Literal["trees", "tokens"]
# A sentence's terminals; their tags or words are parsed, and they are kept under the guessed tree.
Sentence = tuple[Tree, ...]


class Chunk(NamedTuple):
    """Whole sentences as lines of text: little to hand to another process, which reads them itself."""

    source: str
    first_line: int
    form: InputForm
    lines: list[str]


def read_chunks(
    path: str | Path,
    form: InputForm | None = None,
    encoding: str = "utf-8",
    first_size: int = 100,
    size: int = 512,
) -> Iterator[Chunk]:
    """Yield the sentences of a file of trees or of lines of tokens, ``size`` a chunk (at first fewer).

    Without ``form``, the first character that is not white space tells: a bracket begins trees. Raises
    CorpusError for an input without sentences.
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
    return _chunks(itertools.chain(head, lines), source, form, first_size, size)


def sentences_of(chunk: Chunk) -> Iterator[Sentence]:
    """The sentences of a chunk, trees without their traces; raises BracketError.

    An empty line of tokens and an empty parse are sentences without terminals.
    """
    if chunk.form == "trees":
        for _, tree in read_trees(chunk.lines, chunk.source, first_line=chunk.first_line):
            yield () if tree is None else tuple(leaf for leaf in tree.leaves() if leaf.label != TRACE)
    else:
        for line in chunk.lines:
            tokens = line.rstrip("\r\n").replace("\t", " ").replace("(", "-LRB-").replace(")", "-RRB-")
            yield tuple(Tree(token) for token in tokens.split(" ") if token)


def read_sentences(
    path: str | Path, form: InputForm | None = None, encoding: str = "utf-8"
) -> Iterator[Sentence]:
    """Yield the sentences of a file one by one; see ``read_chunks``."""
    return itertools.chain.from_iterable(map(sentences_of, read_chunks(path, form, encoding)))


def _chunks(
    lines: Iterable[str], source: str, form: InputForm, first_size: int, size: int
) -> Iterator[Chunk]:
    """Cut where no bracket is open, so that no tree is torn apart."""
    wanted = first_size
    first_line, depth, complete = 1, 0, 0
    held: list[str] = []
    for number, line in enumerate(lines, start=1):
        held.append(line)
        if form == "trees":
            depth += line.count("(") - line.count(")")
        complete += depth == 0
        if complete >= wanted and depth == 0:
            yield Chunk(source, first_line, form, held)
            wanted, first_line, complete, held = size, number + 1, 0, []
    if held:
        yield Chunk(source, first_line, form, held)
