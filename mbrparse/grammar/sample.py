"""Sampling trees from a grammar with rules of any length."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from mbrparse.errors import GrammarError
from mbrparse.grammar.rules import RuleSet, Weight, is_terminal, unquote
from mbrparse.treebank.labels import project, unescape
from mbrparse.treebank.tree import Tree

NODE_LIMIT = 1_000_000


class Sampler:
    """Draws trees from the grammar's distribution.

    The same grammar and seed give the same trees on every machine and Python. Labels are without
    annotations. A rule with a single terminal makes a leaf with a tag and a word: for a class one of the
    words of training that stand for it, each as often as another; a class of unseen words has its name.
    """

    def __init__(self, rules: RuleSet, seed: int) -> None:
        self._random, self._random_words = random.Random(seed), random.Random(f"words {seed}")
        self._given: Sequence[str] = ()  # the first words
        known = {unquote(child) for rule in rules.rules for child in rule.children if is_terminal(child)}
        model = rules.unknown
        #: By whether it begins a sentence, the words of each class.
        self._words = {one: {} if model is None else model.members(known, one) for one in (True, False)}
        # The alternatives of each symbol, and their cumulated probabilities; those of no symbol are roots.
        self._choices: dict[Any, tuple[list[tuple[Any, ...]], list[float]]] = {}
        self._continued: set[str] = set()  # what is not to be seen but for its children
        rows: list[tuple[tuple[str | None, tuple[str, ...]], Weight]] = [
            ((None, (name,)), weight) for name, weight in sorted(rules.start.items())
        ]
        for (parent, children), weight in [*rows, *sorted(rules.rules.items())]:
            alternatives, bounds = self._choices.setdefault(parent, ([], []))
            alternatives.append(children)
            bounds.append(weight.probability + (bounds[-1] if bounds else 0.0))

    def trees(self, count: int) -> Iterator[Tree]:
        """Yield ``count`` trees; raises GrammarError if one outgrows a million nodes."""
        for _ in range(count):
            yield self._tree()

    def _tree(self) -> Tree:
        # A leftmost derivation gives nodes in preorder; trees are built from the last node on.
        nodes: list[tuple[str, int]] = []
        stack = list(self._draw(None))
        while stack:
            symbol = stack.pop()
            name = self._name(symbol)
            children = () if is_terminal(name) else self._draw(symbol)
            nodes.append((name, len(children)))
            if len(nodes) > NODE_LIMIT:
                raise GrammarError(
                    f"a sampled tree has more than {NODE_LIMIT} nodes",
                    remedy="the grammar's rules grow faster than they end: lower the recursive ones",
                )
            stack.extend(reversed(children))
        built: list[list[Tree]] = []
        place = sum(not count for _, count in nodes)
        for name, count in reversed(nodes):
            parts = [part for _ in range(count) for part in built.pop()]
            if not parts:
                place -= 1
                parts = [Tree(self._word(unquote(name), place))]
            elif name not in self._continued:
                label, only = project(name), parts[0]
                lexical = len(parts) == 1 and not only.children and only.word is None
                parts = [Tree(unescape(label), word=only.label) if lexical else Tree(label, parts)]
            built.append(parts)
        return built[0][0]

    def _word(self, terminal: str, place: int) -> str:
        words = self._words[place == 0].get(terminal)
        if place < len(self._given):
            return self._given[place]
        return self._random_words.choice(words) if words else terminal

    def _name(self, symbol: Any) -> str:
        return str(symbol)

    def _draw(self, parent: Any) -> tuple[Any, ...]:
        alternatives, bounds = self._choices[parent]
        return self._random.choices(alternatives, cum_weights=bounds)[0]
