"""Details belong to the trees that were written with them: ``evaluate`` refuses another run's.

Details are paired with parses by the trees that they hold, whatever the files are called.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from commandline import Command, run
from hypothesis import given
from hypothesis import strategies as st
from test_report_command import blocks
from tree_strategies import trees

from mbrparse.treebank.binarize import binarize, debinarize
from mbrparse.treebank.labels import is_continuation_label
from mbrparse.treebank.outlines import tree_digest
from mbrparse.treebank.tree import Tree


def naive(tree: Tree) -> object:
    """What a digest tells apart: words, and the spans of more than one that are no continuations'."""
    words: list[str | None] = []
    spans: set[tuple[int, int]] = set()

    def walk(node: Tree) -> None:
        start = len(words)
        if not node.children:
            words.append(node.word)
        for child in node.children:
            walk(child)
        if not is_continuation_label(node.label) and len(words) - start > 1:
            spans.add((start, len(words)))

    walk(tree)
    return words, spans | {(0, len(words))}


SMALL = trees(st.sampled_from(["A", "B", "A+B", "NP^S"]), max_leaves=4)


@given(SMALL, SMALL)
def test_digests_tell_trees_apart_and_stay_when_trees_are_binarized(one: Tree, other: Tree) -> None:
    assert (tree_digest(one) == tree_digest(other)) == (naive(one) == naive(other))
    for tree in (one, other):
        binarized = binarize(tree)
        assert tree_digest(binarized) == tree_digest(debinarize(binarized))
    assert tree_digest(None) == "00000000"


NAMES = ("labelled-tree", "labelled-recall")
PARSES = " ".join(f"{name}.4.mrg" for name in NAMES)


@pytest.fixture(scope="module")
def two_objectives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences of flights, parsed for two objectives, whose trees differ."""
    at = tmp_path_factory.mktemp("parsed")
    run("binarize embedded:flights -o", at / "all.mrg")
    lines = (at / "all.mrg").read_text("utf-8").splitlines(keepends=True)
    (at / "gold.mrg").write_text("".join(lines[:40]), "utf-8")
    (at / "train.mrg").write_text("".join(lines[900:]), "utf-8")
    run("train", at / "train.mrg", "-o", at / "grammar")
    for name, asked in {"both": NAMES, **{name: (name,) for name in NAMES}}.items():
        words = " ".join(f"--objective {one}" for one in asked)
        files = at / "gold.mrg", "-g", at / "grammar", "-o", at / "{objective}.4.mrg"
        assert run(f"parse {words}", *files, "--details", at / f"{name}.jsonl").code == 0
    run("baseline --kind left", at / "gold.mrg", "-o", at / "left.mrg")
    run("debinarize", at / "labelled-recall.4.mrg", "-o", at / "flat.mrg")
    trees = [(at / f"{name}.4.mrg").read_text("utf-8") for name in NAMES]
    assert trees[0] != trees[1]
    return at


@pytest.fixture
def parsed(two_objectives: Path, folder: Path) -> None:
    shutil.copytree(two_objectives, folder, dirs_exist_ok=True)


def expected(details: str = "both.jsonl") -> list[list[Any]]:
    """By objective, what the details say of each tree's expected matches."""
    rows = [json.loads(line) for line in Path(details).read_text("utf-8").splitlines()]
    return [[(row["trees"].get(name) or {}).get("expected_labelled") for row in rows] for name in NAMES]


def on_page() -> list[list[Any]]:
    rows = blocks(Path("page.html"))["chunk-0"]
    return [[row["parses"][place]["expected"].get("labelled") for row in rows] for place in range(2)]


@pytest.mark.usefixtures("parsed")
@pytest.mark.parametrize("form", ["", "--evalb COLLINS.prm"])
def test_details_of_other_trees_are_refused(command: Command, form: str) -> None:
    evaluate = f"evaluate {form} --resamples 0 gold.mrg {PARSES} --details"
    done = command(f"{evaluate} both.jsonl")
    rows = [json.loads(line) for line in Path("both.jsonl").read_text("utf-8").splitlines()]
    fell = sum(row["status"] == "fallback" for row in rows)
    assert f"{100 * fell / len(rows):.2f}" in done.output.splitlines()[1]
    assert "details" not in done.err
    refused = command(f"{evaluate} labelled-tree.jsonl").error
    line = int(refused.split(":")[1])
    assert refused.startswith(f"labelled-tree.jsonl:{line}: details of another tree than labelled-recall.4")


@pytest.mark.usefixtures("parsed")
@pytest.mark.parametrize(
    "details", ["--details both.jsonl", "--details labelled-recall.jsonl --details labelled-tree.jsonl"]
)
def test_whatever_files_are_called(command: Command, details: str) -> None:
    done = command(f"report gold.mrg {PARSES} {details} -o page.html")
    assert done.err == "mbrparse: page.html: open it in a browser\n"
    for found, known in zip(on_page(), expected(), strict=True):
        assert found == pytest.approx(known, rel=1e-4)


@pytest.mark.usefixtures("parsed")
def test_what_cannot_be_paired_is_said(command: Command) -> None:
    assert command("report gold.mrg left.mrg --details both.jsonl -o page.html").error == (
        "both.jsonl: none of these trees is one of left.mrg, as they are paired; give what parse --details "
        "wrote with these parses"
    )
    done = command("report gold.mrg left.mrg labelled-tree.4.mrg --details both.jsonl -o page.html")
    assert "left.mrg: both.jsonl holds none of its trees, so nothing is expected of them" in done.err
    # One tree is another: the others are known.
    lines = Path("labelled-tree.4.mrg").read_text("utf-8").splitlines(keepends=True)
    lines[2] = Path("left.mrg").read_text("utf-8").splitlines(keepends=True)[2]
    Path("changed.mrg").write_text("".join(lines), "utf-8")
    done = command("report gold.mrg changed.mrg --details labelled-tree.jsonl -o page.html")
    assert "changed.mrg: 1 of 40 trees differ from those of labelled-tree.jsonl" in done.err
