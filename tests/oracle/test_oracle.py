"""The oracle itself: cases of every kind agree and are read again as written, and differences are told."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from comparisons import Comparison, Mismatch, compare
from draws import KINDS, Case, drawn_case
from oracle import run


@pytest.mark.parametrize("kind", KINDS)
def test_cases_of_every_kind_agree(kind: str) -> None:
    check = Comparison()
    cases = [case for number in range(3) if (case := drawn_case(kind, 7, number)) is not None]
    for case in cases:
        assert Case.from_json(json.loads(json.dumps(case.to_json()))) == case
        compare(case, check)
    assert check.counts.total() > 0


def test_a_difference_is_written_to_be_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(case: Case, check: Comparison) -> None:
        compare(case, check)
        check.close("wrong", 1.0, 1.1)

    monkeypatch.setattr("oracle.compare", wrong)
    assert run(1, 60, tmp_path) == 1
    case = Case.from_json(json.loads((tmp_path / "case.json").read_text()))
    with pytest.raises(Mismatch, match=r"wrong: 1.0, but by enumeration 1.1"):
        wrong(replace(case), Comparison())
