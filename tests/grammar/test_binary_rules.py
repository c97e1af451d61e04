"""Rules of many children as rules of two: the same trees, with the same probabilities."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.errors import GrammarError
from mbrparse.grammar.rules import Rule, RuleSet, binarize_rules, relative_frequencies
from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.brackets import read_tree

NAMES = ("S", "A", "B^S", "C_Cont")
TERMINALS = ("'x'", "'y_Cont'")


@st.composite
def grammars(draw: st.DrawFn) -> RuleSet:
    """Rules of up to five children; every symbol has a word, and none is over one symbol alone."""
    counts: dict[Rule, float] = {}
    for name in NAMES:
        counts[Rule(name, (draw(st.sampled_from(TERMINALS)),))] = 1
        for _ in range(draw(st.integers(0, 3))):
            children = draw(st.lists(st.sampled_from(NAMES + TERMINALS), min_size=2, max_size=5))
            counts[Rule(name, tuple(children))] = draw(st.integers(1, 3))
    return relative_frequencies("tags", {"S": 1}, counts)


def trees(rules: RuleSet, symbol: str, words: tuple[str, ...]) -> list[tuple[str, float]]:
    """All derivations of words from a symbol, as brackets, with their probabilities."""
    if symbol.startswith("'"):
        return [(symbol[1:-1], 1.0)] if words == (symbol,) else []
    found = []
    for rule, weight in rules.rules.items():
        if rule.parent == symbol and len(rule.children) <= len(words):
            for parts, probability in sequences(rules, rule.children, words):
                found.append((f"({symbol} {parts})", weight.probability * probability))
    return found


def sequences(rules: RuleSet, symbols: tuple[str, ...], words: tuple[str, ...]) -> list[tuple[str, float]]:
    if len(symbols) == 1:
        return trees(rules, symbols[0], words)
    return [
        (f"{first} {rest}", one * other)
        for end in range(1, len(words) - len(symbols) + 2)
        for first, one in trees(rules, symbols[0], words[:end])
        for rest, other in sequences(rules, symbols[1:], words[end:])
    ]


@given(grammars(), st.lists(st.sampled_from(TERMINALS), min_size=1, max_size=5))
def test_the_same_derivations(rules: RuleSet, words: list[str]) -> None:
    """One for one; their trees are the same once continuations and annotations are gone."""
    binary = binarize_rules(rules)
    assert all(len(rule.children) <= 2 for rule in binary.rules.rules)
    assert binary.changed == sum(len(rule.children) > 2 for rule in rules.rules)
    binary.rules.check()
    expected, found = (
        Counter(
            (str(debinarize(read_tree(text))), round(math.log(probability), 9))
            for text, probability in trees(one, "S", tuple(words))
        )
        for one in (rules, binary.rules)
    )
    assert found == expected


def test_a_name_that_is_taken() -> None:
    counts = {Rule("S", ("A", "A", "A")): 1.0, Rule("A", ("'x'",)): 1.0, Rule("S_Cont>A>A", ("'x'",)): 1.0}
    with pytest.raises(GrammarError, match="the symbol S_Cont>A>A has the name of a continuation"):
        binarize_rules(relative_frequencies("tags", {"S": 1}, counts))
