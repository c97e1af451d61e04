"""DOP by enumeration: all fragments of a treebank, all trees of a sentence; shares no code with the library.

A node is (label, children), a terminal a string, a node where a fragment ends (label, None). A preterminal
over a word is (tag, (word,)).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

Node = Any
HALF = Fraction(1, 2)


class NaiveDop:
    """All fragments of the trees, and what each weighs, as its definition says."""

    def __init__(self, trees: list[Node], weighting: str, depth: int | None = None) -> None:
        self._starts = Counter(tree[0] for tree in trees)
        self._trees = len(trees)
        nodes = [node for tree in trees for node in inner_nodes(tree)]
        number = Counter(node[0] for node in nodes)
        occurrences = [(node, list(fragments(node, depth))) for node in nodes]
        totals: Counter[str] = Counter()
        for node, mine in occurrences:
            totals[node[0]] += len(mine)
        # By label: the weight of a fragment of nodes that look the same, down to the depth.
        self.fragments: dict[str, dict[tuple[Node, Node], Fraction]] = defaultdict(dict)
        for node, mine in occurrences:
            halves = [HALF ** _nonterminals(fragment) for fragment in mine]
            for fragment, half in zip(mine, halves, strict=True):
                weight = {
                    "plain": Fraction(1, totals[node[0]]),
                    "equal": Fraction(1, number[node[0]] * len(mine)),
                    "bonnema": half / (number[node[0]] * sum(halves)),
                }[weighting]
                table = self.fragments[node[0]]
                key = _cut(node, depth), fragment
                table[key] = table.get(key, Fraction(0)) + weight
        self._memo: dict[tuple[str, tuple[str, ...]], dict[Node, Fraction]] = {}

    def trees(self, words: tuple[str, ...]) -> dict[Node, Fraction]:
        """The probability of every tree of a sentence, summed over its derivations."""
        found: dict[Node, Fraction] = defaultdict(Fraction)
        for label, count in self._starts.items():
            for tree, probability in self._under(label, words).items():
                found[tree] += Fraction(count, self._trees) * probability
        return dict(found)

    def posteriors(self, words: tuple[str, ...]) -> dict[tuple[int, int, str], float]:
        """By (start, end, label) of nodes, preterminals too."""
        trees = self.trees(words)
        total = sum(trees.values())
        found: dict[tuple[int, int, str], Fraction] = defaultdict(Fraction)
        for tree, probability in trees.items():
            for span in spans(tree):
                found[span] += probability / total
        return {span: float(g) for span, g in found.items()}

    def best_derivation(self, words: tuple[str, ...]) -> float:
        """The log probability of the best derivation, equal subtrees being one."""
        memo: dict[tuple[str, tuple[str, ...]], Fraction] = {}

        def under(label: str, part: tuple[str, ...]) -> Fraction:
            if (label, part) not in memo:
                mine = self.fragments.get(label, {}).items()
                memo[label, part] = max((w * match(f, part) for (_, f), w in mine), default=Fraction(0))
            return memo[label, part]

        def match(node: Node, part: tuple[str, ...]) -> Fraction:
            if isinstance(node, str):
                return Fraction(part == (node,))
            if node[1] is None:
                return under(node[0], part)
            if len(node[1]) == 1:
                return match(node[1][0], part)
            return max(
                (match(node[1][0], part[:k]) * match(node[1][1], part[k:]) for k in range(1, len(part))),
                default=Fraction(0),
            )

        best = max(
            Fraction(count, self._trees) * under(label, words) for label, count in self._starts.items()
        )
        return math.log(best) if best else -math.inf

    def _under(self, label: str, words: tuple[str, ...]) -> dict[Node, Fraction]:
        if (label, words) not in self._memo:
            found: dict[Node, Fraction] = defaultdict(Fraction)
            for (_, fragment), weight in self.fragments.get(label, {}).items():
                for tree, probability in self._match(fragment, words).items():
                    found[tree] += weight * probability
            self._memo[label, words] = dict(found)
        return self._memo[label, words]

    def _match(self, node: Node, words: tuple[str, ...]) -> dict[Node, Fraction]:
        if isinstance(node, str):
            return {node: Fraction(1)} if words == (node,) else {}
        label, children = node
        if children is None:
            return self._under(label, words)
        if len(children) == 1:
            return {(label, (tree,)): p for tree, p in self._match(children[0], words).items()}
        found: dict[Node, Fraction] = defaultdict(Fraction)
        for k in range(1, len(words)):
            lefts = self._match(children[0], words[:k])
            rights = self._match(children[1], words[k:]) if lefts else {}
            for left, p in lefts.items():
                for right, q in rights.items():
                    found[label, (left, right)] += p * q
        return dict(found)


def spans(tree: Node) -> Iterator[tuple[int, int, str]]:
    """The nodes of a tree as (start, end, label)."""
    stack = [(tree, 0)]
    while stack:
        node, start = stack.pop()
        if not isinstance(node, str):
            yield start, start + len(words_of(node)), node[0]
            for child in node[1]:
                stack.append((child, start))
                start += len(words_of(child))


def words_of(node: Node) -> tuple[str, ...]:
    """The terminals of a tree."""
    return (node,) if isinstance(node, str) else tuple(word for child in node[1] for word in words_of(child))


def inner_nodes(tree: Node) -> Iterator[Node]:
    if not isinstance(tree, str):
        yield tree
        for child in tree[1]:
            yield from inner_nodes(child)


def fragments(node: Node, depth: int | None) -> Iterator[Node]:
    """All fragments at the root of a node: each nonterminal child is an end, or goes on."""
    below = None if depth is None else depth - 1
    choices: list[list[Node]] = [[]]
    for child in node[1]:
        ways: list[Node]
        if isinstance(child, str):
            ways = [child]
        else:
            ways = [(child[0], None), *([] if below == 0 else fragments(child, below))]
        choices = [[*chosen, way] for chosen in choices for way in ways]
    for chosen in choices:
        yield node[0], tuple(chosen)


def _nonterminals(fragment: Node) -> int:
    """How many nodes a fragment has below its root."""
    if isinstance(fragment, str) or fragment[1] is None:
        return 0
    return sum(not isinstance(child, str) for child in fragment[1]) + sum(map(_nonterminals, fragment[1]))


def _cut(node: Node, depth: int | None) -> Node:
    if isinstance(node, str) or depth is None:
        return node
    return (node[0], None) if depth == 0 else (node[0], tuple(_cut(child, depth - 1) for child in node[1]))
