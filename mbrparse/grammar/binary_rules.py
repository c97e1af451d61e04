"""Rules of many children as rules of two, as charts take them: the same trees with the same probabilities.

S -> A B C becomes S -> A S_Cont>B>C and S_Cont>B>C -> B C. A continuation names all the siblings to come, so
that it can go on in one way only, with probability one; to project and debinarize its trees takes it away.
"""

from __future__ import annotations

from typing import NamedTuple

from mbrparse.errors import GrammarError
from mbrparse.grammar.rules import Rule, RuleSet, Weight
from mbrparse.treebank.labels import SIBLING, Symbol, escape, parse_label


class BinaryRules(NamedTuple):
    """A grammar of rules of two children at most, and how many of its rules had more."""

    rules: RuleSet
    changed: int


def binarize_rules(rules: RuleSet) -> BinaryRules:
    """Binarize a grammar, to the right; raises GrammarError where a continuation has a symbol's name.

    >>> from mbrparse.grammar.rules import relative_frequencies
    >>> rules = relative_frequencies("tags", {"S": 1}, {Rule("S", ("'a'", "'b'", "'c'")): 1})
    >>> print(*binarize_rules(rules).rules.rules, sep=", ")
    S -> 'a' S_Cont>%27b'>%27c', S_Cont>%27b'>%27c' -> 'b' 'c'
    """
    binary: dict[Rule, Weight] = {}
    continued: dict[Rule, Weight] = {}
    changed = 0
    for rule, weight in rules.rules.items():
        if len(rule.children) <= 2:
            binary[rule] = weight
            continue
        changed += 1
        parent, rest = rule.parent, rule.children
        for place in range(1, len(rule.children) - 1):
            rest = rule.children[place:]
            continuation = _continuation(rule.parent, rest)
            step = Rule(parent, (rule.children[place - 1], continuation))
            if place == 1:
                binary[step] = weight
            else:
                _add(continued, step, weight)
            parent = continuation
        _add(continued, Rule(parent, rest), weight)
    taken = {rule.parent for rule in binary} & {rule.parent for rule in continued}
    if taken:
        raise GrammarError(
            f"the symbol {min(taken)} has the name of a continuation", remedy="call it otherwise"
        )
    return BinaryRules(RuleSet(rules.terminal_kind, rules.start, binary | continued, rules.unknown), changed)


def _continuation(parent: str, children: tuple[str, ...]) -> str:
    symbol = parse_label(parent)
    siblings = tuple(SIBLING + escape(child) for child in children)
    return str(Symbol(symbol.base, True, (*siblings, *symbol.annotations)))


def _add(rules: dict[Rule, Weight], rule: Rule, weight: Weight) -> None:
    """What continues several rules has the sum of their counts, where all are known."""
    before = rules.get(rule, Weight(1.0, 0.0))
    known = before.count is not None and weight.count is not None
    rules[rule] = Weight(1.0, (before.count or 0.0) + (weight.count or 0.0) if known else None)
