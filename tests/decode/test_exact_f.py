"""Exact expected F, against all derivations and all n-ary trees of sentences up to six words."""

from collections import defaultdict
from itertools import combinations

import naive
import naive_nary
import numpy as np
import pytest
from conversion import to_pcfg
from hypothesis import given
from hypothesis import strategies as st
from strategies import grammars, sentences

from mbrparse.charts.exhaustive.factory import ForestCharts
from mbrparse.charts.spans import cell_of
from mbrparse.decode.exact_f import best_of_any_size, size_posteriors
from mbrparse.decode.objectives import OBJECTIVES
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.errors import ObjectiveError
from mbrparse.training.count import train
from mbrparse.treebank.brackets import read_tree

ROWS = [OBJECTIVES[name].with_f("exact") for name in ("labelled-f", "bracketed-f")]
# B is the continuation of S, and C an annotated A.
NAMES = {"S": "S", "A": "A", "B": "S_Cont", "C": "A^S"}
LABELS = {"S": "S", "A": "A", "C": "A"}


def truths(grammar: naive.Grammar, words: list[str]) -> dict[naive_nary.Labelled, float]:
    """Every n-ary tree of the sentence with its probability."""
    found: dict[naive_nary.Labelled, float] = defaultdict(float)
    for tree, p in naive.derivations(grammar, words):
        nodes = [node for node in naive.constituents(tree) if node.symbol in LABELS]
        found[frozenset((node.start, node.end, LABELS[node.symbol]) for node in nodes)] += float(p)
    total = sum(found.values())
    return {tree: p / total for tree, p in found.items()}


@given(grammars(), st.data())
def test_trees_reach_the_enumerated_optimum(grammar: naive.Grammar, data: st.DataObject) -> None:
    words = data.draw(sentences(grammar, 6))
    [parse] = Parser(to_pcfg(grammar, NAMES), *ROWS).parse([words])
    if parse.reason is not None:
        return
    distribution = truths(grammar, words)
    for row, decoded in zip(ROWS, parse.decoded, strict=True):
        assert decoded is not None
        labels = row.name == "labelled-f"
        optimum = naive_nary.expected_f_optimum(distribution, len(words), labels)
        reached = naive_nary.expected_f(distribution, frozenset(decoded.spans), labels)
        assert decoded.score == pytest.approx(optimum, abs=1e-9)
        assert reached == pytest.approx(optimum, abs=1e-9)
        assert len(set(decoded.spans)) == len(decoded.spans)
        spans = [(start, end) for start, end, _ in decoded.spans]
        assert not any(naive.crosses(*pair) for pair in combinations(spans, 2))
        sizes = sum(len(tree) * p for tree, p in distribution.items())
        assert decoded.constituents == pytest.approx(sizes)


@given(grammars(), st.data())
def test_constituents_together_with_the_size(grammar: naive.Grammar, data: st.DataObject) -> None:
    words = data.draw(sentences(grammar, 6))
    ours = to_pcfg(grammar, NAMES)
    charts = ForestCharts(ours)
    ids = ours.encode(words)
    if len(words) < 2 or not (ids >= 0).all():
        return
    chart = charts.chart(ids)
    if not chart.has_parse:
        return
    counted = np.array(["_Cont" not in ours.labels[label] for label in ours.label_ids])
    known = size_posteriors(chart, charts, counted)
    expected: dict[tuple[int, int, str, int], float] = defaultdict(float)
    for tree, p in truths(grammar, words).items():
        for span in tree:
            expected[*span, len(tree)] += p
    found = {
        (int(start), int(end), ours.labels[label], size): g
        for start, end, label, row in zip(known.starts, known.ends, known.label_ids, known.g, strict=True)
        for size, g in enumerate(row)
    }
    assert expected.keys() <= found.keys()
    for key, g in found.items():
        assert g == pytest.approx(expected.get(key, 0.0), abs=1e-9)


@given(st.integers(2, 6), st.data())
def test_the_search_for_any_gains(n: int, data: st.DataObject) -> None:
    spans = [(i, j) for i in range(n) for j in range(i + 2, n + 1)]
    levels = st.integers(-2, 8).map(lambda eighths: eighths / 8) | st.floats(-0.2, 1)
    gains = {size: {span: data.draw(levels) for span in spans} for size in range(1, n)}
    table = np.full((n - 1, n * (n + 1) // 2), np.nan)
    for size, row in gains.items():
        for (i, j), value in row.items():
            table[size - 1, cell_of(n, i, j)] = value
    score, spans_of_tree = best_of_any_size(table, n)
    tree = frozenset(spans_of_tree)
    assert tree in naive_nary.trees(n, False)
    assert len(tree) == len(spans_of_tree)
    assert score == pytest.approx(naive_nary.optimum_by_size(gains, n), abs=1e-9)
    assert sum(gains[len(tree)][span] for span in tree) == pytest.approx(score, abs=1e-9)


def test_long_sentences_add_up_to_their_posteriors() -> None:
    """There are as many roots of unity as words."""
    texts = [
        "(S (A x x) (S_Cont x (A x x)))",
        "(S (S x x) (A x (A_Cont x x)))",
        "(A (S x x) x)",
        "(A x (S x x))",
    ]
    grammar = train([read_tree(text) for text in texts])
    charts = ForestCharts(grammar)
    for length in (21, 64):
        ids = grammar.encode(["x"] * length)
        chart = charts.chart(ids)
        posteriors = Posteriors(chart.length, grammar.labels, chart.span_summary, chart.span_posteriors)
        counted = np.array(["_Cont" not in grammar.labels[label] for label in grammar.label_ids])
        known = size_posteriors(chart, charts, counted)
        for start, end, label, row in zip(known.starts, known.ends, known.label_ids, known.g, strict=True):
            g = posteriors.labelled(int(start), int(end), grammar.labels[label])
            assert row.sum() == pytest.approx(g, abs=1e-12)
            assert (row > -1e-12).all()


def test_one_word_and_a_fall_back() -> None:
    parser = Parser(train([read_tree("(S (A a b) (S_Cont c d))"), read_tree("(S a b)")]), *ROWS)
    assert [str(tree) for tree in parser.parse(["a b c d"])[0].trees] == ["(S (A a b) c d)"] * 2
    [lost] = parser.parse(["a b c"])
    assert (lost.reason, str(lost.trees[0])) == ("no parse", "(S a b c)")


def test_unary_rules_are_refused_with_a_remedy() -> None:
    grammar = to_pcfg(
        naive.Grammar({"S": 1.0}, {("S", "A", "A"): 0.5}, {("A", "x"): 1.0}, {("S", "A"): 0.5}),
    )
    with pytest.raises(ObjectiveError, match=r"needs a grammar without unary rules.*--unary top") as caught:
        Parser(grammar, ROWS[0])
    assert "labelled-f" in str(caught.value)
