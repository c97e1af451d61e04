"""Grammars with unary rules from the command line: trees, grammar, parses and back."""

import json
import math
from pathlib import Path

import pytest
from commandline import Command, grammar_text

import mbrparse as mp

TREES = """\
(S (NP (PRP he)) (VP (VBD slept)))
(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (PRP it))))
(S (VP (VB go)))
(FRAG (NP (NN dog)))
"""
CYCLE = grammar_text("0.5 - S -> S; 0.5 - S -> X X; 1 - X -> 'x'", terminals="words")

# A handful of trees says nothing of unknown words.
of_both_kinds = pytest.mark.parametrize(
    "grammar", ["--terminals tags", "--terminals words --unknown none"], indirect=True
)


@pytest.fixture
def grammar(command: Command, folder: Path, request: pytest.FixtureRequest) -> str:
    """How ``g`` was counted from ``trees``, with the statistics ``s``."""
    how: str = request.param
    (folder / "trees").write_text(TREES)
    assert command(f"train trees {how} -o g --statistics s").code == 0
    return how


@of_both_kinds
@pytest.mark.usefixtures("grammar")
def test_trees_with_unary_nodes_there_and_back(command: Command) -> None:
    """The most probable derivations are the trees that the grammar was counted from, chains and all."""
    assert "  unary                6\n" in command("grammar info g").out
    parse = "parse -g g trees --objective labelled-tree"
    assert command(f"{parse} --details details").output == TREES
    rows = [json.loads(line) for line in Path("details").read_text().splitlines()]
    for row, line in zip(rows, TREES.splitlines(), strict=True):
        found = row["trees"]["labelled-tree"]
        # Each sentence has this one parse.
        assert found["posterior"] == pytest.approx(1.0)
        constituents = line.count("(") - row["length"]
        for name in ("constituents", "expected_labelled", "expected_bracketed"):
            assert found[name] == pytest.approx(constituents)
        assert found["expected_labelled_recall"] == pytest.approx(1.0)
    assert command(f"{parse} --jobs 2").output == TREES


@of_both_kinds
@pytest.mark.parametrize("objective", ["labelled-recall", "bracketed-recall"])
@pytest.mark.usefixtures("grammar")
def test_by_default_recalls_find_unary_nodes(command: Command, objective: str) -> None:
    parse = f"parse -g g trees --objective {objective}"
    found = command(parse)
    assert found.output == TREES
    remark = f"mbrparse: {objective}: the grammar has unary rules, so trees are n-ary (--node-cost 0.25; "
    assert found.err.startswith(remark)
    assert found.err.count("unary") == 2
    same = command(f"{parse} --space nary --node-cost 0.25")
    assert same.output == TREES
    assert "unary" not in same.err
    assert "(--node-cost 0; " in command(f"{parse} --node-cost 0").err
    unlabelled = command(f"{parse} --objective bracketed-recall --labels none -o {{objective}}").err
    assert "leave out the grammar's unary nodes" in unlabelled
    assert "n-ary" not in unlabelled
    [row] = mp.Parser(mp.read_grammar("g"), objective).parse("PRP VBD")[0].objectives
    assert (row.space, row.node_constant) == (mp.Space.NARY, -0.25)


def test_what_is_expected_under_a_cycle(command: Command) -> None:
    """S -> S comes once on average, but the tree without it is the most probable one."""
    Path("g").write_text(CYCLE)
    outcome = command("parse -g g --objective labelled-tree --details details", stdin="x x\n")
    assert outcome.output == "(S (X x) (X x))\n"
    row = json.loads(Path("details").read_text())
    assert math.exp(row["log_probability"]) == pytest.approx(1.0)
    tree = row["trees"]["labelled-tree"]
    assert tree["posterior"] == pytest.approx(0.5)
    assert tree["constituents"] == pytest.approx(2.0)
    assert tree["expected_labelled"] == tree["expected_bracketed"] == 1.0
    Path("bad").write_text(CYCLE.replace("0.5 - S -> S", "1 - S -> S").replace("0.5", "0"))
    error = command("parse -g bad", stdin="x x\n").error
    assert error.startswith("bad: the unary rules S -> S are a cycle of probability one")
