"""Details are paired with parses by the trees that they hold, whatever the files are called."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from commandline import Command, run
from hypothesis import given
from hypothesis import strategies as st
from test_report_command import blocks

from mbrparse.evaluate.details import posteriors_of
from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.outlines import constituents
from mbrparse.treebank.tree import Tree

OBJECTIVES = ("labelled-tree", "labelled-recall")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences of flights, parsed for two objectives, whose trees differ."""
    at = tmp_path_factory.mktemp("parsed")
    run("binarize embedded:flights -o", at / "all.mrg")
    lines = (at / "all.mrg").read_text("utf-8").splitlines(keepends=True)
    (at / "gold.mrg").write_text("".join(lines[:40]), "utf-8")
    (at / "train.mrg").write_text("".join(lines[900:]), "utf-8")
    run("train", at / "train.mrg", "-o", at / "grammar")
    for name, asked in {"both": OBJECTIVES, **{name: (name,) for name in OBJECTIVES}}.items():
        words = " ".join(f"--objective {one}" for one in asked)
        files = at / "gold.mrg", "-g", at / "grammar", "-o", at / "{objective}.4.mrg"
        assert run(f"parse {words}", *files, "--details", at / f"{name}.jsonl").code == 0
    run("baseline --kind left", at / "gold.mrg", "-o", at / "left.mrg")
    run("debinarize", at / "labelled-recall.4.mrg", "-o", at / "flat.mrg")
    trees = [(at / f"{name}.4.mrg").read_text("utf-8") for name in OBJECTIVES]
    assert trees[0] != trees[1]
    return at


@pytest.fixture
def parsed(made: Path, folder: Path) -> None:
    shutil.copytree(made, folder, dirs_exist_ok=True)


def expected(details: str = "both.jsonl") -> list[list[Any]]:
    """By objective, what the details say of each tree's expected matches."""
    rows = [json.loads(line) for line in Path(details).read_text("utf-8").splitlines()]
    return [[(row["trees"].get(name) or {}).get("expected_labelled") for row in rows] for name in OBJECTIVES]


def on_page() -> list[list[Any]]:
    rows = blocks(Path("page.html"))["chunk-0"]
    return [[row["parses"][place]["expected"].get("labelled") for row in rows] for place in range(2)]


@pytest.mark.usefixtures("parsed")
@pytest.mark.parametrize(
    "details",
    [
        "--details both.jsonl",
        "--details labelled-tree.jsonl --details labelled-recall.jsonl",
        "--details labelled-recall.jsonl --details labelled-tree.jsonl",  # in the other order
    ],
)
def test_whatever_files_are_called(command: Command, details: str) -> None:
    parses = " ".join(f"{name}.4.mrg" for name in OBJECTIVES)
    done = command(f"report gold.mrg {parses} {details} -o page.html")
    assert done.err == "mbrparse: page.html: open it in a browser\n"
    for found, known in zip(on_page(), expected(), strict=True):
        assert found == pytest.approx(known, rel=1e-4)


@pytest.mark.usefixtures("parsed")
def test_debinarized_trees_are_known(command: Command) -> None:
    done = command(
        "report gold.mrg flat.mrg labelled-tree.4.mrg --form original --details both.jsonl -o page.html"
    )
    assert "differ" not in done.err
    assert on_page()[0] == pytest.approx(expected()[1], rel=1e-4)


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


@st.composite
def numbered_trees(draw: st.DrawFn, length: int, marks: list[str]) -> Tree:
    """A binary tree in which each label tells its node: ``x3_Cont``, ``x4+y4``; ``marks`` gets the labels."""
    if length == 1:
        return Tree("w")
    number = len(marks)
    label = draw(st.sampled_from([f"x{number}", f"x{number}_Cont", f"x{number}+y{number}"]))
    marks.append(label)
    split = draw(st.integers(1, length - 1))
    parts = [draw(numbered_trees(split, marks)), draw(numbered_trees(length - split, marks))]
    return Tree(label, parts)


@given(st.data(), st.integers(2, 8))
def test_each_constituent_has_its_own_posterior(data: st.DataObject, length: int) -> None:
    tree = data.draw(numbered_trees(length, []))
    g = data.draw(st.lists(st.floats(0, 1), min_size=length, max_size=length))
    number = [int("".join(filter(str.isdigit, label.split("+")[0]))) for *_, label in constituents(tree)]
    nodes = [(node, g[place]) for node, place in zip(constituents(tree), number, strict=True)]
    for shown in (tree, debinarize(tree)):
        wanted = [
            g[int("".join(filter(str.isdigit, label.split("+")[0])))] for *_, label in constituents(shown)
        ]
        assert posteriors_of(nodes, list(constituents(shown))) == wanted
    # A word that is a phrase besides: of that nothing is known.
    more = [*constituents(tree), (0, 1, "NP")]
    assert posteriors_of(nodes, more) == [*(mass for _, mass in nodes), None]
    assert posteriors_of(nodes, list(constituents(tree))[1:]) is None
