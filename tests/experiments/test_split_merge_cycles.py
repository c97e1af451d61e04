"""``mbrparse experiment split-merge``, on a part of the embedded treebank."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from commandline import Command, Outcome

from mbrparse.experiments import split_merge_cycles
from mbrparse.experiments.kept_parses import parse_kept
from mbrparse.treebank.corpora.reading import read_corpus

OBJECTIVES = [
    "labelled-tree",
    "labelled-recall",
    "labelled-f",
    "max-rule-sum",
    "max-rule-product",
    "most-probable-tree",
]
EXPERIMENT = "experiment split-merge"
REST = "--test-fraction 0.1 --max-length 12 --resamples 50 -o"
SMALL = f"{EXPERIMENT} --cycles 1 {REST}"


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trees") / "few.mrg"
    few = [str(tree.tree) for tree, _ in zip(read_corpus("embedded:flights"), range(120), strict=False)]
    path.write_text("\n".join(few) + "\n", "utf-8")
    return path


@pytest.fixture(scope="module")
def finished(command: Command, trees: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    folder = tmp_path_factory.mktemp("cycles") / "new"
    done = command(SMALL, folder, trees)
    assert done.code == 0, done.err
    return folder, done


def rows(folder: Path) -> dict[tuple[str, str], dict[str, str]]:
    with (folder / "cycles.csv").open(encoding="utf-8") as stream:
        return {(row["cycles"], row["objective"]): row for row in csv.DictReader(stream)}


def test_the_table_says_what_evaluate_says_of_the_files(
    command: Command, finished: tuple[Path, Outcome]
) -> None:
    folder, done = finished
    found = rows(folder)
    assert list(found) == [(number, name) for number in "01" for name in OBJECTIVES]
    [line] = [line for line in done.out.splitlines() if line.startswith("max-rule-product    e")]
    for number, objective in found:
        parses = folder / number / f"{objective}.mrg"
        text = command("evaluate --evalb COLLINS.prm", folder / "gold.mrg", parses).output
        printed = re.search(r"Bracketing FMeasure += +(\S+)", text)
        assert printed is not None
        assert f"{100 * float(found[number, objective]['bracketing_f']):.2f}" == printed[1]
        assert objective != "max-rule-product" or printed[1] in line
    assert found["1", "labelled-tree"]["p_randomization"] == ""
    assert 0 < float(found["1", "labelled-recall"]["p_randomization"]) <= 1
    assert all(name in (folder / "cycles.svg").read_text("utf-8") for name in OBJECTIVES)


def test_each_grammar_and_parse_is_what_train_and_parse_make(
    command: Command, trees: Path, finished: tuple[Path, Outcome], tmp_path: Path
) -> None:
    folder, _ = finished
    binarized, train = tmp_path / "bin.mrg", tmp_path / "train.mrg"
    command("binarize --unary keep --max-length 12 -o", binarized, trees).output  # noqa: B018
    test = tmp_path / "test.mrg"
    split = command("split --test-fraction 0.1 --train-output", train, "--test-output", test, binarized)
    assert (split.code, command("debinarize", test).output) == (0, (folder / "gold.mrg").read_text("utf-8"))
    for number in "01":
        grammar = tmp_path / f"{number}.txt"
        options = f"train --method split-merge --terminals words --seed 1 --cycles {number} -o"
        assert command(options, grammar, train).code == 0
        assert grammar.read_bytes() == (folder / number / "grammar.txt").read_bytes()
        prune = "--prune 1e-4" if number == "1" else ""
        objectives = " ".join(f"--objective {name}" for name in OBJECTIVES[:-1])
        parse = f"parse --debinarize {prune} {objectives} -o {tmp_path}/{{objective}}.mrg -g"
        assert command(parse, grammar, folder / "gold.mrg").code == 0
        for name in OBJECTIVES[:-1]:
            made = folder / number / f"{name}.mrg"
            assert (tmp_path / made.name).read_text("utf-8") == made.read_text("utf-8"), (number, name)
    # Of a thousand derivations' trees the first is the most probable one.
    listed = tmp_path / "listed.tsv"
    parse = "parse --debinarize --prune 1e-4 --objective labelled-tree --k-best 1000 --candidates"
    done = command(parse, listed, "-g", folder / "1" / "grammar.txt", folder / "gold.mrg")
    assert done.code == 0
    first: dict[str, str] = {}
    for line in listed.read_text("utf-8").splitlines():
        number, _, tree = line.split("\t")
        first.setdefault(number, tree)
    assert list(first.values()) == (folder / "1" / "most-probable-tree.mrg").read_text("utf-8").splitlines()


def test_what_is_finished_is_not_done_again(
    command: Command, trees: Path, finished: tuple[Path, Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, done = finished
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*/*")}
    lost = folder / "1" / "max-rule-sum.mrg"
    text = lost.read_text("utf-8")
    lost.unlink()
    asked: list[str] = []

    def counted(job, *rest, **more):  # type: ignore[no-untyped-def]
        asked.extend(objective.name for objective in job.options.objectives)
        return parse_kept(job, *rest, **more)

    monkeypatch.setattr(split_merge_cycles, "parse_kept", counted)
    monkeypatch.setattr(split_merge_cycles, "train_trees", None)
    assert command(SMALL, folder, trees).out == done.out
    assert (asked, lost.read_text("utf-8")) == (["max-rule-sum"], text)
    after = {path: path.stat().st_mtime_ns for path in folder.glob("*/*")}
    assert {path for path in before if before[path] != after[path]} == {lost}
    error = command(SMALL, folder, trees, "--seed", 2).last_error
    assert "made with other settings" in error
    assert "another folder: -o DIR" in error


def test_one_objective_is_compared_with_none(
    command: Command, trees: Path, finished: tuple[Path, Outcome], tmp_path: Path
) -> None:
    done = command(f"{EXPERIMENT} --objective max-rule-sum --cycles 0 {REST}", tmp_path, trees)
    assert done.code == 0, done.err
    found = rows(tmp_path)["0", "max-rule-sum"]["bracketing_f"]
    assert found == rows(finished[0])["0", "max-rule-sum"]["bracketing_f"]


def test_bad_input(command: Command, tmp_path: Path) -> None:
    one = tmp_path / "one.mrg"
    one.write_text("(S (NP (NN dogs)) (VP (VB bark)))\n", "utf-8")
    folder = tmp_path / "out"
    assert "raise --test-fraction" in command(f"{EXPERIMENT} -o", folder, one).last_error
    one.write_text("", "utf-8")
    assert "one.mrg" in command(f"{EXPERIMENT} -o", folder, one).last_error
    command(f"{EXPERIMENT} --objective bracketed-recall -o", folder, one).usage_error  # noqa: B018
    assert not folder.exists()
