"""Several treebanks, read one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mbrparse.errors import CorpusError
from mbrparse.files import source_name
from mbrparse.treebank.corpora import SourceTree, read_corpus


def read_inputs(specs: Sequence[str], encoding: str = "utf-8") -> Iterator[SourceTree]:
    """Yield the trees of all ``specs`` (see ``read_corpus``); raises CorpusError where there is none."""
    found = False
    for spec in specs:
        for tree in read_corpus(spec, encoding=encoding):
            found = True
            yield tree
    if not found:
        raise CorpusError(
            "no trees in the input",
            source=", ".join(map(source_name, specs)),
            remedy="trees are written in brackets: (S (NP ...) ...)",
        )
