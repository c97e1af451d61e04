"""Grammars of one family: a treebank's, from more and more of its trees; and one with its symbols split."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product

from mbrparse.grammar.rules import Rule, RuleSet, Weight, is_terminal, relative_frequencies
from mbrparse.training.count import induce
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.tree import Tree

#: What part of the training trees a grammar is counted from.
FRACTIONS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)


def trained(trees: Sequence[Tree], fraction: float, seed: int) -> RuleSet:
    """A grammar of a random part of the trees."""
    chosen = random.Random(seed).sample(range(len(trees)), max(1, round(fraction * len(trees))))
    return induce((SourceTree("sample", place, trees[place]) for place in chosen), "tags")


def split_states(rules: RuleSet, states: int, seed: int = 1) -> RuleSet:
    """Each symbol becomes so many, each binary rule the cube of that many (fewer where a child is a tag).

    Their weights are the rule's, times random numbers between 1 and 2; nothing is zero.
    """
    draw = random.Random(seed)
    split: dict[Rule, float] = {}
    for rule, weight in rules.rules.items():
        for symbols in product(*(list(_states(name, states)) for name in (rule.parent, *rule.children))):
            split[Rule(symbols[0], symbols[1:])] = _probability(weight) * (1 + draw.random())
    start = {
        name: _probability(weight) for base, weight in rules.start.items() for name in _states(base, states)
    }
    return relative_frequencies(rules.terminal_kind, start, split)


def _states(name: str, states: int) -> Iterator[str]:
    if is_terminal(name) or states == 1:
        yield name
    else:
        yield from (f"{name}@{state}" for state in range(states))


def _probability(weight: Weight) -> float:
    return weight.probability
