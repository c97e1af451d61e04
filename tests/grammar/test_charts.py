"""Charts against the enumeration of all trees: dense ones and forests."""

import math
from typing import Literal

import naive
import numpy as np
import pytest
from conversion import ANNOTATED, PROJECTION, derivation_of, names_of, posteriors_of, rules_of, to_pcfg
from hypothesis import given
from hypothesis import strategies as st
from strategies import grammars, sentences

from mbrparse.charts.chart import Chart
from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.charts.spans import cell_of
from mbrparse.grammar.pcfg import PCFG

Kernel = Literal["dense", "forest"]
KERNELS: tuple[Kernel, ...] = ("dense", "forest")


@st.composite
def cases(draw: st.DrawFn) -> tuple[naive.Grammar, list[list[str]]]:
    """A grammar and sentences of words that it knows."""
    grammar = draw(grammars())
    words = draw(st.lists(sentences(grammar, 6), min_size=1, max_size=4))
    known = to_pcfg(grammar).terminals
    return grammar, [sentence for sentence in words if set(known).issuperset(sentence)]


def charts(pcfg: PCFG, texts: list[list[str]], kernel: Kernel | None = None) -> list[Chart]:
    """All are made before the first is asked: what it answers does not depend on the others."""
    factory = ChartFactory(pcfg, kernel=kernel)
    return [factory.chart(pcfg.encode(words)) for words in texts]


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


@given(cases())
def test_posteriors_and_viterbi_equal_enumeration(case: tuple[naive.Grammar, list[list[str]]]) -> None:
    grammar, batch = case
    pcfg = to_pcfg(grammar, ANNOTATED)
    for kernel in KERNELS:
        for words, chart in zip(batch, charts(pcfg, batch, kernel), strict=True):
            if not chart.has_parse:
                continue
            posteriors = naive.posteriors(grammar, words, PROJECTION)
            entries = chart.span_posteriors()
            assert posteriors_of(entries, pcfg.labels) == pytest.approx(
                {k: float(p) for k, p in posteriors.items()}, abs=1e-9
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
                    assert summary.total[cell] == pytest.approx(sum(masses), abs=1e-9)
                    assert summary.best[cell] == pytest.approx(max(masses, default=0), abs=1e-9)
            best, trees = naive.viterbi(grammar, words)
            assert chart.viterbi().log_prob == pytest.approx(math.log(best), abs=1e-6)
            nodes, _ = derivation_of(chart, names_of(pcfg))
            assert nodes in [
                [(x.start, x.end, ANNOTATED.get(x.symbol, x.symbol)) for x in naive.constituents(tree)]
                for tree in trees
            ]
            check_maxima_alone(pcfg, words, kernel)


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
