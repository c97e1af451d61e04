"""The grammars and sentences that the benchmarks run on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mbrparse.decode.parser.sentences import Sentence, read_input
from mbrparse.errors import CorpusError
from mbrparse.grammar.grammar_files import read_rules, write_rules
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.training.count import induce
from mbrparse.treebank.binarize import Binarization
from mbrparse.treebank.brackets import write_tree
from mbrparse.treebank.corpora.prepare import Preparation, PreparationStatistics, prepare
from mbrparse.treebank.corpora.reading import SourceTree, read_corpus
from mbrparse.treebank.splits import split_fraction
from mbrparse.treebank.tree import Tree

TREEBANK, EMBEDDED = "nltk:treebank", "embedded:flights"
MAX_LENGTH = 40


class Setting(NamedTuple):
    """How a grammar is read off the treebank (``mbrparse binarize``)."""

    name: str
    vmarkov: int
    hmarkov: float

    def __str__(self) -> str:
        return f"--vmarkov {self.vmarkov} --hmarkov {self.hmarkov:g}"


SMALL = Setting("small", 1, 0)
LARGE = Setting("large", 2, math.inf)


class Sample(NamedTuple):
    """A grammar and the sentences to parse with it."""

    grammar: PCFG
    sentences: list[Sentence]


def default_corpus() -> str:
    """NLTK's sample of the Penn Treebank where it is installed, else the embedded treebank."""
    try:
        next(iter(read_corpus(TREEBANK)))
    except CorpusError:
        return EMBEDDED
    return TREEBANK


def binarized(corpus: str, setting: Setting, max_length: int | None = MAX_LENGTH) -> list[Tree]:
    """The corpus's trees, as ``mbrparse binarize`` makes them."""
    how = Preparation(
        binarization=Binarization("right", setting.hmarkov, setting.vmarkov), max_length=max_length
    )
    statistics = PreparationStatistics()
    return [one.tree for one in prepare(read_corpus(corpus, on_error=statistics.skip), how, statistics)]


def training_and_test(corpus: str, setting: Setting) -> tuple[list[Tree], list[Tree]]:
    """The first nine tenths of the trees, and the rest."""
    trees = binarized(corpus, setting)
    split = split_fraction(len(trees), "0.1")
    return [trees[place] for place in split.train], [trees[place] for place in split.test]


def write_sample(corpus: str, setting: Setting, folder: Path) -> tuple[Path, Path]:
    """A grammar of the first nine tenths of the trees, and the last tenth to parse, as files."""
    training, tests = training_and_test(corpus, setting)
    grammar, test = folder / f"{setting.name}.txt", folder / f"{setting.name}.mrg"
    source = (SourceTree(corpus, position, tree) for position, tree in enumerate(training))
    write_rules(induce(source, "tags"), grammar)
    with test.open("w", encoding="utf-8") as stream:
        for tree in tests:
            write_tree(tree, stream)
    return grammar, test


def read_sample(folder: Path, name: str) -> Sample:
    """What was written under a setting's name."""
    grammar = PCFG.from_rules(read_rules(folder / f"{name}.txt"))
    return Sample(grammar, [line.sentence for line in read_input([folder / f"{name}.mrg"])])


def encoded(sample: Sample) -> list[IntArray]:
    """The ids of the tags of those sentences that have known tags only."""
    ids = [sample.grammar.encode([leaf.label for leaf in sentence]) for sentence in sample.sentences]
    return [terminals for terminals in ids if terminals.min() >= 0]


def of_length(sentences: Sequence[Sentence], length: int) -> Iterator[Sentence]:
    """Stretches of the text that the sentences make one after the other."""
    leaves = [leaf for sentence in sentences for leaf in sentence]
    for begin in range(0, len(leaves) - length + 1, length):
        yield tuple(leaves[begin : begin + length])
