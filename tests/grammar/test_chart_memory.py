"""The memory of charts: it grows, it may be refused, and it is filled no more often than needed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conversion import rules_of

from mbrparse.charts.base.chart import Chart, Wanted
from mbrparse.charts.base.packed_forest import NODES
from mbrparse.charts.dense import dense_readings, diagonal_charts
from mbrparse.charts.factory import ChartFactory, Kernel
from mbrparse.charts.forest import forests
from mbrparse.charts.forest.forests import Forests
from mbrparse.grammar.pcfg import PCFG, IntArray

# Sums over all binary trees; a word is of two kinds.
COUNTS = {"S -> S S": 2, "S -> A S": 1, "S -> x": 4, "S -> y": 3, "A -> x": 1}
GRAMMAR = PCFG.from_rules(rules_of(COUNTS))
UNARY = PCFG.from_rules(rules_of(COUNTS | {"S -> A": 1, "A -> S": 1}))
# The first memory has room for 32 words.
SHORT, LONG = GRAMMAR.encode(["x", "y", "x"]), GRAMMAR.encode(["x", "y", "x"] * 11)


def log_prob_of_dense(grammar: PCFG) -> Callable[[IntArray], float]:
    factory = ChartFactory(grammar, kernel="dense")
    return lambda sentence: factory.charts([sentence])[0].log_prob


def log_prob_of_forest(grammar: PCFG) -> Callable[[IntArray], float]:
    memory = Forests(grammar)
    return lambda sentence: memory.fill(sentence)[1]


class Refusing:
    """numpy.zeros for a machine that has no memory left at a certain call."""

    def __init__(self, zeros: Any, call: int | None) -> None:
        self.zeros, self.calls, self.call = zeros, 0, call

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.calls += 1
        if self.calls == self.call:
            raise MemoryError
        return self.zeros(*arguments, **named)


@pytest.mark.parametrize(
    ("parsing", "grammar"),
    [
        (log_prob_of_dense, GRAMMAR),
        (log_prob_of_forest, GRAMMAR),
        (log_prob_of_forest, UNARY),
    ],
)
def test_after_a_memory_error_the_next_sentence_works(
    parsing: Callable[[PCFG], Callable[[IntArray], float]], grammar: PCFG, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever array there was no memory for, all are allocated again."""
    expected = {len(sentence): parsing(grammar)(sentence) for sentence in (SHORT, LONG)}
    zeros = np.zeros

    def attempt(log_prob: Callable[[IntArray], float], call: int | None) -> int:
        """Parse the long sentence; the number of arrays that were asked for."""
        refusing = Refusing(zeros, call)
        monkeypatch.setattr(np, "zeros", refusing)
        try:
            assert log_prob(LONG) == expected[len(LONG)]
        finally:
            monkeypatch.setattr(np, "zeros", zeros)
        return refusing.calls

    fresh = parsing(grammar)
    fresh(SHORT)
    needed = attempt(fresh, None)
    assert needed > 0
    for call in range(1, needed + 1):
        log_prob = parsing(grammar)
        log_prob(SHORT)
        with pytest.raises(MemoryError):
            attempt(log_prob, call)
        assert attempt(log_prob, None) >= needed - call
        assert log_prob(SHORT) == expected[len(SHORT)]


def test_a_chart_that_fills_its_memory_to_the_last_node_is_as_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parents that nothing predicts have no node; a place before the first is no place after the last."""
    counts = {"S -> A Q": 1.0, "Q -> A A": 1.0, "A -> A A": 1.0, "A -> x": 1.0}
    for n in range(6):
        counts |= {
            f"Z{n} -> A A": 1.0,
            f"R{n} -> Z{n} A": 1.0,
            f"S -> R{n} Y{n}": 0.1,
            f"Y{n} -> A Z{n}": 1.0,
        }
    grammar = PCFG.from_rules(rules_of(counts))
    sentences = [np.zeros(length, np.int32) for length in (6, 4)]
    expected = [
        ChartFactory(grammar, kernel="forest").charts([one])[0].span_posteriors() for one in sentences
    ]
    for nodes in range(1, 400):
        monkeypatch.setitem(forests._FIRST_SIZE, NODES, nodes)
        factory = ChartFactory(grammar, kernel="forest")
        for sentence, known in zip(sentences, expected, strict=True):
            found = factory.charts([sentence])[0].span_posteriors()
            assert [column.tolist() for column in found] == [column.tolist() for column in known]


def all_cells(chart: Chart) -> list[Any]:
    """What a chart says of every span."""
    n = chart.length
    spans = [(start, end) for start in range(n) for end in range(start + 1, n + 1)]
    return [
        ask(*span)[part].tolist()
        for span in spans
        for ask in (chart.inside, chart.outside)
        for part in (0, 1)
    ]


def counting_calls(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[str]:
    """A list that grows with each call of a kernel."""
    calls, kernel = [], getattr(module, name)

    def called(*arguments: Any) -> Any:
        calls.append(name)
        return kernel(*arguments)

    monkeypatch.setattr(module, name, called)
    return calls


@pytest.mark.parametrize(
    ("kernel", "module", "name"),
    [("dense", diagonal_charts, "diagonal_posteriors"), ("forest", forests, "forest_inside")],
)
def test_all_spans_of_a_sentence_cost_one_fill(
    kernel: Kernel, module: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    factory = ChartFactory(GRAMMAR, kernel=kernel)
    [chart] = factory.charts([LONG[:12]])
    fills = counting_calls(monkeypatch, module, name)
    all_cells(chart)
    assert len(fills) <= 1


@pytest.mark.parametrize("kernel", ["dense", "forest"])
def test_questions_about_several_charts_may_alternate(kernel: Kernel) -> None:
    factory = ChartFactory(GRAMMAR, kernel=kernel)
    sentences = [LONG[:5], LONG[1:6], SHORT]
    apart = [all_cells(ChartFactory(GRAMMAR, kernel=kernel).charts([sentence])[0]) for sentence in sentences]
    charts = factory.charts(sentences)
    n = min(len(sentence) for sentence in sentences)
    for start in range(n - 1):
        for chart, sentence in zip(charts, sentences, strict=True):
            [alone] = ChartFactory(GRAMMAR, kernel=kernel).charts([sentence])
            for mine, theirs in ((chart.inside, alone.inside), (chart.outside, alone.outside)):
                assert [x.tolist() for x in mine(start, n)] == [x.tolist() for x in theirs(start, n)]
            # A derivation, or another batch, takes the same memory.
            chart.viterbi()
            factory.charts([LONG[2:9]])
    assert [all_cells(chart) for chart in charts] == apart


def test_posteriors_of_words_are_computed_once_for_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    factory = ChartFactory(GRAMMAR, wanted=Wanted(entries=True), kernel="dense")
    calls = counting_calls(monkeypatch, dense_readings, "dense_words")
    charts = factory.charts([LONG[:6]] * 8)
    assert len(calls) == 1
    assert all(chart.has_parse for chart in charts)
