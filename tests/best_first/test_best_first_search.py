"""The best-first chart against the naive twin and against the exhaustive chart."""

import math

import naive
import numpy as np
import pytest
from best_first_cases import inside_of, pcfg_of, search
from hypothesis import given
from hypothesis import strategies as st
from strategies import grammars, sentences

from mbrparse.decode.best_first.best_first import MERITS, Until
from mbrparse.decode.best_first.search_kernels import NONE, PLACE, TOTAL
from mbrparse.errors import GrammarError

NAMES = list(MERITS)
NEAR = 1e-9

# A sentence of 12 x has 58786 bracketings; S also leans to the left.
AMBIGUOUS = naive.Grammar(
    {"S": 1.0},
    {("S", "S", "S"): 0.3, ("S", "S", "A"): 0.1, ("A", "S", "S"): 0.5},
    {("S", "x"): 0.5, ("S", "y"): 0.1, ("A", "x"): 0.5},
)


@st.composite
def known(draw: st.DrawFn) -> tuple[naive.Grammar, list[str]]:
    """A grammar, and a sentence of terminals that it has."""
    grammar = draw(grammars())
    terminals = {word for (_, word), p in grammar.lexical.items() if p > 0}
    sentence = draw(sentences(grammar).filter(terminals.issuperset))
    return grammar, sentence


@given(known(), st.sampled_from(NAMES), st.sampled_from([0.0, 0.01, 0.1, 1.0]))
def test_exhausted_inside_is_the_naive_one_but_for_the_threshold(
    case: tuple[naive.Grammar, list[str]], merit: str, threshold: float
) -> None:
    grammar, sentence = case
    try:
        chart = search(pcfg_of(grammar), sentence, merit, beta_threshold=threshold)
    except GrammarError:  # left recursion that is never left has no prefix probabilities
        assert merit.startswith("prefix")
        return
    assert (chart.search.items[: len(chart.starts), PLACE] == NONE).all() or threshold
    found = inside_of(chart, chart.estimates.tolist())
    expected = {key: float(value) for key, value in naive.inside(grammar, sentence).items()}
    assert found.keys() == expected.keys()
    for (start, end, symbol), value in expected.items():
        least = value * (1 + threshold) ** -(end - start - 1)
        assert least * (1 - NEAR) <= found[start, end, symbol] <= value * (1 + NEAR)
    assert inside_of(chart, chart.inside.tolist()) == pytest.approx(expected, rel=NEAR)


@pytest.mark.parametrize("merit", ["stack", "prefix", "boundary-trigram"])
def test_edges_bound_the_search(merit: str) -> None:
    grammar = pcfg_of(AMBIGUOUS)
    sentence = ["x", "x", "y"] * 4
    full = search(grammar, sentence, merit)
    for limit in (1, 7, 50, full.edge_count - 1):
        chart = search(grammar, sentence, merit, edges=limit)
        assert chart.edge_count <= limit
        assert chart.limited
        assert chart.log_prob <= full.log_prob + NEAR
    assert not search(grammar, sentence, merit, edges=full.edge_count).limited
    # A share of the mass is reached, and no more is made than by exhausting.
    chart = search(grammar, sentence, merit, Until("mass", 0.9))
    assert full.log_prob + math.log(0.9) <= chart.log_prob + NEAR <= full.log_prob + 2 * NEAR
    assert chart.edge_count <= full.edge_count


def test_long_sentence_does_not_underflow() -> None:
    grammar = pcfg_of(
        naive.Grammar(
            {"S": 1.0}, {("S", "X", "S"): 0.9}, {("S", "x"): 0.1, ("X", "x"): 1e-3, ("X", "y"): 0.999}
        )
    )
    for merit in ("normalized-beta", "prefix", "boundary-trigram"):
        chart = search(grammar, ["x"] * 400, merit, Until("first-parse"), statistics=None)
        assert chart.log_prob == pytest.approx(399 * math.log(0.9e-3) + math.log(0.1), rel=1e-9)
        assert len(chart.viterbi().nodes) == 399


@given(known())
def test_prefix_probabilities_are_those_of_the_left_corner_equations(
    case: tuple[naive.Grammar, list[str]],
) -> None:
    grammar, sentence = case
    symbols = grammar.symbols()
    # Naively: one linear system per position; singular where left recursion never ends.
    step = np.zeros((len(symbols), len(symbols)))
    ids = {symbol: number for number, symbol in enumerate(symbols)}
    for (parent, left, _), p in grammar.binary.items():
        step[ids[parent], ids[left]] += p
    if np.abs(np.linalg.eigvals(step)).max() > 0.95:
        return
    inside = naive.inside(grammar, sentence)
    alpha = np.zeros((len(sentence), len(symbols)))
    for end in range(len(sentence)):
        seed = np.zeros(len(symbols))
        if end == 0:
            for symbol, p in grammar.start.items():
                seed[ids[symbol]] += p
        for (parent, left, right), p in grammar.binary.items():
            for start in range(end):
                seed[ids[right]] += alpha[start, ids[parent]] * p * float(inside.get((start, end, left), 0))
        alpha[end] = np.linalg.solve(np.eye(len(symbols)) - step.T, seed)
    library = pcfg_of(grammar)
    chart = search(library, sentence, "prefix")
    for number, symbol in enumerate(library.symbols):
        found = np.exp(chart.search.prefix[TOTAL][:, number])
        assert found == pytest.approx(alpha[:, ids[symbol]], rel=1e-8, abs=1e-13)
