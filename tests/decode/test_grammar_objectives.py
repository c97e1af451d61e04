"""Objectives that search the grammar's own trees, against all trees listed one by one."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import naive
import naive_objectives
import pytest
from conversion import names_of, to_pcfg
from hypothesis import given
from hypothesis import strategies as st
from naive_objectives import GRAMMAR_OBJECTIVES, MAX_RULE_OBJECTIVES, gains, projection_of, value
from strategies import derived
from unary_strategies import FEW_LABELS, unary_cases

from mbrparse.charts.chart import Chart
from mbrparse.charts.exhaustive.factory import ChartFactory, ForestCharts
from mbrparse.decode.answers import Items
from mbrparse.decode.derivations.forest_decoder import ForestDecoder
from mbrparse.decode.derivations.items import ForestItems, item_nodes
from mbrparse.decode.derivations.search import GrammarTree
from mbrparse.decode.objectives import OBJECTIVES, Item, Objective, Space
from mbrparse.errors import ObjectiveError
from mbrparse.grammar.pcfg import PCFG

NAMES = ("labelled-tree", *GRAMMAR_OBJECTIVES, *MAX_RULE_OBJECTIVES)
ROWS = tuple(OBJECTIVES[name].within(Space.GRAMMAR) for name in NAMES)


class Searched(NamedTuple):
    """The chart of one sentence, and the trees of these objectives (symbol ids)."""

    chart: Chart
    trees: list[GrammarTree | None]


def decode(grammar: PCFG, words: Sequence[str], items: Items, rows: Sequence[Objective] = ROWS) -> Searched:
    charts = ForestCharts(grammar, items)
    chart = charts.chart(grammar.encode(words))
    decoder = ForestDecoder(charts, rows, expectations=True)
    return Searched(chart, trees_of(decoder, chart) if chart.has_parse else [])


def trees_of(decoder: ForestDecoder, chart: Chart) -> list[GrammarTree | None]:
    return decoder.trees(ForestItems(chart.forest(), decoder.items, chart.length, chart.occurrences()))


def tree_of(searched: Searched, index: int) -> GrammarTree:
    """The tree of an objective."""
    tree = searched.trees[index]
    assert tree is not None
    return tree


def nodes_of_tree(tree: GrammarTree) -> tuple[list[tuple[int, int, int]], list[int]]:
    return tree.nodes, tree.preterminals


def as_numbers(trees: Sequence[GrammarTree | None]) -> list[object]:
    """Trees that can be compared."""
    return [tree and (tree.score, nodes_of_tree(tree)) for tree in trees]


def as_node(tree: GrammarTree, names: Sequence[str]) -> naive.Node:
    """The twin's tree of one of ours, its symbols renamed."""
    listed = item_nodes(*nodes_of_tree(tree))

    def build(position: int) -> naive.Node:
        node = listed[position]
        children = tuple(build(child) for child in node.children)
        return naive.Node(names[node.label], node.start, node.end, children)

    return build(len(listed) - 1)


def known(grammar: PCFG, words: Sequence[str]) -> bool:
    return bool((grammar.encode(words) >= 0).all())


GROWING = naive.Grammar(
    {"S": 1.0},
    {("S", "S", "S"): 0.3, ("A", "S", "S"): 0.5, ("S", "A", "A"): 0.2, ("A", "A", "S"): 0.3},
    {("S", "x"): 0.3, ("A", "x"): 0.2},
    {("S", "A"): 0.2},
)


def test_long_sentences_neither_underflow_nor_depend_on_those_before() -> None:
    grammar = to_pcfg(GROWING)
    sentences = [grammar.encode(["x"] * n) for n in (3, 120, 3, 1)]
    forests = ForestCharts(grammar)
    decoder = ForestDecoder(forests, ROWS, expectations=True)
    charts = list(map(forests.chart, sentences))  # each is asked when others have taken its memory
    trees = [trees_of(decoder, chart) for chart in charts]
    exhaustive = list(map(ChartFactory(grammar).chart, sentences))
    for chart, other in zip(charts, exhaustive, strict=True):
        assert chart.log_prob == pytest.approx(other.log_prob)
        assert chart.span_summary().total == pytest.approx(other.span_summary().total)
    assert as_numbers(trees[0]) == as_numbers(trees[2])
    assert all(tree and math.isfinite(tree.score) for found in trees for tree in found)
    alone = decode(grammar, ["x"] * 120, "projected")
    assert as_numbers(alone.trees) == as_numbers(trees[1])


def check_mixture(grammar: naive.Grammar, words: list[str], items: Items, row: Objective, kind: Any) -> None:
    """A mixed objective's tree has the score that it says, and no tree has a larger one."""
    ours = to_pcfg(grammar)
    if not known(ours, words):
        return
    chart = decode(ours, words, items, [row])
    if not chart.chart.has_parse:
        return
    projection = projection_of(grammar) if items == "projected" else None
    earned, terminals = gains(grammar, words, kind, projection), grammar.terminals()

    def score(tree: naive.Node) -> float:
        nodes = naive.labelled_spans(tree, projection)
        return float(value(tree, earned, kind, projection, terminals)) + row.node_constant * len(nodes)

    candidates = naive_objectives.grammar_trees(grammar, words, projection)
    assert (chart.trees[0] is None) == (not candidates)
    if not candidates:
        return
    tree = as_node(tree_of(chart, 0), names_of(ours))
    assert tree in candidates
    assert tree_of(chart, 0).score == pytest.approx(score(tree), abs=1e-9)
    assert score(tree) == pytest.approx(max(map(score, candidates)), abs=1e-9)


@given(
    unary_cases() | unary_cases(longest=4, nonterminals=FEW_LABELS) | derived(),
    st.sampled_from(["projected", "symbol"]),
    st.sampled_from(["labelled-recall", "bracketed-recall", "parent-child", "productions"]),
    st.sampled_from([0.0, -0.1, -0.5, -1.0, -5.0, 1.0]),
)
def test_trees_reach_the_best_of_all_at_any_cost_of_nodes(
    case: tuple[naive.Grammar, list[str]], items: Items, kind: Any, constant: float
) -> None:
    row = replace(OBJECTIVES[kind].within(Space.GRAMMAR), node_constant=constant)
    check_mixture(*case, items, row, kind)


def test_gains_that_nearly_cancel_still_give_a_tree() -> None:
    """Reading the tree off must find the split whose values are lost in rounding beside the node's gain."""
    tiny = Fraction(3, 10**12)
    grammar = naive.Grammar(
        {"S": Fraction(1)},
        {("S", "A~1", "G"): 1 - tiny, ("S", "A~2", "G"): tiny, ("A~2", "Z", "Z"): Fraction(1),
         ("A~1", "Y", "Y"): Fraction(1), ("G", "Y", "Y"): Fraction(1)},
        {("Y", "x"): Fraction(1), ("Z", "x"): Fraction(1)},
        {},
    )  # fmt: skip
    for constant in (-1.0, -1.0 + 1e-9, -1.0 - 1e-9, -0.5, 0.0):
        row = replace(OBJECTIVES["labelled-recall"].within(Space.GRAMMAR), node_constant=constant)
        check_mixture(grammar, ["x"] * 4, "symbol", row, "labelled-recall")
        check_mixture(grammar, ["x"] * 4, "projected", row, "labelled-recall")


def test_rows_that_the_search_would_get_wrong_are_refused() -> None:
    alone = "row: productions with their split take no other items"
    by_split, by_log = (Item.SPLIT_PRODUCTION, 1.0), (Item.LOG_SPLIT_PRODUCTION, 1.0)
    for space, gains_of, constant, says in (
        (Space.ITEMS, (by_split, (Item.SPAN, 10.0)), 0.0, "row: the space items knows no span"),
        (Space.ITEMS, (by_log,), -1.0, alone),
        (Space.FREE, ((Item.SPAN, math.nan),), 0.0, "row: a weight that is no number"),
    ):
        with pytest.raises(ObjectiveError, match=says):
            Objective("row", space, gains_of, constant)
