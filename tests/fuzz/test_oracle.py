"""The oracle itself: cases of every kind agree, and a difference is found and made small."""

import pytest
from cases import KINDS, Case, cases
from comparisons import Comparison, Mismatch, compare
from hypothesis import given, settings
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


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_: object, check: Comparison) -> None:
        check.close("wrong", 1.0, 1.1)

    monkeypatch.setattr("oracle.compare", wrong)
    with pytest.raises(Mismatch, match=r"wrong: 1.0, but by enumeration 1.1"):
        try_row("ordinary", 1, Comparison())
