"""Hypothesis strategies: small rule sets that sum to one and are consistent, and sentences of them.

Binary rules have nonterminals and terminals as children; unary rules may form cycles, A -> A too, and left
recursion is frequent. All pass ``RuleSet.check``.
"""

from collections.abc import Sequence
from itertools import pairwise, product

from hypothesis import strategies as st
from naive_prefixes import Words, strings, terminals
from strategies import shares

from mbrparse.grammar.rules import Rule, RuleSet, TerminalKind, Weight, quote

NAMES = ("S", "NP", "VP^S", "X_Cont>NN")
TERMINALS = ("x", "y", "z")


def _add(
    draw: st.DrawFn, rules: dict[Rule, Weight], parent: str, sides: Sequence[Words], most: int, mass: float
) -> None:
    """Share a mass out among 1 to ``most`` of the right-hand sides; the last gets what the others leave."""
    some = draw(st.lists(st.sampled_from(sides), min_size=1, max_size=most, unique=True))
    for side, share in zip(some, shares(draw, len(some)), strict=True):
        if share:
            rules[Rule(parent, side)] = Weight(mass * float(share))


def _rule_set(draw: st.DrawFn, rules: dict[Rule, Weight], names: Sequence[str]) -> RuleSet:
    kind: TerminalKind = draw(st.sampled_from(["tags", "words"]))
    start = {name: Weight(float(share)) for name, share in zip(names, shares(draw, len(names)), strict=True)}
    return RuleSet(kind, {name: weight for name, weight in start.items() if weight.probability}, rules)


@st.composite
def consistent_grammars(draw: st.DrawFn, least_lexical: float = 0.7, unaries: bool = True) -> RuleSet:
    """2-4 nonterminals over 2-3 terminals; of each, the lexical rules have ``least_lexical`` at least.

    Less than 2 (1 - least_lexical) nonterminals are expected below each, which bounds the spectral radius.
    """
    names = NAMES[: draw(st.integers(2, 4))]
    words = [quote(word) for word in TERMINALS[: draw(st.integers(2, 3))]]
    rules: dict[Rule, Weight] = {}
    for name in names:
        lexical = draw(st.sampled_from([least_lexical, (1 + least_lexical) / 2, 1.0]))
        _add(draw, rules, name, [(word,) for word in words], 3, lexical)
        if lexical < 1:
            unary = draw(st.sampled_from([0.0, 0.25, 0.5])) * (1 - lexical) if unaries else 0.0
            _add(draw, rules, name, list(product([*names, *words], repeat=2)), 3, 1 - lexical - unary)
            if unary:
                _add(draw, rules, name, [(child,) for child in names], 2, unary)
    return _rule_set(draw, rules, names)


@st.composite
def finite_grammars(draw: st.DrawFn, cyclic: bool = True, unaries: bool = True) -> RuleSet:
    """2-4 nonterminals in one to three levels: children of binary rules are of the levels below.

    Unary rules stay within a level or lead below, so there may be cycles, but no string has more than 8
    words. Without ``cyclic`` unary rules lead to later symbols only.
    """
    names = NAMES[: draw(st.integers(2, 4))]
    words = [quote(word) for word in TERMINALS[: draw(st.integers(2, 3))]]
    cuts = draw(st.lists(st.integers(1, len(names) - 1), max_size=2, unique=True).map(sorted))
    rules: dict[Rule, Weight] = {}
    for level, end in pairwise([0, *cuts, len(names)]):
        for place, name in enumerate(names[level:end], level):
            children = names[level:] if cyclic else names[place + 1 :]
            unary = draw(st.sampled_from([0.0, 0.25, 0.5])) if children and unaries else 0.0
            if unary:
                _add(draw, rules, name, [(child,) for child in children], 2, unary)
            below = [*names[end:], *words]
            sides = [*product(below, repeat=2), *((word,) for word in words)]
            _add(draw, rules, name, sides, 4, 1 - unary)
    return _rule_set(draw, rules, names)


def derived(rules: RuleSet, longest: int = 6) -> st.SearchStrategy[Words]:
    """Sentences of at most so many words that have a probability; all of them have lengths of 1 at least."""
    return st.sampled_from(sorted(strings(rules, longest)))


def any_words(rules: RuleSet, longest: int = 4) -> st.SearchStrategy[Words]:
    """Any terminals of the grammar, with a probability or not."""
    return st.lists(st.sampled_from(terminals(rules)), max_size=longest).map(tuple)
