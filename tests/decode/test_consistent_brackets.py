"""The objective consistent-brackets: its optimum by enumeration, its details, its posteriors in a file."""

import json
import math
from pathlib import Path

import naive
import naive_crossing
import numpy as np
import pytest
from commandline import run
from conversion import to_pcfg
from hypothesis import given
from strategies import derived

from mbrparse.decode.parser.parser import Parser

NAMES = {"A": "S_Cont", "B": "S_Cont>NP", "C": "NP"}


@given(derived())
def test_optimum_equals_enumeration(case: tuple[naive.Grammar, list[str]]) -> None:
    grammar, words = case
    trees = naive_crossing.n_ary_trees(grammar, words, lambda symbol: symbol in "AB")
    expected = {
        bracketing: sum(naive_crossing.consistent(trees, span) for span in sorted(bracketing))
        for bracketing in naive.bracketings(len(words))
    }
    parser = Parser(to_pcfg(grammar, NAMES), "consistent-brackets", "bracketed-recall")
    parse = parser.parse([words])[0]
    found = parse.decoded[0]
    assert found is not None
    assert found.score == pytest.approx(max(expected.values()), abs=1e-9)
    chosen = frozenset((start, end) for start, end, _ in found.spans)
    assert expected[chosen] == pytest.approx(max(expected.values()), abs=1e-9)
    assert found.consistent is not None
    assert math.fsum(found.consistent) == pytest.approx(found.score, abs=1e-9)
    other = parse.decoded[1]
    assert other is not None
    assert other.consistent is None


CONSISTENT = ("--objective", "consistent-brackets")


def test_details_and_the_way_through_a_file(toy_folder: Path) -> None:
    both = (*CONSISTENT, "--objective", "consistent-brackets-product", "--objective", "labelled-recall")
    wrote = run(
        *("parse", "-g", "grammar.txt", "tags.txt", *both, "--details", "one.jsonl"),
        *("--write-posteriors", "posteriors.npz", "-o", "{objective}.mrg"),
    )
    assert wrote.code == 0, wrote.err
    rows = [json.loads(line)["trees"] for line in (toy_folder / "one.jsonl").read_text().splitlines()]
    tree = rows[0]["consistent-brackets"]
    assert len(tree["consistent"]) == len(tree["nodes"]) == 8
    assert tree["expected_consistent"] == pytest.approx(tree["expected_score"])
    assert tree["expected_consistent_recall"] == pytest.approx(tree["expected_score"] / 8)
    assert "consistent" not in rows[0]["labelled-recall"]
    read = run("parse", "--posteriors", "posteriors.npz", "tags.txt", *both, "-o", "again-{objective}.mrg")
    assert read.code == 0, read.err
    for name in ("consistent-brackets", "consistent-brackets-product", "labelled-recall"):
        lines = (toy_folder / f"{name}.mrg").read_text().splitlines()
        again = (toy_folder / f"again-{name}.mrg").read_text().splitlines()
        assert lines[0] == again[0]
        assert lines[3] == again[3]


def test_wrong_values_are_refused(toy_folder: Path) -> None:
    parse = "parse -g grammar.txt tags.txt --objective consistent-brackets"
    assert run(f"{parse} --write-posteriors p.npz -o out.mrg").code == 0
    arrays = dict(np.load(toy_folder / "p.npz"))
    above = arrays["consistent"].copy()
    above[3] = 1.1
    for wrong in (arrays["consistent"][:-1], above):
        np.savez(toy_folder / "p.npz", **(arrays | {"consistent": wrong}))
        error = run("parse --posteriors p.npz tags.txt --objective consistent-brackets").error
        assert "consistent" in error
