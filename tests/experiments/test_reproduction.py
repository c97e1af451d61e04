"""``mbrparse reproduce``: the bytes of its commands one by one, and runs that go on."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from commandline import Command, Outcome

from mbrparse.experiments.goodman import reproduction
from mbrparse.experiments.goodman.reproduction import ALGORITHMS

TREES = "(S (NP DT NN) (VP VB (NP DT NN)))\n(S (NP DT NN) VB .)\n(S (NP PRP) (VP VB (NP DT NN)) .)\n" * 7
FILES = [
    "binarized.mrg",
    "train.mrg",
    "test.mrg",
    "grammar.txt",
    *(f"{name}.mrg" for name in ALGORITHMS),
    "details.jsonl",
    "posteriors.npz",
    "table.txt",
    "report.html",
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "trees.mrg").write_text(TREES)
    return tmp_path / "trees.mrg"


def reproduced(command: Command, corpus: Path, folder: Path, *arguments: object) -> Outcome:
    outcome = command("reproduce", corpus, "-o", folder, "--test-fraction", "0.3", *arguments)
    assert outcome.code == 0, outcome.err
    assert outcome.out == (folder / "table.txt").read_text()
    return outcome


def contents(folder: Path) -> dict[str, str]:
    """What all text files hold, but for times."""
    texts = [name for name in FILES if not name.endswith((".npz", ".html"))]
    found = {name: (folder / name).read_text() for name in texts}
    rows = [json.loads(line) for line in found["details.jsonl"].splitlines()]
    found["details.jsonl"] = str([{**row, "seconds": None} for row in rows])
    return found


def posteriors(path: Path) -> list[tuple[object, ...]]:
    """The entries that a page draws."""
    with np.load(path) as arrays:
        labels = arrays["labels"][arrays["label"]]
        columns = [arrays[name].tolist() for name in ("sentence", "start", "end", "g")]
    return [row for row in zip(*columns, labels.tolist(), strict=True) if row[3] >= 0.01]


def data(page: Path) -> list[str]:
    """What a page shows."""
    return re.findall(r'<script type="application/[^"]*" id="[^"]*">([^<]*)<', page.read_text("utf-8"))


def test_the_same_as_command_by_command(command: Command, corpus: Path, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    outcome = reproduced(command, corpus, whole)
    assert "stage 6 of 6: report" in outcome.err
    parts.mkdir()
    binarized, train, test, grammar = (parts / name for name in FILES[:4])
    parses = [parts / f"{name}.mrg" for name in ALGORITHMS]
    options = [word for name in ALGORITHMS for word in ("--objective", name)]
    details = ("--details", parts / "details.jsonl")
    chart = ("--write-posteriors", parts / "posteriors.npz")
    for line in (
        ("binarize", corpus, "--max-length", 40, "-o", binarized),
        ("split", binarized, "--test-fraction", "0.3", "--train-output", train, "--test-output", test),
        ("train", train, "-o", grammar),
        ("parse", "-g", grammar, test, *options, *details, *chart, "-o", parts / "{objective}.mrg"),
        ("evaluate", test, *parses, *details, "-o", parts / "table.txt"),
        ("report", test, *parses, *details, "--posteriors", chart[1], "-o", parts / "report.html"),
    ):
        assert command(*line).code == 0
    assert contents(whole) == contents(parts)
    assert posteriors(whole / "posteriors.npz") == posteriors(parts / "posteriors.npz")
    assert len(data(whole / "report.html")) == 4
    assert data(whole / "report.html") == data(parts / "report.html")


def test_what_is_there_is_not_done_again(
    command: Command, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    reproduced(command, corpus, folder)
    expected = contents(folder)
    with monkeypatch.context() as patch:
        for name in (
            "prepare_corpora",
            "split_fraction",
            "train_by_counting",
            "parse_all",
            "evaluate_files",
            "write_report",
        ):
            patch.delattr(reproduction, name)
        outcome = reproduced(command, corpus, folder)
        assert "stage" not in outcome.err
    # An interrupted run has left the files of its first stages.
    for name in FILES[4:]:
        (folder / name).unlink()
    (folder / ".table.txt.0a1b2c3d").write_text("half")
    with monkeypatch.context() as patch:
        for name in ("prepare_corpora", "split_fraction", "train_by_counting"):
            patch.delattr(reproduction, name)
        outcome = reproduced(command, corpus, folder)
    assert "holds what binarize, split, train left: not done again\n" in outcome.err
    assert contents(folder) == expected
    assert sorted(path.name for path in folder.iterdir()) == sorted([*FILES, "settings.json"])


def test_what_follows_from_a_lost_file_is_made_anew(command: Command, corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    reproduced(command, corpus, folder)
    expected = contents(folder)
    (folder / "grammar.txt").unlink()
    (folder / "labelled-tree.mrg").write_text("stale\n")
    outcome = reproduced(command, corpus, folder)
    assert "stage 3 of 6: train" in outcome.err
    assert contents(folder) == expected


def test_a_folder_is_of_one_setting(command: Command, corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    reproduced(command, corpus, folder)
    outcome = command("reproduce", corpus, "-o", folder, "--test-fraction", "0.2")
    assert 'made with other settings (test fraction: "0.3", now "0.2")' in outcome.error
    assert contents(folder)["table.txt"]
    (folder / "settings.json").unlink()
    outcome = command("reproduce", corpus, "-o", folder, "--test-fraction", "0.3")
    assert "results, but no settings.json says of what" in outcome.error


def test_a_run_that_left_nothing_claims_nothing(command: Command, corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert command("reproduce", tmp_path / "tree.mrg", "-o", folder).code == 1
    reproduced(command, corpus, folder)


def test_trees_drawn_at_random_and_malformed_ones(command: Command, corpus: Path, tmp_path: Path) -> None:
    corpus.write_text(f"(S a b\n{TREES}")
    stopped = command("reproduce", corpus, "-o", tmp_path / "stop")
    assert (stopped.code, "unbalanced" in stopped.err) == (1, True)
    outcome = reproduced(command, corpus, tmp_path / "run", "--seed", 1, "--on-error", "skip")
    assert "malformed: 1" in outcome.err
    last = (tmp_path / "run" / "binarized.mrg").read_text().splitlines()[-6:]
    drawn = (tmp_path / "run" / "test.mrg").read_text().splitlines()
    assert len(drawn) == 6
    assert drawn != last
    assert command("reproduce", corpus, "-o", tmp_path / "run", "--sections", "02").code == 2
