"""The corpora that are known by name: location, style, label conventions, licence and citation of each.

One record a corpus in ``data/corpora.json`` serves the readers, ``mbrparse corpora``, the docs and the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

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
