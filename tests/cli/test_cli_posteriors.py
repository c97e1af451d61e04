"""``mbrparse parse --posteriors``: round trips, inputs that do not belong to the file, and wrong usage."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commandline import Command

from mbrparse.decode.base.objectives import OBJECTIVES, Kind

BOTH = [f"--objective={name}" for name in ("labelled-recall", "bracketed-recall")]


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """Posteriors of "the dog barks" and "dogs bark"."""
    np.savez(
        tmp_path / "given.npz",
        lengths=[3, 2],
        labels=["S", "NP", "DT", "NN"],
        sentence=[0, 0, 0, 0, 1],
        start=[0, 0, 0, 1, 0],
        end=[3, 2, 1, 2, 2],
        label=[0, 1, 2, 3, 0],
        g=[1.0, 0.75, 1.0, 0.5, 0.5],
    )
    return tmp_path / "given.npz"


def details(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_posteriors_of_our_charts_give_the_trees_of_our_parser(command: Command, tmp_path: Path) -> None:
    binarized, train, test, grammar = (tmp_path / name for name in ("flights", "train", "test", "grammar"))
    command("binarize", "embedded:flights", "-o", binarized)
    command(
        "split", binarized, "--test-fraction", "0.1", "--train-output", train, "--test-output", test
    )  # fmt: skip
    command("train", train, "-o", grammar)
    writing = f"--write-posteriors={tmp_path}/charts.npz"
    for sources, name in (
        ((f"--grammar={grammar}", writing), "ours"),
        ((f"--posteriors={tmp_path}/charts.npz",), "given"),
    ):
        outcome = command(
            "parse", *sources, test, *BOTH, "-o", tmp_path / f"{name}-{{objective}}",
            "--details", tmp_path / f"{name}.jsonl",
        )  # fmt: skip
        assert outcome.code == 0
        reason = "no parse" if name == "ours" else "no posteriors"
        assert outcome.err.endswith(f"mbrparse: 149 sentences, 2 fell back ({reason}: 2)\n")
    for objective in ("labelled-recall", "bracketed-recall"):
        lines = (tmp_path / f"ours-{objective}").read_text()
        assert lines == (tmp_path / f"given-{objective}").read_text()
        assert lines.count("\n") == 149
    for our_row, their_row in zip(
        details(tmp_path / "ours.jsonl"), details(tmp_path / "given.jsonl"), strict=True
    ):
        assert their_row["log_probability"] is None
        for objective, tree in their_row["trees"].items():
            ours = our_row["trees"][objective]
            if ours is None:
                assert tree is None
            else:
                assert (ours.pop("posterior") >= 0, tree.pop("posterior")) == (True, None)
                for our_node, node in zip(ours.pop("nodes"), tree.pop("nodes"), strict=True):
                    assert our_node[:3] == node[:3]
                    assert our_node[3] == pytest.approx(node[3], rel=1e-9)
                assert tree == pytest.approx(ours, rel=1e-9)


def test_trees_keep_their_tags_and_tokens_get_some(command: Command, given: Path) -> None:
    outcome = command("parse", "--posteriors", given, stdin="the dog barks\ndogs bark\n")
    assert (outcome.code, outcome.out) == (0, "(S (NP (DT the) (NN dog)) barks)\n(S dogs bark)\n")
    assert outcome.err.endswith("mbrparse: 2 sentences, 0 fell back\n")
    trees = "(X (A the) (B (-NONE- *) (C dog)) (D barks))\n(X dogs bark)\n"
    outcome = command("parse", "--posteriors", given, stdin=trees)
    assert outcome.out == "(S (NP (A the) (C dog)) (D barks))\n(S dogs bark)\n"
    outcome = command("parse", "--posteriors", given, "--input", "tokens", stdin="a ( c\n(d) e\n")
    assert outcome.out == "(S (NP (DT a) (NN -LRB-)) c)\n(S -LRB-d-RRB- e)\n"


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        ("a b c\n", "there are 2 sentences here, but <stdin> ends after sentence 1; "),
        ("a b c\nd e\nf\n", "there are 2 sentences here, but <stdin> goes on with sentence 3; "),
        ("a b c\nd\n", "sentence 2 has 2 words here, but 1 in <stdin>; "),
        ("a b c\nd e\n\n", "an empty line of tokens is a sentence too"),
        ("", "no sentences in the input"),
    ],
)
def test_sentences_of_another_input(command: Command, given: Path, stdin: str, message: str) -> None:
    target = given.parent / "out.mrg"
    outcome = command("parse", "--posteriors", given, "-o", target, stdin=stdin)
    assert message in outcome.error
    assert outcome.error.startswith(f"{given}: " if stdin else "<stdin>: ")
    assert not target.exists()


def test_files_that_are_not_there_or_wrong(command: Command, given: Path) -> None:
    outcome = command("parse", "--posteriors", given.parent / "none.npz", stdin="x\n")
    assert outcome.error == f"{given.parent}/none.npz: no such file"
    np.savez(given, **{**np.load(given), "g": [1.0, 0.75, 1.0, 0.5, 1.5]})
    outcome = command("parse", "--posteriors", given, stdin="the dog barks\ndogs bark\n")
    assert "sentence 2: span (0, 2) 'S' has g 1.5, above one" in outcome.error


def test_arrays_without_meaning_are_noted(command: Command, given: Path) -> None:
    np.savez(given, **np.load(given), epoch=3)
    outcome = command("parse", "--posteriors", given, stdin="the dog barks\ndogs bark\n")
    assert outcome.code == 0
    assert f"mbrparse: {given}: ignored the arrays 'epoch'\n" in outcome.err


def test_posteriors_from_standard_input(command: Command, given: Path) -> None:
    (given.parent / "in.txt").write_text("the dog barks\ndogs bark\n")
    outcome = command("parse", given.parent / "in.txt", "--posteriors", "-", stdin=given.read_bytes())
    assert (outcome.code, outcome.out.count("\n")) == (0, 2)
    outcome = command("parse", "--posteriors", "-", stdin=given.read_bytes())
    assert outcome.code == 2
    assert "both be standard input" in outcome.err


GRAMMAR_OBJECTIVES = [row.name for row in OBJECTIVES.values() if row.kind in (Kind.DERIVATION, Kind.FOREST)]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--grammar", "g.txt"], "give one of them"),
        (["--precision", "single"], "--precision needs --grammar"),
        (["--jobs", "2"], "--jobs needs --grammar"),
        (["--engine", "best-first"], "--engine needs --grammar"),
        (["--beta-threshold", "0.5"], "--beta-threshold needs --grammar"),
        *((["--objective", name], f"--objective {name} needs --grammar") for name in GRAMMAR_OBJECTIVES),
        ([*BOTH], "{objective}"),
        (["--labels", "none"], "--labels none needs"),
    ],
)
def test_wrong_usage(command: Command, given: Path, arguments: list[str], text: str) -> None:
    outcome = command("parse", "--posteriors", given, *arguments, stdin="the dog barks\ndogs bark\n")
    assert (outcome.code, outcome.out) == (2, "")
    assert text in outcome.err


def test_neither_grammar_nor_posteriors(command: Command) -> None:
    outcome = command("parse", stdin="x\n")
    assert (outcome.code, outcome.out) == (2, "")
    assert "Missing option '-g' / '--grammar' (or '--posteriors')" in outcome.err


def test_what_write_posteriors_cannot_say(command: Command, tmp_path: Path) -> None:
    grammar, unary = tmp_path / "grammar", tmp_path / "unary"
    head = "mbrparse-grammar 1\nterminals tags\nstart S 1 -\n"
    grammar.write_text(f"{head}rules 1\n1 - S -> 'x' 'x'\nend\n")
    unary.write_text(f"{head}rules 2\n1 - S -> A\n1 - A -> 'x' 'x'\nend\n")
    out = tmp_path / "out.npz"
    refused = command("parse", "-g", unary, "--write-posteriors", out, stdin="x x\n")
    assert (refused.code, refused.out) == (1, "")
    assert "a grammar with unary rules expects some labels more than once" in refused.err
    assert command("parse", "-g", grammar, "--write-posteriors", "-", stdin="x x\n").code == 2
    symbols = ("--items", "symbol", "--write-posteriors", out)
    assert command("parse", "-g", grammar, *symbols, stdin="x x\n").code == 2
    missing = tmp_path / "nowhere" / "out.npz"
    failed = command("parse", "-g", grammar, "--write-posteriors", missing, stdin="x x\n")
    assert failed.code == 1
    assert "cannot be written" in failed.err
    assert not out.exists()
    # Of sentences without a parse nothing is known.
    done = command("parse", "-g", grammar, "--write-posteriors", out, "--jobs", "2", stdin="x x\n\ny\n")
    assert done.code == 0
    with np.load(out) as arrays:
        assert arrays["lengths"].tolist() == [2, 0, 1]
        assert set(arrays["sentence"].tolist()) == {0}
