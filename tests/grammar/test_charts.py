"""Charts of both kinds, dense ones and forests; tests/fuzz compares them with all trees."""

from typing import Literal

import numpy as np
import pytest
from conversion import rules_of

from mbrparse.charts.chart import Chart
from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.grammar.pcfg import PCFG

Kernel = Literal["dense", "forest"]
KERNELS: tuple[Kernel, ...] = ("dense", "forest")


def charts(pcfg: PCFG, texts: list[list[str]], kernel: Kernel | None = None) -> list[Chart]:
    """All are made before the first is asked: what it answers does not depend on the others."""
    factory = ChartFactory(pcfg, kernel=kernel)
    return [factory.chart(pcfg.encode(words)) for words in texts]


def check_maxima_alone(pcfg: PCFG, words: list[str], kernel: Kernel) -> None:
    """A chart that is asked for nothing else has the derivation of a chart that has sums too."""
    beside, alone = charts(pcfg, [words, words], kernel)
    beside.span_summary()
    found, expected = beside.viterbi(), alone.viterbi()
    assert found.nodes == expected.nodes
    assert found.preterminals == expected.preterminals
    assert found.log_prob == pytest.approx(expected.log_prob, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 5, 9, 15, 40])
def test_equally_good_ones_and_improbable_ones(n: int) -> None:
    """The best has a share of 1 / Catalan(n - 1), or a little more: every bound is the last one of some n."""
    counts = {"S -> S S": 2, "S -> x": 1.5, "S -> x S": 0.5}
    for skewed in (counts, {**counts, "S -> S x": 0.6}):
        check_maxima_alone(PCFG.from_rules(rules_of(skewed, kind="tags")), ["x"] * n, "forest")


def test_kernels_agree_on_derivations_and_labels() -> None:
    """Ties are broken by rule, so both kernels return the same trees where many are equally good."""
    counts = {f"S -> {left} {right}": 1.0 for left in ("S", "'x'", "A") for right in ("S", "'x'", "A")}
    counts |= {f"A -> {left} {right}": 1.0 for left in ("A", "'x'") for right in ("A", "'x'")}
    pcfg = PCFG.from_rules(rules_of(counts))
    batch = [["x"] * n for n in range(2, 24)]
    for one, other in zip(*(charts(pcfg, batch, kernel) for kernel in KERNELS), strict=True):
        assert one.viterbi().nodes == other.viterbi().nodes
        assert np.array_equal(one.span_summary().label, other.span_summary().label)


def all_cells(chart: Chart) -> list[list[list[float]]]:
    """What a chart says of every span of two words and more."""
    spans = [(start, end) for end in range(2, chart.length + 1) for start in range(end - 1)]
    asked = [ask(*span) for span in spans for ask in (chart.inside, chart.outside)]
    return [[column.tolist() for column in columns] for columns in asked]


@pytest.mark.parametrize("kernel", KERNELS)
def test_questions_about_several_charts_may_alternate(kernel: Kernel) -> None:
    counts = {"S -> S S": 2, "S -> A S": 1, "S -> x": 4, "S -> y": 3, "A -> x": 1}
    pcfg = PCFG.from_rules(rules_of(counts))
    texts = [["x", "y", "x", "x"], ["y", "x"], ["x", "y"] * 20]
    apart = [all_cells(charts(pcfg, [text], kernel)[0]) for text in texts]
    together = charts(pcfg, texts, kernel)
    for chart in together:
        chart.viterbi()
    for _ in range(2):
        assert [all_cells(chart) for chart in together] == apart
    for chart, text in zip(together, texts, strict=True):
        [alone] = charts(pcfg, [text], kernel)
        assert chart.log_prob == alone.log_prob
        assert chart.span_posteriors().g.tolist() == alone.span_posteriors().g.tolist()
