"""Objectives that search the grammar's own trees, against all trees listed one by one."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import naive
import naive_objectives
import naive_unary
import pytest
from conversion import names_of, posteriors_of, to_pcfg
from hypothesis import given
from hypothesis import strategies as st
from naive_objectives import GRAMMAR_OBJECTIVES, MAX_RULE_OBJECTIVES, gains, projection_of, value
from strategies import grammars, sentences
from unary_strategies import FEW_LABELS, unary_cases

from mbrparse.charts.chart import Chart
from mbrparse.charts.exhaustive.factory import ChartFactory, ForestCharts
from mbrparse.charts.spans import cell_of
from mbrparse.decode.answers import Items
from mbrparse.decode.derivations.forest_decoder import ForestDecoder
from mbrparse.decode.derivations.items import ITEM_KINDS, item_nodes
from mbrparse.decode.derivations.search import GrammarTree
from mbrparse.decode.free import best_preterminals
from mbrparse.decode.objectives import OBJECTIVES, Item, Kind, Objective, Space
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.errors import ObjectiveError
from mbrparse.grammar.pcfg import PCFG

NAMES = ("labelled-tree", *GRAMMAR_OBJECTIVES, *MAX_RULE_OBJECTIVES)
Cases = st.SearchStrategy[tuple[naive.Grammar, list[str]]]
ROWS = tuple(OBJECTIVES[name].within(Space.GRAMMAR) for name in NAMES)


class Searched(NamedTuple):
    """The chart of one sentence, and the trees of these objectives (symbol ids)."""

    chart: Chart
    trees: list[GrammarTree | None]


def charted(grammar: PCFG, words: Sequence[str], items: Items) -> Chart:
    return ForestCharts(grammar, items).chart(grammar.encode(words))


def decode(grammar: PCFG, words: Sequence[str], items: Items, rows: Sequence[Objective] = ROWS) -> Searched:
    charts = ForestCharts(grammar, items)
    chart = charts.chart(grammar.encode(words))
    decoder = ForestDecoder(charts, rows, expectations=True)
    return Searched(chart, decoder.trees(chart) if chart.has_parse else [])


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


def check_case(grammar: naive.Grammar, words: list[str], items: Items) -> None:
    """Each objective's tree is a candidate and has the largest value among all candidates."""
    ours = to_pcfg(grammar)
    if not known(ours, words):
        return
    chart = decode(ours, words, items)
    candidates = [tree for tree, _ in naive.derivations(grammar, words)]
    assert chart.chart.has_parse == bool(candidates)
    if not candidates:
        return
    assert math.exp(chart.chart.log_prob) == pytest.approx(
        float(naive_unary.sentence_probability(grammar, words))
    )
    projection = projection_of(grammar) if items == "projected" else None
    names, terminals = names_of(ours), grammar.terminals()
    viterbi, _ = naive.viterbi(grammar, words)
    by_tree = dict(naive.derivations(grammar, words))
    assert float(by_tree[as_node(tree_of(chart, 0), names)]) == pytest.approx(float(viterbi))
    within = naive_objectives.grammar_trees(grammar, words, projection)
    for index, name in enumerate(GRAMMAR_OBJECTIVES, start=1):
        assert (chart.trees[index] is None) == (not within)
        if not within:
            continue
        tree = as_node(tree_of(chart, index), names)
        assert tree in within
        best, _ = naive_objectives.grammar_optimum(grammar, words, name, projection)
        earned = gains(grammar, words, name, projection)
        assert float(value(tree, earned, name, projection, terminals)) == pytest.approx(float(best))
        assert tree_of(chart, index).score == pytest.approx(float(best))
    labels = [projection[name] if projection else name for name in names]
    allowed = set(naive_objectives.max_rule_trees(grammar, words, projection))
    for index, name in enumerate(MAX_RULE_OBJECTIVES, start=1 + len(GRAMMAR_OBJECTIVES)):
        tree = as_node(tree_of(chart, index), labels)
        assert tree in allowed
        best, _ = naive_objectives.max_rule_optimum(grammar, words, name, projection)
        earned = gains(grammar, words, name, projection)
        found = value(tree, earned, name, None, terminals)
        if name == "max-rule-product":
            assert _log(found) == pytest.approx(_log(best), abs=1e-9)
            assert tree_of(chart, index).score == pytest.approx(_log(best), abs=1e-9)
        else:
            assert float(found) == pytest.approx(float(best))
            assert tree_of(chart, index).score == pytest.approx(float(best))


def _log(number: Any) -> float:
    exact = Fraction(number)
    return math.log(exact.numerator) - math.log(exact.denominator)


def drawn(longest: int) -> st.SearchStrategy[tuple[naive.Grammar, list[str]]]:
    """Grammars without unary rules, and sentences."""
    return grammars().flatmap(lambda grammar: st.tuples(st.just(grammar), sentences(grammar, longest)))


@pytest.mark.parametrize(
    "cases",
    [unary_cases(), unary_cases(longest=4, nonterminals=FEW_LABELS), drawn(5)],
    ids=["unary", "several symbols of a label", "binary"],
)
@given(data=st.data(), items=st.sampled_from(["projected", "symbol"]))
def test_each_objective_reaches_the_best_of_all_trees(
    cases: Cases, data: st.DataObject, items: Items
) -> None:
    check_case(*data.draw(cases), items)


@pytest.mark.parametrize(
    ("unary", "lexical", "chains"),
    [
        # A comes once, though there are three symbols; derivations of the grammar hold it three times.
        (
            {("A^a", "A^b"): 1, ("A^b", "A^c"): 1},
            {"A^a": 3, "A^b": 1, "A^c": 1},
            {"productions": "A", "max-rule-sum": "A", "max-rule-product": "A"},
        ),
        # No way leads back to A, though the only derivation has it.
        (
            {("A^a", "B"): 1, ("B", "A^b"): 1, ("A^b", "B"): 1},
            {"A^b": 1},
            {"productions": None, "max-rule-sum": "A", "max-rule-product": "A"},
        ),
        # The detour earns more, and is less probable.
        (
            {("A^a", "B"): 1, ("B", "C"): 1, ("C", "B"): 1, ("A^a", "C"): 3},
            {"C": 1},
            {"productions": "ABC", "max-rule-sum": "ABC", "max-rule-product": "AC"},
        ),
    ],
)
def test_chains_hold_no_label_twice(
    unary: dict[tuple[str, str], int], lexical: dict[str, int], chains: dict[str, str | None]
) -> None:
    weights: dict[str, int] = dict.fromkeys(["A^a"], 0)
    for symbol, weight in [*((parent, weight) for (parent, _), weight in unary.items()), *lexical.items()]:
        weights[symbol] = weights.get(symbol, 0) + weight
    grammar = naive.Grammar(
        {"A^a": Fraction(1)},
        {},
        {(symbol, "x"): Fraction(weight, weights[symbol]) for symbol, weight in lexical.items()},
        {(parent, child): Fraction(weight, weights[parent]) for (parent, child), weight in unary.items()},
    )
    check_case(grammar, ["x"], "projected")
    searched, names = decode(to_pcfg(grammar), ["x"], "projected"), to_pcfg(grammar).symbols
    for name, chain in chains.items():
        tree = searched.trees[NAMES.index(name)]
        labels = tree and "".join(
            names[symbol][0] for symbol in (*(node[2] for node in tree.nodes), *tree.preterminals)
        )
        assert labels == chain
    parse = Parser(to_pcfg(grammar), *chains).parse(["x"])[0]
    missing = [name for name, chain in chains.items() if chain is None]
    assert parse.reason == (f"no tree for {missing[0]}" if missing else None)


def test_where_every_label_derives_every_other() -> None:
    """Paths are left out by bounds: chains of seven labels, against a list of all of them."""
    names, rules = "ABCDEFG", {}
    for place, one in enumerate(names):
        for other in names:
            if one != other:
                rules[one, other] = Fraction(1 + (7 * place + 3 * ord(other)) % 5, 40)
    grammar = naive.Grammar(
        {"A": Fraction(1)},
        {},
        {(one, "x"): 1 - sum(p for (parent, _), p in rules.items() if parent == one) for one in names},
        dict(rules),
    )
    check_case(grammar, ["x"], "symbol")


@given(unary_cases())
def test_posteriors_of_forests(case: tuple[naive.Grammar, list[str]]) -> None:
    """Expected numbers of labels over spans, and what objectives of the free space ask of them."""
    grammar, words = case
    ours = to_pcfg(grammar)
    if not known(ours, words):
        return
    chart = charted(ours, words, "projected")
    if not chart.has_parse:
        return
    projection, n = projection_of(grammar), len(words)
    expected = naive_unary.posteriors(grammar, words, projection)
    lexical = naive_unary.item_posteriors(grammar, words, "rule", projection)
    # Without the nodes that are rewritten as the word.
    above = {
        key: 0.0 if key[2] in grammar.terminals() else float(g - lexical.get(key, 0))
        for key, g in expected.items()
    }
    for one in (chart, ChartFactory(ours, kernel="forest").chart(chart.terminal_ids)):
        found, entries = posteriors_of(one.span_posteriors(), ours.labels), one.span_posteriors()
        assert found == pytest.approx({key: float(g) for key, g in expected.items()}, abs=1e-12)
        constituents = dict(zip(found, entries.constituents, strict=True))
        assert constituents == pytest.approx(above, abs=1e-12)
        assert (entries.constituents >= 0).all()
        assert not entries.lexical[entries.ends - entries.starts > 1].any()
    posteriors = Posteriors(chart.length, ours.labels, chart.span_summary, chart.span_posteriors)
    for start in range(n):
        for end in range(start + 2, n + 1):
            masses = [float(g) for (i, j, _), g in expected.items() if (i, j) == (start, end)]
            assert posteriors.bracketed(start, end) == pytest.approx(sum(masses), abs=1e-12)
            assert posteriors.spans.best[cell_of(n, start, end)] == pytest.approx(max(masses, default=0))
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
    forests = ForestCharts(grammar)
    decoder = ForestDecoder(forests, ROWS, expectations=True)
    charts = list(map(forests.chart, sentences))  # each is asked when others have taken its memory
    trees = [decoder.trees(chart) for chart in charts]
    exhaustive = list(map(ChartFactory(grammar).chart, sentences))
    for chart, other in zip(charts, exhaustive, strict=True):
        assert chart.log_prob == pytest.approx(other.log_prob)
        assert chart.span_summary().total == pytest.approx(other.span_summary().total)
    assert as_numbers(trees[0]) == as_numbers(trees[2])
    assert all(tree and math.isfinite(tree.score) for found in trees for tree in found)
    alone = decode(grammar, ["x"] * 120, "projected")
    assert as_numbers(alone.trees) == as_numbers(trees[1])


def test_the_most_probable_derivation_has_its_probability() -> None:
    """In a forest as in a chart, whatever the scale of the forest's numbers."""
    grammar = to_pcfg(GROWING)
    for length in (1, 3, 60):
        words = ["x"] * length
        both = [Parser(grammar, "labelled-tree", *more).parse([words])[0] for more in ((), ("productions",))]
        scores = [parse.expected_scores["labelled-tree"] for parse in both]
        assert scores[0] is not None
        assert 0 < scores[0] < 1
        assert scores[0] == pytest.approx(scores[1], rel=1e-9)


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
    unary_cases(),
    st.sampled_from(["projected", "symbol"]),
    st.sampled_from(["labelled-recall", "parent-child", "productions"]),
    st.sampled_from([-0.1, -0.5, -1.0, -5.0, 1.0]),
)
def test_a_cost_of_nodes(
    case: tuple[naive.Grammar, list[str]], items: Items, kind: Any, constant: float
) -> None:
    row = replace(OBJECTIVES[kind].within(Space.GRAMMAR), node_constant=constant)
    check_mixture(*case, items, row, kind)


def test_no_chain_repeats_a_label_under_a_cost_of_nodes() -> None:
    """Though the label would cost once, and the longer chain of one label were the better one."""
    third, rest = Fraction(3, 10), Fraction(7, 10)
    grammar = naive.Grammar(
        {"A": Fraction(1)},
        {("A", "X", "Y"): third, ("A^a", "X", "Z"): third, ("A^b", "Z", "Z"): Fraction(1)},
        {("X", "x"): Fraction(1), ("Y", "x"): Fraction(1), ("Z", "x"): Fraction(1)},
        {("A", "A^a"): rest, ("A^a", "A^b"): rest},
    )
    for constant in (0.0, -1.0, -2.0, -5.0, -50.0):
        row = replace(OBJECTIVES["productions"], node_constant=constant)
        check_mixture(grammar, ["x", "x"], "projected", row, "productions")


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
    alone = "row: productions with their split stand by themselves"
    by_split, by_log = (Item.SPLIT_PRODUCTION, 1.0), (Item.LOG_SPLIT_PRODUCTION, 1.0)
    for space, gains_of, constant, says in (
        (Space.ITEMS, (by_split, (Item.SPAN, 10.0)), 0.0, "row: the space items knows no span"),
        (Space.ITEMS, (by_split, by_log), 0.0, alone),
        (Space.ITEMS, ((Item.SPLIT_PRODUCTION, -1.0),), 0.0, alone),
        (Space.ITEMS, (by_log,), -1.0, alone),
        (Space.GRAMMAR, (by_split,), 0.0, "row: the space grammar knows no split production"),
        (Space.FREE, ((Item.PARENT_CHILD, 1.0),), 0.0, "row: the space free knows no parent child"),
        (Space.FREE, ((Item.SPAN, math.nan),), 0.0, "row: a weight that is no number"),
        (Space.FREE, ((Item.SPAN, 0.0),), 0.0, "row: nothing is weighed"),
        (Space.FREE, ((Item.SPAN, 1.0), (Item.SPAN, 1.0)), 0.0, "row: an item is listed twice"),
    ):
        with pytest.raises(ObjectiveError, match=says):
            Objective("row", space, gains_of, constant)


def test_every_item_that_a_search_may_weigh_has_a_row() -> None:
    for item in Item:
        for space in (Space.GRAMMAR, Space.ITEMS):
            try:
                kind = Objective("row", space, ((item, 1.0),)).kind
            except ObjectiveError:
                continue
            assert item in ITEM_KINDS or kind is Kind.WHOLE
