"""Corpora of NLTK's data: their files by our own readers, or where there is none for them, NLTK's trees."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from typing import Any

from mbrparse.errors import BracketError, CorpusError
from mbrparse.treebank.styles.style import Reading
from mbrparse.treebank.tree import Tree


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


def nltk_files(corpus: Any) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the name and the lines of each file of a corpus, decoded as its reader says."""
    for file in corpus.fileids():
        with corpus.open(file) as stream:
            text = stream.read()  # its own lines also end at U+0085, U+2028, ...
        yield file, iter(io.StringIO(text))


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
    number = 0
    while True:
        number += 1
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
