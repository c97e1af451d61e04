"""Cycles of unary rules that are hardly ever left, and probabilities that sum to one only nearly."""

import math
from pathlib import Path

import pytest

from mbrparse import Parser, read_grammar
from mbrparse.errors import GrammarError
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import Rule, RuleSet, Weight


def log_prob(folder: Path, rules: str) -> float:
    """The sentence x's, under rules of which S is the start."""
    lines = [line.strip() for line in rules.strip().split("\n")]
    path = folder / "grammar"
    path.write_text(
        "\n".join(["mbrparse-grammar 1", "terminals words", "start S 1 -", f"rules {len(lines)}"])
    )
    with path.open("a") as stream:
        stream.write("".join(f"\n{line}" for line in lines) + "\nend\n")
    [parse] = Parser(read_grammar(path), "labelled-tree").parse("x")
    assert parse.reason is None
    return parse.log_prob


@pytest.mark.parametrize("leaves", [1e-6, 1e-9, 1e-12, 1e-14])
def test_cycles_of_one_rule_and_of_two(tmp_path: Path, leaves: float) -> None:
    one = f"{1 - leaves!r} - S -> S\n{leaves!r} - S -> 'x'"
    two = f"{1 - leaves!r} - S -> T\n{leaves!r} - S -> 'x'\n{1 - leaves!r} - T -> S\n{leaves!r} - T -> 'x'"
    for rules in (one, two):
        assert log_prob(tmp_path, rules) == pytest.approx(0, abs=1e-12)


def test_sums_within_the_tolerance_are_made_one(tmp_path: Path) -> None:
    for excess in (9e-7, 4e-7, -4e-7, -9e-7):
        stays = 1 - 1e-6
        for rules in (
            f"{stays!r} - S -> S\n{1e-6 + excess!r} - S -> 'x'",
            f"{stays + excess!r} - S -> S\n1e-6 - S -> 'x'",
            f"{1 + excess!r} - S -> T\n{1 + excess!r} - T -> 'x'",
        ):
            assert log_prob(tmp_path, rules) == pytest.approx(0, abs=1e-9)


def test_what_is_never_left_is_refused(tmp_path: Path) -> None:
    for rules in ("1 - S -> S", "0.9999995 - S -> S", "1 - S -> T\n1 - T -> S"):
        with pytest.raises(GrammarError, match="never left"):
            log_prob(tmp_path, rules)


def test_sums_of_one_are_left_to_the_last_bit() -> None:
    thirds = {Rule("S", (f"'{x}'",)): Weight(1 / 3) for x in "xyz"}
    tenths = {Rule("T", (f"'{x}'",)): Weight(0.1) for x in "abcdefghij"}
    built = PCFG.from_rules(RuleSet("words", {"S": Weight(0.7), "T": Weight(0.3)}, thirds | tenths))
    assert set(built.lexical_log_prob.tolist()) == {math.log(1 / 3), math.log(0.1)}
    assert {math.log(0.7), math.log(0.3)} == set(built.root_log_prob.tolist())
