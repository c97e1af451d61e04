"""A grammar's size, in numbers."""

from __future__ import annotations

from collections import Counter

from mbrparse.grammar.rules import RuleSet, is_terminal


def describe(rules: RuleSet) -> dict[str, str]:
    """Name each figure that ``mbrparse grammar info`` prints.

    Symbols are what rules rewrite or combine: nonterminals, and tags that stand in binary rules.
    """
    arity = Counter(_kind(rule.children) for rule in rules.rules)
    terminals = {child for rule in rules.rules for child in rule.children if is_terminal(child)}
    nonterminals = {rule.parent for rule in rules.rules} | rules.start.keys()
    combined = {child for rule in rules.rules if len(rule.children) > 1 for child in rule.children}
    start = sorted(rules.start.items(), key=lambda item: (-item[1].probability, item[0]))
    return {
        "terminals": f"{rules.terminal_kind}, {len(terminals)}",
        **({"unknown words": _unknown(rules)} if rules.terminal_kind == "words" else {}),
        "nonterminals": str(len(nonterminals)),
        "symbols": str(len(nonterminals | combined)),
        "rules": str(len(rules.rules)),
        **{f"  {kind}": str(count) for kind, count in sorted(arity.items())},
        "start": ", ".join(f"{name} {weight.probability:.4f}" for name, weight in start),
    }


def _unknown(rules: RuleSet) -> str:
    model = rules.unknown
    return "none" if model is None else f"{model.kind}, of words seen fewer than {model.rare} times"


def _kind(children: tuple[str, ...]) -> str:
    if len(children) == 1:
        return "lexical" if is_terminal(children[0]) else "unary"
    return "binary" if len(children) == 2 else "longer"
