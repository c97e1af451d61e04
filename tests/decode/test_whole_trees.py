"""Trees that are right as a whole; tests/fuzz compares them with all trees."""

import json
from pathlib import Path

import naive
import pytest
from commandline import run
from conversion import to_pcfg

from mbrparse.decode.parser.parser import Parser
from mbrparse.errors import GrammarError


def test_the_most_probable_tree_needs_a_grammar_without_unary_rules() -> None:
    grammar = naive.Grammar({"S": 1.0}, {("S", "S", "S"): 0.4}, {("A", "x"): 1.0}, {("S", "A"): 0.6})
    with pytest.raises(GrammarError, match="unary"):
        Parser(to_pcfg(grammar), "most-probable-tree")


WHOLE = ("--objective", "consistent-brackets-tree", "--objective", "bracketed-tree", "-o", "{objective}.mrg")


def test_details_and_the_count_of_the_certified(toy_folder: Path) -> None:
    result = run("parse", "-g", "grammar.txt", "tags.txt", *WHOLE, "--details", "d.jsonl")
    assert result.code == 0, result.err
    assert "certified: consistent-brackets-tree 2 of 2, bracketed-tree 2 of 2" in result.err
    rows = [json.loads(line)["trees"] for line in (toy_folder / "d.jsonl").read_text().splitlines()]
    for tree in rows[0].values():
        assert tree["certified"] is True
        assert tree["bound"] == pytest.approx(tree["expected_score"])
    # Of the binary tree more has to be right than of the n-ary one.
    assert rows[0]["bracketed-tree"]["bound"] <= rows[0]["consistent-brackets-tree"]["bound"] + 1e-9
