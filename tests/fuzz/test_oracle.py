"""The oracle itself: cases of every kind agree, and a difference is found and made small."""

from fractions import Fraction

import pytest
from cases import KINDS, Case, cases
from comparisons import Comparison, Mismatch, compare
from hypothesis import given, settings
from naive import Grammar, P
from oracle import try_row


@pytest.mark.parametrize("kind", KINDS)
def test_cases_of_every_kind_agree(kind: str) -> None:
    check = Comparison()

    @settings(max_examples=3 if kind == "tiny" else settings().max_examples)
    @given(cases(kind))
    def agree(case: Case) -> None:
        compare(case, check)

    agree()
    assert check.counts.total() > 0


@pytest.mark.parametrize("names", ["BC", ("A^1", "A^2")])
@pytest.mark.parametrize("leaves", [Fraction(1, 2), Fraction(1, 2**20), Fraction(1, 2**45)])
def test_cycles_that_are_hardly_ever_left(leaves: Fraction, names: tuple[str, str]) -> None:
    """What is used a million times over a span is there with a probability of one at most."""
    b, c = names
    unary: dict[tuple[str, str], P] = {("S", b): Fraction(1, 2), ("S", c): Fraction(1, 4)}
    unary |= {(b, c): 1 - leaves, (b, "D"): leaves / 2}
    unary |= {(c, b): 1 - leaves, (c, "D"): leaves, ("D", "D"): Fraction(1, 2)}
    lexical: dict[tuple[str, str], P] = {(b, "x"): leaves / 2, ("D", "x"): Fraction(1, 2)}
    grammar = Grammar({"S": Fraction(1)}, {("S", "S", "S"): Fraction(1, 4)}, lexical, unary)
    compare(Case("cyclic", ("x", "x"), grammar), Comparison())


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_: object, check: Comparison) -> None:
        check.close("wrong", 1.0, 1.1)

    monkeypatch.setattr("oracle.compare", wrong)
    with pytest.raises(Mismatch, match=r"wrong: 1.0, but by enumeration 1.1"):
        try_row("ordinary", 1, Comparison())
