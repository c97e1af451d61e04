"""The styles of bracketed corpora (Penn, CESS-ECE, Floresta), and corpora that only NLTK reads."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any, BinaryIO, Literal, get_args

from mbrparse.io.errors import BracketError, CorpusError, MbrparseError
from mbrparse.treebank.brackets import ReadTree, read_trees
from mbrparse.treebank.tree import Tree

ErrorHandler = Callable[[MbrparseError], None] | None

#: What leaves hold where a corpus gives lemmas: the word, its lemma, or both with a hyphen between.
Leaves = Literal["word", "lemma", "both"]


class Removals(Counter[str]):
    """What was taken from trees, counted by kind, and where each kind was ``first``: source and line.

    Readers keep ``place`` up to date, with the last line that was read.
    """

    def __init__(self, *arguments: Any) -> None:
        self.place = ("", 0)
        self.first: dict[str, tuple[str, int]] = {}
        super().__init__(*arguments)

    def __missing__(self, kind: str) -> int:
        self.first.setdefault(kind, self.place)
        return 0


@dataclass(slots=True)
class Reading:
    """How a corpus is read, and what was taken from its trees on the way.

    ``on_error`` is called with malformed trees, which raise MbrparseError without it; ``on_empty`` with the
    source and line of each empty parse. ``leaves`` is None for what is usual in the corpus. ``removed``
    counts by kind.
    """

    encoding: str = "utf-8"
    on_error: ErrorHandler = None
    on_empty: Callable[[str, int], None] | None = None
    leaves: Leaves | None = None
    removed: Removals = field(default_factory=Removals)

    def bad_lines(self) -> list[int] | None:
        """A list for a file's lines that are no text (``decode_lines``); None where these end the reading."""
        return None if self.on_error is None else []

    def __post_init__(self) -> None:
        if self.leaves is not None and self.leaves not in get_args(Leaves):
            raise MbrparseError(f"leaves is one of {', '.join(get_args(Leaves))}, not {self.leaves!r}")


#: From the lines of a file, and what messages call it, to its trees and the lines they begin on.
Style = Callable[[Iterable[str], str, Reading], Iterator[ReadTree]]


def read_penn(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees as they are written: the Penn Treebank, and brackets of every other origin."""
    return read_trees(lines, source, reading.on_error)


EMPTY = "*0*"
_BRACKETS = {"-Fpa-": "-LRB-", "-Fpt-": "-RRB-"}


def read_cess(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of a file in the style of CESS-ECE (Spanish, Catalan).

    A leaf is ``(tag word lemma)``; it becomes a word (or what ``reading.leaves`` asks for) under its tag.
    ``*0*`` is a subject that is not spoken. NLTK's reader gives word and lemma as two words, so that every
    sentence comes twice.
    """
    removed, leaves = reading.removed, reading.leaves or "word"

    def leaf(node: Tree) -> Tree | None:
        if (node.word or node.label) == EMPTY:
            removed[EMPTY] += 1
            return None
        return node

    def inner(node: Tree, children: list[Tree | None]) -> Tree | None:
        kept = [child for child in children if child is not None]
        if len(kept) == 2 and all(child.is_leaf and child.word is None for child in kept):
            word, lemma = (_BRACKETS.get(child.label, child.label) for child in kept)
            removed[{"word": "lemma", "lemma": "word", "both": "space before a lemma"}[leaves]] += 1
            return Tree(node.label, word=leaf_word(word, lemma, leaves))
        if not kept:
            removed["constituent left empty"] += 1
        return Tree(node.label, kept) if kept else None

    for line, tree, name in read_trees(lines, source, reading.on_error):
        yield ReadTree(line, None if tree is None else tree.fold(leaf, inner), name)


def leaf_word(word: str, lemma: str | None, leaves: Leaves | None) -> str:
    """What a leaf holds of a word and its lemma; where there is none, the word."""
    if leaves == "both" and lemma:
        return f"{word}-{lemma}"
    return lemma if leaves == "lemma" and lemma else word


COMMENT = "#"
#: What is cut from labels, by the name under which it is counted.
PART = "mark of a part of a constituent with a gap"
INDEX = "index of an attachment"

_OPENING, _CLOSING = re.compile(r"\(\(\)"), re.compile(r"\(\)\)")
_CHILDLESS = re.compile(r"\(([^\s()]+)\)")
_LABEL = re.compile(r"\((-?)([^\s()]*?)(\[[+-]\d+\])?(\+[^\s()]*[^\s()-])(-?)(?=\s)")


def read_floresta(lines: Iterable[str], source: str, reading: Reading) -> Iterator[ReadTree]:
    """Yield the trees of a file in Floresta's style (Portuguese): labels are function and form.

    ``(UTT+np (>N+art Um) (H+n dia) (.))``: punctuation is ``(,)``, its own tag, and so are brackets: ``(()``
    and ``())``. A constituent with a gap has parts ``(P+vp- ...)`` and ``(-P+vp ...)``; ``(N<[+1]+pp ...)``
    tells how far away it belongs. Lines that begin with # are comments, and each sentence is below its
    own: a tree that is not closed ends there. NLTK's reader knows punctuation of one character alone, and no
    brackets.
    """

    def label(match: re.Match[str]) -> str:
        first, function, index, form, last = match.groups()
        if first or last:
            reading.removed[PART] += 1
        if index:
            reading.removed[INDEX] += 1
        return f"({function}{form}"

    def with_tags(line: str) -> str:
        line = _CLOSING.sub("(-RRB- -RRB-)", _OPENING.sub("(-LRB- -LRB-)", line))
        return _LABEL.sub(label, _CHILDLESS.sub(r"(\1 \1)", line))

    sentence: list[str] = []
    for number, line in enumerate(chain(lines, [COMMENT]), start=1):
        if line.startswith(COMMENT):
            yield from read_trees(sentence, source, reading.on_error, number - len(sentence))
            sentence.clear()
        else:
            sentence.append(with_tags(line))


def nltk_corpus(name: str) -> Any:
    """NLTK's reader of a corpus; raises CorpusError where there is none, or its data are not installed."""
    import nltk.corpus

    corpus: Any = getattr(nltk.corpus, name, None)
    try:
        parsed = getattr(corpus, "parsed_sents", None)
    except LookupError:
        remedy = f"fetch it with: {sys.executable} -m nltk.downloader {name}"
        raise CorpusError(f"NLTK corpus {name!r} is not installed", remedy=remedy) from None
    if parsed is None:
        raise CorpusError(f"NLTK has no treebank {name!r}", remedy="see nltk.org/nltk_data for its names")
    return corpus


def nltk_files(corpus: Any) -> Iterator[tuple[str, str, BinaryIO]]:
    """Yield the name of each file of a corpus, its encoding as its reader says, and its bytes."""
    for file in corpus.fileids():
        with corpus.abspath(file).open() as stream:
            yield file, corpus.encoding(file) or "utf-8", io.BytesIO(stream.read())


def is_plain(corpus: Any) -> bool:
    """Whether an NLTK reader does nothing that our own, far faster one would not."""
    from nltk.corpus.reader import BracketParseCorpusReader

    kind = type(corpus)
    return (
        issubclass(kind, BracketParseCorpusReader)
        and kind._normalize is BracketParseCorpusReader._normalize
        and kind._read_block is BracketParseCorpusReader._read_block
        and getattr(corpus, "_comment_char", None) is None
    )


def nltk_trees(corpus: Any, spec: str, reading: Reading) -> Iterator[tuple[int, Tree]]:
    """Yield the trees that NLTK's reader gives, numbered from 1.

    Where it says that it could not read one, or guesses at it, the tree is malformed here. Raises
    CorpusError where they are no phrase-structure trees.
    """
    import nltk

    sentences = iter(corpus.parsed_sents())
    for number in count(1):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            sentence = next(sentences, None)
        if sentence is None:
            return
        if not isinstance(sentence, nltk.Tree):
            raise CorpusError(f"NLTK corpus {spec.partition(':')[2]!r} holds no phrase-structure trees")
        try:
            if said.getvalue() or not all(isinstance(leaf, str) for leaf in sentence.leaves()):
                raise ValueError("NLTK's reader cannot read this tree")
            yield number, Tree.from_nltk(sentence)
        except ValueError as error:
            malformed = BracketError(
                str(error), source=spec, line=number, remedy="leave such trees out with: --on-error skip"
            )
            if reading.on_error is None:
                raise malformed from None
            reading.on_error(malformed)
