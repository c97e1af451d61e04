"""Hypothesis strategies: grammars with sentences whose trees can all be listed, and treebanks for DOP."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from hypothesis import assume
from hypothesis import strategies as st
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


@st.composite
def cases(draw: st.DrawFn, kind: str) -> Case:
    """A case without a cycle of probability one, and with few trees."""
    if kind == "dop":
        return _treebank(draw)
    grammar = _grammar(draw, kind)
    try:
        closure(grammar)
    except ValueError:
        assume(False)
    words = tuple(draw(st.lists(st.sampled_from("xy"), min_size=1, max_size=6)))
    assume(few_trees(grammar, list(words)))
    return Case(kind, words, grammar)


def _some(draw: st.DrawFn, values: list[str], least: int, most: int) -> list[str]:
    most = min(most, len(values))
    if not values or not most:
        return []
    return draw(st.lists(st.sampled_from(values), min_size=min(least, most), max_size=most, unique=True))


def _grammar(draw: st.DrawFn, kind: str) -> Grammar:
    annotated = kind == "markovized" or (kind == "tiny" and draw(st.booleans()))
    names = _ANNOTATED if annotated else _PLAIN
    symbols = [names[0], *_some(draw, [*names[1:]], 1, 4)]
    terminals = [] if kind == "words" else _some(draw, ["x", "y"], 0, 2)
    with_unaries = kind in ("unary", "cyclic") or (kind in ("tiny", "markovized") and draw(st.booleans()))
    cyclic = kind == "cyclic" or draw(st.booleans())
    binary: dict[tuple[str, str, str], P] = {}
    unary: dict[tuple[str, str], P] = {}
    lexical: dict[tuple[str, str], P] = {(word, word): Fraction(1) for word in terminals}
    sides = list(product([*symbols, *terminals], repeat=2))
    for place, symbol in enumerate(symbols):
        below = (symbols if cyclic else symbols[place + 1 :]) if with_unaries else []
        pairs = draw(st.lists(st.sampled_from(sides), min_size=1, max_size=3, unique=True))
        children = _some(draw, below, 0, 2)
        tokens = _some(draw, ["x", "y"], 0, 2)
        shares = iter(_shares(draw, len(pairs) + len(children) + len(tokens), kind == "tiny"))
        binary |= {(symbol, left, right): next(shares) for left, right in pairs}
        unary |= {(symbol, child): next(shares) for child in children}
        lexical |= {(symbol, word): next(shares) for word in tokens}
    roots = symbols if draw(st.booleans()) else symbols[:1]
    start: dict[str, P] = dict(zip(roots, _shares(draw, len(roots), False), strict=True))
    return Grammar(start, binary, lexical, unary)


def _shares(draw: st.DrawFn, size: int, tiny: bool) -> list[Fraction]:
    """Probabilities that sum to one; tiny ones are 10^-5 to 10^-300, one of them is likely."""
    weights = [Fraction(draw(st.sampled_from(_SHARES))) for _ in range(size)]
    if tiny:
        lowest = draw(st.sampled_from([20, 80, 300]))
        weights = [Fraction(1, 10 ** draw(st.integers(5, lowest))) for _ in range(size)]
        weights[draw(st.integers(0, size - 1))] = Fraction(1)
    return [weight / sum(weights) for weight in weights]


def _treebank(draw: st.DrawFn) -> Case:
    tagged = draw(st.booleans())

    def leaf() -> Node:
        word = draw(st.sampled_from("xy"))
        return (draw(st.sampled_from("PA")), (word,)) if tagged else word

    def tree(label: str, leaves: int) -> Node:
        if leaves == 1:
            return leaf()
        left = draw(st.integers(1, leaves - 1))
        first = tree(draw(st.sampled_from("AB")), left)
        return label, (first, tree(draw(st.sampled_from(("A", "S_Cont"))), leaves - left))

    sizes = draw(st.lists(st.integers(2, 5), min_size=1, max_size=3))
    trees = [tree(draw(st.sampled_from("AS")), size) for size in sizes]
    trees.append(trees[0])
    words = words_of(draw(st.sampled_from(trees)))
    if draw(st.integers(0, 2)) == 0:
        words = tuple(draw(st.lists(st.sampled_from("xy"), min_size=1, max_size=4)))
    weighting = draw(st.sampled_from(("plain", "equal", "bonnema")))
    return Case("dop", words, None, tuple(trees), weighting, draw(st.sampled_from((None, 1, 2, 3))))
