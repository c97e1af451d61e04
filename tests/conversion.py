"""The naive twin's grammars as the library's."""

from collections.abc import Mapping

import naive

from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import Rule, RuleSet, Weight, quote

# Symbols of the random grammars that share a label once annotations are projected away.
ANNOTATED = {"A": "A~1", "B": "A~2", "C": "B^S"}
PROJECTION = {"A": "A", "B": "A", "C": "B"}


def to_rules(grammar: naive.Grammar, names: Mapping[str, str] | None = None) -> RuleSet:
    """The same rules; a symbol that is its own only terminal becomes a quoted tag.

    ``names`` renames phrase symbols.
    """
    tags = {symbol for symbol, word in grammar.lexical if symbol == word}

    def name(symbol: str) -> str:
        return quote(symbol) if symbol in tags else (names or {}).get(symbol, symbol)

    rules: dict[Rule, Weight] = {}
    for (parent, left, right), p in grammar.binary.items():
        rules[Rule(name(parent), (name(left), name(right)))] = Weight(float(p))
    for (parent, child), p in grammar.unary.items():
        rules[Rule(name(parent), (name(child),))] = Weight(float(p))
    for (symbol, word), p in grammar.lexical.items():
        if symbol not in tags:
            rules[Rule(name(symbol), (quote(word),))] = Weight(float(p))
    start = {name(symbol): Weight(float(p)) for symbol, p in grammar.start.items()}
    return RuleSet("tags", start, rules)


def to_pcfg(grammar: naive.Grammar, names: Mapping[str, str] | None = None) -> PCFG:
    """The library's arrays of a naive grammar."""
    return PCFG.from_rules(to_rules(grammar, names))
