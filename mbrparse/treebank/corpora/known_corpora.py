"""The corpora that are known by name: location, style, label conventions, licence and citation of each.

One record a corpus in ``data/corpora.json`` serves the readers, ``mbrparse corpora``, the docs and the
tests. Some corpora NLTK alone reads.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from mbrparse.errors import CorpusError, did_you_mean
from mbrparse.treebank import brackets, tree
from mbrparse.treebank.formats.conventions import Reading
from mbrparse.treebank.formats.formats import format_path


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is known of a corpus.

    ``name`` is what stands before the path (``craft:PATH``), or the whole name (``nltk:alpino``). In what
    is at PATH, its files have one of ``suffixes`` and lie in the first of ``folders`` that is there.
    ``style`` is how the trees are written (``styles``), ``functions`` what ``--functions strip`` cuts there
    (``categories``), ``heads`` the head rules that know its labels. ``trees`` and ``words`` are what mbrparse
    reads of the whole corpus, or what its makers say of it (``about``), with nothing empty counted.
    ``source`` says where to get it, if not from NLTK.
    """

    name: str
    title: str
    language: str
    licence: str
    citation: str
    source: str = ""
    style: str = "penn"
    suffixes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    functions: str = "after:-="
    heads: str | None = None
    empty: str = "-NONE-"
    trees: int | None = None
    words: int | None = None
    about: str = ""

    @property
    def takes_path(self) -> bool:
        """Whether the user says where it lies."""
        return ":" not in self.name

    @property
    def get(self) -> str:
        """How to get it."""
        return self.source or f"python -m nltk.downloader {self.name.removeprefix('nltk:')}"

    @property
    def spec(self) -> str:
        """How it is named on the command line."""
        return f"{self.name}:{'DIR' if self.name == 'wsj' else 'PATH'}" if self.takes_path else self.name

    @property
    def size(self) -> str:
        """For people."""
        if self.trees is None:
            return self.about
        words = "" if self.words is None else f", {self.words:,} words"
        return f"{self.trees:,} trees{words}"


CORPORA = msgspec.json.decode(
    (Path(__file__).parents[1] / "data" / "corpora.json").read_bytes(), type=tuple[Corpus, ...]
)
BY_NAME = {corpus.name: corpus for corpus in CORPORA}


def known_corpus(spec: str) -> Corpus | None:
    """The corpus that a command line names; None for files, folders and names that are not in the table.

    >>> known_corpus("craft:CRAFT-5.0").name, known_corpus("nltk:alpino").style, known_corpus("a.mrg")
    ('craft', 'alpino', None)
    """
    name, colon, _ = spec.partition(":")
    return (BY_NAME.get(spec) or BY_NAME.get(name)) if colon else None


def corpus_path(spec: str) -> str:
    """The path in the name of a corpus; another name is the path itself.

    >>> corpus_path("craft:CRAFT-5.0"), corpus_path("tiger:a.xml"), corpus_path("a.mrg")
    ('CRAFT-5.0', 'a.xml', 'a.mrg')
    """
    corpus = known_corpus(spec)
    return spec.partition(":")[2] if corpus is not None and corpus.takes_path else format_path(spec)[1]


#: The style of what NLTK alone reads.
NLTK = "nltk"


def nltk_corpus(spec: str) -> Any:
    """NLTK's reader of nltk:NAME; raises CorpusError where there is none, or its data are not installed."""
    import nltk.corpus

    name = spec.removeprefix("nltk:")
    corpus: Any = getattr(nltk.corpus, name, None)
    try:
        parsed = getattr(corpus, "parsed_sents", None)
    except LookupError:
        remedy = f"fetch it with: {sys.executable} -m nltk.downloader {name}"
        raise CorpusError(f"NLTK corpus {name!r} is not installed", remedy=remedy) from None
    if parsed is None:
        remedy = did_you_mean(name, vars(nltk.corpus), "see nltk.org/nltk_data for its names")
        raise CorpusError(f"NLTK has no treebank {name!r}", remedy=remedy)
    return corpus


def nltk_files(spec: str) -> Iterator[tuple[str, str, BinaryIO]]:
    """Yield the name of each file of a corpus, its encoding as its reader says, and its bytes."""
    corpus = nltk_corpus(spec)
    for file in corpus.fileids():
        with corpus.abspath(file).open() as stream:
            yield file, corpus.encoding(file) or "utf-8", io.BytesIO(stream.read())


def is_plain(spec: str) -> bool:
    """Whether NLTK's reader of nltk:NAME does nothing that our own, far faster one would not."""
    from nltk.corpus.reader import BracketParseCorpusReader

    corpus = nltk_corpus(spec)
    kind = type(corpus)
    return (
        issubclass(kind, BracketParseCorpusReader)
        and kind._normalize is BracketParseCorpusReader._normalize
        and kind._read_block is BracketParseCorpusReader._read_block
        and getattr(corpus, "_comment_char", None) is None
    )


def nltk_trees(_: Iterable[str], spec: str, reading: Reading) -> Iterator[brackets.ReadTree]:
    """Yield the trees that NLTK's reader gives, numbered from 1.

    Where it says that it could not read one, or guesses at it, the tree is malformed here. Raises
    CorpusError where they are no phrase-structure trees.
    """
    import nltk

    sentences = iter(nltk_corpus(spec).parsed_sents())
    for number in count(1):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            sentence = next(sentences, None)
        if sentence is None:
            return
        if not isinstance(sentence, nltk.Tree):
            raise CorpusError(f"NLTK corpus {spec.partition(':')[2]!r} holds no phrase-structure trees")
        with reading.refusing("NLTK's reader cannot read this tree", spec, number):
            if said.getvalue() or not all(isinstance(leaf, str) for leaf in sentence.leaves()):
                raise ValueError("it guesses, or has leaves that are no words")
            yield brackets.ReadTree(number, tree.Tree.from_nltk(sentence))
