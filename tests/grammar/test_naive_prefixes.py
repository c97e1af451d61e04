"""The naive twin of prefixes against closed forms, published figures, other twins and itself."""

import math
from fractions import Fraction

import naive
import naive_prefixes as twin
import naive_unary
import pytest
from conversion import to_naive
from hypothesis import given
from hypothesis import strategies as st
from naive_prefixes import Interval
from prefix_strategies import any_words, consistent_grammars, derived, finite_grammars

from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import RuleSet

F = Fraction
ROUNDING = 1e-12
shares = st.sampled_from([F(1, 10), F(3, 10), F(2, 5)])


def holds(interval: Interval, value: float | Fraction, width: float = math.inf) -> bool:
    """Whether the value lies within an interval that is no wider than a width."""
    low, high = interval
    return low - ROUNDING <= value <= high + ROUNDING and high - low <= width


def naive_grammar(rules: RuleSet) -> naive.Grammar:
    return to_naive(PCFG.from_rules(rules))


# --- closed forms ------------------------------------------------------------------------


@given(shares)
def test_catalan_strings_and_prefixes(branch: Fraction) -> None:
    rules = twin.catalan_grammar(branch)
    found = twin.strings(rules, 9)
    assert sorted(found) == [("a",) * n for n in range(1, 10)]
    columns = twin.leftmost(rules, ("a",) * 5)
    for n in range(1, 6):
        words = ("a",) * n
        exact = twin.catalan_prefix(branch, n)
        assert found[words] == pytest.approx(float(twin.catalan_string(branch, n)), rel=ROUNDING)
        assert holds(twin.prefix_bounds(rules, words, 9), exact)
        assert holds(columns[n].prefix, exact, 1e-5)
        assert holds(columns[n].reached["S"], twin.catalan_reached(branch, n), 1e-4)
        assert holds(columns[n].following[None], twin.catalan_string(branch, n), 1e-5)
    assert twin.mass_beyond(rules, 9) == pytest.approx(float(twin.catalan_prefix(branch, 10)), abs=ROUNDING)


@given(st.sampled_from([F(1, 5), F(1, 2), F(9, 10)]))
def test_left_recursion(p: Fraction) -> None:
    """Stolcke (1995), "Prediction loops": the forward probabilities are 1 (S -> a) and q / p."""
    rules, q = twin.left_recursive_grammar(p), 1 - p
    sentence = ("a", "b", "b", "b")
    found = twin.strings(rules, 8)
    columns = twin.leftmost(rules, sentence)
    for n in range(4):
        assert found[sentence[: n + 1]] == pytest.approx(float(p * q**n), rel=ROUNDING)
        assert holds(twin.prefix_bounds(rules, sentence[: n + 1], 8), q**n, float(q**8) + ROUNDING)
        assert holds(columns[n + 1].prefix, q**n, 1e-6)
    low, high = columns[0].reached["S"]
    assert holds((float(p) * low, float(p) * high), 1, 1e-6)
    assert holds((float(q) * low, float(q) * high), q / p, 1e-6)
    first, second, *_ = twin.lexical_syntactic(rules, sentence)
    assert holds(first.total, 0, 1e-6)
    assert holds(first.syntactic, math.log2(p), 1e-6)  # negative: S is reached more than once
    assert holds(first.lexical, -math.log2(p), 1e-6)
    assert holds(second.syntactic, -math.log2(q), 1e-6)
    assert holds(second.lexical, 0, 1e-6)  # a tag has one rule


# --- identities --------------------------------------------------------------------------


@given(st.data(), finite_grammars())
def test_finite_grammars_are_exact(data: st.DataObject, rules: RuleSet) -> None:
    """No mass beyond eight words: the strings sum to one, and both enumerations agree."""
    assert twin.mass_beyond(rules, 8) <= ROUNDING
    assert sum(twin.length_masses(rules, 8)) == pytest.approx(1, abs=ROUNDING)
    sentence = data.draw(derived(rules) | any_words(rules))
    for n, column in enumerate(twin.leftmost(rules, sentence, 1e-10)):
        exact, _ = twin.prefix_bounds(rules, sentence[:n], 8)
        following = twin.next_bounds(rules, sentence[:n], 8)
        assert math.fsum(low for low, _ in following.values()) == pytest.approx(exact, abs=ROUNDING)
        assert holds(column.prefix, exact, 1e-5)
        assert column.following.keys() == following.keys()
        assert all(holds(column.following[word], low, 1e-5) for word, (low, _) in following.items())


# --- other twins -------------------------------------------------------------------------


@given(st.data(), consistent_grammars() | finite_grammars())
def test_strings_have_the_probability_of_their_spans(data: st.DataObject, rules: RuleSet) -> None:
    """``naive_unary`` sums over the spans of one sentence."""
    sentence = data.draw(derived(rules, 5) | any_words(rules).filter(len))
    exact = naive_unary.sentence_probability(naive_grammar(rules), sentence)
    assert twin.strings(rules, 5).get(sentence, 0.0) == pytest.approx(float(exact), rel=1e-9)


# --- strategies --------------------------------------------------------------------------
