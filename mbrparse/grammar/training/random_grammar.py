"""Random initial grammars: all binary and lexical rules, with random probabilities.

Pereira & Schabes (1992) begin with 15 nonterminals and 48 tags: all 15**3 + 15 * 48 rules of Chomsky
normal form.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from mbrparse.grammar.rules import Rule, RuleSet, TerminalKind, Weight, quote
from mbrparse.io.errors import GrammarError


def random_grammar(
    nonterminals: int, terminals: Iterable[str], seed: int, terminal_kind: TerminalKind = "tags"
) -> RuleSet:
    """All rules over N00 (the start symbol), N01, ..., weights uniform in 0 to 1 and then normalized.

    The same seed gives the same grammar on every machine and Python. Raises GrammarError for no
    nonterminals.

    >>> [str(rule) for rule in random_grammar(1, ["DT", "NN"], seed=1).rules]
    ['N00 -> N00 N00', "N00 -> 'DT'", "N00 -> 'NN'"]
    """
    if nonterminals < 1:
        raise GrammarError(
            f"a grammar of {nonterminals} nonterminals derives nothing",
            remedy="ask for one or more: --nonterminals 15",
        )
    source = random.Random(seed)
    names = nonterminal_names(nonterminals)
    right_sides: list[tuple[str, ...]] = [(left, right) for left in names for right in names]
    right_sides += [(quote(terminal),) for terminal in sorted(set(terminals))]
    rules: dict[Rule, Weight] = {}
    for parent in names:
        weights = [1.0 - source.random() for _ in right_sides]
        total = sum(weights)
        for children, weight in zip(right_sides, weights, strict=True):
            rules[Rule(parent, children)] = Weight(weight / total)
    return RuleSet(terminal_kind, {names[0]: Weight(1.0)}, rules)


def nonterminal_names(count: int) -> list[str]:
    """N00, N01, ...: as many digits as keep the order of text the order of numbers.

    >>> nonterminal_names(2)
    ['N00', 'N01']
    """
    digits = max(2, len(str(count - 1)))
    return [f"N{number:0{digits}}" for number in range(count)]
