"""The styles of corpora (Penn, Penn-Helsinki, CESS-ECE, Floresta ...), and corpora that only NLTK reads."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, count
from typing import Any, BinaryIO

from mbrparse.errors import BracketError, CorpusError
from mbrparse.treebank.brackets import ReadTree, read_trees
from mbrparse.treebank.formats.alpino import read_alpino
from mbrparse.treebank.formats.conventions import EMPTY, NO_TEXT, Conventions, Reading, StyleName
from mbrparse.treebank.tree import Tree

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
        raise CorpusError(f"NLTK has no treebank {name!r}", remedy="see nltk.org/nltk_data for its names")
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


def nltk_trees(_: Iterable[str], spec: str, reading: Reading) -> Iterator[ReadTree]:
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
        try:
            if said.getvalue() or not all(isinstance(leaf, str) for leaf in sentence.leaves()):
                raise ValueError("NLTK's reader cannot read this tree")
            yield ReadTree(number, Tree.from_nltk(sentence))
        except ValueError as error:
            malformed = BracketError(
                str(error), source=spec, line=number, remedy="leave such trees out with: `on_error=skip`"
            )
            if reading.on_error is None:
                raise malformed from None
            reading.on_error(malformed)


_HISTORICAL = Conventions(
    drop=NO_TEXT,
    roots=("",),
    ids=("ID",),
    lemma="LEMMA",
    form="ORTHO",
    lemmas="hyphen",
    empty=EMPTY,
    codes=True,
)

#: How each style is written.
STYLES: dict[StyleName, Conventions] = {
    "penn": Conventions(),
    "nltk": Conventions(read=nltk_trees),
    "penn-historical": _HISTORICAL,
    "icepahc": replace(_HISTORICAL, leaves="word"),
    # A leaf is (tag word lemma), of which NLTK's reader makes two words; *0* is a subject that is not spoken.
    "cess": Conventions(
        lemmas="second",
        empty=re.compile(r"[^ ]+ \*0\*"),
        respell=lambda line: line.replace("-Fpa-", "-LRB-").replace("-Fpt-", "-RRB-"),
    ),
    # A leaf is (tag word (lemma lemma)), with notes such as (exp_seg ...); brackets are \( and \).
    "greynir": Conventions(
        drop=("META", "exp_*"),
        roots=("", "S0"),
        ids=("ID-LOCAL",),
        lemma="lemma",
        respell=lambda line: line.replace("\\(", "-LRB-").replace("\\)", "-RRB-"),
    ),
    "floresta": Conventions(read=read_floresta),
    "alpino": Conventions(read=read_alpino, lemmas="read"),
}
