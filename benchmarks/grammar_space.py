"""The speed of objectives that search the grammar's own trees: python benchmarks/grammar_space.py.

Right-linear word grammars without unary rules and with, and a head-driven one, trained on the first nine
tenths of the corpus and run on part of the rest; words that come once stand for unknown ones. Printed are
sentences a second of CPU time for each set of objectives, of the fastest repetition, and the most memory that
a process takes which parses the same for the first set, its kernels compiled before. Sentences are parsed
together.
"""

# ruff: noqa: I001 (threads are pinned before numpy is imported)

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
import time
from collections import Counter
from typing import NamedTuple

import pinned
from peak_memory import peak_memory

from mbrparse.decode.objectives import OBJECTIVES, Objective, Space
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.parser.sentences import Sentence
from mbrparse.training.count import induce
from mbrparse.grammar.pcfg import PCFG
from mbrparse.treebank.binarize import Binarization, HeadDriven
from mbrparse.treebank.corpora.reading import SourceTree, read_corpus
from mbrparse.treebank.heads import head_rules
from mbrparse.treebank.corpora.prepare import PreparationStatistics, Preparation, prepare
from mbrparse.treebank.splits import split_fraction
from mbrparse.treebank.tree import Tree
from samples import default_corpus

UNKNOWN = "UNK"


class Sample(NamedTuple):
    """A grammar and the sentences to parse with it."""

    grammar: PCFG
    sentences: list[Sentence]


def settings() -> dict[str, Preparation]:
    """How trees are prepared (``mbrparse binarize``)."""
    heads = HeadDriven(head_rules("collins"), tags=True, frames=True)
    return {
        "right-linear": Preparation(),
        "right-linear, unary rules": Preparation(unary="keep"),
        "head-driven": Preparation(binarization=Binarization(vmarkov=2, heads=heads)),
        "--vmarkov 3 --hmarkov 2": Preparation(binarization=Binarization("right", 2, 3)),
    }


#: Those that have a meaning among a grammar's own trees.
SEARCHED = (
    "labelled-tree",
    "labelled-recall",
    "bracketed-recall",
    "parent-child",
    "productions",
    "max-rule-sum",
    "max-rule-product",
)


def objective_sets() -> dict[str, tuple[Objective, ...]]:
    """Sets of objectives that are asked for together."""
    everything = tuple(OBJECTIVES[name] for name in SEARCHED)
    within = tuple(objective.within(Space.GRAMMAR) for objective in everything)
    return {
        "all, --space grammar": within,
        "all, default spaces": everything,
        "parent-child": (OBJECTIVES["parent-child"],),
        "max-rule-product": (OBJECTIVES["max-rule-product"],),
    }


def sample(corpus: str, how: Preparation, count: int) -> Sample:
    """Train on nine tenths, and parse the first trees of the last."""
    statistics = PreparationStatistics()
    trees = [one.tree for one in prepare(read_corpus(corpus, on_error=statistics.skip), how, statistics)]
    split = split_fraction(len(trees), "0.1")
    words = Counter(leaf.word for place in split.train for leaf in trees[place].leaves())

    def known(tree: Tree) -> Tree:
        def leaf(node: Tree) -> Tree:
            return node if words[node.word] > 1 else Tree(node.label, word=UNKNOWN)

        return tree.fold(leaf, lambda node, children: Tree(node.label, children))

    train = (SourceTree(corpus, place, known(trees[place])) for place in split.train)
    grammar = PCFG.from_rules(induce(train, "words"))
    test = [tuple(known(trees[place]).leaves()) for place in split.test]
    fit = [s for s in test if (grammar.encode([leaf.word or leaf.label for leaf in s]) >= 0).all()]
    return Sample(grammar, fit[:count])


def report(chosen: Sample, repetitions: int) -> None:
    """Print sentences a second of each set of objectives, and their ratio to the first set's."""
    first = 0.0
    for title, objectives in objective_sets().items():
        parser = Parser(chosen.grammar, *objectives)
        seconds = []
        for _ in range(repetitions + 1):  # the first one compiles
            began = time.process_time()
            for parse in parser.parse(chosen.sentences):
                list(map(str, parse.trees))
            seconds.append(time.process_time() - began)
        count, fastest = len(chosen.sentences), min(seconds[1:])
        first = first or fastest
        print(f"  {title}: {count / fastest:.0f} sentences/s ({first / fastest:.2f} of the first set's rate)")


def peak(chosen: Sample) -> int:
    """Parse once for the first set; the most memory that this process has taken, in MB."""
    parser = Parser(chosen.grammar, *next(iter(objective_sets().values())))
    for parse in parser.parse(chosen.sentences):
        list(map(str, parse.trees))
    return round(peak_memory())


def peak_of_another(chosen: Sample) -> str:
    """The same of a process of its own, which reads no trees and finds its kernels compiled."""
    given = pickle.dumps(tuple(chosen))
    done = subprocess.run([sys.executable, __file__, "--peak"], input=given, check=True, capture_output=True)
    return done.stdout.decode().strip()


def main() -> None:
    """Run all grammars, or those asked for."""
    parser = pinned.arguments(__doc__)
    parser.add_argument("--sentences", type=int, default=100, metavar="N")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N")
    parser.add_argument("--only", choices=list(settings()), nargs="+", default=list(settings()))
    parser.add_argument("--peak", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    pinned.pin()
    if options.peak:
        print(f"{peak(Sample(*pickle.load(sys.stdin.buffer)))} MB")
        return
    corpus = options.corpus or default_corpus()
    print(pinned.machine())
    for name, how in settings().items():
        if name not in options.only:
            continue
        chosen = sample(corpus, how, options.sentences)
        rules = len(chosen.grammar.parent) + len(chosen.grammar.unary_parent)
        print(
            f"{name}: {len(chosen.grammar.symbols)} symbols, {rules} rules over symbols; "
            f"{len(chosen.sentences)} sentences"
        )
        report(chosen, options.repetitions)
        most = peak_of_another(chosen)
        print(f"  first set, kernels compiled before: {most} at most")


if __name__ == "__main__":
    main()
