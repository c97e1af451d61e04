"""The arrays that charts are computed with."""

import math

import numpy as np
import pytest
from grammar_strategies import rule_sets
from hypothesis import given

from mbrparse.errors import GrammarError
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL
from mbrparse.grammar.rules import Rule, RuleSet, Weight, is_terminal, unquote

RULES = RuleSet(
    "tags",
    {"S^X": Weight(0.4), "S": Weight(0.3), "NP": Weight(0.3)},
    {
        Rule("S", ("NP", "'VB'")): Weight(0.5),
        Rule("S", ("'NP'", "'VB'")): Weight(0.5),
        Rule("S", ("S", "S")): Weight(0),
        Rule("S^X", ("S", "NP_Cont>VB")): Weight(1),
        Rule("NP", ("'UH'",)): Weight(0.75),
        Rule("NP", ("S",)): Weight(0.25),
        Rule("NP_Cont>VB", ("'VB'", "'VB'")): Weight(1),
    },
)


def rebuilt(grammar: PCFG) -> dict[Rule, float]:
    """The rules that the arrays say."""
    names, terminals = grammar.symbols, grammar.terminals
    rules = {
        Rule(names[p], (names[left], names[right])): math.exp(log_prob)
        for p, left, right, log_prob in zip(
            grammar.parent, grammar.left, grammar.right, grammar.log_prob, strict=True
        )
    }
    chains = zip(grammar.unary_parent, grammar.unary_child, grammar.unary_log_prob, strict=True)
    rules |= {Rule(names[p], (names[child],)): math.exp(log_prob) for p, child, log_prob in chains}
    rows = zip(grammar.lexical_symbol, grammar.lexical_terminal, grammar.lexical_log_prob, strict=True)
    return rules | {Rule(names[s], (f"'{terminals[t]}'",)): math.exp(log_prob) for s, t, log_prob in rows}


def test_the_arrays() -> None:
    grammar = PCFG.from_rules(RULES)
    assert grammar.symbols == ("NP", "'NP'", "NP_Cont>VB", "S", "S^X", "'VB'")
    assert grammar.terminals == ("NP", "UH", "VB")
    assert rebuilt(grammar) == pytest.approx(
        {rule: w.probability for rule, w in RULES.rules.items() if w.probability}
        | {Rule("'NP'", ("'NP'",)): 1, Rule("'VB'", ("'VB'",)): 1}
    )
    assert np.exp(grammar.root_log_prob) == pytest.approx([0.3, 0, 0, 0.3, 0.4, 0])


@given(rule_sets(max_children=2))
def test_arrays_are_sorted_frozen_and_complete(rules: RuleSet) -> None:
    grammar = PCFG.from_rules(rules)
    assert list(grammar.terminals) == sorted(set(grammar.terminals))
    texts = [unquote(name) if is_terminal(name) else name for name in grammar.symbols]
    assert texts == sorted(texts)
    assert len(set(grammar.symbols)) == len(grammar.symbols)
    binary = list(zip(grammar.parent, grammar.left, grammar.right, strict=True))
    lexical = list(zip(grammar.lexical_terminal, grammar.lexical_symbol, strict=True))
    unary = list(zip(grammar.unary_parent, grammar.unary_child, strict=True))
    assert (binary, unary, lexical) == (sorted(binary), sorted(unary), sorted(lexical))
    assert grammar.has_unaries == bool(unary)
    kept = {rule: w.probability for rule, w in rules.rules.items() if w.probability}
    tags = {
        child for rule in kept if len(rule.children) == 2 for child in rule.children if is_terminal(child)
    }
    assert rebuilt(grammar) == pytest.approx(kept | {Rule(tag, (tag,)): 1.0 for tag in tags})
    for array in (grammar.parent, grammar.log_prob, grammar.lexical_symbol, grammar.root_log_prob):
        assert not array.flags.writeable


def test_projected_labels() -> None:
    """A tag and a phrase of one name have one label; annotations are projected away, flags are not."""
    grammar = PCFG.from_rules(RULES)
    assert grammar.labels == ("NP", "NP_Cont", "S", "VB")
    assert [grammar.labels[i] for i in grammar.label_ids] == ["NP", "NP", "NP_Cont", "S", "S", "VB"]


def test_start_label_sums_over_symbols() -> None:
    assert PCFG.from_rules(RULES).start_label == "S"


def test_start_label_of_a_tie_is_the_first_in_text_order() -> None:
    rules = {Rule(name, ("'x'",)): Weight(1) for name in "BAC"}
    assert (
        PCFG.from_rules(RuleSet("words", {name: Weight(1 / 3) for name in "BAC"}, rules)).start_label == "A"
    )


def test_encode() -> None:
    grammar = PCFG.from_rules(RULES)
    ids = grammar.encode(["VB", "missing", "'VB'", "NP"])
    assert ids.dtype == np.int32
    assert ids.tolist() == [2, UNKNOWN_TERMINAL, UNKNOWN_TERMINAL, 0]
    assert grammar.encode([]).tolist() == []


def test_rules_that_charts_cannot_take() -> None:
    rules = RuleSet(
        "words",
        {"S": Weight(1)},
        {Rule("S", ("NP", "'x'", "NP")): Weight(1), Rule("NP", ("'x'",)): Weight(1)},
    )
    with pytest.raises(GrammarError, match="3-ary rule S -> NP 'x' NP: charts take") as caught:
        PCFG.from_rules(rules)
    assert "\n" not in str(caught.value)
