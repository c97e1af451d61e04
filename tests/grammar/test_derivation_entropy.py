"""The entropy of a prefix's derivations: enumeration, the chain rule, Hale's figures."""

import math
from fractions import Fraction

import naive_derivations as twin
import numpy as np
import pytest
from conversion import rules_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from naive_prefixes import Words, catalan_grammar
from prefix_strategies import any_words, consistent_grammars, derived, finite_grammars

import mbrparse as mp
from mbrparse.decode.words.prefixes import Prefixes, PrefixValues
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import RuleSet
from mbrparse.grammar.tree_statistics import tree_statistics

# Hale (2001), the grammar of "the horse raced past the barn fell".
HALE = {
    "S -> NP VP": 1.0,
    "NP -> DT NN": 0.876404494831,
    "NP -> NP VP": 0.123595505169,
    "PP -> IN NP": 1.0,
    "VP -> VBD PP": 0.171428571172,
    "VP -> VBN PP": 0.752380952552,
    "VP -> VBD": 0.0761904762759,
    "DT -> the": 1.0,
    "NN -> horse": 0.5,
    "NN -> barn": 0.5,
    "VBD -> fell": 0.5,
    "VBD -> raced": 0.5,
    "VBN -> raced": 1.0,
    "IN -> past": 1.0,
}


def read(rules: RuleSet, words: Words) -> PrefixValues:
    pcfg = PCFG.from_rules(rules)
    return Prefixes(pcfg, entropies=True).read(pcfg.encode(words))


@given(st.data(), finite_grammars(cyclic=False))
def test_entropies_are_those_of_all_derivations(data: st.DataObject, rules: RuleSet) -> None:
    words = data.draw(derived(rules, 8) | any_words(rules))
    assume(len(twin.derivations(rules)) < 20000)
    found = read(rules, words).derivation_entropy
    assert found.tolist() == pytest.approx(twin.entropies(rules, words), abs=1e-9, nan_ok=True)


@settings(max_examples=30)
@given(st.data(), consistent_grammars())
def test_the_chain_rule(data: st.DataObject, rules: RuleSet) -> None:
    """The entropy of the next word, and what is expected to be left after it; recursion, and unary cycles."""
    words, pcfg = data.draw(derived(rules, 3)), PCFG.from_rules(rules)
    prefixes = Prefixes(pcfg, entropies=True)
    found = prefixes.read(pcfg.encode(words))
    for k in range(len(words) + 1):
        left, next_words = 0.0, found.next_words()[k]
        for word, p in zip([*pcfg.terminals, None], next_words.tolist(), strict=True):
            if p:
                longer = prefixes.read(pcfg.encode([*words[:k], *([word] if word else [])]))
                left += p * longer.derivation_entropy[-1 if word is None else k + 1]
        assert found.derivation_entropy[k] == pytest.approx(found.entropy()[k] + left, abs=1e-9)
    known = tree_statistics(pcfg)["entropy in bits"]
    assert found.derivation_entropy[0] == pytest.approx(known, abs=1e-9)
    assert (found.syntactic_entropy() <= found.entropy() + 1e-12).all()


@given(st.data(), finite_grammars())
def test_the_syntactic_part_is_expected(data: st.DataObject, rules: RuleSet) -> None:
    """It is the mean over next words of the syntactic part of their surprisal."""
    words, pcfg = data.draw(derived(rules, 4)), PCFG.from_rules(rules)
    prefixes = Prefixes(pcfg)
    found = prefixes.read(pcfg.encode(words))
    for k, shares in enumerate(found.next_words().tolist()):
        bits = [prefixes.read(pcfg.encode([*words[:k], word])).syntactic[k] for word in pcfg.terminals]
        bits.append(prefixes.read(pcfg.encode(words[:k])).syntactic[k])
        wanted = math.fsum(p * one for p, one in zip(shares, bits, strict=True) if p)
        assert found.syntactic_entropy()[k] == pytest.approx(wanted, abs=1e-9)


def test_hales_figures() -> None:
    table = mp.surprisal(
        PCFG.from_rules(rules_of(HALE)), "the horse raced past the barn fell", entropies=True
    )
    wanted = [5.2475, 4.2475, 3.7529, 3.6053, 3.6053, 2.6053, 5.4248]
    assert table["derivation_entropy"].round(4).tolist()[:-1] == wanted
    reduction = [0, 1, 0.4946, 0.1476, 0, 1, 0]
    assert table["entropy_reduction"].round(4).tolist()[:-1] == reduction
    parts = table["syntactic_entropy"] + table["lexical_entropy"]
    assert parts.tolist() == pytest.approx(table["entropy"].tolist())


def test_a_long_sentence_in_logarithms() -> None:
    """Words of 1e-160 leave the range of numbers, and have the entropies of other words."""
    rare = {"S -> S S": 0.25, "S -> a": 0.75e-160, "S -> b": 0.75}
    found = read(rules_of(rare), ("a",) * 12)
    usual = read(catalan_grammar(Fraction(1, 4)), ("a",) * 12)
    assert found.reason is None
    assert found.derivation_entropy[-1] == pytest.approx(usual.derivation_entropy[-1], rel=1e-9)
    assert np.isfinite(found.derivation_entropy).all()


def test_inconsistent_grammars_have_that_of_a_sentence_alone() -> None:
    found = read(catalan_grammar(Fraction(3, 5)), ("a",) * 3)
    assert np.isnan(found.derivation_entropy).tolist() == [True] * 4 + [False]
    assert found.derivation_entropy[-1] == pytest.approx(1)  # two trees
