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

from mbrparse.decode.grammar_space.best_trees import GrammarTree
from mbrparse.decode.grammar_space.charts import ForestChart, ForestCharts, Items
from mbrparse.decode.grammar_space.expectations import item_nodes
from mbrparse.decode.objectives import OBJECTIVES, Objective, Space
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import is_terminal, unquote

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
