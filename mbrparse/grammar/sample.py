"""Sampling trees from a grammar with rules of any length."""

from __future__ import annotations

import bisect
import itertools
import random
from collections.abc import Iterator

from mbrparse.grammar.rules import RuleSet, is_terminal, unquote
from mbrparse.io.errors import GrammarError
from mbrparse.treebank.labels import project, unescape
from mbrparse.treebank.tree import Tree

NODE_LIMIT = 1_000_000


class Sampler:
    """Draws trees from the grammar's distribution.

    The same grammar and seed give the same trees on every machine and Python. Labels are without
    annotations. A rule with a single terminal makes a leaf with a tag and a word.
    """

    def __init__(self, rules: RuleSet, seed: int) -> None:
        self._random = random.Random(seed)
        start = sorted(rules.start.items())
        self._start = _Choice([(name,) for name, _ in start], [weight.probability for _, weight in start])
        groups: dict[str, list[tuple[tuple[str, ...], float]]] = {}
        for rule, weight in sorted(rules.rules.items()):
            groups.setdefault(rule.parent, []).append((rule.children, weight.probability))
        self._rules = {
            parent: _Choice([children for children, _ in group], [share for _, share in group])
            for parent, group in groups.items()
        }

    def trees(self, count: int) -> Iterator[Tree]:
        """Yield ``count`` trees; raises GrammarError if one outgrows a million nodes."""
        for _ in range(count):
            yield self._tree()

    def _tree(self) -> Tree:
        root = self._start.draw(self._random)[0]
        # A leftmost derivation gives nodes in preorder; trees are built from the last node on.
        nodes: list[tuple[str, tuple[str, ...]]] = []
        stack = [root]
        while stack:
            name = stack.pop()
            if is_terminal(name):
                nodes.append((name, ()))
                continue
            children = self._rules[name].draw(self._random)
            nodes.append((name, children))
            if len(nodes) > NODE_LIMIT:
                raise GrammarError(
                    f"a sampled tree has more than {NODE_LIMIT} nodes",
                    remedy="the grammar's rules grow faster than they end: lower the recursive ones",
                )
            stack.extend(reversed(children))
        built: list[Tree] = []
        for name, children in reversed(nodes):
            if not children:
                built.append(Tree(unquote(name)))
            else:
                parts = [built.pop() for _ in children]
                lexical = len(children) == 1 and is_terminal(children[0])
                label = project(name)
                built.append(Tree(unescape(label), word=parts[0].label) if lexical else Tree(label, parts))
        return built[0]


class _Choice:
    """A distribution over alternatives."""

    def __init__(self, alternatives: list[tuple[str, ...]], weights: list[float]) -> None:
        self._alternatives = alternatives
        self._bounds = list(itertools.accumulate(weights))

    def draw(self, source: random.Random) -> tuple[str, ...]:
        point = source.random() * self._bounds[-1]
        return self._alternatives[min(bisect.bisect_right(self._bounds, point), len(self._bounds) - 1)]
