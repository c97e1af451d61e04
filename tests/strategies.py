"""Hypothesis strategies: random small grammars and sentences for the naive twin's tests.

The grammars are proper (each symbol's rules and the start distribution sum to one) but
need not be consistent, and holes are frequent: rules and start symbols of probability
zero, missing rules, unreachable symbols, unknown words. Ambiguity is kept low enough for
listing all trees of six terminals.
"""

from fractions import Fraction
from itertools import product

from hypothesis import assume
from hypothesis import strategies as st
from naive import Grammar, P, derivations

PHRASES = ("S", "A", "B", "C")
TERMINALS = ("x", "y", "z")
UNKNOWN = "unknown"
"""A word that no grammar of `grammars` derives."""


def shares(draw: st.DrawFn, size: int) -> list[Fraction]:
    """`size` probabilities that sum to one; some may be zero."""
    weight = st.sampled_from([1, 2, 3, 5, 8, 1, 2, 3, 5, 0])
    weights = draw(st.lists(weight, min_size=size, max_size=size).filter(any))
    return [Fraction(weight, sum(weights)) for weight in weights]


@st.composite
def grammars(draw: st.DrawFn) -> Grammar:
    """A proper grammar of 1-4 phrase symbols and 1-3 terminals.

    S has 1-3 binary and at most two lexical rules, the others at most two of each;
    right-hand sides may use phrase symbols and tags (symbols named like their only terminal).
    """
    phrases = PHRASES[: draw(st.integers(1, len(PHRASES)))]
    terminals = TERMINALS[: draw(st.integers(1, len(TERMINALS)))]
    tags = draw(st.lists(st.sampled_from(terminals), unique=True))
    right_sides = list(product([*phrases, *tags], repeat=2))
    binary: dict[tuple[str, str, str], P] = {}
    lexical: dict[tuple[str, str], P] = {(tag, tag): 1.0 for tag in tags}
    for phrase in phrases:
        is_first = phrase == phrases[0]
        size = min(draw(st.sampled_from([3, 2, 1] if is_first else [2, 1, 0])), len(right_sides))
        pairs = draw(st.lists(st.sampled_from(right_sides), min_size=size, max_size=size, unique=True))
        fewest = draw(st.integers(0, 1)) if pairs else 1
        words = draw(st.lists(st.sampled_from(terminals), min_size=fewest, max_size=2, unique=True))
        probabilities = [float(share) for share in shares(draw, len(pairs) + len(words))]
        for (left, right), p in zip(pairs, probabilities, strict=False):
            binary[phrase, left, right] = p
        for word, p in zip(words, probabilities[len(pairs) :], strict=True):
            lexical[phrase, word] = p
    start: dict[str, P] = dict(zip(phrases, map(float, shares(draw, len(phrases))), strict=True))
    return Grammar(start, binary, lexical)


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
