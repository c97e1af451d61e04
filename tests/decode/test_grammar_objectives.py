"""Objectives that search the grammar's own trees, against all trees listed one by one."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import naive
import naive_objectives
import naive_unary
import pytest
from conversion import to_pcfg
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_objectives import GRAMMAR_OBJECTIVES, MAX_RULE_OBJECTIVES, gains, projection_of, value
from strategies import grammars, sentences
from unary_strategies import unary_cases

from mbrparse.decode.free import best_preterminals
from mbrparse.decode.grammar_space.best_trees import GrammarTree
from mbrparse.decode.grammar_space.charts import ForestChart, ForestCharts, Items
from mbrparse.decode.grammar_space.expectations import item_nodes
from mbrparse.decode.objectives import OBJECTIVES, Item, Objective, Space
from mbrparse.decode.parse import ParserOptions
from mbrparse.decode.parser import Parser
from mbrparse.decode.posteriors import Posteriors
from mbrparse.grammar.charts import forests
from mbrparse.grammar.charts.factory import ChartFactory
from mbrparse.grammar.charts.span_summary import cell_of
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import is_terminal, unquote
from mbrparse.treebank.tree import Tree

NAMES = ("labelled-tree", *GRAMMAR_OBJECTIVES, *MAX_RULE_OBJECTIVES)
ROWS = tuple(OBJECTIVES[name].within(Space.GRAMMAR) for name in NAMES)


def decode(
    grammar: PCFG, words: Sequence[str], items: Items, rows: Sequence[Objective] = ROWS
) -> ForestChart:
    """The chart of one sentence, for these objectives."""
    (chart,) = ForestCharts(grammar, rows, items, True, True).charts([grammar.encode(words)])
    return chart


def as_node(tree: GrammarTree, names: Sequence[str]) -> naive.Node:
    """The twin's tree of one of ours, its symbols renamed."""
    listed = item_nodes(tree.nodes, tree.preterminals)

    def build(position: int) -> naive.Node:
        node = listed[position]
        children = tuple(build(child) for child in node.children)
        return naive.Node(names[node.label], node.start, node.end, children)

    return build(len(listed) - 1)


def names_of(grammar: PCFG) -> list[str]:
    return [unquote(name) if is_terminal(name) else name for name in grammar.symbols]


def known(grammar: PCFG, words: Sequence[str]) -> bool:
    return bool((grammar.encode(words) >= 0).all())


def check_case(grammar: naive.Grammar, words: list[str], items: Items) -> None:
    """Each objective's tree is a candidate and has the largest value among all candidates."""
    ours = to_pcfg(grammar)
    if not known(ours, words):
        return
    chart = decode(ours, words, items)
    candidates = [tree for tree, _ in naive.derivations(grammar, words)]
    assert chart.has_parse == bool(candidates)
    if not candidates:
        return
    assert math.exp(chart.log_prob) == pytest.approx(float(naive_unary.sentence_probability(grammar, words)))
    projection = projection_of(grammar) if items == "projected" else None
    names, terminals = names_of(ours), grammar.terminals()
    viterbi, _ = naive.viterbi(grammar, words)
    by_tree = dict(naive.derivations(grammar, words))
    assert float(by_tree[as_node(chart.trees[0], names)]) == pytest.approx(float(viterbi))
    for index, name in enumerate(GRAMMAR_OBJECTIVES, start=1):
        tree = as_node(chart.trees[index], names)
        assert tree in candidates
        best, _ = naive_objectives.grammar_optimum(grammar, words, name, projection)
        earned = gains(grammar, words, name, projection)
        assert float(value(tree, earned, name, projection, terminals)) == pytest.approx(float(best))
        assert chart.trees[index].score == pytest.approx(float(best))
    labels = [projection[name] if projection else name for name in names]
    allowed = set(naive_objectives.max_rule_trees(grammar, words, projection))
    for index, name in enumerate(MAX_RULE_OBJECTIVES, start=1 + len(GRAMMAR_OBJECTIVES)):
        tree = as_node(chart.trees[index], labels)
        assert tree in allowed
        best, _ = naive_objectives.max_rule_optimum(grammar, words, name, projection)
        earned = gains(grammar, words, name, projection)
        found = value(tree, earned, name, None, terminals)
        if name == "max-rule-product":
            assert _log(found) == pytest.approx(_log(best), abs=1e-9)
            assert chart.trees[index].score == pytest.approx(_log(best), abs=1e-9)
        else:
            assert float(found) == pytest.approx(float(best))
            assert chart.trees[index].score == pytest.approx(float(best))


def _log(number: Any) -> float:
    exact = Fraction(number)
    return math.log(exact.numerator) - math.log(exact.denominator)


@settings(max_examples=150, deadline=None)
@given(unary_cases(), st.sampled_from(["projected", "symbol"]))
def test_each_objective_reaches_the_best_of_all_trees(
    case: tuple[naive.Grammar, list[str]], items: Items
) -> None:
    check_case(*case, items)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(["projected", "symbol"]))
def test_the_same_without_unary_rules(data: st.DataObject, items: Items) -> None:
    grammar = data.draw(grammars())
    check_case(grammar, data.draw(sentences(grammar, 5)), items)


@settings(max_examples=100, deadline=None)
@given(unary_cases())
def test_posteriors_of_forests(case: tuple[naive.Grammar, list[str]]) -> None:
    """Expected numbers of labels over spans, and what objectives of the free space ask of them."""
    grammar, words = case
    ours = to_pcfg(grammar)
    if not known(ours, words):
        return
    chart = decode(ours, words, "projected", ())
    if not chart.has_parse:
        return
    projection, n = projection_of(grammar), len(words)
    expected = naive_unary.posteriors(grammar, words, projection)
    found = chart.span_posteriors()
    triples = zip(found.starts, found.ends, (ours.labels[label] for label in found.label_ids), strict=True)
    assert dict(zip(triples, found.g, strict=True)) == pytest.approx(
        {key: float(g) for key, g in expected.items()}, abs=1e-12
    )
    posteriors = Posteriors.of_chart(chart, ours.labels)
    for start in range(n):
        for end in range(start + 2, n + 1):
            masses = [float(g) for (i, j, _), g in expected.items() if (i, j) == (start, end)]
            assert posteriors.bracketed(start, end) == pytest.approx(sum(masses), abs=1e-12)
            assert posteriors.spans.best[cell_of(n, start, end)] == pytest.approx(max(masses, default=0))
    lexical = naive_unary.item_posteriors(grammar, words, "rule", projection)
    for start, tag in enumerate(best_preterminals(posteriors)):
        masses = [
            float(g) for item, g in lexical.items() if item[:2] == (start, start + 1) and len(item) == 3
        ]
        if tag is not None and words[start] not in grammar.terminals():
            assert float(lexical[start, start + 1, tag]) == pytest.approx(max(masses))


GROWING = naive.Grammar(
    {"S": 1.0},
    {("S", "S", "S"): 0.3, ("A", "S", "S"): 0.5, ("S", "A", "A"): 0.2, ("A", "A", "S"): 0.3},
    {("S", "x"): 0.3, ("A", "x"): 0.2},
    {("S", "A"): 0.2},
)


def test_long_sentences_neither_underflow_nor_depend_on_those_before() -> None:
    grammar = to_pcfg(GROWING)
    sentences = [grammar.encode(["x"] * n) for n in (3, 120, 3, 1)]
    charts = list(ForestCharts(grammar, ROWS, "projected", True, True).charts(sentences))
    exhaustive = ChartFactory(grammar).charts(sentences)
    for chart, other in zip(charts, exhaustive, strict=True):
        assert chart.log_prob == pytest.approx(other.log_prob)
        assert chart.span_summary().total == pytest.approx(other.span_summary().total)
    assert charts[0].trees == charts[2].trees
    assert all(math.isfinite(tree.score) for chart in charts for tree in chart.trees.values())
    alone = decode(grammar, ["x"] * 120, "projected")
    assert alone.trees == charts[1].trees


def test_a_forest_too_large_for_memory_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forests, "MAX_SIZE", dict.fromkeys(forests.MAX_SIZE, 1 << 9))
    monkeypatch.setattr(forests, "_FIRST_SIZE", dict.fromkeys(forests.MAX_SIZE, 1 << 8))
    grammar = to_pcfg(GROWING)
    small, large = ForestCharts(grammar, ROWS, "projected", True, False).charts(
        [grammar.encode(["x"] * n) for n in (3, 40)]
    )
    assert (small.has_parse, small.overflown) == (True, False)
    assert (large.has_parse, large.overflown) == (False, True)
    options = ParserOptions(ROWS)
    parse = Parser(grammar, options).parse([(Tree("x"),) * 40])[0]
    assert parse.reason == "chart too large for memory"


def test_more_than_eight_objectives_at_once() -> None:
    """They go through the search eight at a time, and each gets its own tree."""
    mixed = [
        Objective(
            f"mixed-{weight}", Space.GRAMMAR, ((Item.LABELLED_SPAN, weight), (Item.PRODUCTION, 1.0)), -0.1
        )
        for weight in (0.1 * step for step in range(11))
    ]
    grammar, words = to_pcfg(GROWING), ["x"] * 6
    together = decode(grammar, words, "projected", mixed)
    for index, row in enumerate(mixed):
        assert decode(grammar, words, "projected", [row]).trees[0] == together.trees[index]
    assert len({str(tree.nodes) for tree in together.trees.values()}) > 1
