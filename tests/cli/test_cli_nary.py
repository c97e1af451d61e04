"""``mbrparse parse``: n-ary objectives on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
from commandline import Command

TREES = """(S (NP DT NN) (S_Cont (VP VB (NP DT NN)) .))
(S (NP DT NN) (S_Cont (VP VB (NP DT NN)) .))
(S DT (S_Cont NN (S_Cont (VP VB (NP DT NN)) .)))
(S (NP DT NN) (S_Cont (VP VB (VP_Cont DT NN)) .))
"""
SENTENCE = "DT NN VB DT NN .\n"


@pytest.fixture
def grammar(command: Command, tmp_path: Path) -> Path:
    (tmp_path / "trees.mrg").write_text(TREES)
    assert command("train", tmp_path / "trees.mrg", "-o", tmp_path / "grammar.txt").code == 0
    return tmp_path / "grammar.txt"


def test_a_cost_leaves_out_what_is_doubtful(command: Command, grammar: Path) -> None:
    """The inner NP is there in about two thirds of the trees; whatever fits is kept without a cost."""
    expected = {
        "0": "(S (NP DT NN) (VP VB (NP DT NN)) .)",
        "0.9": "(S (NP DT NN) (VP VB DT NN) .)",
        "1.5": "(S DT NN VB DT NN .)",
    }
    for cost, tree in expected.items():
        outcome = command(
            "parse", "-g", grammar, "--objective", "general-recall", "--node-cost", cost, stdin=SENTENCE
        )
        assert (outcome.code, outcome.out) == (0, f"{tree}\n"), cost


def test_special_cases_to_the_byte(command: Command, grammar: Path) -> None:
    for name, weight in (("labelled-recall", "labelled=1"), ("bracketed-recall", "bracketed=1")):
        for space in ("free", "grammar"):
            one = command("parse", "-g", grammar, "--objective", name, "--space", space, stdin=SENTENCE)
            other = command(
                "parse", "-g", grammar, "--objective", "general-recall", "--weight", weight, "--space", space,
                stdin=SENTENCE,
            )  # fmt: skip
            assert one.code == other.code == 0
            assert one.out == other.out


def test_details_tell_the_expected_f(command: Command, grammar: Path, tmp_path: Path) -> None:
    out = tmp_path / "details.jsonl"
    arguments = ["--objective", "labelled-f", "--details", out]
    assert command("parse", "-g", grammar, *arguments, stdin=SENTENCE).code == 0
    tree = json.loads(out.read_text())["trees"]["labelled-f"]
    matches = sum(node[3] for node in tree["nodes"])
    f = 2 * matches / (len(tree["nodes"]) + tree["constituents"])
    assert tree["expected_score"] == pytest.approx(f)
    assert tree["expected_labelled"] == pytest.approx(matches)
    assert tree["posterior"] is None


def test_posteriors_from_elsewhere_serve_too(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "given.npz"
    np.savez(
        path, lengths=[3], labels=["S", "NP", "S_Cont"], sentence=[0, 0, 0, 0], start=[0, 0, 1, 1],
        end=[3, 2, 3, 3], label=[0, 1, 1, 2], g=np.array([1.0, 0.2, 0.3, 0.5]),
    )  # fmt: skip
    for name, tree in (("general-recall", "(S a (NP b c))"), ("labelled-f", "(S a b c)")):
        outcome = command("parse", "--posteriors", path, "--objective", name, stdin="a b c\n")
        assert (outcome.code, outcome.out) == (0, f"{tree}\n")


def test_exact_f(command: Command, grammar: Path, tmp_path: Path) -> None:
    """The expectation of a ratio, and no ratio of expectations."""
    scores = {}
    for how in ([], ["--exact"]):
        out = tmp_path / "details.jsonl"
        arguments = ["--objective", "labelled-f", *how, "--details", out]
        outcome = command("parse", "-g", grammar, *arguments, stdin=SENTENCE)
        assert (outcome.code, outcome.out) == (0, "(S (NP DT NN) (VP VB (NP DT NN)) .)\n")
        scores[len(how)] = json.loads(out.read_text())["trees"]["labelled-f"]["expected_score"]
    assert 0 < abs(scores[0] - scores[1]) < 0.05


def test_exact_f_needs_a_grammar_without_unary_rules(command: Command, tmp_path: Path) -> None:
    (tmp_path / "trees.mrg").write_text("(S (NP (NP DT NN)) VB)\n(S (NP DT NN) VB)\n")
    assert command("train", tmp_path / "trees.mrg", "-o", tmp_path / "unary.txt").code == 0
    outcome = command(
        "parse", "-g", tmp_path / "unary.txt", "--objective", "labelled-f", "--exact", stdin="DT NN VB\n"
    )
    assert "needs a grammar without unary rules" in outcome.error
    assert "mbrparse binarize --unary top" in outcome.error
    path = tmp_path / "given.npz"
    np.savez(path, lengths=[2], labels=["S"], sentence=[0], start=[0], end=[2], label=[0], g=[1.0])
    outcome = command("parse", "--posteriors", path, "--objective", "labelled-f", "--exact", stdin="a b\n")
    assert (outcome.code, outcome.out) == (2, "")
    assert "exact F of labelled-f needs --grammar" in " ".join(outcome.err.replace("│", " ").split())


SEVERAL = f"{SENTENCE}DT NN VB\nDT NN VB DT XX .\nDT NN\n" + SENTENCE * 3


@pytest.mark.parametrize("jobs", [1, 2])
def test_pooled_f(command: Command, grammar: Path, tmp_path: Path, jobs: int) -> None:
    """From a pipe, with other objectives beside it, and with the trees of the cost that is told."""
    names = ["labelled-f", "bracketed-f", "labelled-tree", "labelled-recall"]
    chosen = [option for name in names for option in ("--objective", name)]
    pattern, details = tmp_path / "{objective}.mrg", tmp_path / "details.jsonl"
    arguments = ["-g", grammar, "--jobs", jobs, *chosen, "-o", pattern, "--details", details]
    alone = command("parse", *arguments, stdin=SEVERAL)
    assert alone.code == 0
    before = {name: (tmp_path / f"{name}.mrg").read_text() for name in names}
    rows_before = [json.loads(line) for line in details.read_text().splitlines()]
    pooled = command("parse", *arguments, "--pooled", stdin=SEVERAL)
    assert pooled.code == 0
    *notes, account = pooled.err.splitlines()
    assert (
        account
        == alone.err.splitlines()[-1]
        == ("mbrparse: 7 sentences, 3 fell back (no parse: 2, unknown terminal XX: 1)")
    )
    rows = [json.loads(line) for line in details.read_text().splitlines()]
    assert [row["sentence"] for row in rows] == list(range(1, 8))
    for name, note in zip(names[:2], notes, strict=True):
        told, _, options = note.partition(" with the trees of --objective ")
        assert told.startswith(f"mbrparse: {name} --pooled: expected F ")
        assert told.endswith(" over 4 sentences,")
        general = command("parse", "-g", grammar, "--objective", *options.split(), stdin=SEVERAL)
        trees = (tmp_path / f"{name}.mrg").read_text()
        assert (general.code, general.out) == (0, trees)
        matches = sum(node[3] for row in rows if row["trees"][name] for node in row["trees"][name]["nodes"])
        found = [row["trees"][name] for row in rows if row["trees"][name] is not None]
        assert len(found) == 4
        matches = sum(
            tree["expected_labelled" if name == "labelled-f" else "expected_bracketed"] for tree in found
        )
        size = sum(len(tree["nodes"]) + tree["constituents"] for tree in found)
        assert f"expected F {200 * matches / size:.2f} over" in told
        assert float(options.split()[-1]) == pytest.approx(matches / size)
    for name in names[2:]:
        assert (tmp_path / f"{name}.mrg").read_text() == before[name]
        assert [row["trees"][name] for row in rows] == [row["trees"][name] for row in rows_before]


def test_pooled_f_of_posteriors_from_elsewhere(command: Command, tmp_path: Path) -> None:
    """One bracket is sure, the other is not worth its place beside it."""
    path = tmp_path / "given.npz"
    np.savez(
        path, lengths=[3, 3, 1], labels=["S", "NP"], sentence=[0, 0, 1, 1], start=[0, 0, 0, 0],
        end=[3, 2, 3, 2], label=[0, 1, 0, 1], g=np.array([1.0, 1.0, 1.0, 0.44]),
    )  # fmt: skip
    text = "a b c\nd e f\ng\n"
    arguments = ["--posteriors", path, "--objective", "labelled-f"]
    outcome = command("parse", *arguments, stdin=text)
    assert outcome.out == "(S (NP a b) c)\n(S (NP d e) f)\n(S (g g))\n"
    pooled = command("parse", *arguments, "--pooled", stdin=text)
    assert pooled.out == "(S (NP a b) c)\n(S d e f)\n(S (g g))\n"
    f = 2 * 3 / (3 + 3.44)
    assert f"--node-cost {f / 2!r}"[:20] in pooled.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--objective", "labelled-f", "--node-cost", "1"], "labelled-f does not add up posteriors"),
        (
            ["--objective", "labelled-recall", "--weight", "labelled=1"],
            "goes with --objective general-recall",
        ),
        (["--objective", "general-recall", "--weight", "labels=1"], "none of labelled=W, bracketed=W"),
        (["--objective", "general-recall", "--weight", "labelled=x"], "none of labelled=W, bracketed=W"),
        (["--objective", "general-recall", "--weight", "labelled=nan"], "a weight that is no number"),
        (["--pooled"], "--pooled goes with --objective labelled-f or bracketed-f"),
        (
            ["--objective", "labelled-f", "--pooled", "--node-cost", "1"],
            "labelled-f does not add up posteriors",
        ),
        (["--objective", "labelled-f", "--exact", "--pooled"], "give one of them"),
        (["--exact"], "--exact goes with --objective labelled-f or bracketed-f"),
        (["--objective", "labelled-f", "--exact", "--engine", "best-first"], "needs --engine exhaustive"),
        (["--objective", "labelled-f", "--exact", "--precision", "single"], "needs --precision double"),
        (["--objective", "labelled-f", "--space", "grammar"], "no meaning in the space grammar"),
        (["--objective", "parent-child", "--space", "nary"], "no meaning in the space nary"),
    ],
)
def test_what_has_no_meaning(command: Command, grammar: Path, arguments: list[str], message: str) -> None:
    outcome = command("parse", "-g", grammar, *arguments, stdin=SENTENCE)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in " ".join(outcome.err.replace("│", " ").split())
