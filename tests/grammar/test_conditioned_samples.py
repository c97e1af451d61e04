"""Sampling of trees that begin with given words, or have given lengths: exact, by all that may be drawn."""

from collections import defaultdict
from itertools import pairwise, product
from typing import Any

import naive_prefixes as twin
import pytest
from conversion import rules_of
from hypothesis import given
from hypothesis import strategies as st
from naive_prefixes import Words
from prefix_strategies import derived, finite_grammars

from mbrparse.charts import rule_tables
from mbrparse.decode.words.conditioned import ConditionedSampler, length_masses
from mbrparse.errors import InputMismatchError
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import RuleSet, unquote

EXACT = 1e-12


def sentences(sampler: ConditionedSampler, symbol: Any = None) -> dict[Words, float]:
    """The probability with which each sentence is drawn; the grammar is finite, without unary cycles."""
    if isinstance(symbol, str):
        return {(unquote(symbol),): 1.0}
    ways, bounds = sampler._ways_of(symbol)
    found: dict[Words, float] = defaultdict(float)
    for way, (below, bound) in zip(ways.T.tolist(), pairwise([0.0, *bounds]), strict=True):
        children = sampler._children(symbol, *way)
        for parts in product(*(sentences(sampler, child).items() for child in children)):
            share = (bound - below) / bounds[-1]
            for _, p in parts:
                share *= p
            found[tuple(word for part, _ in parts for word in part)] += share
    return found


def wanted(rules: RuleSet, prefix: Words, lengths: range) -> dict[Words, float]:
    """Those of all strings, by enumeration."""
    kept = {
        words: p
        for words, p in twin.strings(rules, 8).items()
        if words[: len(prefix)] == prefix and len(words) in lengths
    }
    return {words: p / sum(kept.values()) for words, p in kept.items()}


finite = finite_grammars(cyclic=False)


@given(st.data(), finite)
def test_sentences_with_a_beginning_and_a_length(data: st.DataObject, rules: RuleSet) -> None:
    """Both, either or none."""
    words = data.draw(derived(rules, 8))
    prefix = words[: data.draw(st.integers(0, len(words)))]
    first, last = data.draw(st.integers(1, len(words))), data.draw(st.integers(len(words), 9))
    lengths = data.draw(st.sampled_from([None, (first, last)]))
    found = sentences(ConditionedSampler(rules, 0, prefix, lengths))
    kept = range(first, last + 1) if lengths else range(9)
    assert found == pytest.approx(wanted(rules, prefix, kept), rel=EXACT, abs=EXACT)


def test_lengths_below_the_smallest_numbers() -> None:
    """Each branching has 1e-160: longer sentences than three words are below all numbers."""
    rules = rules_of({"S -> S S": 1e-160, "S -> a": 1.0, "S -> b": 1.0})
    for lengths in ((3, 3), (40, 40)):
        (tree,) = ConditionedSampler(rules, 1, ["b"], lengths).trees(1)
        assert len(tree.words()) == lengths[0]
        assert tree.words()[0] == "b"
    found = sentences(ConditionedSampler(rules, 1, ["b", "a"], (3, 4)))
    assert {words: p for words, p in found.items() if p > EXACT} == pytest.approx(
        {("b", "a", "a"): 0.5, ("b", "a", "b"): 0.5}
    )


def test_what_would_take_hours_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"X{number}" for number in range(50)]
    counts = {f"S -> S {name}": 1.0 for name in names} | {f"{name} -> a": 1.0 for name in [*names, "S"]}
    with pytest.raises(InputMismatchError, match="too long for 50 binary rules"):
        length_masses(PCFG.from_rules(rules_of(counts)), 100_000)
    # Chains of unary rules alone, between all pairs of symbols; before these are computed.
    monkeypatch.setattr(rule_tables, "unary_closure", None)
    cycle = {f"X{number} -> X{(number + 1) % 500}": 99.0 for number in range(500)}
    counts = {"S -> X0": 1.0} | cycle | {f"X{number} -> a": 1.0 for number in range(500)}
    with pytest.raises(InputMismatchError, match="too long for 0 binary rules and 250"):
        length_masses(PCFG.from_rules(rules_of(counts)), 10_000)


def test_no_such_sentence() -> None:
    rules = rules_of({"S -> x y": 0.5, "S -> y": 0.5})
    for prefix, lengths in ((["x", "x"], None), (["y", "y"], None), ([], (3, 9)), (["x"], (1, 1))):
        with pytest.raises(InputMismatchError, match="has no such sentence"):
            ConditionedSampler(rules, 1, prefix, lengths)
    with pytest.raises(InputMismatchError, match="does not have z"):
        ConditionedSampler(rules, 1, ["x", "z"])
