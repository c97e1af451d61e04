"""Details belong to the trees that were written with them: ``evaluate`` refuses another run's."""

import json
import shutil
from pathlib import Path

import pytest
from commandline import Command, run
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import trees

from mbrparse.treebank.binarize import binarize, debinarize
from mbrparse.treebank.labels import is_continuation_label
from mbrparse.treebank.outlines import tree_digest
from mbrparse.treebank.tree import Tree

OBJECTIVES = "--objective labelled-tree --objective bracketed-recall"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs on the same sentences: by grammars of many trees, and of few."""
    at = tmp_path_factory.mktemp("runs")
    run("binarize embedded:flights -o", at / "all.mrg")
    lines = (at / "all.mrg").read_text("utf-8").splitlines(keepends=True)
    parts = {"gold": lines[:60], "many": lines[300:], "few": lines[300:400]}
    for name, part in parts.items():
        (at / f"{name}.mrg").write_text("".join(part), "utf-8")
    for name in ("many", "few"):
        run("train", at / f"{name}.mrg", "-o", at / f"{name}.txt")
        files = at / "gold.mrg", "-g", at / f"{name}.txt", "--details", at / f"{name}.jsonl"
        assert run(f"parse {OBJECTIVES}", *files, "-o", at / f"{name}-{{objective}}.mrg").code == 0
    return at


@pytest.fixture
def runs(made: Path, folder: Path) -> None:
    shutil.copytree(made, folder, dirs_exist_ok=True)


PARSES = {name: f"{name}-labelled-tree.mrg {name}-bracketed-recall.mrg" for name in ("many", "few")}


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("form", ["", "--form original", "--evalb COLLINS.prm", "--profile prpn"])
def test_another_runs_details_are_refused(command: Command, form: str) -> None:
    for name, other in (("many", "few"), ("few", "many")):
        done = command(f"evaluate {form} --resamples 0 gold.mrg {PARSES[name]} --details {name}.jsonl")
        rows = [json.loads(line) for line in Path(f"{name}.jsonl").read_text("utf-8").splitlines()]
        fell = sum(row["status"] == "fallback" for row in rows)
        assert f"{100 * fell / 60:.2f}" in done.output.splitlines()[1]
        assert "details" not in done.err
        refused = command(f"evaluate {form} gold.mrg {PARSES[name]} --details {other}.jsonl").error
        line = int(refused.split(":")[1])
        assert refused.startswith(f"{other}.jsonl:{line}: details of another tree than {name}-")
        assert f"has for sentence {line}; give what parse --details wrote with these parses" in refused


@pytest.mark.usefixtures("runs")
def test_trees_are_known_in_another_form_and_files_may_be_cut(command: Command) -> None:
    for name in ("gold", "many-labelled-tree"):
        assert command(f"debinarize {name}.mrg -o {name}.orig").code == 0
    done = command("evaluate --form original gold.orig many-labelled-tree.orig --details many.jsonl")
    assert "fell back" in done.output
    for name in ("gold.mrg", "few-labelled-tree.mrg", "few.jsonl"):
        lines = Path(name).read_text("utf-8").splitlines(keepends=True)
        Path(f"cut-{name}").write_text("".join(lines[20:50]), "utf-8")
    parses = "cut-few-labelled-tree.mrg --details cut-few.jsonl"
    assert "fell back" in command(f"evaluate cut-gold.mrg {parses}").output
    assert (
        "cut-few.jsonl:1: details of another"
        in command(f"evaluate gold.mrg {PARSES['few']} --details cut-few.jsonl").error
    )


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("value", ["3", '"ab"', "[1]", "null"])
def test_damaged_digests(command: Command, value: str) -> None:
    row = f'{{"status": "parsed", "trees": {{}}, "digests": {value}}}\n'
    Path("bad.jsonl").write_text(row * 60, "utf-8")
    refused = command(f"evaluate gold.mrg {PARSES['many']} --details bad.jsonl").error
    assert refused.startswith("bad.jsonl:1: ")


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
