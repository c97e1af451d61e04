"""Objectives: ties, exact F, whole trees, consistent brackets; tests/fuzz compares them with all trees."""

import json
from pathlib import Path

import naive
import numpy as np
import pytest
from commandline import run
from conversion import to_pcfg

from mbrparse.decode.objectives import OBJECTIVES
from mbrparse.decode.parser.parser import Parse, Parser
from mbrparse.errors import GrammarError
from mbrparse.training.methods import train
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.tree import Tree

# The others search forests: see test_grammar_objectives.
ALL = tuple(OBJECTIVES[name] for name in ("labelled-tree", "labelled-recall", "bracketed-recall"))


def parse(grammar: naive.Grammar, words: list[str], names: dict[str, str] | None = None) -> Parse:
    parser = Parser(to_pcfg(grammar, names), *ALL)
    return parser.parse([tuple(Tree(word) for word in words)])[0]


def test_ties_go_to_the_earlier_split_and_label() -> None:
    # Both bracketings and both labels are equally probable.
    binary: dict[tuple[str, str, str], naive.P] = {("A", "x", "x"): 1.0, ("B", "x", "x"): 1.0}
    for pair in (("A", "x"), ("B", "x"), ("x", "A"), ("x", "B")):
        binary["S", *pair] = 0.25
    grammar = naive.Grammar({"S": 1.0}, binary, {("x", "x"): 1.0})
    found = parse(grammar, ["x", "x", "x"])
    assert all(str(tree) == "(S x (A x x))" for tree in found.trees)


def test_a_span_of_zero_mass_takes_the_continuation_of_its_parent() -> None:
    # Only x (x x) is derivable under S; the free search must label every span it uses.
    grammar = naive.Grammar({"S": 1.0}, {("S", "x", "S"): 0.5, ("S", "x", "x"): 0.5}, {("x", "x"): 1.0})
    found = parse(grammar, ["x"] * 5)
    assert [str(tree) for tree in found.trees] == ["(S x (S x (S x (S x x))))"] * 3


ROWS = [OBJECTIVES[name].with_f("exact") for name in ("labelled-f", "bracketed-f")]


def test_long_sentences() -> None:
    """As many roots of unity as words: an expected F stays one between those of its two bounds."""
    texts = ["(S (A x x) (S_Cont x (A x x)))", "(S (S x x) (A x x))", "(A (S x x) x)", "(A x (S x x))"]
    parser = Parser(train([read_tree(text) for text in texts]), *ROWS)
    for length in (21, 64):
        [parse] = parser.parse([["x"] * length])
        labelled, bracketed = (parse.expected_scores[row.name] for row in ROWS)
        assert labelled is not None
        assert bracketed is not None
        assert 0 < labelled <= bracketed <= 1


def test_one_word_and_a_fall_back() -> None:
    parser = Parser(train([read_tree("(S (A a b) (S_Cont c d))"), read_tree("(S a b)")]), *ROWS)
    assert [str(tree) for tree in parser.parse(["a b c d"])[0].trees] == ["(S (A a b) c d)"] * 2
    [lost] = parser.parse(["a b c"])
    assert (lost.reason, str(lost.trees[0])) == ("no parse", "(S a b c)")


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
    (toy_folder / "p.npz.made").unlink()
    above = arrays["consistent"].copy()
    above[3] = 1.1
    for wrong in (arrays["consistent"][:-1], above):
        np.savez(toy_folder / "p.npz", **(arrays | {"consistent": wrong}))
        error = run("parse --posteriors p.npz tags.txt --objective consistent-brackets").error
        assert "consistent" in error
