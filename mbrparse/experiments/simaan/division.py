"""The trees to train on and to parse, as the treebank has them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from mbrparse.errors import CorpusError, MbrparseError
from mbrparse.treebank.corpora import SourceTree, read_corpus
from mbrparse.treebank.splits import split_fraction

WSJ = "wsj:"


class Division(NamedTuple):
    """How a corpus is divided; sections go with ``wsj:DIR``, the fraction with all others.

    Of both parts only the first so many trees are taken (None: all).
    """

    train_sections: str = "02-21"
    test_sections: str = "23"
    test_fraction: str = "0.1"
    train: int | None = None
    test: int | None = None


class Parts(NamedTuple):
    """Raw trees."""

    train: list[SourceTree]
    test: list[SourceTree]


def read_parts(
    spec: str, division: Division, encoding: str, on_malformed: Callable[[MbrparseError], None]
) -> Parts:
    """Read and divide a corpus. Raises CorpusError where a part would be empty.

    Malformed trees end the run, but for those of NLTK's corpora, which the user cannot mend: those go
    to ``on_malformed``.
    """
    skip = on_malformed if spec.startswith("nltk:") else None

    def read(sections: str | None, most: int | None) -> list[SourceTree]:
        trees = read_corpus(spec, encoding=encoding, sections=sections, on_error=skip)
        found = list(islice(trees, most))
        if not found:
            where = "input" if sections is None else f"sections {sections}"
            raise CorpusError(
                f"no trees in the {where}",
                source=spec,
                remedy="trees are written in brackets: (S (NP ...) ...)",
            )
        return found

    if spec.startswith(WSJ):
        # The test section first: it is small, and what is wrong with it is known at once.
        test = read(division.test_sections, division.test)
        return Parts(read(division.train_sections, division.train), test)
    trees = read(None, None)
    split = split_fraction(len(trees), division.test_fraction)
    if not split.test:
        raise CorpusError(
            f"{len(trees)} trees leave none to parse",
            remedy="raise --test-fraction, or give a larger treebank",
        )
    return Parts(
        [trees[place] for place in split.train[: division.train]],
        [trees[place] for place in split.test[: division.test]],
    )
