"""Goodman's reduction written out: a PCFG with a symbol for each address beside the labels.

For an address j of label A with children k and l (labels B and C) there are eight rules: A_j and A, over B or
B_k and C or C_l. A child that is addressed is written with its number as a state, ``NP~12``; a terminal, or
a node where fragments can only end, has no address. Equal rules are written once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from mbrparse.errors import GrammarError
from mbrparse.files import atomic_outputs, open_output
from mbrparse.grammar.dop.addressed_treebank import NO_CHILD, AddressedTreebank
from mbrparse.grammar.dop.dop_grammar import DopGrammar
from mbrparse.grammar.fields import format_number
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import Rule, RuleSet, Weight, is_terminal, quote, unquote


def reduced_rules(grammar: DopGrammar) -> Iterator[tuple[Rule, float]]:
    """The rules and their probabilities: first those of addresses, in their order, then those of labels."""
    treebank, fragments = grammar.treebank, grammar.fragments
    labels = [treebank.labels[label] for label in fragments.label]
    terminals = list(map(quote, treebank.terminals))
    names = [f"{label}~{address}" for address, label in enumerate(labels, start=1)]
    keep, cut, is_cut = fragments.keep.tolist(), fragments.cut.tolist(), fragments.is_cut.tolist()

    def ways(child: int) -> list[tuple[str, float]]:
        if child < 0:
            return [(terminals[~child], 1.0)]
        if is_cut[child]:
            return [(labels[child], 1.0)]
        return [(labels[child], cut[child]), (names[child], keep[child])]

    inner = np.concatenate([fragments.left, fragments.right])
    # No rule leads to the symbol of an address that is no child.
    used = np.isin(np.arange(len(labels)), inner[(inner >= 0) & (inner != NO_CHILD)]).tolist()
    merged: dict[Rule, float] = {}
    rows = zip(fragments.left.tolist(), fragments.right.tolist(), fragments.up.tolist(), strict=True)
    for address, (left, right, up) in enumerate(rows):
        if is_cut[address]:
            continue
        for chosen in itertools.product(*(ways(child) for child in (left, right) if child != NO_CHILD)):
            children, shares = zip(*chosen, strict=True)
            if used[address]:
                yield Rule(names[address], children), math.prod(shares)
            if up > 0:
                rule = Rule(labels[address], children)
                merged[rule] = merged.get(rule, 0.0) + math.prod(shares, start=up)
    yield from merged.items()


def reduced_grammar(grammar: DopGrammar) -> PCFG:
    """The reduction as a PCFG, for the charts of any."""
    treebank = grammar.treebank
    rules = {rule: Weight(probability) for rule, probability in reduced_rules(grammar)}
    start = {name: Weight(count / treebank.trees) for name, count in treebank.start.items()}
    return PCFG.from_rules(RuleSet(treebank.terminal_kind, start, rules, treebank.unknown))


def write_reduction(treebank: AddressedTreebank, rules_path: str, lexicon_path: str, root: str) -> None:
    """Write the reduction as bitpar's two files, probabilities in the place of counts.

    Raises GrammarError for a tag that is a label too, which bitpar's form cannot say.
    """
    labels = frozenset(treebank.labels)
    if root in labels:
        raise GrammarError(f"the grammar has a symbol {root} already", remedy="choose another with `root`")
    lexicon: dict[str, list[tuple[str, str]]] = {}
    with atomic_outputs(), open_output(rules_path) as stream, open_output(lexicon_path) as lexicon_stream:
        for name, count in sorted(treebank.start.items()):
            stream.write(f"{format_number(count)}\t{root}\t{name}\n")
        for rule, probability in reduced_rules(DopGrammar.of_treebank(treebank)):
            number = format_number(probability)
            if len(rule.children) == 1:
                lexicon.setdefault(unquote(rule.children[0]), []).append((rule.parent, number))
                continue
            for terminal in (unquote(child) for child in rule.children if is_terminal(child)):
                if terminal in labels:
                    raise GrammarError(
                        f"{terminal} is both terminal and nonterminal, which bitpar's form cannot say"
                    )
                lexicon.setdefault(terminal, [(terminal, "1")])
            children = (unquote(child) if is_terminal(child) else child for child in rule.children)
            stream.write("\t".join((number, rule.parent, *children)) + "\n")
        for word, entries in sorted(lexicon.items()):
            lexicon_stream.write("\t".join((word, *(f"{tag} {number}" for tag, number in entries))) + "\n")
