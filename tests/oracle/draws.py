"""Random grammars and sentences whose trees can all be listed, and treebanks for DOP; cases as text and back.

All that is drawn depends on the seed, the kind and the number of a case.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from naive import Grammar, P
from naive_dop import Node, words_of
from naive_unary import closure
from unary_strategies import few_trees

KINDS = ("ordinary", "unary", "cyclic", "words", "markovized", "tiny", "dop")
_PLAIN = ("S", "A", "B", "S_Cont", "A_Cont")
_ANNOTATED = ("S^A", "S~1", "A~1", "A^S", "S_Cont>A", "S_Cont>B", "A_Cont^S", "B")
_SHARES = (1, 2, 3, 5, 8)


@dataclass(frozen=True)
class Case:
    """A grammar (None: a treebank with its weighting and depth) and a sentence."""

    kind: str
    words: tuple[str, ...]
    grammar: Grammar | None = None
    trees: tuple[Node, ...] = ()
    weighting: str = "plain"
    depth: int | None = None

    def to_json(self) -> dict[str, Any]:
        """What is read again by ``from_json``; probabilities as exact fractions."""
        row: dict[str, Any] = {"kind": self.kind, "words": self.words}
        if self.grammar is None:
            return row | {"trees": self.trees, "weighting": self.weighting, "depth": self.depth}
        grammar = self.grammar
        rules: dict[str, Mapping[Any, P]] = {
            "binary": grammar.binary,
            "lexical": grammar.lexical,
            "unary": grammar.unary,
        }
        row["start"] = [[symbol, str(Fraction(p))] for symbol, p in grammar.start.items()]
        return row | {
            name: [[*rule, str(Fraction(p))] for rule, p in table.items()] for name, table in rules.items()
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Case:
        """A case that was written."""
        words = tuple(row["words"])
        if "trees" in row:
            trees = tuple(_node(tree) for tree in row["trees"])
            return cls(row["kind"], words, None, trees, row["weighting"], row["depth"])
        tables: list[Any] = [
            {tuple(rule): Fraction(p) for *rule, p in row[name]} for name in ("binary", "lexical", "unary")
        ]
        start: dict[str, P] = {symbol: Fraction(p) for symbol, p in row["start"]}
        return cls(row["kind"], words, Grammar(start, *tables))


def _node(tree: Any) -> Node:
    return tree if isinstance(tree, str) else (tree[0], tuple(map(_node, tree[1])))


def drawn_case(kind: str, seed: int, number: int) -> Case | None:
    """A case, or None where what was drawn has too many trees, or a cycle of probability one."""
    rng = random.Random(f"{seed} {number} {kind}")
    if kind == "dop":
        return _treebank(rng)
    grammar = _grammar(rng, kind)
    try:
        closure(grammar)
    except ValueError:
        return None
    words = tuple(rng.choice("xyx") for _ in range(rng.choice((1, 2, 3, 4, 4, 5, 5, 6))))
    return Case(kind, words, grammar) if few_trees(grammar, list(words)) else None


def _grammar(rng: random.Random, kind: str) -> Grammar:
    names = _ANNOTATED if kind == "markovized" or (kind == "tiny" and rng.random() < 0.3) else _PLAIN
    symbols = [names[0], *rng.sample(names[1:], rng.randint(1, 4))]
    terminals = [] if kind == "words" else rng.sample(["x", "y"], rng.randint(0, 2))
    with_unaries = kind in ("unary", "cyclic") or (kind in ("tiny", "markovized") and rng.random() < 0.4)
    cyclic = kind == "cyclic" or rng.random() < 0.3
    binary: dict[tuple[str, str, str], P] = {}
    unary: dict[tuple[str, str], P] = {}
    lexical: dict[tuple[str, str], P] = {(word, word): Fraction(1) for word in terminals}
    for place, symbol in enumerate(symbols):
        below = (symbols if cyclic else symbols[place + 1 :]) if with_unaries else []
        pairs = rng.sample(list(product([*symbols, *terminals], repeat=2)), rng.choice((1, 2, 2, 3)))
        children = rng.sample(below, min(len(below), rng.choice((0, 1, 1, 2))))
        tokens = rng.sample(["x", "y"], rng.choice((0, 1, 2, 2)))
        shares = iter(_shares(rng, len(pairs) + len(children) + len(tokens), kind == "tiny"))
        binary |= {(symbol, left, right): next(shares) for left, right in pairs}
        unary |= {(symbol, child): next(shares) for child in children}
        lexical |= {(symbol, word): next(shares) for word in tokens}
    roots = symbols if rng.random() < 0.4 else symbols[:1]
    start: dict[str, P] = dict(zip(roots, _shares(rng, len(roots), False), strict=True))
    return Grammar(start, binary, lexical, unary)


def _shares(rng: random.Random, size: int, tiny: bool) -> list[Fraction]:
    """Probabilities that sum to one; tiny ones are 10^-5 to 10^-300, one of them is likely."""
    weights = [Fraction(rng.choice(_SHARES)) for _ in range(size)]
    if tiny:
        weights = [Fraction(10.0 ** -rng.uniform(5, rng.choice((20, 80, 300)))) for _ in range(size)]
        weights[rng.randrange(size)] = Fraction(1)
    return [weight / sum(weights) for weight in weights]


def _treebank(rng: random.Random) -> Case:
    tagged = rng.random() < 0.5

    def leaf() -> Node:
        word = rng.choice("xy")
        return (rng.choice("PA"), (word,)) if tagged else word

    def tree(label: str, leaves: int) -> Node:
        if leaves == 1:
            return leaf()
        left = rng.randint(1, leaves - 1)
        return label, (tree(rng.choice("AB"), left), tree(rng.choice(("A", "S_Cont")), leaves - left))

    trees = [tree(rng.choice("AS"), rng.randint(2, 5)) for _ in range(rng.randint(1, 3))]
    trees.append(trees[0])
    words = words_of(rng.choice(trees))
    if rng.random() < 0.3:
        words = tuple(rng.choice("xy") for _ in range(rng.randint(1, 4)))
    weighting = rng.choice(("plain", "equal", "bonnema"))
    return Case("dop", words, None, tuple(trees), weighting, rng.choice((None, None, 1, 2, 3)))
