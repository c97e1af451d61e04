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

from mbrparse.decode.words.prefixes import Prefixes
from mbrparse.grammar.pcfg import PCFG, FloatArray
from mbrparse.grammar.rules import RuleSet

EXACT = 1e-12


Masked = tuple[FloatArray, str | None]


def masked(rules: RuleSet, sentences: list[Words], max_length: int | None = None) -> list[Masked]:
    pcfg = PCFG.from_rules(rules)
    prefixes = Prefixes(pcfg, max_length)
    return [prefixes.masked(pcfg.encode(words)) for words in sentences]


def check(rules: RuleSet, words: Words, found: Masked) -> None:
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
        check(rules, words, found)


def test_a_long_sentence_says_so() -> None:
    short, long = masked(rules_of({"S -> S S": 1.0, "S -> a": 2.0}), [("a",) * 5, ("a",) * 6], max_length=5)
    assert short[1] is None
    assert long[1] == "longer than 5 terminals"
    assert long[0].shape == (6, 1)
    assert np.isnan(long[0]).all()
