"""Charts of DOP grammars that are pruned, or have very many fragments; tests/fuzz lists all fragments."""

import math
from collections import Counter

import naive
import naive_unary
import numpy as np
import pytest
from conversion import dop_tree, dop_treebank
from dop_strategies import WEIGHTINGS
from naive_dop import Node, inner_nodes, words_of

from mbrparse.charts.dop.dop_charts import DopCharts
from mbrparse.errors import GrammarError
from mbrparse.grammar.dop_grammar import DopGrammar, Weighting, address_trees
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.tree import Tree

TREES: list[Node] = [
    ("S", (("A", ("x", "y")), ("B", ("y", ("A", ("x", "y")))))),
    ("S", ("x", ("B", (("A", ("y", "y")), ("A", ("x", "y")))))),
    ("S", (("A", ("x", ("B", ("y", "y")))), ("A", ("x", "y")))),
]


def _pcfg_of(nodes: list[Node]) -> naive.Grammar:
    """The treebank's PCFG, for the naive twin; a terminal is a symbol over itself."""
    rules = Counter(
        (node[0], *(child if isinstance(child, str) else child[0] for child in node[1]))
        for tree in nodes
        for node in inner_nodes(tree)
    )
    total: Counter[str] = Counter()
    for (parent, *_), count in rules.items():
        total[parent] += count
    return naive.Grammar(
        {"S": 1.0},
        {(a, b, c): count / total[a] for (a, b, c), count in rules.items()},
        {("x", "x"): 1.0, ("y", "y"): 1.0},
    )


@pytest.mark.parametrize("prune", [0.2, 0.6, 0.999])
def test_what_pruning_leaves_out(prune: float) -> None:
    grammar = DopGrammar.of_treebank(dop_treebank(TREES, "tags", "plain"))
    plain = _pcfg_of(TREES)
    for words in sorted({words_of(tree) for tree in TREES}):
        chart = DopCharts(grammar, prune=prune).chart(grammar.pcfg.encode(words))
        g = naive_unary.posteriors(plain, words)
        threshold = prune
        while True:
            trees = [
                ({(x.start, x.end, x.symbol) for x in naive.constituents(tree)}, p)
                for tree, p in naive.derivations(plain, words)
            ]
            kept = math.fsum(p for tree, p in trees if all(g[each] > threshold for each in tree))
            if kept:
                break
            threshold *= 0.01
        assert chart.pruned is not None
        assert chart.pruned.threshold == pytest.approx(threshold)
        assert chart.pruned.left_out == pytest.approx(1 - kept / math.fsum(p for _, p in trees), abs=1e-12)
    assert DopCharts(grammar).chart(grammar.pcfg.encode(words)).pruned is None


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_values_do_not_leave_the_numbers_range_with_very_many_fragments(weighting: Weighting) -> None:
    """A word has two ways to end a fragment: a chain of 1,500 words has more than 2 ** 1500 of them."""
    chain = Tree("P", word="x")
    for _ in range(1500):
        chain = Tree("A", [Tree("P", word="x"), chain])
    small: list[Node] = [("A", (("P", ("x",)), ("Q", ("y",)))), ("A", (("Q", ("y",)), ("P", ("x",))))]
    trees = [SourceTree("", 1, tree) for tree in [chain, *map(dop_tree, small * 2)]]
    grammar = DopGrammar.of_treebank(address_trees(trees, "words", weighting))
    charts = DopCharts(grammar)
    for words in (["x"] * 30, ["y", "x"], ["x"] * 3 + ["y"]):
        chart = charts.chart(grammar.pcfg.encode(words))
        assert math.isfinite(chart.log_prob)
        g = chart.span_posteriors().g
        assert np.isfinite(g).all()
        assert g.max() <= 1 + 1e-9
        assert chart.span_summary().best[len(words) - 1] == pytest.approx(1)


def test_unary_nodes_are_refused_with_a_remedy() -> None:
    tree = Tree("S", [Tree("A", [Tree("x")]), Tree("y")])
    with pytest.raises(GrammarError, match="A is a unary node"):
        address_trees([SourceTree("t.mrg", 3, tree)], "tags")
