"""Distributions of masked words against enumeration of all strings."""

import math

import naive_prefixes as twin
import numpy as np
import pytest
from conversion import rules_of
from hypothesis import given
from hypothesis import strategies as st
from naive_prefixes import Words
from prefix_strategies import any_words, consistent_grammars, derived, finite_grammars

from mbrparse.decode.words.prefixes import GapValues, Prefixes
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import RuleSet

EXACT = 1e-12


def masked(rules: RuleSet, sentences: list[Words], max_length: int | None = None) -> list[GapValues]:
    pcfg = PCFG.from_rules(rules)
    return list(Prefixes(pcfg, max_length).masked([pcfg.encode(words) for words in sentences]))


def check(rules: RuleSet, words: Words, found: GapValues) -> None:
    """Compare with all strings that differ in one word; an unknown word is a gap itself."""
    terminals = twin.terminals(rules)
    assert found.reason is None
    assert found.distributions.shape == (len(words), len(terminals))
    for position, row in enumerate(found.distributions.tolist()):
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
        check(rules, words, found)


@given(st.data(), grammars)
def test_what_a_word_is_does_not_change_its_own_row(data: st.DataObject, rules: RuleSet) -> None:
    words = data.draw(derived(rules, 5))
    position = data.draw(st.integers(0, len(words) - 1))
    hidden = (*words[:position], "?", *words[position + 1 :])
    known, unknown = masked(rules, [words, hidden])
    row = known.distributions[position]
    assert unknown.distributions[position].tolist() == pytest.approx(row.tolist(), abs=EXACT)
    assert np.isnan(np.delete(unknown.distributions, position, axis=0)).all()


@pytest.mark.parametrize("self_loop", [0.0, 1.0, 100.0])
def test_a_symbol_over_itself_alone(self_loop: float) -> None:
    """Unary rules which lead nowhere else count all the same: they take the place of the others."""
    counts = {"S -> S": self_loop, "S -> S S": 2.0, "S -> a": 1.0, "S -> B a": 2.0, "B -> B": self_loop}
    rules = rules_of(
        {rule: count for rule, count in counts.items() if count} | {"B -> b": 1.0, "B -> a": 2.0}
    )
    words = ("a", "b", "a", "a")
    (found,) = masked(rules, [words])
    check(rules, words, found)


def test_a_long_sentence_says_so() -> None:
    short, long = masked(rules_of({"S -> S S": 1.0, "S -> a": 2.0}), [("a",) * 5, ("a",) * 6], max_length=5)
    assert short.reason is None
    assert long.reason == "longer than 5 terminals"
    assert long.distributions.shape == (6, 1)
    assert np.isnan(long.distributions).all()


def test_a_hundred_words() -> None:
    """Each word is drawn by itself: 1e-5 of a, whatever the others are."""
    rules = rules_of({"S -> S S": 0.4, "S -> a": 0.6e-5, "S -> b": 0.6 - 0.6e-5})
    (found,) = masked(rules, [("a",) * 100])
    assert found.reason is None
    assert np.allclose(found.distributions, [[1e-5, 1 - 1e-5]], 1e-9)
