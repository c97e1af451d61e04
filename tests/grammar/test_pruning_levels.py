"""Pruning by several levels, beside all trees of small grammars whose symbols carry states."""

import math
from collections import defaultdict
from collections.abc import Sequence

import naive
import numpy as np
import pytest
from conversion import derivation_of, posteriors_of, rules_of, to_naive, to_pcfg
from hypothesis import assume, given
from hypothesis import strategies as st
from naive import Grammar, Node
from strategies import grammars, sentences
from unary_strategies import unary_cases

from mbrparse.charts.chart import TOO_LARGE
from mbrparse.charts.exhaustive import forests
from mbrparse.charts.exhaustive.factory import ForestCharts, PrunedChart, PrunedCharts, Pruning
from mbrparse.charts.packed_forest import PRODUCTIONS
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.parser.parsing import Details
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.projection import projected_grammar

# What the symbols of random grammars are called: some are the same at level 2, some at level 0;
# the first have one level.
NAMED = (
    {"S": "S", "A": "S^A", "B": "B~0", "C": "B~1"},
    {"S": "S", "A": "A^x~000", "B": "A^x~001", "C": "A^x~010"},
    {"S": "S~110", "A": "S~111", "B": "A~00", "C": "A~0110"},
    {"S": "A~1010", "A": "A~1011", "B": "A~1000", "C": "A~0"},
)
SPLIT = ("A~000", "A~001", "A~010", "B^S~110", "B^S~111", "B^S~0", "C")


def renamed(grammar: Grammar, names: dict[str, str]) -> Grammar:
    def name(symbol: str) -> str:
        return names.get(symbol, symbol)

    return Grammar(
        {name(a): p for a, p in grammar.start.items()},
        {(name(a), name(b), name(c)): p for (a, b, c), p in grammar.binary.items()},
        {(name(a), word): p for (a, word), p in grammar.lexical.items()},
    )


def cut(symbol: str, level: int) -> str:
    """The name of a symbol at a level."""
    if level == 0:
        return symbol.partition("~")[0].partition("^")[0]
    base, mark, state = symbol.partition("~")
    return base + mark + state[:level]


def levels_of(grammar: Grammar) -> list[int]:
    deepest = max(len(symbol.partition("~")[2]) for symbol in grammar.symbols())
    return [0, *range(2, deepest)]


def judged(tree: Node) -> list[Node]:
    """The last node of each chain of unary rules, and the first where a binary rule takes it."""
    nodes = naive.nodes(tree)
    taken = [child for node in nodes if len(node.children) == 2 for child in node.children]
    return taken + [node for node in nodes if len(node.children) != 1]


def left_trees(
    grammar: Grammar, words: Sequence[str], level: int | None, alive: set[tuple[int, int, str]] | None
) -> list[tuple[Node, float]]:
    """The trees of which nothing is ruled out at the level before."""

    def stands(node: Node) -> bool:
        assert level is not None
        return alive is None or (node.start, node.end, cut(node.symbol, level)) in alive

    trees = naive.derivations(grammar, words)
    return [
        (tree, float(p)) for tree, p in trees if level is None or all(stands(node) for node in judged(tree))
    ]


def nested(pcfg: PCFG, words: Sequence[str], threshold: float) -> tuple[list[tuple[Node, float]], float]:
    """The trees that are left at last, and the product of what levels kept."""
    fine = to_naive(pcfg)
    alive: set[tuple[int, int, str]] | None = None
    before, kept = None, 1.0
    for level in levels_of(fine):
        coarse = to_naive(projected_grammar(pcfg, level))
        assume(not coarse.has_unary_cycle())
        trees = left_trees(coarse, words, before, alive)
        total = math.fsum(p for _, p in trees)
        g: dict[tuple[int, int, str], float] = defaultdict(float)
        for tree, p in trees:
            for node in naive.nodes(tree):
                g[node.start, node.end, node.symbol] += p / total
        assume(all(abs(value / threshold - 1) > 1e-6 for value in g.values()))
        found = {key for key, value in g.items() if value > threshold}
        if alive is not None:
            found = {(i, j, name) for i, j, name in found if (i, j, cut(name, before or 0)) in alive}
        alive, before = found, level
        kept *= math.fsum(p for _, p in left_trees(coarse, words, 99, alive)) / total if total else 0.0
        if not alive:
            return [], 0.0
    return left_trees(fine, words, before, alive), kept


def check(grammar: Grammar, words: list[str], place: float) -> None:
    """Compare all that charts say with trees."""
    pcfg = to_pcfg(grammar)
    ids = pcfg.encode(words)
    assume(ids.min() >= 0)
    first = 10.0 ** (-4 * place) * 0.7
    pruning = Pruning(pcfg, first)
    chart = PrunedCharts(pcfg, pruning).chart(ids)
    for threshold in (first, first * 1e-3):
        listed, kept = nested(pcfg, words, threshold)
        if listed:
            break
    else:
        threshold, listed, kept = 0.0, left_trees(to_naive(pcfg), words, None, None), 1.0
    assert chart.has_parse == bool(listed)
    if not listed:
        return
    assert isinstance(chart, PrunedChart)
    assert chart.pruned.threshold == threshold
    assert chart.pruned.left_out == pytest.approx(1 - kept, abs=1e-9)
    total = math.fsum(p for _, p in listed)
    assert chart.log_prob == pytest.approx(math.log(total), abs=1e-9)
    expected: dict[tuple[int, int, str], float] = defaultdict(float)
    for tree, p in listed:
        for node in naive.nodes(tree):
            expected[node.start, node.end, cut(node.symbol, 0)] += p / total
    assert posteriors_of(chart.span_posteriors(), pcfg.labels) == pytest.approx(dict(expected), abs=1e-9)
    best = max(p for _, p in listed)
    assert chart.viterbi().log_prob == pytest.approx(math.log(best), abs=1e-9)
    candidates = [
        [(x.start, x.end, x.symbol) for x in naive.constituents(tree)]
        for tree, p in listed
        if p >= best * (1 - 1e-9)
    ]
    assert derivation_of(chart, pcfg.symbols)[0] in candidates
    forest = ForestCharts(pcfg, pruning=pruning).chart(ids)
    assert forest.log_prob == pytest.approx(chart.log_prob, abs=1e-9)
    assert forest.pruned == chart.pruned


@given(st.data(), st.sampled_from(NAMED), st.floats(0, 1))
def test_charts_hold_the_trees_that_are_left(
    data: st.DataObject, names: dict[str, str], place: float
) -> None:
    grammar = data.draw(grammars())
    check(renamed(grammar, names), data.draw(sentences(grammar, 5)), place)


@given(unary_cases(cyclic=False, longest=4, nonterminals=SPLIT), st.floats(0, 1))
def test_charts_hold_the_trees_that_are_left_where_there_are_unary_rules(
    case: tuple[Grammar, list[str]], place: float
) -> None:
    check(*case, place)


@pytest.mark.parametrize("p", [0.4, 0.49999, 0.5 - 1e-9, 0.5 + 1e-12, 0.50001, 0.501, 0.9])
def test_shares_of_symbols_where_trees_hardly_end_or_never(p: float) -> None:
    counts = {"S -> A~0 B": 1, "B -> 'b'": 1, "A~0 -> A~0 A~1": p, "A~0 -> 'x'": 1 - p}
    counts |= {"A~1 -> A~0 A~0": p / 2, "A~1 -> A~1 A~1": p / 2, "A~1 -> 'y'": 1 - p}
    found = to_naive(projected_grammar(PCFG.from_rules(rules_of(counts)), 0)).lexical
    # An A makes p of each on average: there are p + 2 p^2 + 4 p^3 .. of A~1, and one more of A~0.
    more = p / (1 - 2 * p) if p < 0.5 else math.inf
    assert found["A", "y"] / found["A", "x"] == pytest.approx(1 / (1 + 1 / more), rel=1e-8)


@given(grammars(), st.sampled_from(NAMED), st.integers(0, 4))
def test_the_projected_grammar_of_a_level_is_the_weighted_mean(
    grammar: Grammar, names: dict[str, str], level: int
) -> None:
    """Weights are the expected numbers of symbols: E = start + E M, with M[A, B] the B's that an A makes."""
    grammar = renamed(grammar, names)
    symbols = grammar.symbols()
    place = {name: i for i, name in enumerate(symbols)}
    made = np.zeros((len(symbols), len(symbols)))
    for (a, b, c), p in grammar.binary.items():
        made[place[a], place[b]] += float(p)
        made[place[a], place[c]] += float(p)
    assume(max(abs(np.linalg.eigvals(made))) < 0.9)
    start = np.array([float(grammar.start.get(name, 0)) for name in symbols])
    expected = np.linalg.solve(np.eye(len(symbols)) - made.T, start)
    sums: dict[str, float] = defaultdict(float)
    for name in symbols:
        sums[cut(name, level)] += expected[place[name]]
    assume(all(value > 1e-6 for value in expected))
    sums_of: dict[tuple[str, ...], float] = defaultdict(float)
    for (a, b, c), p in grammar.binary.items():
        key = cut(a, level), cut(b, level), cut(c, level)
        sums_of[key] += float(p) * expected[place[a]] / sums[key[0]]
    for (a, word), p in grammar.lexical.items():
        sums_of[cut(a, level), word] += float(p) * expected[place[a]] / sums[cut(a, level)]
    found = to_naive(projected_grammar(to_pcfg(grammar), level))
    assert set(found.symbols()) == set(sums)
    both = {key: float(p) for key, p in [*found.binary.items(), *found.lexical.items()]}
    rules = {rule: p for rule, p in sums_of.items() if p}  # a grammar has no rules of probability 0
    assert both == pytest.approx(rules, rel=1e-9)


# Right-branching trees have nearly all of the probability, left-branching ones most of the chart.
BRANCHING = {
    "S -> B A~000": 1,
    "A~000 -> B A~000": 90,
    "A~000 -> A~000 A~000": 1,
    "A~000 -> A~000 A~001": 1,
    "A~000 -> A~001 A~010": 1,
    "A~000 -> 'x'": 20,
    "A~001 -> A~000 A~000": 1,
    "A~001 -> A~001 A~010": 1,
    "A~001 -> 'x'": 20,
    "A~010 -> A~001 A~000": 1,
    "A~010 -> 'x'": 20,
    "B -> 'x'": 1,
}


@pytest.mark.parametrize(("productions", "fits"), [(300, True), (3, False)])
def test_thresholds_are_raised_where_a_chart_does_not_fit(
    productions: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pcfg = PCFG.from_rules(rules_of(BRANCHING))
    monkeypatch.setitem(forests.MAX_SIZE, PRODUCTIONS, productions)
    [exact] = Parser(pcfg, "max-rule-product").parse("x " * 14)
    assert exact.reason == TOO_LARGE
    [parse] = Parser(pcfg, "max-rule-product", prune=1e-12).parse("x " * 14)
    if not fits:
        assert parse.reason == TOO_LARGE
        return
    assert parse.reason is None
    assert 1e-12 < Details(pcfg, None).row(parse)["pruned"]["threshold"] < 1
