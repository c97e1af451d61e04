"""The naive twin of prefixes against closed forms, published figures, other twins and itself."""

import math
from fractions import Fraction

import naive
import naive_prefixes as twin
import naive_unary
import numpy as np
import pytest
from conversion import to_naive, to_rules
from hypothesis import assume, given
from hypothesis import strategies as st
from naive_prefixes import Interval
from prefix_strategies import any_words, consistent_grammars, derived, finite_grammars
from strategies import sentences
from unary_strategies import unary_grammars

from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import RuleSet, is_terminal

F = Fraction
ROUNDING = 1e-12
shares = st.sampled_from([F(1, 10), F(3, 10), F(2, 5)])


def holds(interval: Interval, value: float | Fraction, width: float = math.inf) -> bool:
    """Whether the value lies within an interval that is no wider than a width."""
    low, high = interval
    return low - ROUNDING <= value <= high + ROUNDING and high - low <= width


def overlap(one: Interval, other: Interval) -> bool:
    return max(one[0], other[0]) <= min(one[1], other[1]) + ROUNDING


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


@given(st.fractions(F(1, 2), 1, max_denominator=50))
def test_catalan_prefixes_are_stolckes(p: Fraction) -> None:
    """Stolcke (1995), "An example", table 2."""
    q = 1 - p
    assert [twin.catalan_prefix(q, n) for n in (1, 2, 3)] == [1, q, (1 + p) * q**2]
    assert twin.catalan_string(q, 3) == 2 * p**3 * q**2


@given(shares)
def test_catalan_sums_over_trees(branch: Fraction) -> None:
    rules = twin.catalan_grammar(branch)
    length = twin.catalan_expected_length(branch)
    assert holds(twin.expected_length_bounds(rules), length, 1e-4)
    assert holds(twin.derivation_entropy_bounds(rules), twin.catalan_entropy(branch), 1e-4)
    lengths = sum(n * twin.catalan_string(branch, n) for n in range(600))
    assert float(lengths) == pytest.approx(float(length), rel=1e-6)


def test_every_word_of_a_catalan_grammar_has_the_same_lexical_surprisal() -> None:
    for k, split in enumerate(twin.lexical_syntactic(twin.catalan_grammar(F(1, 4)), ("a",) * 4)):
        ratio = twin.catalan_prefix(F(1, 4), k) / twin.catalan_prefix(F(1, 4), k + 1)
        assert holds(split.lexical, -math.log2(3 / 4), 1e-4)
        assert holds(split.total, math.log2(ratio), 1e-4)
        assert holds(split.syntactic, math.log2(ratio * 3 / 4), 1e-4)


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


@given(shares, shares)
def test_unary_cycles(down: Fraction, back: Fraction) -> None:
    rules = twin.unary_cycle_grammar(down, back)
    exact = twin.unary_cycle_strings(down, back)
    assert sum(exact.values()) == 1
    assert twin.strings(rules, 3) == pytest.approx(
        {words: float(p) for words, p in exact.items()}, rel=ROUNDING
    )
    (column, *_), times = twin.leftmost(rules, ("a",)), 1 / (1 - down * back)
    assert holds(column.reached["S"], times, 1e-6)
    assert holds(column.reached["A"], down * times, 1e-6)
    assert holds(column.following["b"], exact["b",], 1e-6)
    (split,) = twin.lexical_syntactic(rules, ("b",))
    assert holds(split.syntactic, -math.log2(down * times), 1e-6)
    assert holds(split.lexical, -math.log2(1 - back), 1e-6)


def test_words_that_cannot_follow() -> None:
    rules = twin.left_recursive_grammar(F(1, 2))
    assert holds(twin.prefix_bounds(rules, ("b",), 40), 0, 1e-11)
    assert twin.strings(rules, 4).keys() == {("a", *"b" * n) for n in range(4)}
    assert twin.lexical_syntactic(rules, ("a", "a"))[1].total[1] == math.inf
    assert twin.masked(rules, ("a", "b"), 0) == {"a": 0.25, "b": 0}
    assert twin.masked(rules, ("a", "b"), 1) == {"a": 0, "b": 0.25}


def test_grammars_that_are_not_consistent_are_refused() -> None:
    with pytest.raises(ValueError, match="consistent"):
        twin.derivation_entropy_bounds(twin.catalan_grammar(F(1, 2)))


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


@given(st.data(), consistent_grammars())
def test_intervals_of_both_enumerations_overlap(data: st.DataObject, rules: RuleSet) -> None:
    sentence = data.draw(derived(rules, 5) | any_words(rules))
    for n, column in enumerate(twin.leftmost(rules, sentence)):
        short, long = (twin.prefix_bounds(rules, sentence[:n], longest) for longest in (5, 7))
        assert short[0] <= long[0] + ROUNDING
        assert long[1] <= short[1] + ROUNDING
        assert overlap(column.prefix, long)
        for word, interval in twin.next_bounds(rules, sentence[:n], 7).items():
            assert overlap(column.following[word], interval)
            assert interval[0] <= long[0] + ROUNDING


@given(st.data(), consistent_grammars())
def test_a_split_adds_up(data: st.DataObject, rules: RuleSet) -> None:
    sentence = data.draw(derived(rules, 4))
    for split in twin.lexical_syntactic(rules, sentence):
        parts = (
            split.syntactic[0] + split.lexical[0],
            split.syntactic[1] + split.lexical[1],
        )
        assert overlap(parts, split.total)
        assert split.lexical[1] >= -ROUNDING


@given(st.data(), consistent_grammars())
def test_masked_words(data: st.DataObject, rules: RuleSet) -> None:
    sentence = data.draw(derived(rules, 4))
    position = data.draw(st.integers(0, len(sentence) - 1))
    found = twin.masked(rules, sentence, position)
    known = twin.strings(rules, len(sentence))
    assert found.keys() == set(twin.terminals(rules))
    assert found[sentence[position]] == known[sentence]
    others = (
        p
        for words, p in known.items()
        if len(words) == len(sentence)
        and all(i == position or words[i] == sentence[i] for i in range(len(words)))
    )
    assert math.fsum(found.values()) == pytest.approx(math.fsum(others), rel=ROUNDING)


# --- other twins -------------------------------------------------------------------------


@given(st.data(), consistent_grammars() | finite_grammars())
def test_strings_have_the_probability_of_their_spans(data: st.DataObject, rules: RuleSet) -> None:
    """``naive_unary`` sums over the spans of one sentence."""
    sentence = data.draw(derived(rules, 5) | any_words(rules).filter(len))
    exact = naive_unary.sentence_probability(naive_grammar(rules), sentence)
    assert twin.strings(rules, 5).get(sentence, 0.0) == pytest.approx(float(exact), rel=1e-9)


@given(st.data(), unary_grammars() | unary_grammars(cyclic=True))
def test_grammars_that_need_not_be_consistent(data: st.DataObject, grammar: naive.Grammar) -> None:
    sentence = tuple(data.draw(sentences(grammar, 4)))
    exact = naive_unary.sentence_probability(grammar, sentence)
    found = twin.strings(to_rules(grammar), 4).get(sentence, 0.0)
    assert found == pytest.approx(float(exact), rel=1e-9)


@given(finite_grammars(cyclic=False))
def test_sums_over_all_trees_of_a_finite_grammar(rules: RuleSet) -> None:
    """``naive.derivations`` lists them."""
    grammar = naive_grammar(rules)
    known = twin.strings(rules, 8)
    assume(sum(map(len, known)) < 300)
    listed = [float(p) for words in known for _, p in naive.derivations(grammar, words)]
    assert math.fsum(listed) == pytest.approx(1, abs=1e-9)
    assert twin.derivation_entropy_bounds(rules, 0.0) == pytest.approx(
        (-math.fsum(p * math.log2(p) for p in listed),) * 2, abs=1e-9
    )
    expected = math.fsum(n * mass for n, mass in enumerate(twin.length_masses(rules, 8)))
    assert twin.expected_length_bounds(rules, 0.0) == pytest.approx((expected, expected), abs=1e-9)


@given(consistent_grammars())
def test_lengths_agree_with_the_expected_length(rules: RuleSet) -> None:
    low, high = twin.expected_length_bounds(rules)
    masses = twin.length_masses(rules, 7)
    beyond = twin.mass_beyond(rules, 7)
    assert masses[0] == 0
    assert math.fsum(masses) + beyond == pytest.approx(1, abs=ROUNDING)
    assert math.fsum(n * mass for n, mass in enumerate(masses)) + 8 * beyond <= high + 1e-9
    assert high - low < 1e-4


# --- strategies --------------------------------------------------------------------------


@given(consistent_grammars() | finite_grammars())
def test_grammars_are_checked_and_consistent(rules: RuleSet) -> None:
    rules.check()
    names = sorted({rule.parent for rule in rules.rules})
    children = np.zeros((len(names), len(names)))
    for rule, weight in rules.rules.items():
        for child in rule.children:
            if not is_terminal(child):
                children[names.index(rule.parent), names.index(child)] += weight.probability
    assert max(abs(np.linalg.eigvals(children))) < 0.8
