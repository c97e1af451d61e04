"""Naive twins of the analyses of a prefix: all trees, cut behind the prefix; and derivations, the best first.

An analysis is a nested tuple: a symbol and what is below it; a symbol alone is still to come.
"""

import heapq
import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, TypeAlias

from naive_prefixes import Words

from mbrparse.grammar.rules import RuleSet, is_terminal, unquote

Nested: TypeAlias = tuple[Any, ...]


def trees(rules: RuleSet) -> list[tuple[Nested, float]]:
    """All derivations of a grammar without recursion, with their probabilities."""
    return [
        (tree, root.probability * p)
        for name, root in rules.start.items()
        for tree, p in _below(rules, name)
        if root.probability
    ]


def _below(rules: RuleSet, name: str) -> Iterator[tuple[Nested, float]]:
    if is_terminal(name):
        yield (name, unquote(name)), 1.0
        return
    for (parent, children), weight in rules.rules.items():
        if parent == name and weight.probability:
            if len(children) == 1 and is_terminal(children[0]):
                yield (name, unquote(children[0])), weight.probability
                continue
            for parts in itertools.product(*(list(_below(rules, child)) for child in children)):
                p = weight.probability
                for _, one in parts:
                    p *= one
                yield (name, *(part for part, _ in parts)), p


def words_of(tree: Nested) -> Words:
    """The words of a tree, or of what there is of it."""
    return tuple(word for part in tree[1:] for word in ((part,) if isinstance(part, str) else words_of(part)))


def cut(tree: Nested, k: int) -> Nested:
    """What is left of a tree when k words have been read."""
    if k <= 0:
        return tree[:1]
    parts: list[Any] = [tree[0]]
    for part in tree[1:]:
        if isinstance(part, str):
            parts.append(part)
        else:
            parts.append(cut(part, k))
            k -= len(words_of(part))
    return tuple(parts)


def grouped(rules: RuleSet, words: Words) -> dict[Nested, float]:
    """The mass of all trees that begin with the words, by what is left of each."""
    found: defaultdict[Nested, float] = defaultdict(float)
    for tree, p in trees(rules):
        if words_of(tree)[: len(words)] == words:
            found[cut(tree, len(words))] += p
    return dict(found)


def open_brackets(tree: Nested) -> int:
    """The number of symbols with something to come below them, but for continuations under the root."""
    parts = [part for part in tree[1:] if not isinstance(part, str)]
    mine = _is_open(tree) and len(tree) > 1
    return mine + sum(
        open_brackets(part) - (_is_open(part) and len(part) > 1 and "_Cont" in part[0]) for part in parts
    )


def _is_open(tree: Nested) -> bool:
    return len(tree) == 1 or any(not isinstance(part, str) and _is_open(part) for part in tree[1:])


def best_first(rules: RuleSet, words: Words, most: int, least: float) -> list[float]:
    """The probabilities of the most probable analyses: of all derivations in part the best is continued.

    None is less probable than ``least``.
    """
    number = itertools.count()
    agenda: list[tuple[float, int, int, tuple[str, ...]]] = [
        (-root.probability, next(number), 0, (name,))
        for name, root in rules.start.items()
        if root.probability
    ]
    heapq.heapify(agenda)
    found: list[float] = []
    while agenda and len(found) < most:
        p, _, k, stack = heapq.heappop(agenda)
        if -p < least:
            break
        if k == len(words):
            found.append(-p)
            continue
        if not stack:
            continue
        first, rest = stack[0], stack[1:]
        if is_terminal(first):
            if unquote(first) == words[k]:
                heapq.heappush(agenda, (p, next(number), k + 1, rest))
            continue
        for (parent, children), weight in rules.rules.items():
            if parent == first and weight.probability:
                heapq.heappush(agenda, (p * weight.probability, next(number), k, (*children, *rest)))
    return found
