"""``mbrparse parse``: objectives, spaces and items on the command line."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commandline import Command

SIMAAN = """mbrparse-grammar 1
terminals tags
start S 1 1
rules 6
- 2 S -> 'x' 'x'
- 6 S -> 'x' S
- 6 S -> S 'x'
- 2 S -> S S
- 4 S -> A A
- 8 A -> 'x' 'x'
end
"""


@pytest.fixture
def simaan(tmp_path: Path) -> Path:
    path = tmp_path / "simaan.grammar"
    path.write_text(SIMAAN)
    return path


def details(command: Command, grammar: Path, *arguments: object) -> dict[str, Any]:
    """The details of the one sentence x x x x x x x x."""
    out = grammar.parent / "details.jsonl"
    pattern = str(grammar.parent / "{objective}.mrg")
    outcome = command(
        "parse", "-g", grammar, "-o", pattern, "--details", out, *arguments, stdin="x x x x x x x x\n"
    )
    assert (outcome.code, outcome.out) == (0, ""), outcome.err
    row: dict[str, Any] = json.loads(out.read_text())
    return row


def objectives(*names: str) -> list[str]:
    return [argument for name in names for argument in ("--objective", name)]


def test_the_counter_example_to_every_digit(command: Command, simaan: Path) -> None:
    """Sima'an (2003), as reckoned anew in exact fractions: 500 parses of eight terminals."""
    row = details(
        command, simaan, *objectives("labelled-tree", "labelled-recall", "parent-child", "productions"),
        "--space", "grammar",
    )  # fmt: skip
    probability = math.exp(row["log_probability"])
    assert probability == pytest.approx(453981 / 10**7, rel=1e-12)
    trees = row["trees"]
    most_probable = (simaan.parent / "labelled-tree.mrg").read_text()
    assert most_probable == "(S (S (A x x) (A x x)) (S (A x x) (A x x)))\n"
    mpp, mlr = trees["labelled-tree"], trees["labelled-recall"]
    assert mpp["posterior"] * probability == pytest.approx(1 / 250, rel=1e-12)
    assert mlr["posterior"] * probability == pytest.approx(81 / 50000, rel=1e-12)
    assert f"{mpp['expected_labelled']:.5f} {mlr['expected_labelled']:.5f}" == "2.54955 3.13236"
    assert mlr["expected_score"] == pytest.approx(mlr["expected_labelled"], rel=1e-12)
    assert f"{mpp['expected_productions']:.5f}" == "1.68907"
    assert f"{trees['productions']['expected_score']:.5f}" == "1.93952"
    assert f"{mlr['expected_productions']:.5f}" == "1.93952"
    assert f"{mpp['expected_split_productions']:.5f}" == "1.61101"
    assert f"{trees['parent-child']['expected_score']:.5f}" == "1.92388"


def test_every_posterior_of_the_counter_example(command: Command, simaan: Path) -> None:
    out = simaan.parent / "posteriors.npz"
    assert command("parse", "-g", simaan, "--write-posteriors", out, stdin="x x x x x x x x\n").code == 0
    with np.load(out) as arrays:
        labels = arrays["labels"][arrays["label"]]
        rows = zip(labels, arrays["start"], arrays["end"], arrays["g"], strict=True)
        shown = {f"{label}({start},{end}) {g:.5f}" for label, start, end, g in rows}
    assert shown >= {"S(0,4) 0.19942", "S(4,8) 0.19942", "A(0,2) 0.16829", "A(6,8) 0.16829"}
    assert shown >= {"A(2,4) 0.40707", "A(4,6) 0.40707", "A(3,5) 0.36477", "S(1,8) 0.39911"}
    assert shown >= {"S(0,7) 0.39911", "S(1,7) 0.36136", "S(2,6) 0.28295"}


def test_the_counter_example_in_the_free_space(command: Command, simaan: Path) -> None:
    row = details(command, simaan, *objectives("labelled-recall", "bracketed-recall"))
    scores = [f"{row['trees'][name]['expected_score']:.5f}" for name in row["trees"]]
    assert scores == ["3.13236", "3.23307"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*objectives("parent-child"), "--space", "free"], "parent-child has no meaning in the space free"),
        ([*objectives("productions"), "--space", "free"], "productions has no meaning in the space free"),
        ([*objectives("labelled-tree"), "--space", "free"], "labelled-tree has no meaning in the space free"),
        ([*objectives("max-rule-sum"), "--space", "free"], "max-rule-sum has no meaning in the space free"),
        ([*objectives("labelled-tree"), "--items", "symbol"], "--items symbol needs another objective"),
        ([*objectives("parent-child"), "--engine", "best-first"], "needs --engine exhaustive"),
        ([*objectives("parent-child"), "--precision", "single"], "needs --precision double"),
        (["--items", "symbol", "--engine", "best-first"], "--items symbol needs --engine exhaustive"),
        (["--labels", "none", "--objective", "bracketed-recall", "--space", "grammar"], "in the free space"),
        (["--space", "gramar"], "Did you mean 'grammar'?"),
        (["--objective", "max-rule"], "Did you mean 'max-rule-sum'?"),
    ],
)
def test_combinations_without_meaning(
    command: Command, simaan: Path, arguments: list[str], message: str
) -> None:
    outcome = command("parse", "-g", simaan, *arguments, stdin="x x\n")
    assert (outcome.code, outcome.out) == (2, "")
    assert message in " ".join(outcome.err.split())


def test_items_of_symbols_or_of_labels(command: Command, tmp_path: Path) -> None:
    """Three symbols of one label outweigh one of another label only if they are taken together."""
    grammar = tmp_path / "annotated.grammar"
    rules = [f"S~{i} -> {x}~{i} 'z'" for i, x in enumerate("AAAB")]
    lines = [f"start S~{i} {p}" for i, p in enumerate((0.22, 0.21, 0.2, 0.37))]
    lines = [f"{line} -" for line in lines]
    lines.append("rules 8")
    lines += [f"1 - {rule}" for rule in rules]
    lines += [f"1 - {x}~{i} -> 'x' 'y'" for i, x in enumerate("AAAB")]
    grammar.write_text("\n".join(["mbrparse-grammar 1", "terminals tags", *lines, "end", ""]))
    for space in ("free", "grammar"):
        for items, best in (("projected", "A"), ("symbol", "B")):
            outcome = command(
                "parse", "-g", grammar, "--space", space, "--items", items, stdin="x y z\n"
            )  # fmt: skip
            assert (outcome.code, outcome.out) == (0, f"(S ({best} x y) z)\n")


def test_a_chain_of_max_rule_holds_no_label_twice(command: Command, tmp_path: Path) -> None:
    """The chain that visits A through two symbols would score 7/3."""
    grammar = tmp_path / "chain.grammar"
    grammar.write_text(
        "mbrparse-grammar 1\nterminals tags\nstart S 1 1\nrules 5\n- 1 S -> 'y' A^B\n- 1 A^B -> A^S\n"
        "- 1 A^B -> 'y'\n- 1 A^S -> 'y'\n- 1 A^S -> 'y' 'y'\nend\n"
    )
    out = tmp_path / "details.jsonl"
    outcome = command("parse", "-g", grammar, *objectives("max-rule-sum"), "--details", out, stdin="y y\n")
    assert (outcome.code, outcome.out) == (0, "(S y y)\n")
    row = json.loads(out.read_text())["trees"]["max-rule-sum"]
    assert row["expected_score"] == pytest.approx(2, rel=1e-12)
    assert row["expected_split_productions"] == pytest.approx(2, rel=1e-12)


def test_viterbi_is_labelled_tree_and_mbr_is_answered_with_a_choice(command: Command, simaan: Path) -> None:
    pattern = simaan.parent / "{objective}.mrg"
    both = objectives("viterbi", "labelled-recall")
    assert command("parse", "-g", simaan, "-o", pattern, *both, stdin="x x\n").code == 0
    assert (simaan.parent / "labelled-tree.mrg").read_text() == "(S x x)\n"
    refused = command("parse", "-g", simaan, *objectives("mbr"), stdin="x x\n")
    assert (refused.code, refused.out) == (2, "")
    assert "Choose labelled-recall for constituents with their labels" in refused.err


def test_jobs_give_the_same_trees(command: Command, tmp_path: Path) -> None:
    trees, grammar = tmp_path / "trees.mrg", tmp_path / "grammar.txt"
    assert command("binarize", "embedded:flights", "-o", trees, "--max-length", "12").code == 0
    assert command("train", trees, "-o", grammar).code == 0
    some = tmp_path / "some.mrg"
    some.write_text("".join(trees.read_text().splitlines(keepends=True)[:600]))
    names = ("labelled-tree", "labelled-recall", "parent-child", "productions", "max-rule-sum")
    for jobs in ("1", "2"):
        pattern = tmp_path / f"{jobs}-{{objective}}.mrg"
        arguments = [*objectives(*names), "--space", "grammar", "--jobs", jobs, "-o", pattern]
        assert command("parse", "-g", grammar, some, *arguments).code == 0
    for name in names:
        assert (tmp_path / f"1-{name}.mrg").read_text() == (tmp_path / f"2-{name}.mrg").read_text()
        assert len((tmp_path / f"1-{name}.mrg").read_text().splitlines()) == 600
    # The most probable derivation does not depend on how it is found.
    assert (
        command("parse", "-g", grammar, some, *objectives("labelled-tree"), "-o", tmp_path / "v.mrg").code
        == 0
    )
    assert (tmp_path / "v.mrg").read_text() == (tmp_path / "1-labelled-tree.mrg").read_text()
