"""What pruning costs and gains: loss against speed by threshold, as a table and a picture.

    python benchmarks/pruning.py [--treebanks FOLDER] [--sentences N] [--image docs/images/pruning.svg]
    python benchmarks/pruning.py --grammar FILE --trees FILE [--objectives max-rule-product]

Grammars of annotated labels over words, trained on nine tenths of the Penn sample, or on all of CRAFT but its
last fiftieth where FOLDER holds it; or a grammar that is given, with binarized trees to parse the words of.
Sentences are parsed exactly and at each threshold, in one process: CPU time of the parser, charts to trees,
beside that of the exact one. Trees are un-binarized and then compared.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pinned

from mbrparse.decode.parser.parser import Parse, Parser
from mbrparse.decode.parser.parsing import Details
from mbrparse.grammar.grammar_files import read_grammar
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grid.grid_tables import pictures
from mbrparse.training.methods import train
from mbrparse.treebank.binarize import Binarization, HeadDriven, debinarize
from mbrparse.treebank.corpora.prepare import Preparation, PreparationStatistics, prepare
from mbrparse.treebank.corpora.reading import read_corpus
from mbrparse.treebank.heads import head_rules
from mbrparse.treebank.outlines import constituents
from mbrparse.treebank.splits import split_fraction
from mbrparse.treebank.tree import Tree

THRESHOLDS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
OBJECTIVES = {
    "labelled-tree": "Viterbi",
    "labelled-recall": "labelled recall",
    "max-rule-sum": "max-rule",
    "max-rule-product": "max-rule product",
}
LINES = {"Viterbi": ":", "labelled recall": "-", "max-rule": "--", "max-rule product": "-."}
BATCH = 64


class Point(NamedTuple):
    """What came of all sentences at one threshold."""

    threshold: float
    milliseconds: float  # of CPU time a sentence
    labelled_f: float  # of 1
    same: float  # the share of trees that are the exact ones
    lost: float  # of log probability, nats a sentence
    left_out: float  # of the projected grammar's probability, a sentence


def settings() -> dict[str, Binarization]:
    """How trees are binarized (``mbrparse binarize``)."""
    heads = HeadDriven(head_rules("collins"), tags=True, frames=True)
    return {
        "head-driven": Binarization(vmarkov=2, heads=heads),
        "--vmarkov 2 --hmarkov inf": Binarization("right", math.inf, 2),
        "--vmarkov 3 --hmarkov 2": Binarization("right", 2, 3),
    }


def sample(corpus: str, how: Binarization, share: str, most: int, longest: int) -> tuple[PCFG, list[Tree]]:
    """A grammar, and trees to parse the words of."""
    statistics = PreparationStatistics()
    source = read_corpus(corpus, on_error=statistics.skip)
    preparation = Preparation(binarization=how, max_length=longest)
    trees = [one.tree for one in prepare(source, preparation, statistics)]
    split = split_fraction(len(trees), share)
    grammar = train([trees[place] for place in split.train], "words")
    return grammar, [trees[place] for place in split.test][:most]


def points(grammar: PCFG, gold: list[Tree], objective: str) -> Iterator[Point]:
    """One for each threshold, the exact one first."""
    exact: list[Parse] = []
    wanted = [Counter(constituents(debinarize(tree))) for tree in gold]
    sentences = [list(tree.leaves()) for tree in gold]
    details = Details(grammar, None)
    for threshold in THRESHOLDS:
        parser = Parser(grammar, objective, prune=threshold, debinarized=True)
        parser.parse([max(sentences, key=len)])  # compiles, and takes memory
        began = time.process_time()
        parses = [
            parse
            for begin in range(0, len(sentences), BATCH)
            for parse in parser.parse(sentences[begin : begin + BATCH])
        ]
        spent = time.process_time() - began
        exact = exact or parses
        found = [Counter(constituents(parse.tree)) if parse.tree else Counter() for parse in parses]
        matched = sum((one & other).total() for one, other in zip(found, wanted, strict=True))
        parsed = [place for place, parse in enumerate(exact) if parse.reason is None]
        rows = [details.row(parses[place]) for place in parsed] if threshold else []
        yield Point(
            threshold,
            1e3 * spent / len(gold),
            2 * matched / sum(one.total() for one in (*found, *wanted)),
            sum(one.tree == other.tree for one, other in zip(parses, exact, strict=True)) / len(gold),
            sum(exact[place].log_prob - parses[place].log_prob for place in parsed) / len(parsed),
            sum(row["pruned"]["left_out"] for row in rows) / len(parsed),
        )


def draw(curves: dict[str, list[Point]], path: Path) -> None:
    """The share of exact trees against speed, a line for each grammar and objective."""
    styles: dict[str, Any] = {}
    title = "Share of exact trees against speed"
    with pictures(path.parent, path.stem, 1, (7.0, 4.4), title) as (_, [panel]):
        for name, found in curves.items():
            corpus, _, objective = name.rpartition(", ")
            colour = styles.setdefault(corpus, f"C{len(styles)}")
            speeds = [found[0].milliseconds / point.milliseconds for point in found]
            shares = [100 * point.same for point in found]
            line = LINES[objective]
            panel.plot(speeds, shares, label=name, color=colour, linestyle=line, marker="o", markersize=4)
        panel.legend(fontsize="small", frameon=False, loc="lower left")
        panel.set_xscale("log")
        panel.set_xlabel("times as fast as exact (dots: 0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)")
        panel.set_ylabel("per cent of trees that are the exact ones")


def chosen(options: argparse.Namespace) -> Iterator[tuple[str, PCFG, list[Tree]]]:
    """Names of grammars, the grammars, and trees to parse the words of."""
    if options.grammar is not None:
        trees = [source.tree for source in read_corpus(str(options.trees))][: options.sentences]
        yield options.grammar.name, read_grammar(options.grammar), trees
        return
    corpora = [("nltk:treebank", "Penn sample", "0.1", 40)]
    if options.treebanks is not None:
        corpora.append((f"craft:{options.treebanks / 'craft-penn.zip'}", "CRAFT", "0.02", 60))
    for corpus, title, share, longest in corpora:
        for name in options.only:
            yield (f"{title}, {name}", *sample(corpus, settings()[name], share, options.sentences, longest))


def main() -> None:
    """Measure, print and draw."""
    parser = pinned.arguments(__doc__, corpus=False)
    parser.add_argument("--treebanks", type=Path, help="the folder of CRAFT")
    parser.add_argument("--sentences", type=int, default=200, metavar="N")
    parser.add_argument("--only", choices=list(settings()), nargs="+", default=list(settings()))
    parser.add_argument("--objectives", choices=list(OBJECTIVES), nargs="+", default=list(OBJECTIVES)[:3])
    parser.add_argument("--grammar", type=Path, help="parse with this grammar alone, over words")
    parser.add_argument("--trees", type=Path, help="with --grammar: binarized trees to parse the words of")
    parser.add_argument("--image", type=Path)
    options = parser.parse_args()
    pinned.pin()
    print(pinned.machine())
    curves: dict[str, list[Point]] = {}
    for name, grammar, gold in chosen(options):
        print(f"{name}: {grammar}, {len(gold)} sentences")
        for objective in options.objectives:
            found = curves[f"{name}, {OBJECTIVES[objective]}"] = []
            for point in points(grammar, gold, objective):
                found.append(point)
                print(
                    f"| {OBJECTIVES[objective]} | {point.threshold:g} | {point.milliseconds:.2f} "
                    f"| {found[0].milliseconds / point.milliseconds:.2f} | {100 * point.labelled_f:.2f} "
                    f"| {100 * point.same:.1f} | {point.lost:.4f} | {100 * point.left_out:.3f} |",
                    flush=True,
                )
    if options.image is not None:
        draw(curves, options.image)


if __name__ == "__main__":
    main()
