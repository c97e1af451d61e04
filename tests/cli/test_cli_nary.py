"""``mbrparse parse``: n-ary objectives on the command line."""

import json
from pathlib import Path

import pytest
from commandline import Command

TREES = """(S (NP DT NN) (S_Cont (VP VB (NP DT NN)) .))
(S (NP DT NN) (S_Cont (VP VB (NP DT NN)) .))
(S DT (S_Cont NN (S_Cont (VP VB (NP DT NN)) .)))
(S (NP DT NN) (S_Cont (VP VB (VP_Cont DT NN)) .))
"""
SENTENCE = "DT NN VB DT NN .\n"


@pytest.fixture(autouse=True)
def grammar(command: Command, folder: Path) -> None:
    (folder / "trees").write_text(TREES)
    assert command("train trees -o g").code == 0


def test_a_cost_leaves_out_what_is_doubtful(command: Command) -> None:
    """The inner NP is there in about two thirds of the trees; whatever fits is kept without a cost."""
    for cost, tree in {
        "0": "(S (NP DT NN) (VP VB (NP DT NN)) .)",
        "0.9": "(S (NP DT NN) (VP VB DT NN) .)",
        "1.5": "(S DT NN VB DT NN .)",
    }.items():
        outcome = command(f"parse -g g --objective general-recall --node-cost {cost}", stdin=SENTENCE)
        assert outcome.output == f"{tree}\n", cost


def test_the_expected_f_and_its_exact_value(command: Command) -> None:
    """The one is a ratio of expectations, the other the expectation of a ratio."""
    parse = "parse -g g --objective labelled-f --details details"
    assert command(parse, stdin=SENTENCE).output == "(S (NP DT NN) (VP VB (NP DT NN)) .)\n"
    tree = json.loads(Path("details").read_text())["trees"]["labelled-f"]
    matches = sum(node[3] for node in tree["nodes"])
    f = 2 * matches / (len(tree["nodes"]) + tree["constituents"])
    assert tree["expected_score"] == pytest.approx(f)
    assert tree["expected_labelled"] == pytest.approx(matches)
    assert tree["posterior"] is None
    assert command(f"{parse} --exact", stdin=SENTENCE).output == "(S (NP DT NN) (VP VB (NP DT NN)) .)\n"
    exact = json.loads(Path("details").read_text())["trees"]["labelled-f"]["expected_score"]
    assert 0 < abs(exact - f) < 0.05


def test_exact_f_needs_a_grammar_without_unary_rules(command: Command) -> None:
    Path("trees").write_text("(S (NP (NP DT NN)) VB)\n(S (NP DT NN) VB)\n")
    assert command("train trees -o unary").code == 0
    error = command("parse -g unary --objective labelled-f --exact", stdin="DT NN VB\n").error
    assert "needs a grammar without unary rules" in error
    assert "mbrparse binarize --unary top" in error
