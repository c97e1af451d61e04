"""Grammars with unary rules from the command line: trees, grammar, parses and back."""

import json
import math
from pathlib import Path

import pytest
from commandline import Command

TREES = """\
(S (NP (PRP he)) (VP (VBD slept)))
(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (PRP it))))
(S (VP (VB go)))
(FRAG (NP (NN dog)))
"""
CYCLE = """\
mbrparse-grammar 1
terminals words
start S 1 -
rules 3
0.5 - S -> S
0.5 - S -> X X
1 - X -> 'x'
end
"""


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    path = tmp_path / "trees.mrg"
    path.write_text(TREES)
    return path


# A handful of trees says nothing of unknown words.
TERMINALS = {"tags": ["--terminals", "tags"], "words": ["--terminals", "words", "--unknown", "none"]}


@pytest.mark.parametrize("kind", ["tags", "words"])
def test_trees_with_unary_nodes_there_and_back(command: Command, trees: Path, kind: str) -> None:
    """The most probable derivations are the trees that the grammar was counted from, chains and all."""
    grammar = trees.with_name("grammar.txt")
    assert command("train", trees, *TERMINALS[kind], "-o", grammar).code == 0
    assert "  unary                6\n" in command("grammar", "info", grammar).out
    details = trees.with_name("details.jsonl")
    arguments = ("parse", "-g", grammar, trees, "--objective", "labelled-tree")
    assert command(*arguments, "--details", details).out == TREES
    rows = [json.loads(line) for line in details.read_text().splitlines()]
    for row, line in zip(rows, TREES.splitlines(), strict=True):
        found = row["trees"]["labelled-tree"]
        # Each sentence has this one parse.
        assert found["posterior"] == pytest.approx(1.0)
        constituents = line.count("(") - row["length"]
        assert found["constituents"] == pytest.approx(constituents)
        assert found["expected_labelled"] == pytest.approx(constituents)
        assert found["expected_bracketed"] == pytest.approx(constituents)
        assert found["expected_labelled_recall"] == pytest.approx(1.0)
    assert command(*arguments, "--jobs", 2, "--precision", "single").out == TREES


@pytest.mark.parametrize("objective", ["labelled-recall", "bracketed-recall"])
@pytest.mark.parametrize("kind", ["tags", "words"])
def test_free_trees_are_binary(command: Command, trees: Path, kind: str, objective: str) -> None:
    grammar = trees.with_name("grammar.txt")
    command("train", trees, *TERMINALS[kind], "-o", grammar)
    assert command("parse", "-g", grammar, trees, "--objective", objective).out == (
        "(S (PRP he) (VBD slept))\n"
        "(S (NP (DT the) (NN dog)) (VP (VBD saw) (PRP it)))\n"
        "(S (VB go))\n"
        "(S (NN dog))\n"
    )


def test_what_is_expected_under_a_cycle(command: Command, tmp_path: Path) -> None:
    """S -> S comes once on average, but the tree without it is the most probable one."""
    grammar, details = tmp_path / "grammar.txt", tmp_path / "details.jsonl"
    grammar.write_text(CYCLE)
    outcome = command(
        "parse", "-g", grammar, "--objective", "labelled-tree", "--details", details, stdin="x x\n"
    )
    assert outcome.out == "(S (X x) (X x))\n"
    row = json.loads(details.read_text())
    assert math.exp(row["log_probability"]) == pytest.approx(1.0)
    tree = row["trees"]["labelled-tree"]
    assert tree["posterior"] == pytest.approx(0.5)
    assert tree["constituents"] == pytest.approx(2.0)
    assert tree["expected_labelled"] == tree["expected_bracketed"] == 1.0


@pytest.mark.parametrize("kind", ["tags", "words"])
def test_sampled_trees_can_be_trained_on(command: Command, trees: Path, kind: str) -> None:
    grammar, sample = trees.with_name("grammar.txt"), trees.with_name("sample.mrg")
    command("train", trees, *TERMINALS[kind], "-o", grammar)
    assert command("sample", grammar, "-n", 200, "--seed", 1, "-o", sample).code == 0
    again = trees.with_name("again.txt")
    assert command("train", sample, *TERMINALS[kind], "-o", again).code == 0

    def rules(path: Path) -> set[str]:
        return {line.split(" ", 2)[2] for line in path.read_text().splitlines() if " -> " in line}

    assert rules(again) == rules(grammar)


@pytest.mark.parametrize(
    "arguments",
    [
        ("parse", "-g", "bad.txt", "trees.mrg"),
        ("grammar", "info", "bad.txt"),
        ("sample", "bad.txt", "-n", "1"),
        ("train", "trees.mrg", "--method", "inside-outside", "--init", "bad.txt"),
    ],
)
def test_a_cycle_of_probability_one_is_one_line(
    command: Command, trees: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(trees.parent)
    Path("bad.txt").write_text(CYCLE.replace("0.5 - S -> S", "1 - S -> S").replace("0.5", "0"))
    assert command(*arguments).error.startswith(
        "bad.txt: the unary rules S -> S are a cycle of probability one"
    )


@pytest.mark.parametrize("kind", ["tags", "words"])
def test_what_takes_no_unary_rules_says_so(
    command: Command, trees: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(trees.parent)
    trained = command("train", trees, *TERMINALS[kind], "-o", "g.txt", "--statistics", "s.txt")
    assert trained.code == 0
    for arguments in (
        ("parse", "-g", "g.txt", "--engine", "best-first", "--statistics", "s.txt", "trees.mrg"),
        ("experiment", "figures-of-merit", "trees.mrg", "--grammar", "g.txt", "--min-length", "1",
         "--test-fraction", "0.5", "-o", "build"),
    ):  # fmt: skip
        outcome = command(*arguments)
        assert outcome.code == 1
        assert "best-first search takes no grammar with unary rules" in outcome.err
    outcome = command("train", trees, "--method", "inside-outside", "--init", "g.txt", "--iterations", 1)
    assert "inside-outside training takes no initial grammar with unary rules" in outcome.error
