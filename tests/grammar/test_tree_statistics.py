"""Closed forms of a grammar's trees, beside trees that are listed and lengths that are added up."""

import math
from collections import defaultdict
from itertools import count, product

import naive
import numpy as np
import pytest
from conversion import to_pcfg
from hypothesis import given
from strategies import grammars, proper_grammars

from mbrparse.decode.words.conditioned import length_masses
from mbrparse.grammar.grammar_files import grammar as read
from mbrparse.grammar.tree_statistics import MEANS, expected_children, spectral_radius, tree_statistics

LONGEST = 7


def naive_lengths(grammar: naive.Grammar, longest: int) -> list[float]:
    """The probability of each length 0 .. ``longest``, by generations of trees until nothing is new."""
    found: dict[str, list[float]] = defaultdict(lambda: [0.0] * (longest + 1))
    for _ in count():
        new: dict[str, list[float]] = defaultdict(lambda: [0.0] * (longest + 1))
        for (a, _), p in grammar.lexical.items():
            new[a][1] += float(p)
        for (a, b), p in grammar.unary.items():
            for n in range(longest + 1):
                new[a][n] += float(p) * found[b][n]
        for (a, b, c), p in grammar.binary.items():
            for k, n in product(range(1, longest + 1), repeat=2):
                if k + n <= longest:
                    new[a][k + n] += float(p) * found[b][k] * found[c][n]
        if all(abs(x - y) <= 1e-16 for a in new for x, y in zip(new[a], found[a], strict=True)):
            return [sum(float(p) * new[a][n] for a, p in grammar.start.items()) for n in range(longest + 1)]
        found = new
    raise AssertionError


@given(grammars() | proper_grammars() | proper_grammars(cyclic=True))
def test_lengths_and_radius(grammar: naive.Grammar) -> None:
    pcfg = to_pcfg(grammar)
    assert length_masses(pcfg, LONGEST) == pytest.approx(naive_lengths(grammar, LONGEST)[1:], abs=1e-12)
    matrix = expected_children(pcfg).toarray()
    radius = abs(np.linalg.eigvals(matrix)).max()
    # A defective eigenvalue has half the digits there.
    assert spectral_radius(pcfg) == pytest.approx(radius, abs=1e-6)
    reached = {symbol for symbol, p in grammar.start.items() if p}
    for _ in grammar.symbols():
        reached |= {b for (a, b), p in grammar.unary.items() if a in reached and p}
        reached |= {s for (a, *rest), p in grammar.binary.items() if a in reached and p for s in rest}
    names = [name.strip("'") for name in pcfg.symbols]
    for row, column in product(range(len(names)), repeat=2):
        a, b = names[row], names[column]
        expected = float(grammar.unary.get((a, b), 0)) + sum(
            float(p) * ((left == b) + (right == b))
            for (parent, left, right), p in grammar.binary.items()
            if parent == a
        )
        assert matrix[row, column] == pytest.approx(expected * (a in reached), abs=1e-15)


@pytest.mark.parametrize("p", [0.05, 0.25, 0.4, 0.49])
def test_catalan(p: float) -> None:
    """S -> S S (p) | a (1 - p): n words have the Catalan number C(n - 1) of trees of p^(n-1) (1-p)^n each."""
    pcfg = read(f"S -> S S [{p}] | 'a' [{1 - p}]")
    figures = tree_statistics(pcfg)
    catalan = [math.comb(2 * n - 2, n - 1) // n * p ** (n - 1) * (1 - p) ** n for n in range(1, 31)]
    assert length_masses(pcfg, 30) == pytest.approx(catalan, rel=1e-12)
    bits = -p * math.log2(p) - (1 - p) * math.log2(1 - p)
    assert figures == pytest.approx(
        {
            "spectral radius": 2 * p,
            "words": (1 - p) / (1 - 2 * p),
            "nodes": 1 / (1 - 2 * p),
            "entropy in bits": bits / (1 - 2 * p),
            "bits a word": bits / (1 - p),
        },
        rel=1e-9,
    )


@pytest.mark.parametrize(
    ("text", "radius"),
    [
        ("S -> S S [0.75] | 'a' [0.25]", 1.5),
        ("S -> S S [0.5] | 'a' [0.5]", 1.0),
        ("S -> S A [1.0]\nA -> 'a' [1.0]", 1.0),
        ("S -> S S [0.4] | A [0.2] | 'x' [0.4]\nA -> A A [1.0]", 2.0),
    ],
)
def test_inconsistent_grammars(text: str, radius: float) -> None:
    figures = tree_statistics(read(text))
    assert figures == pytest.approx({"spectral radius": radius}, abs=1e-6)
    assert not figures.keys() & set(MEANS)


def test_radius_of_hard_matrices() -> None:
    """Nothing recursive; what no root reaches; components that hardly hold together; many symbols."""
    assert spectral_radius(read("S -> A A [1.0]\nA -> B B [1.0]\nB -> 'b' [1.0]")) == 0
    assert spectral_radius(read("S -> 'a' [1.0]\nT -> T T [0.9] | 'a' [0.1]")) == 0
    weak = "S -> S T [0.3] | 'a' [0.7]\nT -> T T [0.45] | S 'a' [1e-12] | 'a' [0.549999999999]"
    assert spectral_radius(read(weak)) == pytest.approx(0.9, rel=1e-11)
    # A chain of 3,000 symbols that comes back to the first: the 3,000th root of the product.
    ring = [f"A{n} -> A{(n + 1) % 3000} 'x' [{p}] | 'x' [{1 - p}]" for n, p in enumerate([0.25, 0.5] * 1500)]
    assert spectral_radius(read("\n".join(ring))) == pytest.approx(0.125**0.5, rel=1e-9)
