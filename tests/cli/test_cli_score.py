"""``mbrparse score`` and ``mbrparse posteriors`` on the command line."""

import json
from pathlib import Path

import pytest
from commandline import Command

TREES = """(S (NP DT NN) (S_Cont (VP VB (NP DT NN)) .))
(S (NP DT NN) (S_Cont (VP VB (NP DT NN)) .))
(S DT (S_Cont NN (S_Cont (VP VB (NP DT NN)) .)))
"""
SENTENCE = "DT NN VB DT NN .\n"


@pytest.fixture(autouse=True)
def grammar(command: Command, folder: Path) -> None:
    (folder / "trees").write_text(TREES)
    (folder / "text").write_text(SENTENCE)
    assert command("train trees -o g").code == 0


def test_a_parse_is_scored_as_it_expects(command: Command) -> None:
    """What ``parse --details`` expects of its own tree, ``score`` says of it."""
    assert command("parse -g g text --objective productions --details details -o parses").code == 0
    row = json.loads(command("score -g g parses --items --consistent").output)
    expected = json.loads(Path("details").read_text())
    assert row["log_probability"] == pytest.approx(expected["log_probability"])
    tree = expected["trees"]["productions"]
    shared = set(row) & set(tree)
    assert {"expected_split_productions", "nodes", "posterior", "constituents"} < shared
    assert [[*spans, pytest.approx(g)] for *spans, g in tree["nodes"]] == row["nodes"]
    for name in shared - {"nodes"}:
        assert row[name] == pytest.approx(tree[name]), name


def test_the_form_is_said(command: Command) -> None:
    outcome = command("score -g g", stdin="(S DT NN .)\n(())\n")
    assert "trees are read as original: S has 3 children on line 1 (--form overrides this)" in outcome.err
    first, second = map(json.loads, outcome.output.splitlines())
    assert first["reason"] == "no parse"
    assert (second["sentence"], second["reason"], second["length"]) == (2, "no tree", 0)
    assert "2 trees, 2 without a probability (no parse: 1, no tree: 1)" in outcome.err
    assert "mbrparse: 1 tree, 1 without a probability" in command("score -g g", stdin="(S DT NN .)\n").err


@pytest.mark.parametrize(
    ("line", "stdin", "message"),
    [
        ("score -g g", "", "<stdin>: no trees in the input; trees are written in brackets"),
        ("score -g g", "(())\n", "<stdin>: no trees in the input; trees are written in brackets"),
        (
            "score -g g --form binarized",
            "(S DT NN .)\n",
            "<stdin>:1: not binarized: S has 3 children on line",
        ),
        (
            "posteriors -g g",
            "NN DT\n",
            "<stdin>: sentence 1 has no chart: no parse; choose another sentence:",
        ),
        ("posteriors -g g --line 3", SENTENCE, "<stdin>: there is no sentence 3: the input holds 1"),
    ],
)
def test_what_has_no_score_and_no_chart(command: Command, line: str, stdin: str, message: str) -> None:
    assert command(line, stdin=stdin).error.startswith(message)


def test_the_chart_of_a_sentence(command: Command) -> None:
    sentences = f"NN DT\n{SENTENCE}"
    chart = "posteriors -g g --line 2"
    outcome = command(f"{chart} --svg chart.svg --png chart.png", stdin=sentences)
    assert outcome.output.splitlines()[2:] == [
        "0 DT      NP 89                  S 100",
        "1 NN                             S_Cont 11",
        "2 VB                     VP 100  S_Cont 100",
        "3 DT                     NP 100",
        "4 NN",
        "5 .",
    ]
    assert "S_Cont" in Path("chart.svg").read_text()
    assert Path("chart.png").read_bytes().startswith(b"\x89PNG")
    listed = command(f"{chart} --format tsv --threshold 0.5", stdin=sentences).output.splitlines()
    assert listed[:2] == ["start\tend\tlabel\tg\ttotal\twords", "0\t2\tNP\t0.888889\t0.888889\tDT NN"]
    assert len(listed) == 6


def test_the_chart_of_given_posteriors(command: Command) -> None:
    assert command("parse -g g text --write-posteriors p.npz -o x").code == 0
    of_grammar = command("posteriors -g g text").output
    assert command("posteriors --posteriors p.npz text").output == of_grammar
    numbered = command("posteriors --posteriors p.npz").output
    assert numbered.splitlines()[2].split() == ["0", "0", "NP", "89", "S", "100"]
    missing = command("posteriors --posteriors p.npz --line 2")
    assert missing.error == "p.npz: there is no sentence 2: the file holds 1"
