"""Grammars with latent states by enumeration: every assignment of states to the nodes of an observed tree.

Nothing is shared between assignments: a tree of n nodes with k states each costs n * k ** n.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from mbrparse.treebank.tree import Tree

RuleName = tuple[str, ...]
"""Parent and children as in grammar files, without states."""
StateRule = tuple[RuleName, int, tuple[int, ...]]
"""A rule, the state of its parent, and the states of its children that are no terminals."""
Grammar = Mapping[StateRule, float]
States = Mapping[str, int]
"""How many states each symbol has; the symbol over the tree, ``""``, has one."""


class Node(NamedTuple):
    """A node of an observed tree; ``inner`` are the places of its children that are no terminals."""

    rule: RuleName
    inner: tuple[int, ...]

    @property
    def symbol(self) -> str:
        return self.rule[0]


def nodes(tree: Tree, words: bool) -> list[Node]:
    """The nodes of a binarized tree, parents first; the first is over the tree's root.

    A leaf is a preterminal where it is a tag over a word, or an only child; its name needs no escapes here.
    """
    found = [Node(("", tree.label), (1,))]

    def visit(node: Tree) -> None:
        at = len(found)
        found.append(Node((), ()))
        names, inner = [], []
        for child in node.children:
            word = child.word if words else None
            if child.children:
                names.append(child.label)
                inner.append(len(found))
                visit(child)
            elif word is not None or len(node.children) == 1:
                names.append(child.label)
                inner.append(len(found))
                found.append(Node((child.label, f"'{child.label if word is None else word}'"), ()))
            else:
                names.append(f"'{child.label}'")
        found[at] = Node((node.label, *names), tuple(inner))

    visit(tree)
    return found


def words_of(tree: Sequence[Node], at: int = 0) -> tuple[str, ...]:
    """The words below a node, or tags."""
    inner, found = iter(tree[at].inner), list[str]()
    for name in tree[at].rule[1:]:
        found.extend([name[1:-1]] if name.startswith("'") else words_of(tree, next(inner)))
    return tuple(found)


def assignments(tree: Sequence[Node], states: States) -> Iterator[tuple[int, ...]]:
    """Each way to give each node a state."""
    return product(*(range(states[node.symbol]) for node in tree))


def state_rules(tree: Sequence[Node], assigned: Sequence[int]) -> list[StateRule]:
    """The rules that an assignment uses."""
    return [
        (node.rule, state, tuple(assigned[child] for child in node.inner))
        for node, state in zip(tree, assigned, strict=True)
    ]


def probability(tree: Sequence[Node], grammar: Grammar, states: States) -> float:
    """The sum over assignments of the product of their rules."""
    return math.fsum(
        math.prod(grammar[rule] for rule in state_rules(tree, assigned))
        for assigned in assignments(tree, states)
    )


class Expected(NamedTuple):
    """Expected counts of rules with states; trees of probability zero are left out."""

    counts: dict[StateRule, float]
    log_likelihood: float
    left_out: int


def expected(trees: Sequence[Sequence[Node]], grammar: Grammar, states: States) -> Expected:
    """Each assignment's rules, weighed by its share of the tree's probability."""
    counts: defaultdict[StateRule, float] = defaultdict(float)
    log_likelihood, left_out = 0.0, 0
    for tree in trees:
        total = probability(tree, grammar, states)
        if not total:
            left_out += 1
            continue
        log_likelihood += math.log(total)
        for assigned in assignments(tree, states):
            rules = state_rules(tree, assigned)
            share = math.prod(grammar[rule] for rule in rules) / total
            for rule in rules:
                counts[rule] += share
    return Expected(dict(counts), log_likelihood, left_out)


def shares(counts: Mapping[StateRule, float], symbol: str, size: int) -> list[float]:
    """The expected frequency of each state relative to that of its pair; halves where it is never used."""
    seen = [
        math.fsum(count for (rule, at, _), count in counts.items() if (rule[0], at) == (symbol, state))
        for state in range(size)
    ]
    pairs = [seen[state // 2 * 2] + seen[state // 2 * 2 + 1] for state in range(size)]
    return [mine / pair if pair else 0.5 for mine, pair in zip(seen, pairs, strict=True)]


def merged_at(
    tree: Sequence[Node], grammar: Grammar, states: States, place: int, pair: int, shares: Sequence[float]
) -> float:
    """The tree's probability where states 2 * pair and 2 * pair + 1 are one, at this node alone.

    There the merged state is rewritten as either, by their shares, and stands below for either, so that its
    probability in the rule above is the sum of theirs.
    """
    first, second = 2 * pair, 2 * pair + 1
    above = next((at for at, node in enumerate(tree) if place in node.inner), None)
    total = []
    for assigned in assignments(tree, states):
        if assigned[place] == second:
            continue  # the merged state is listed as the first
        factors = []
        for at in range(len(tree)):
            either = [(*assigned[:place], state, *assigned[place + 1 :]) for state in (first, second)]
            ways = [grammar[state_rules(tree, way)[at]] for way in either]
            if assigned[place] != first or at not in (place, above):
                factors.append(grammar[state_rules(tree, assigned)[at]])
            elif at == place:
                factors.append(shares[first] * ways[0] + shares[second] * ways[1])
            else:
                factors.append(ways[0] + ways[1])
        total.append(math.prod(factors))
    return math.fsum(total)


def log_loss(
    trees: Sequence[Sequence[Node]],
    grammar: Grammar,
    states: States,
    symbol: str,
    pair: int,
    shares: Sequence[float],
) -> float:
    """The log of the product over the symbol's nodes of P with the pair merged there, divided by P."""
    total = 0.0
    for tree in trees:
        apart = probability(tree, grammar, states)
        for place, node in enumerate(tree):
            if apart and node.symbol == symbol:
                total += math.log(merged_at(tree, grammar, states, place, pair, shares) / apart)
    return total
