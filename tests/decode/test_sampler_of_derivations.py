"""Samples of derivations: each as often as its probability says, whatever it is asked beside."""

from collections import Counter

import naive
import naive_unary
import numpy as np
import pytest
from chi_square import UNLIKELY, chi_square_chance
from conversion import names_of, nodes_of, to_pcfg
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import derived
from unary_strategies import unary_cases

from mbrparse.charts.exhaustive.factory import ForestCharts
from mbrparse.decode.candidates.samples import forest_samples

Listed = tuple[tuple[int, int, str], ...]

COUNT = 2_000
LONGEST_CHAIN = 3


def listed(tree: naive.Node) -> Listed:
    """A tree's nodes in preorder."""
    return tuple((node.start, node.end, node.symbol) for node in naive.nodes(tree))


def check(twin: naive.Grammar, words: list[str], chain: int | None, seed: int) -> None:
    grammar = to_pcfg(twin)
    ids = grammar.encode(words)
    trees = naive.derivations(twin, words, chain)
    total = float(
        naive.sentence_probability(twin, words)
        if chain is None
        else naive_unary.sentence_probability(twin, words)
    )
    expected: dict[Listed, float] = {}
    for tree, p in trees:
        expected[listed(tree)] = expected.get(listed(tree), 0.0) + float(p) / total
    samples = forest_samples(ForestCharts(grammar), ids, COUNT, seed)
    observed = Counter(nodes_of(samples, names_of(grammar)))
    if chain is None:
        assert observed.keys() <= expected.keys()
    rest = max(1 - sum(expected.values()), 0.0)
    assert chi_square_chance(observed, expected, rest) > UNLIKELY


@given(derived() | unary_cases(cyclic=False), st.integers(0, 3))
def test_derivations_come_as_often_as_they_should(case: tuple[naive.Grammar, list[str]], seed: int) -> None:
    assume(naive.derivations(*case))
    check(*case, None, seed)


@given(unary_cases(cyclic=True, longest=2))
def test_chains_go_round_as_often_as_they_should(case: tuple[naive.Grammar, list[str]]) -> None:
    assume(naive.derivations(*case))
    check(*case, LONGEST_CHAIN, 1)


AMBIGUOUS = naive.Grammar(
    {"A": 0.5, "B": 0.5},
    {("A", "A", "A"): 0.3, ("A", "B", "C"): 0.2, ("B", "A", "C"): 0.5, ("C", "A", "A"): 0.5},
    {("A", "x"): 0.5, ("B", "x"): 0.5, ("C", "x"): 0.5},
)


@pytest.mark.long
def test_long_sentences() -> None:
    """Probabilities far below the least number that a float holds."""
    grammar = to_pcfg(AMBIGUOUS)
    samples = forest_samples(ForestCharts(grammar), grammar.encode(["x"] * 300), 20, 0)
    assert np.diff(samples.first).tolist() == [599] * 20
    assert len({tuple(nodes) for nodes in nodes_of(samples, names_of(grammar))}) == 20
