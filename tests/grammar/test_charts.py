"""Charts against the enumeration of all trees: both kernels, both precisions, any batch."""

import math
from typing import Literal

import naive
import numpy as np
import pytest
from conversion import ANNOTATED, PROJECTION, derivation_of, names_of, posteriors_of, rules_of, to_pcfg
from hypothesis import given
from hypothesis import strategies as st
from strategies import grammars, sentences

from mbrparse.charts import factory
from mbrparse.charts.base.chart import Chart, Wanted
from mbrparse.charts.base.rule_tables import Rules
from mbrparse.charts.base.span_summary import cell_of
from mbrparse.charts.factory import ChartFactory, Precision, suits_dense
from mbrparse.grammar.pcfg import PCFG, IntArray

Kernel = Literal["dense", "forest"]
KERNELS: tuple[Kernel, ...] = ("dense", "forest")
EVERYTHING = Wanted(derivations=True, entries=True)


@st.composite
def cases(draw: st.DrawFn, times: int = 1) -> tuple[naive.Grammar, list[list[str]]]:
    """A grammar and sentences of words that it knows, each repeated so often at most."""
    grammar = draw(grammars())
    words = draw(st.lists(sentences(grammar, 6), min_size=1, max_size=4))
    repeated = draw(st.integers(1, times))
    known = to_pcfg(grammar).terminals
    return grammar, [sentence * repeated for sentence in words if set(known).issuperset(sentence)]


def charts(
    pcfg: PCFG, batch: list[list[str]], kernel: Kernel | None = None, precision: Precision = "double"
) -> list[Chart]:
    return ChartFactory(pcfg, precision, EVERYTHING, kernel).charts([pcfg.encode(words) for words in batch])


@given(cases())
def test_inside_and_outside_equal_enumeration(case: tuple[naive.Grammar, list[list[str]]]) -> None:
    grammar, batch = case
    pcfg = to_pcfg(grammar)
    symbols = names_of(pcfg)
    for kernel in KERNELS:
        for words, chart in zip(batch, charts(pcfg, batch, kernel), strict=True):
            total = float(naive.sentence_probability(grammar, words))
            assert chart.has_parse == (total > 0)
            inside, outside = naive.inside(grammar, words), naive.outside(grammar, words)
            assert chart.log_prob == pytest.approx(math.log(total) if total else -math.inf, abs=1e-9)
            n = len(words)
            for start in range(n):
                # The dense kernel keeps tags out of the cells.
                for end in range(start + (2 if kernel == "dense" else 1), n + 1):
                    ids, logs = chart.inside(start, end)
                    found = {symbols[i]: math.exp(x) for i, x in zip(ids, logs, strict=True)}
                    expected = {
                        x: float(p)
                        for (i, j, x), p in inside.items()
                        if (i, j) == (start, end) and x in symbols
                    }
                    assert found == pytest.approx(expected, rel=1e-9)
                    ids, logs = chart.outside(start, end)
                    for i, x in zip(ids, logs, strict=True):
                        assert math.exp(x) == pytest.approx(float(outside[start, end, symbols[i]]), rel=1e-9)


@given(cases(), st.sampled_from(["double", "single"]))
def test_posteriors_and_viterbi_equal_enumeration(
    case: tuple[naive.Grammar, list[list[str]]], precision: Precision
) -> None:
    grammar, batch = case
    exact = precision == "double"
    tolerance = 1e-9 if exact else 1e-5
    pcfg = to_pcfg(grammar, ANNOTATED)
    for kernel in KERNELS:
        for words, chart in zip(batch, charts(pcfg, batch, kernel, precision), strict=True):
            if not chart.has_parse:
                continue
            posteriors = naive.posteriors(grammar, words, PROJECTION)
            entries = chart.span_posteriors()
            assert posteriors_of(chart.span_posteriors(), pcfg.labels) == pytest.approx(
                {k: float(p) for k, p in posteriors.items()}, abs=tolerance
            )
            # Without unary rules nothing but preterminals stands over a single terminal, to the last bit.
            width = entries.ends - entries.starts
            assert entries.lexical.tolist() == np.where(width == 1, entries.g, 0.0).tolist()
            summary = chart.span_summary()
            n = len(words)
            for i in range(n):
                for j in range(i + 1, n + 1):
                    masses = [float(p) for (s, e, _), p in posteriors.items() if (s, e) == (i, j)]
                    cell = cell_of(n, i, j)
                    assert summary.total[cell] == pytest.approx(sum(masses), abs=tolerance)
                    assert summary.best[cell] == pytest.approx(max(masses, default=0), abs=tolerance)
            best, trees = naive.viterbi(grammar, words)
            assert chart.viterbi().log_prob == pytest.approx(math.log(best), abs=1e-6 if exact else 1e-4)
            nodes, _ = derivation_of(chart, names_of(pcfg))
            assert nodes in [
                [(x.start, x.end, ANNOTATED.get(x.symbol, x.symbol)) for x in naive.constituents(tree)]
                for tree in trees
            ]
            check_maxima_alone(pcfg, words, kernel, precision)


def check_maxima_alone(pcfg: PCFG, words: list[str], kernel: Kernel, precision: Precision) -> None:
    """A chart of maxima has the derivation of a chart that has sums too."""
    both = Wanted(summaries=True, derivations=True), Wanted(summaries=False, derivations=True)
    [beside], [alone] = (
        ChartFactory(pcfg, precision, wanted, kernel).charts([pcfg.encode(words)]) for wanted in both
    )
    found, expected = beside.viterbi(), alone.viterbi()
    assert found.nodes == expected.nodes
    assert found.preterminals == expected.preterminals
    assert found.log_prob == pytest.approx(expected.log_prob, rel=1e-9 if precision == "double" else 1e-5)


@pytest.mark.parametrize("n", [*range(1, 16), 40])
def test_equally_good_ones_and_improbable_ones(n: int) -> None:
    """The best has a share of 1 / Catalan(n - 1), or a little more: every bound is the last one of some n."""
    counts = {"S -> S S": 2, "S -> x": 1.5, "S -> x S": 0.5}
    for skewed in (counts, {**counts, "S -> S x": 0.6}):
        check_maxima_alone(PCFG.from_rules(rules_of(skewed, kind="tags")), ["x"] * n, "forest", "double")


def test_kernels_agree_on_derivations_and_labels() -> None:
    """Ties are broken by rule, so both kernels return the same trees where many are equally good."""
    counts = {f"S -> {left} {right}": 1.0 for left in ("S", "'x'", "A") for right in ("S", "'x'", "A")}
    counts |= {f"A -> {left} {right}": 1.0 for left in ("A", "'x'") for right in ("A", "'x'")}
    pcfg = PCFG.from_rules(rules_of(counts))
    batch = [["x"] * n for n in range(2, 24)]
    for precision in ("double", "single"):
        dense, sparse = (charts(pcfg, batch, kernel, precision) for kernel in KERNELS)
        for one, other in zip(dense, sparse, strict=True):
            assert one.viterbi().nodes == other.viterbi().nodes
            assert np.array_equal(one.span_summary().label, other.span_summary().label)


def improbable(probability: float) -> PCFG:
    """x^n has one derivation, of that probability but for one of its rules; what ends in y has none."""
    counts = {"S -> 'x' S": probability, "S -> 'x' 'x'": probability, "S -> 'y' S": 1 - 2 * probability}
    return PCFG.from_rules(rules_of(counts))


@given(
    st.integers(1, 60),
    st.lists(st.tuples(st.integers(1, 60), st.sampled_from("xy")), min_size=1, max_size=12),
    st.sampled_from(["double", "single"]),
)
def test_no_parse_is_told_from_next_to_no_probability(
    magnitude: int, sentences: list[tuple[int, str]], precision: Precision
) -> None:
    # Single precision has no rules of less than some 1e-38.
    magnitude = magnitude if precision == "double" else min(magnitude, 30)
    pcfg = improbable(10.0**-magnitude)
    batch = [["x"] * n + [last] for n, last in sentences]
    for words, chart in zip(batch, charts(pcfg, batch, "dense", precision), strict=True):
        expected = -math.inf if words[-1] == "y" else (len(words) - 1) * math.log(10.0) * -magnitude
        assert chart.has_parse == (words[-1] == "x")
        for found in (chart.log_prob, chart.viterbi().log_prob):
            assert found == pytest.approx(expected, rel=1e-9 if precision == "double" else 1e-5)
        assert len(chart.viterbi().nodes) == (len(words) - 1 if chart.has_parse else 0)
        constituents = len(words) - 1 if chart.has_parse else 0
        posteriors = chart.span_posteriors()
        assert posteriors.constituents.sum() == pytest.approx(constituents, rel=1e-4)


def test_the_dense_kernels_know_that_there_is_no_parse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unwanted(*_: object) -> None:
        raise AssertionError("forests are asked")

    monkeypatch.setattr(factory, "ForestAnswers", unwanted)
    batch = [["x"] * n + ["y"] for n in (1, 2, 20, 39, 101, 150)]
    for probability in (0.001, 1e-30):  # of which the numbers' range holds but the first
        for together in (batch * 4, batch[3:4], batch[-1:]):
            for chart in charts(improbable(probability), together, None):
                assert not chart.has_parse
                assert chart.viterbi().log_prob == -math.inf
                assert chart.span_summary().total.sum() == 0
            derivations = ChartFactory(
                improbable(probability), wanted=Wanted(summaries=False, derivations=True)
            ).charts
            for chart in derivations([improbable(probability).encode(words) for words in together]):
                assert chart.viterbi().log_prob == -math.inf
    with pytest.raises(AssertionError, match="are asked"):
        charts(improbable(1e-30), [["x"] * 39], None)


@pytest.mark.parametrize("kernel", [None, "dense", "forest"])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_five_hundred_tokens_do_not_underflow(kernel: Kernel | None, precision: Precision) -> None:
    """x^500 has one derivation, of probability 0.001^499; what leaves a kernel's range goes to another."""
    [chart] = charts(improbable(0.001), [["x"] * 500], kernel, precision)
    expected = pytest.approx(499 * math.log(0.001), rel=1e-9 if precision == "double" else 1e-5)
    assert chart.log_prob == expected
    assert chart.viterbi().log_prob == expected
    assert len(chart.viterbi().nodes) == 499
    assert chart.span_summary().total.sum() == pytest.approx(999, rel=1e-9 if precision == "double" else 1e-4)


def table_of(symbols: int, partners: int) -> Rules:
    """Each symbol has rules with so many right siblings."""
    left = np.repeat(np.arange(symbols, dtype=np.int32), partners)
    right = (left + np.tile(np.arange(partners, dtype=np.int32), symbols)) % symbols
    ones, none = np.ones(len(left)), np.zeros(0, np.int32)
    return Rules(symbols, left, left, right, ones, none, none, ones, np.ones(symbols), none, 0)


@pytest.mark.parametrize(
    ("symbols", "partners", "is_dense"),
    [(46, 1, True), (400, 3, True), (401, 3, False), (500, 15, False), (500, 16, True), (1025, 100, False)],
)
def test_which_grammars_are_dense(symbols: int, partners: int, is_dense: bool) -> None:
    assert suits_dense(table_of(symbols, partners)) == is_dense


def test_charts_answer_what_their_batch_did_not_ask() -> None:
    pcfg = PCFG.from_rules(rules_of({"S -> 'x' S": 1, "S -> 'x' 'x'": 1}))
    sentence: IntArray = pcfg.encode(["x"] * 3)
    [chart] = ChartFactory(pcfg, wanted=Wanted(summaries=False, derivations=True)).charts([sentence])
    assert chart.has_parse
    assert chart.log_prob == pytest.approx(math.log(0.25))
    assert chart.span_summary().total[cell_of(3, 0, 3)] == pytest.approx(1)
    assert len(chart.span_posteriors().g) == 5
