"""Charts of DOP grammars against the enumeration of all fragments, and the written reduction's charts."""

import math
from collections import Counter

import naive
import naive_unary
import numpy as np
import pytest
from conversion import posteriors_of
from hypothesis import given
from hypothesis import strategies as st
from naive_dop import NaiveDop, Node, inner_nodes, spans, words_of

from mbrparse.charts.dop.dop_charts import DopCharts, DopTreeProbability
from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.charts.spans import SpanEntries
from mbrparse.decode.parser.parser import Parser
from mbrparse.errors import GrammarError
from mbrparse.grammar.dop_grammar import DopGrammar, reduced_rules
from mbrparse.grammar.dop_treebank import AddressedTreebank, Weighting, address_trees
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import RuleSet, TerminalKind, Weight
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.tree import Tree

WEIGHTINGS: tuple[Weighting, ...] = ("plain", "equal", "bonnema")


def _node(label: str, *children: Node) -> Node:
    return label, children


def _nodes(kind: TerminalKind) -> st.SearchStrategy[Node]:
    """Trees of up to six leaves: those of eight have too many derivations to list."""
    leaves: st.SearchStrategy[Node] = st.sampled_from(["x", "y"])
    if kind == "words":
        leaves |= st.builds(lambda tag, word: (tag, (word,)), st.sampled_from(["P", "A"]), leaves)
    pairs = st.recursive(
        leaves, lambda below: st.builds(_node, st.sampled_from("AB"), below, below), max_leaves=3
    )
    return st.builds(_node, st.sampled_from(["A", "S"]), pairs, pairs)


def _tree(node: Node) -> Tree:
    if isinstance(node, str):
        return Tree(node)
    label, children = node
    return Tree(label, word=children[0]) if len(children) == 1 else Tree(label, list(map(_tree, children)))


def _treebank(
    nodes: list[Node], kind: TerminalKind, weighting: Weighting, depth: int | None = None
) -> AddressedTreebank:
    return address_trees([SourceTree("", 1, _tree(node)) for node in nodes], kind, weighting, depth)


_KINDS: tuple[TerminalKind, ...] = ("tags", "words")
kinds = st.sampled_from(_KINDS)
cases = kinds.flatmap(
    lambda kind: st.tuples(
        st.just(kind), st.lists(_nodes(kind), min_size=1, max_size=3).map(lambda trees: [*trees, trees[0]])
    )
)


@given(
    cases,
    st.sampled_from(WEIGHTINGS),
    st.none() | st.integers(1, 3),
    st.lists(st.sampled_from("xy"), max_size=4),
)
def test_charts_are_the_sums_over_all_derivations(
    case: tuple[TerminalKind, list[Node]], weighting: Weighting, depth: int | None, other: list[str]
) -> None:
    """Those of addresses, and of the reduction that is written out."""
    kind, nodes = case
    twin = NaiveDop(nodes, weighting, depth)
    treebank = _treebank(nodes, kind, weighting, depth)
    grammar = DopGrammar.of_treebank(treebank)
    charts = DopCharts(grammar)
    written = _written(grammar)
    general = ChartFactory(written)
    for words in {words_of(nodes[0]), words_of(nodes[-2]), tuple(other)} - {()}:
        ids = grammar.pcfg.encode(words)
        if ids.min() < 0:
            continue
        chart = charts.chart(ids)
        found = [chart, general.chart(written.encode(words))]
        trees = twin.trees(words)
        if not trees:
            assert not any(one.has_parse for one in found)
            continue
        for one, names in zip(found, (grammar.pcfg.labels, written.labels), strict=True):
            assert one.log_prob == pytest.approx(math.log(sum(trees.values())), abs=1e-11)
            assert _table(one.span_posteriors(), names) == pytest.approx(twin.posteriors(words), abs=1e-12)
        assert chart.viterbi().log_prob == pytest.approx(twin.best_derivation(words), abs=1e-11)
        tree = max(trees, key=lambda one: trees[one])
        wide = [span for span in sorted(spans(tree), key=_preorder) if span[1] - span[0] > 1]
        alike = [p for other_tree, p in trees.items() if _wide(other_tree) == _wide(tree)]
        log_prob = DopTreeProbability(grammar).log_prob(wide, ids)
        assert log_prob == pytest.approx(math.log(sum(alike)), abs=1e-11)


def _preorder(span: tuple[int, int, str]) -> tuple[int, int]:
    return span[0], -span[1]


def _wide(tree: Node) -> list[tuple[int, int, str]]:
    return sorted(span for span in spans(tree) if span[1] - span[0] > 1)


def _table(entries: SpanEntries, labels: tuple[str, ...]) -> dict[tuple[int, int, str], float]:
    """Posteriors of nodes: terminals that stand by themselves are none."""
    return {span: g for span, g in posteriors_of(entries, labels).items() if span[2] not in "xy"}


def _written(grammar: DopGrammar) -> PCFG:
    rules = {rule: Weight(probability) for rule, probability in reduced_rules(grammar)}
    treebank = grammar.treebank
    start = {name: Weight(count / treebank.trees) for name, count in treebank.start.items()}
    written = RuleSet(treebank.terminal_kind, start, rules)
    written.check()
    return PCFG.from_rules(written)


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
    grammar = DopGrammar.of_treebank(_treebank(TREES, "tags", "plain"))
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
    trees = [SourceTree("", 1, tree) for tree in [chain, *map(_tree, small * 2)]]
    grammar = DopGrammar.of_treebank(address_trees(trees, "words", weighting))
    charts = DopCharts(grammar)
    for words in (["x"] * 30, ["y", "x"], ["x"] * 3 + ["y"]):
        chart = charts.chart(grammar.pcfg.encode(words))
        assert math.isfinite(chart.log_prob)
        g = chart.span_posteriors().g
        assert np.isfinite(g).all()
        assert g.max() <= 1 + 1e-9
        assert chart.span_summary().best[len(words) - 1] == pytest.approx(1)


def test_a_parser_takes_a_dop_grammar() -> None:
    grammar = DopGrammar.of_treebank(_treebank(TREES, "tags", "plain"))
    twin = NaiveDop(TREES, "plain")
    words = words_of(TREES[1])
    best = twin.posteriors(words)
    parse = Parser(grammar, "labelled-recall", "labelled-tree", "general-recall").parse([list(words)])[0]
    expected = parse.expected_scores["labelled-recall"]
    assert expected is not None
    assert expected == pytest.approx(sum(best[span] for span in parse.spans[0]))
    assert (
        max(sum(best.get(span, 0) for span in spans(tree)) for tree in twin.trees(words)) <= expected + 1e-9
    )


def test_unary_nodes_are_refused_with_a_remedy() -> None:
    tree = Tree("S", [Tree("A", [Tree("x")]), Tree("y")])
    with pytest.raises(GrammarError, match="A is a unary node"):
        address_trees([SourceTree("t.mrg", 3, tree)], "tags")
