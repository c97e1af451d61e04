"""Corpora that only NLTK reads."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, BinaryIO

from mbrparse.errors import CorpusError, did_you_mean
from mbrparse.treebank import brackets, tree
from mbrparse.treebank.formats.conventions import Reading

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
