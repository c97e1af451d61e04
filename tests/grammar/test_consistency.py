"""c(i, j), the probability that no constituent of the n-ary tree crosses a span, against all derivations."""

import naive
import naive_crossing
import numpy as np
import pytest
from conversion import to_pcfg
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import grammars, sentences
from unary_strategies import unary_cases

from mbrparse.decode.derivations.forest_charts import ForestCharts
from mbrparse.grammar.charts.chart import Chart
from mbrparse.grammar.charts.crossing.closings import Closings
from mbrparse.grammar.charts.crossing.consistency import Consistency
from mbrparse.grammar.charts.factory import ChartFactory, Precision
from mbrparse.grammar.charts.live_nodes import LiveNodes
from mbrparse.grammar.charts.span_summary import cell_of
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import Rule, relative_frequencies

# Two continuations of one label, and one of another.
NAMES = {"A": "S_Cont", "B": "S_Cont>NP", "C": "NP"}


def is_continuation(symbol: str) -> bool:
    return symbol in "AB"


def linear(grammar: naive.Grammar, side: str) -> naive.Grammar:
    """The rules that have continuations on one side only."""
    other = 1 if side == "right" else 2
    kept = {rule: p for rule, p in grammar.binary.items() if not is_continuation(rule[other])}
    return naive.Grammar(grammar.start, kept, grammar.lexical)


@st.composite
def cases(draw: st.DrawFn) -> tuple[naive.Grammar, list[str], str]:
    grammar = draw(grammars())
    side = draw(st.sampled_from(["right", "left", "any"]))
    if side != "any":
        grammar = linear(grammar, side)
    words = draw(sentences(grammar, 6))
    assume(float(naive.sentence_probability(grammar, words)) > 0)
    return grammar, words, side


def charts(pcfg: PCFG, words: list[str], name: str) -> tuple[Chart, LiveNodes]:
    ids = pcfg.encode(words)
    if name == "forest":
        [forest] = ForestCharts(pcfg).charts([ids])
        return forest, forest.live_nodes()  # type: ignore[return-value]
    precision: Precision = "single" if name == "single" else "double"
    [chart] = ChartFactory(pcfg, precision, kernel="sparse" if name == "sparse" else None).charts([ids])
    return chart, chart.live_nodes()


@settings(max_examples=100)
@given(cases())
def test_consistency_equals_enumeration(case: tuple[naive.Grammar, list[str], str]) -> None:
    grammar, words, side = case
    trees = naive_crossing.n_ary_trees(grammar, words, is_continuation)
    n = len(words)
    pcfg = to_pcfg(grammar, NAMES)
    consistency = Consistency(pcfg)
    assert side == "any" or consistency.one_pass
    for name, tolerance in (("dense", 1e-9), ("sparse", 1e-9), ("forest", 1e-9), ("single", 1e-4)):
        _, nodes = charts(pcfg, words, name)
        found = consistency.of_chart(n, nodes)
        for start in range(n):
            for end in range(start + 1, n + 1):
                wanted = naive_crossing.consistent(trees, (start, end))
                assert found[cell_of(n, start, end)] == pytest.approx(wanted, abs=tolerance), name


@settings(max_examples=60)
@given(unary_cases(cyclic=False))
def test_consistency_with_unary_rules(case: tuple[naive.Grammar, list[str]]) -> None:
    grammar, words = case
    assume(float(naive.sentence_probability(grammar, words)) > 0)
    trees = naive_crossing.n_ary_trees(grammar, words, lambda symbol: symbol.startswith("X_Cont"))
    n = len(words)
    pcfg = to_pcfg(grammar)
    consistency = Consistency(pcfg)
    for name in ("sparse", "forest"):
        _, nodes = charts(pcfg, words, name)
        found = consistency.of_chart(n, nodes)
        for start in range(n):
            for end in range(start + 1, n + 1):
                wanted = naive_crossing.consistent(trees, (start, end))
                assert found[cell_of(n, start, end)] == pytest.approx(wanted, abs=1e-9), name


@settings(max_examples=60)
@given(cases(), st.data())
def test_masses_and_consistency_given_brackets(
    case: tuple[naive.Grammar, list[str], str], data: st.DataObject
) -> None:
    grammar, words, _ = case
    n = len(words)
    trees = naive_crossing.n_ary_trees(grammar, words, is_continuation)
    pcfg = to_pcfg(grammar, NAMES)
    consistency = Consistency(pcfg)
    closings = Closings(consistency.graph(n, charts(pcfg, words, "dense")[1]))
    bracketing = data.draw(st.sampled_from(naive_crossing.bracketings(0, n)))
    kept = data.draw(st.sets(st.sampled_from(sorted(bracketing)))) if bracketing else set()
    closed = consistency.closed(closings, sorted(kept))
    mass = naive_crossing.mass(trees, kept)
    assert closings.mass(closed) == pytest.approx(mass, abs=1e-9)
    found = consistency.joint(closings, closed)
    for start in range(n):
        for end in range(start + 2, n + 1):
            joint = naive_crossing.mass(trees, {*kept, (start, end)})
            assert found[cell_of(n, start, end)] == pytest.approx(joint, abs=1e-9)


def test_long_sentences_neither_underflow_nor_overflow() -> None:
    """Right-linear spines of one rule: nothing crosses what begins anywhere and ends last."""
    counts = {"S -> x S_Cont": 1.0, "S_Cont -> x S_Cont": 1.0, "S_Cont -> S x": 1e-6, "S_Cont -> x x": 1e-3}
    rules = {
        Rule(parent, tuple(f"'{c}'" if c == "x" else c for c in children.split())): count
        for (parent, children), count in ((text.split(" -> "), count) for text, count in counts.items())
    }
    pcfg = PCFG.from_rules(relative_frequencies("tags", {"S": 1.0}, rules))
    n = 300
    [chart] = ChartFactory(pcfg).charts([pcfg.encode(["x"] * n)])
    consistency = Consistency(pcfg)
    found = consistency.of_chart(n, chart.live_nodes())
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert found.max() <= 1 + 1e-9
    assert found[cell_of(n, 0, n)] == pytest.approx(1.0, abs=1e-9)
    closings = Closings(consistency.graph(n, chart.live_nodes()))
    for span in ((0, 2), (10, 200), (150, 299)):
        mass = closings.mass(consistency.closed(closings, [span]))
        assert found[cell_of(n, *span)] == pytest.approx(mass, abs=1e-9)
