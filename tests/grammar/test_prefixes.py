"""Prefixes, next and masked words against enumeration of all strings, closed forms and published figures."""

import math
from collections.abc import Sequence
from fractions import Fraction

import naive_prefixes as twin
import numpy as np
import pytest
from conversion import rules_of
from hypothesis import given
from hypothesis import strategies as st
from naive_prefixes import Words
from prefix_strategies import any_words, consistent_grammars, derived, finite_grammars

from mbrparse.decode.words.prefixes import Prefixes, PrefixValues
from mbrparse.grammar.pcfg import PCFG, FloatArray
from mbrparse.grammar.rules import RuleSet

F = Fraction
EXACT = 1e-12
CLOSED = 1e-9
INF = math.inf


def read(rules: RuleSet, sentences: Sequence[Words]) -> list[PrefixValues]:
    pcfg = PCFG.from_rules(rules)
    prefixes = Prefixes(pcfg)
    return [prefixes.read(pcfg.encode(words)) for words in sentences]


def log(p: float | Fraction) -> float:
    return math.log(p) if p else -INF


def bits(before: float | Fraction, after: float | Fraction) -> float:
    """-log2 of ``after`` over ``before``; NaN where there is no such condition."""
    return (math.log2(before / after) if after else INF) if before else math.nan


def close(found: FloatArray, wanted: Sequence[float], error: float = EXACT) -> bool:
    """Whether numbers agree, absolutely near zero; NaN is equal to itself."""
    return bool(found.tolist() == pytest.approx(wanted, rel=error, abs=error, nan_ok=True))


def check(rules: RuleSet, words: Words, found: PrefixValues) -> None:
    """Compare with all strings of a finite grammar, none of which is longer than eight words."""
    n, longest = len(words), 8
    prefixes = [twin.prefix_bounds(rules, words[:k], longest)[0] for k in range(n + 1)]
    following = [twin.next_bounds(rules, words[:k], longest) for k in range(n + 1)]
    next_words: list[str | None] = [*twin.terminals(rules), None]
    assert found.reason is None
    assert close(found.log_prefix, [log(p) for p in prefixes])
    assert found.log_prob == pytest.approx(log(following[n][None][0]), abs=EXACT)
    after = [following[k].get(word, (0.0,))[0] for k, word in enumerate([*words, None])]
    assert close(found.surprisal, list(map(bits, prefixes, after)))
    over = [twin.symbol_bounds(rules, words[:k], words[k], longest)[0] for k in range(n)]
    assert close(found.syntactic, list(map(bits, prefixes, [*over, after[n]])))
    rows = found.next_words()
    assert rows.shape == (n + 1, len(next_words))
    for k, (row, entropy) in enumerate(zip(rows, found.entropy().tolist(), strict=True)):
        shares = [following[k][word][0] / prefixes[k] if prefixes[k] else math.nan for word in next_words]
        assert close(row, shares)
        wanted = math.fsum(-p * math.log2(p) if p else 0.0 for p in shares)
        assert entropy == pytest.approx(wanted, abs=EXACT, nan_ok=True)


# --- enumeration -------------------------------------------------------------------------


@given(st.data(), finite_grammars())
def test_all_values_are_those_of_all_strings(data: st.DataObject, rules: RuleSet) -> None:
    """Any words, and some that the grammar lacks; grammars with unary rules, cycles and several roots."""
    unknown = st.lists(st.sampled_from(["x", "y", "?"]), max_size=4).map(tuple)
    words = data.draw(derived(rules, 8) | any_words(rules) | unknown)
    (found,) = read(rules, [words])
    check(rules, words, found)


# --- identities --------------------------------------------------------------------------


@given(st.data(), consistent_grammars())
def test_sums(data: st.DataObject, rules: RuleSet) -> None:
    """Surprisals add up to that of the sentence, next words to one; no part of a surprisal is negative."""
    words = data.draw(derived(rules, 6))
    (found,) = read(rules, [words])
    assert found.surprisal.sum() == pytest.approx(-found.log_prob / math.log(2), abs=CLOSED)
    assert close(found.next_words().sum(axis=1), [1.0] * (len(words) + 1))
    assert (found.syntactic >= -EXACT).all()
    assert (found.surprisal - found.syntactic >= -EXACT).all()
    shares = found.next_words()[:-1]
    terminals = twin.terminals(rules)
    taken = [terminals.index(word) for word in words]
    assert close(-np.log2(shares[np.arange(len(words)), taken]), found.surprisal[:-1].tolist())


# --- closed forms ------------------------------------------------------------------------


@pytest.mark.parametrize("branch", [F(1, 10), F(1, 4), F(2, 5), F(49, 100)])
def test_catalan_grammars(branch: Fraction) -> None:
    """S -> S S: all binary trees."""
    rules, lengths = twin.catalan_grammar(branch), range(1, 31)
    for n, found in zip(lengths, read(rules, [("a",) * n for n in lengths]), strict=True):
        prefixes = [twin.catalan_prefix(branch, k) for k in range(n + 1)]
        assert close(found.log_prefix, list(map(log, prefixes)), CLOSED)
        assert found.log_prob == pytest.approx(log(twin.catalan_string(branch, n)), rel=CLOSED)
        more = [float(twin.catalan_prefix(branch, k + 1) / prefixes[k]) for k in range(n + 1)]
        assert close(found.next_words()[:, 0], more, CLOSED)
        assert close(found.next_words()[:, 1], [1 - p for p in more], CLOSED)
        entropy = [-math.fsum(q * math.log2(q) for q in (p, 1 - p) if q > 0) for p in more]
        assert close(found.entropy(), entropy, CLOSED)
        # The one lexical rule has 1 - branch, and no other symbol has the word.
        assert close(found.syntactic[:-1], found.surprisal[:-1].tolist(), CLOSED)


@pytest.mark.parametrize("leave", [F(9, 10), F(1, 2), F(1, 10), F(1, 10**6)])
def test_left_recursion(leave: Fraction) -> None:
    """Stolcke (1995), "Prediction loops": a b^n has q^n as a prefix."""
    (found,) = read(twin.left_recursive_grammar(leave), [("a", *"bbbb")])
    q = 1 - leave
    assert close(np.exp(found.log_prefix), [1.0, *(float(q**n) for n in range(5))], CLOSED)
    assert math.exp(found.log_prob) == pytest.approx(float(leave * q**4), rel=CLOSED)
    assert close(found.next_words()[1], [0, float(q), float(leave)], CLOSED)


def test_words_that_cannot_follow() -> None:
    rules = twin.left_recursive_grammar(F(1, 2))
    sentences: list[Words] = [("b",), ("a", "a", "b"), ("?",), ("a", "?", "b"), ()]
    impossible, late, unknown, later, empty = read(rules, sentences)
    assert close(impossible.surprisal, [INF, math.nan])
    assert close(late.surprisal, [0, INF, math.nan, math.nan])
    assert close(unknown.surprisal, [INF, math.nan])
    assert close(later.surprisal, [0, INF, math.nan, math.nan])
    assert close(later.log_prefix, [0, 0, -INF, -INF])
    assert np.isnan(later.entropy()).tolist() == [False, False, True, True]
    assert close(empty.surprisal, [INF])
    assert {found.log_prob for found in (impossible, late, unknown, later, empty)} == {-INF}


Masked = tuple[FloatArray, str | None]


def masked(rules: RuleSet, sentences: list[Words], max_length: int | None = None) -> list[Masked]:
    pcfg = PCFG.from_rules(rules)
    prefixes = Prefixes(pcfg, max_length)
    return [prefixes.masked(pcfg.encode(words)) for words in sentences]


def check_masked(rules: RuleSet, words: Words, found: Masked) -> None:
    """Compare with all strings that differ in one word; an unknown word is a gap itself."""
    terminals = twin.terminals(rules)
    distributions, reason = found
    assert reason is None
    assert distributions.shape == (len(words), len(terminals))
    for position, row in enumerate(distributions.tolist()):
        joint = twin.masked(rules, words, position)
        total = math.fsum(joint.values())
        wanted = [joint[word] / total if total else math.nan for word in terminals]
        assert row == pytest.approx(wanted, rel=EXACT, abs=EXACT, nan_ok=True)
        assert not total or math.fsum(row) == pytest.approx(1, abs=EXACT)


grammars = finite_grammars() | consistent_grammars() | consistent_grammars(unaries=False)
some = st.sampled_from([(), ("?",), ("x", "?", "x"), ("?", "y"), ("?", "?")])


@given(st.data(), grammars)
def test_each_word_given_all_others(data: st.DataObject, rules: RuleSet) -> None:
    one = derived(rules, 5) | any_words(rules, 5) | some
    sentences = data.draw(st.lists(one, min_size=1, max_size=10))
    for words, found in zip(sentences, masked(rules, sentences), strict=True):
        check_masked(rules, words, found)


def test_a_long_sentence_says_so() -> None:
    short, long = masked(rules_of({"S -> S S": 1.0, "S -> a": 2.0}), [("a",) * 5, ("a",) * 6], max_length=5)
    assert short[1] is None
    assert long[1] == "longer than 5 terminals"
    assert long[0].shape == (6, 1)
    assert np.isnan(long[0]).all()
