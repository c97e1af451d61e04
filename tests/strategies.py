"""Hypothesis strategies: random small grammars and sentences for the naive twin's tests.

The grammars are proper (each symbol's rules and the start distribution sum to one) but
need not be consistent, and holes are frequent: rules and start symbols of probability
zero, missing rules, unreachable symbols, unknown words. Ambiguity is kept low enough for
listing all trees of six terminals.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

from hypothesis import assume
from hypothesis import strategies as st
from naive import Grammar, P, derivations
from naive_unary import closure

NONTERMINALS = ("NP^S", "NP^VP", "X_Cont", "NP~1", "VP@2", "X_Cont>NN", "VP", "S&1", "S^NP", "QP")
"""What nonterminals other than S are drawn from; S is always among them."""
WORDS = ("x", "y", "z")
UNKNOWN = "unknown"
"""A word that no grammar of `grammars` derives."""


def shares(draw: st.DrawFn, size: int) -> list[Fraction]:
    """`size` probabilities that sum to one; some may be zero."""
    weight = st.sampled_from([1, 2, 3, 5, 8, 1, 2, 3, 5, 0])
    weights = draw(st.lists(weight, min_size=size, max_size=size).filter(any))
    return [Fraction(weight, sum(weights)) for weight in weights]


def _some(draw: st.DrawFn, choices: Sequence[str], sizes: Sequence[int]) -> list[str]:
    """A few different ones of the choices, as many as one of the sizes if there are."""
    size = min(draw(st.sampled_from(sizes)), len(choices))
    return draw(st.lists(st.sampled_from(choices), min_size=size, max_size=size, unique=True)) if size else []


@st.composite
def proper_grammars(
    draw: st.DrawFn,
    cyclic: bool = False,
    nonterminals: Sequence[str] = NONTERMINALS,
    *,
    unaries: bool = True,
    terminals: bool = True,
    shared: Callable[[st.DrawFn, int], list[Fraction]] = shares,
) -> Grammar:
    """A proper grammar of S and 1-4 more nonterminals, 1-3 words and a few unary rules, in exact fractions.

    Without `cyclic` the unary rules form no cycle, and one at least has positive probability. With it they
    form at least one of positive probability, a rule A -> A perhaps, and none of a
    probability of one. There may be no `unaries` at all, and no `terminals` in binary rules; `shared` draws
    probabilities.
    """
    others = draw(st.lists(st.sampled_from(nonterminals), min_size=1, max_size=4, unique=True))
    order = draw(st.permutations(["S", *others]))
    words = WORDS[: draw(st.sampled_from([2, 1, 3]))]
    tags = _some(draw, words, [1, 2, 0] if terminals else [0])
    pairs = [" ".join(pair) for pair in product([*order, *tags], repeat=2)]
    binary: dict[tuple[str, str, str], P] = {}
    unary: dict[tuple[str, str], P] = {}
    lexical: dict[tuple[str, str], P] = {(word, word): Fraction(1) for word in tags}
    for index, symbol in enumerate(order):
        children = order if cyclic else order[index + 1 :]
        below = _some(draw, children if unaries else (), [1, 2, 1, 0] if cyclic else [1, 2, 0])
        sides = _some(draw, pairs, [2, 3, 1] if symbol == "S" else [1, 2, 0])
        least = [] if below or sides else [1, 2]
        tokens = _some(draw, words, least or [1, 2, 0])
        probabilities = iter(shared(draw, len(below) + len(sides) + len(tokens)))
        unary |= {(symbol, child): next(probabilities) for child in below}
        for side in sides:
            left, right = side.split()
            binary[symbol, left, right] = next(probabilities)
        lexical |= {(symbol, word): next(probabilities) for word in tokens}
    start: dict[str, P] = {"S": Fraction(1)}
    if draw(st.booleans()):
        start = dict(zip(order, shares(draw, len(order)), strict=True))
    grammar = Grammar(start, binary, lexical, unary)
    assume(any(unary.values()) == unaries and grammar.has_unary_cycle() == cyclic)
    try:
        closure(grammar)
    except ValueError:
        assume(False)
    return grammar


def grammars() -> st.SearchStrategy[Grammar]:
    """Proper grammars of S and some of A, B and C, without unary rules."""
    return proper_grammars(nonterminals=("A", "B", "C"), unaries=False)


def _derivable(grammar: Grammar, longest: int) -> dict[tuple[str, int], list[tuple[str | int, ...]]]:
    """For each symbol and length the ways to rewrite it.

    They are (word,), (left, right, left length) or ("->", child). Only ways that end are listed; a
    unary one leads to a symbol found before it.
    """
    ways: dict[tuple[str, int], list[tuple[str | int, ...]]] = {}
    for (symbol, word), p in grammar.lexical.items():
        if p > 0:
            ways.setdefault((symbol, 1), []).append((word,))
    for length in range(1, longest + 1):
        for (parent, left, right), p in grammar.binary.items():
            for first in range(1, length):
                if p > 0 and (left, first) in ways and (right, length - first) in ways:
                    ways.setdefault((parent, length), []).append((left, right, first))
        found = [symbol for symbol, size in ways if size == length]
        for symbol in found:  # grows while it is read
            for (parent, child), p in grammar.unary.items():
                if p > 0 and child == symbol:
                    if (parent, length) not in ways:
                        found.append(parent)
                    if parent not in found[: found.index(child) + 1]:
                        ways.setdefault((parent, length), []).append(("->", child))
    return ways


@st.composite
def sentences(draw: st.DrawFn, grammar: Grammar, longest: int = 6) -> list[str]:
    """A sentence of 1 to `longest` words: mostly one that the grammar derives, or random words."""
    ways = _derivable(grammar, longest)
    roots = [(symbol, length) for symbol, length in ways if grammar.start.get(symbol, 0) > 0]

    def expand(symbol: str, length: int) -> list[str]:
        match draw(st.sampled_from(ways[symbol, length])):
            case (str(word),):
                return [word]
            case ("->", str(child)):
                return expand(child, length)
            case (str(left), str(right), int(first)):
                return expand(left, first) + expand(right, length - first)
        raise AssertionError

    if roots and draw(st.integers(0, 9)) < 8:
        # Hypothesis prefers what comes first: neither the shortest nor the longest.
        lengths = sorted({length for _, length in roots}, key=lambda n: abs(n - 3.9))
        length = draw(st.sampled_from(lengths))
        return expand(draw(st.sampled_from([s for s, n in roots if n == length])), length)
    words = [*sorted({word for _, word in grammar.lexical}), UNKNOWN]
    return draw(st.lists(st.sampled_from(words), min_size=1, max_size=longest))


@st.composite
def derived(draw: st.DrawFn, longest: int = 6) -> tuple[Grammar, list[str]]:
    """A grammar without unary rules, and a sentence that it derives."""
    grammar = draw(grammars())
    words = draw(sentences(grammar, longest))
    assume(derivations(grammar, words))
    return grammar, words
