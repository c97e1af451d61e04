"""Charts of long sentences against forests and closed forms."""

import math

import naive
import numpy as np
import pytest
from conversion import posteriors_of, rules_of, to_pcfg

from mbrparse.charts.chart import Chart
from mbrparse.charts.exhaustive.factory import ChartFactory, Kernel
from mbrparse.charts.spans import cell_of
from mbrparse.grammar.pcfg import PCFG


def chart_of(pcfg: PCFG, words: list[str], kernel: Kernel | None = None) -> Chart:
    return ChartFactory(pcfg, kernel=kernel).chart(pcfg.encode(words))


HALVES = naive.Grammar(  # a^n b^n, in the middle of which c may stand: most spans have nothing
    {"S": 1.0},
    {("S", "a", "T"): 0.25, ("S", "a", "b"): 0.75, ("T", "S", "b"): 0.5, ("T", "C", "b"): 0.5},
    {("a", "a"): 1.0, ("b", "b"): 1.0, ("C", "c"): 1.0},
)
UNEVEN = naive.Grammar(  # words whose prices are far from what the grammar's words cost in the mean
    {"S": 0.5, "A": 0.5},
    {("S", "S", "A"): 1e-9, ("S", "A", "x"): 1e-3, ("A", "y", "S"): 1e-5, ("A", "A", "A"): 1e-2},
    {
        ("S", "x"): 1e-4,
        ("S", "z"): 1 - 1e-3 - 1e-4,
        ("A", "y"): 0.5,
        ("A", "z"): 0.4,
        ("x", "x"): 1,
        ("y", "y"): 1,
    },
)


@pytest.mark.parametrize(
    ("grammar", "words"),
    [(HALVES, ["a"] * 70 + ["c"] + ["b"] * 70), (UNEVEN, ["x", "y", "y", "x"] * 30), (UNEVEN, ["z"] * 101)],
)
def test_costly_and_sparse_long_sentences(grammar: naive.Grammar, words: list[str]) -> None:
    one, other = (chart_of(to_pcfg(grammar), words, kernel) for kernel in ("dense", "forest"))
    assert one.log_prob == pytest.approx(other.log_prob, rel=1e-9)
    assert one.viterbi().log_prob == pytest.approx(other.viterbi().log_prob, rel=1e-9)
    labels = to_pcfg(grammar).labels
    found, expected = (posteriors_of(chart.span_posteriors(), labels) for chart in (one, other))
    for key in found.keys() | expected.keys():
        assert found.get(key, 0.0) == pytest.approx(expected.get(key, 0.0), rel=1e-9, abs=1e-9)


def test_what_leaves_the_range_of_numbers_goes_to_forests() -> None:
    """Each node costs 2^-664, of which nothing in the sentence tells beforehand."""
    pcfg = PCFG.from_rules(rules_of({"S -> S S": 1e-200, "S -> 'x'": 1.0}))
    for n in (6, 101):
        chart = chart_of(pcfg, ["x"] * n)
        assert chart.log_prob == pytest.approx(log_catalan(n) + (n - 1) * math.log(1e-200), rel=1e-9)
        assert chart.viterbi().log_prob == pytest.approx((n - 1) * math.log(1e-200), rel=1e-9)


def log_catalan(n: int) -> float:
    """The logarithm of the number of bracketings of n words."""
    return math.lgamma(2 * n - 1) - 2 * math.lgamma(n) - math.log(n)


@pytest.mark.parametrize(("n", "kernel"), [(64, None), (101, None), (500, None), (200, "forest")])
def test_ambiguous_long_sentences_in_closed_form(n: int, kernel: Kernel | None) -> None:
    """Every bracketing of n words is equally probable; the span of i words is in so many of them."""
    pcfg = PCFG.from_rules(rules_of({"S -> S S": 1.0, "S -> 'x'": 2.0}))
    chart = chart_of(pcfg, ["x"] * n, kernel)
    expected = log_catalan(n) + (n - 1) * math.log(1 / 3) + n * math.log(2 / 3)
    assert chart.log_prob == pytest.approx(expected, rel=1e-9)
    total = chart.span_summary().total
    for width in (2, 3, n // 2, n - 1, n):
        # A span of this width counts as one word of those around it.
        share = math.exp(log_catalan(width) + log_catalan(n - width + 1) - log_catalan(n))
        starts = np.arange(n - width + 1)
        assert total[cell_of(n, starts, starts + width)] == pytest.approx(share, rel=1e-9, abs=0)


def test_kernels_agree_on_derivations_and_labels() -> None:
    """Ties are broken by rule, so both kernels return the same trees where many are equally good."""
    counts = {f"S -> {left} {right}": 1.0 for left in ("S", "'x'", "A") for right in ("S", "'x'", "A")}
    counts |= {f"A -> {left} {right}": 1.0 for left in ("A", "'x'") for right in ("A", "'x'")}
    pcfg = PCFG.from_rules(rules_of(counts))
    for n in range(2, 24):
        one, other = (chart_of(pcfg, ["x"] * n, kernel) for kernel in ("dense", "forest"))
        assert one.viterbi().nodes == other.viterbi().nodes
        assert np.array_equal(one.span_summary().label, other.span_summary().label)
