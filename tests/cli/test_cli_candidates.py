"""``parse --candidates`` and who reads its files, ``parse --objective minimum-risk``, from the outside."""

import json
import math
from pathlib import Path

import pytest
from commandline import Command

from mbrparse.evaluate.comparison import compare
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.candidate_files import read_candidates

GRAMMAR = (Path(__file__).parents[1] / "data" / "ambiguous.grammar").read_text()
TEXT = "x x x x\nx y\n\nx x x x x\nx\n"
GOLD = "(S (S x x) (S x x))\n(S x (S x (S x (S x x))))\n"


@pytest.fixture
def grammar(tmp_path: Path) -> Path:
    (tmp_path / "g.txt").write_text(GRAMMAR)
    (tmp_path / "gold.mrg").write_text(GOLD)
    return tmp_path / "g.txt"


def test_lines_of_candidates(command: Command, grammar: Path, tmp_path: Path) -> None:
    """Their order and probabilities; a sentence that falls back has its fall-back."""
    path = tmp_path / "c.tsv"
    parse = ("parse", "-g", grammar, "--k-best", 3, "--objective", "labelled-tree")
    done = command(*parse, "--candidates", path, stdin=TEXT)
    assert done.code == 0
    trees = done.out.splitlines()
    assert len(trees) == 5
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    assert [line[0] for line in lines] == ["1"] * 3 + ["2", "3"] + ["4"] * 3 + ["5"]
    assert [lines[0][2], lines[5][2]] == [trees[0], trees[3]]
    # S -> A A is 4/19, A -> x x is certain.
    assert lines[0][2] == "(S (A x x) (A x x))"
    assert float(lines[0][1]) == pytest.approx(math.log(4 / 19))
    for number in (3, 4, 8):
        assert lines[number][1:] == ["-inf", trees[int(lines[number][0]) - 1]]
    both = command(*parse, "--candidates", tmp_path / "two.tsv", "--jobs", 2, stdin=TEXT)
    assert both.out == done.out
    assert (tmp_path / "two.tsv").read_bytes() == path.read_bytes()


def test_samples_with_a_seed(command: Command, grammar: Path, tmp_path: Path) -> None:
    texts = []
    for name, seed in (("a", ()), ("b", ("--seed", 0)), ("c", ("--seed", 1))):
        path = tmp_path / name
        done = command("parse", "-g", grammar, "--samples", 4, *seed, "--candidates", path, stdin="x " * 12)
        assert done.code == 0
        texts.append(path.read_text())
    assert texts[0] == texts[1] != texts[2]


def test_minimum_risk(command: Command, grammar: Path, tmp_path: Path) -> None:
    """What it expects is what the candidates' own rates say, weighed by their probabilities."""
    path, report = tmp_path / "c.tsv", tmp_path / "d.jsonl"
    done = command(
        "parse", "-g", grammar, "--k-best", 20, "--candidates", path, "--details", report,
        "--objective", "minimum-risk", "--risk", "bracketed-recall", stdin="x x x x x\n",
    )  # fmt: skip
    assert done.code == 0
    [candidates] = read_candidates(path)
    masses = [math.exp(one.log_prob) for one in candidates]
    trees = [one.tree for one in candidates if one.tree is not None]
    expected = {
        str(tree): sum(
            mass * compare([gold], [tree], resamples=0).frame["bracketed_recall"].item()
            for mass, gold in zip(masses, trees, strict=True)
        )
        / sum(masses)
        for tree in trees
    }
    row = json.loads(report.read_text())["trees"]["minimum-risk"]
    assert row["expected_score"] == pytest.approx(max(expected.values()))
    assert expected[done.out.strip()] == pytest.approx(max(expected.values()))


def test_evaluation_has_an_oracle(command: Command, grammar: Path, tmp_path: Path) -> None:
    path, gold = tmp_path / "c.tsv", tmp_path / "gold.mrg"
    assert command("parse", "-g", grammar, "--k-best", 9, "--candidates", path, gold).code == 0
    golds = [read_tree(line) for line in GOLD.splitlines()]
    best = [
        max(compare([tree], [one.tree], resamples=0).frame["bracketed_recall"].item() for one in candidates)
        for tree, candidates in zip(golds, read_candidates(path), strict=True)
    ]
    evaluate = ("evaluate", gold, path, "--format", "json", "--resamples", 0, "--average", "sentence")
    done = command(*evaluate, "--criterion", "bracketed-recall")
    assert done.code == 0
    rates = {row["name"]: row["rates"]["bracketed_recall"] for row in json.loads(done.out)["rows"]}
    assert rates.keys() == {"c", "c:oracle"}
    assert rates["c:oracle"] == pytest.approx(sum(best) / 2)
    assert rates["c"] < rates["c:oracle"]
    original = command(*evaluate, "--form", "original")
    assert original.code == 0
    assert "twice" in command("evaluate", "-", path, stdin=GOLD).error


def test_show_draws_all_of_a_sentence(command: Command, grammar: Path, tmp_path: Path) -> None:
    path, gold = tmp_path / "c.tsv", tmp_path / "gold.mrg"
    assert command("parse", "-g", grammar, "--k-best", 3, "--candidates", path, gold).code == 0
    done = command("show", gold, path, "--line", 2)
    assert done.code == 0
    assert [f"c.tsv {place}/3, log probability" in done.out for place in (1, 2, 3)] == [True] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--candidates", "c.tsv"], "--candidates needs --k-best or --samples"),
        (["--k-best", "2", "--samples", "2"], "give one"),
        (["--k-best", "2", "--seed", "1"], "--seed goes with --samples, and with"),
        (["--k-best", "2", "--engine", "best-first"], "exhaustive"),
        (["--objective", "minimum-risk"], "needs candidates"),
        (["--objective", "minimum-risk", "--k-best", "2"], "go together"),
        (["--k-best", "2", "--risk", "labelled-f"], "go together"),
        (["--k-best", "2", "--objective", "minimum-risk", "--risk", "beauty"], "no criterion"),
        (["--objective", "minimum-risk", "--space", "free"], "no meaning"),
    ],
)
def test_what_has_no_meaning(command: Command, grammar: Path, arguments: list[str], message: str) -> None:
    done = command("parse", "-g", grammar, *arguments, stdin="x x\n")
    assert done.code == 2
    assert message in " ".join(done.err.split())
    assert done.out == ""


def test_posteriors_know_no_derivations(command: Command, grammar: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    assert command("parse", "-g", grammar, "--write-posteriors", path, stdin="x x x\n").code == 0
    done = command("parse", "--posteriors", path, "--k-best", 2, stdin="x x x\n")
    assert done.code == 2
    assert "--k-best needs --grammar" in done.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\t-1.5\t(S x x)\n3\t-1\t(S x x)\n", "c.tsv:2: sentence 3, where the file is at sentence 1"),
        ("1\t-1.5\t(S x x)\n1 (S x x)\n", "c.tsv:2: not a line of candidates"),
        ("1\t-1.5\t(S x x\n", "c.tsv:1:"),
        ("1\t-1.5\t(S x x) (S x x)\n", "c.tsv:1: one tree expected, 2 found"),
    ],
)
def test_files_that_are_none(command: Command, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "c.tsv").write_text(text)
    (tmp_path / "gold.mrg").write_text("(S x x)\n(S x x)\n")
    assert message in command("evaluate", tmp_path / "gold.mrg", tmp_path / "c.tsv").error
