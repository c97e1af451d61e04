"""A grammar's size, in numbers."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

from mbrparse.grammar.dop.addressed_treebank import AddressedTreebank
from mbrparse.grammar.dop.fragments import number_of_fragments
from mbrparse.grammar.dop.reduction import count_rules
from mbrparse.grammar.fields_file import format_number
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


def describe_treebank(treebank: AddressedTreebank) -> dict[str, str]:
    """The same of a DOP grammar.

    Fragments are counted at every node that has them; the reduction's rules are those of ``grammar convert``.
    """
    fragments = number_of_fragments(treebank)
    start = sorted(treebank.start.items(), key=lambda item: (-item[1], item[0]))
    model = treebank.unknown
    words = "none" if model is None else f"{model.kind}, of words seen fewer than {model.rare} times"
    return {
        "method": "dop",
        "weights": treebank.weighting,
        "depth of fragments": "any" if treebank.max_depth is None else f"at most {treebank.max_depth}",
        "terminals": f"{treebank.terminal_kind}, {len(treebank.terminals)}",
        **({"unknown words": words} if treebank.terminal_kind == "words" else {}),
        "labels": str(len(treebank.labels)),
        "trees": format_number(treebank.trees),
        "nodes": format_number(float(treebank.count.sum())),
        "addresses": str(len(treebank.count)),
        "fragments": str(fragments) if fragments < 10**15 else f"{Decimal(fragments):.3e}",
        "rules of the reduction": str(count_rules(treebank)),
        "start": ", ".join(f"{name} {count / treebank.trees:.4f}" for name, count in start),
    }


def _unknown(rules: RuleSet) -> str:
    model = rules.unknown
    return "none" if model is None else f"{model.kind}, of words seen fewer than {model.rare} times"


def _kind(children: tuple[str, ...]) -> str:
    if len(children) == 1:
        return "lexical" if is_terminal(children[0]) else "unary"
    return "binary" if len(children) == 2 else "longer"
