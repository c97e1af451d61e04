"""What brackets that are given gain: labelled F by objective, with a share of the gold brackets.

    python benchmarks/constraints.py [--corpus nltk:treebank] [--sentences N] [--share 0.1] [--seed 0]

Trains a grammar over words on nine tenths of a treebank. One in ten of the constituents of the other trees,
but for roots and what is over a word, is given, by chance: none, without labels, with them. ``F`` is of all
constituents, ``others`` of those over spans that are not given. Trees are un-binarized and then compared.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence

import pinned
from pruning import sample

import mbrparse as mp
from mbrparse.decode.parser.sentences import ANY
from mbrparse.treebank.binarize import Binarization, debinarize
from mbrparse.treebank.outlines import Constituent, Span, constituents
from mbrparse.treebank.tree import Tree

OBJECTIVES = ("labelled-tree", "labelled-recall", "bracketed-recall", "max-rule-product", "labelled-f")


def text(words: list[str], brackets: list[Constituent]) -> str:
    """A sentence with its brackets."""
    tokens = list(words)
    for start, end, label in reversed(brackets):
        tokens[start] = f"({label} {tokens[start]}"
        tokens[end - 1] += ")"
    return " ".join(tokens)


def f_score(
    gold: Sequence[Sequence[Constituent]], guessed: Sequence[Tree | None], left_out: Sequence[set[Span]]
) -> float:
    """Labelled F in percent, without the constituents over the spans that are left out."""
    match = total = 0
    for right, tree, spans in zip(gold, guessed, left_out, strict=True):
        found = [] if tree is None else constituents(tree)
        ours, theirs = (Counter(one for one in each if one[:2] not in spans) for each in (right, found))
        match, total = match + (ours & theirs).total(), total + ours.total() + theirs.total()
    return 200 * match / total


def main() -> None:
    """Print a line for each objective and kind of brackets."""
    parser = pinned.arguments(__doc__, corpus=False)
    parser.add_argument("--corpus", default="nltk:treebank")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    for name, how in (("--hmarkov 0", Binarization()), ("--vmarkov 2", Binarization(vmarkov=2))):
        grammar, binary = sample(options.corpus, how, "0.1", options.sentences, 40)
        trees = [debinarize(tree) for tree in binary]
        gold = [constituents(tree) for tree in trees]
        inner = [[one for one in listed[1:] if one.end - one.start > 1] for listed in gold]
        given = [[one for one in listed if chance.random() < options.share] for listed in inner]
        spans = [{(one.start, one.end) for one in listed} for listed in given]
        words = [[leaf.word or leaf.label for leaf in tree.leaves()] for tree in trees]
        kinds = {
            "none": [[] for _ in given],
            "without labels": [[one._replace(label=ANY) for one in listed] for listed in given],
            "labelled": given,
        }
        number = sum(map(len, given))
        print(f"{name}: {len(trees)} sentences, {number} of {sum(map(len, inner))} constituents given")
        for kind, asked in kinds.items():
            texts = list(map(text, words, asked))
            began = time.process_time()
            parses = mp.Parser(grammar, *OBJECTIVES, constrain=True, debinarized=True).parse(texts)
            spent = time.process_time() - began
            fell_back = sum(one.reason is not None for one in parses)
            print(f"  {kind}: {fell_back} fell back, {spent:.0f} s of CPU time")
            for objective in OBJECTIVES:
                found = parses.trees(objective)
                every, others = f_score(gold, found, [set()] * len(gold)), f_score(gold, found, spans)
                print(f"    {objective:18} F {every:.2f}, others {others:.2f}", flush=True)


if __name__ == "__main__":
    main()
