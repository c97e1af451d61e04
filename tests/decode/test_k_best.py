"""The k best derivations against full lists, sorted."""

import math

import naive
import pytest
from conversion import names_of, nodes_of, to_pcfg
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import derived
from test_sampler_of_derivations import Listed, listed
from unary_strategies import unary_cases

from mbrparse.charts.exhaustive.factory import ChartFactory, ForestCharts
from mbrparse.decode.candidates.k_best import forest_k_best

LONGEST_CHAIN = 3


def found(twin: naive.Grammar, words: list[str], k: int) -> list[tuple[Listed, float]]:
    """The derivations found, and their log probabilities."""
    grammar = to_pcfg(twin)
    best = forest_k_best(ForestCharts(grammar), grammar.encode(words), k)
    return list(zip(nodes_of(best.derivations, names_of(grammar)), best.log_probs.tolist(), strict=True))


def enumerated(twin: naive.Grammar, words: list[str]) -> dict[Listed, float]:
    return {listed(tree): math.log(p) for tree, p in naive.derivations(twin, words, LONGEST_CHAIN)}


@given(derived() | unary_cases(cyclic=True, longest=2), st.integers(1, 40))
def test_derivations_come_in_order(case: tuple[naive.Grammar, list[str]], k: int) -> None:
    """Of unary cycles there is no end of them: those with short chains are where they should be."""
    every = enumerated(*case)
    assume(every)
    best = dict(found(*case, k))
    last = list(best.values())[-1]
    assert len(best) == k or best.keys() == every.keys()
    assert list(best.values()) == sorted(best.values(), reverse=True)
    assert {nodes for nodes, log_prob in every.items() if log_prob > last + 1e-9} <= best.keys()
    for nodes in best.keys() & every.keys():
        assert best[nodes] == pytest.approx(every[nodes], abs=1e-9)


def test_ties_come_by_split() -> None:
    """All 14 trees of five words are equally probable; the order is that of their splits."""
    twin = naive.Grammar({"S": 1.0}, {("S", "S", "S"): 0.5}, {("S", "x"): 0.5})
    best = found(twin, ["x"] * 5, 20)
    assert len(best) == 14
    splits = [nodes[1][1] for nodes, _ in best]
    assert splits == sorted(splits) == [1] * 5 + [2] * 2 + [3] * 2 + [4] * 5
    chart = ChartFactory(to_pcfg(twin)).chart(to_pcfg(twin).encode(["x"] * 5))
    inner = [node for node in best[0][0] if node[1] - node[0] > 1]
    assert [(start, end) for start, end, _ in chart.viterbi().nodes] == [node[:2] for node in inner]
