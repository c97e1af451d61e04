"""Best-first parsing, statistics and the experiment from the outside."""

import json
from pathlib import Path

import pytest
from commandline import Command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, command: Command) -> Path:
    """A grammar of flights with its statistics, and a few sentences."""
    there = tmp_path_factory.mktemp("flights")
    assert command("binarize", "embedded:flights", "-o", there / "all.mrg").code == 0
    parts = ("--test-last", 12, "--train-output", there / "train.mrg", "--test-output", there / "test.mrg")
    assert command("split", there / "all.mrg", *parts).code == 0
    trained = command("train", there / "train.mrg", "-o", there / "g", "--statistics", there / "s")
    assert trained.code == 0, trained
    return there


def test_exhausted_parses_are_the_exhaustive_ones(folder: Path, command: Command) -> None:
    names = ("labelled-tree", "labelled-recall", "bracketed-recall")
    objectives = [part for name in names for part in ("--objective", name)]
    common = ("parse", "-g", folder / "g", folder / "test.mrg", *objectives)
    search = ("--engine", "best-first", "--merit", "normalized-beta", "--until", "exhausted")
    assert command(*common, "-o", folder / "exhaustive-{objective}").code == 0
    assert command(*common, *search, "-o", folder / "best-first-{objective}").code == 0
    for name in names:
        expected = (folder / f"exhaustive-{name}").read_text()
        assert (folder / f"best-first-{name}").read_text() == expected
        assert expected.count("\n") == 12


@pytest.mark.parametrize("until", ["first-parse", "mass:0.95"])
def test_one_line_a_sentence(until: str, folder: Path, command: Command) -> None:
    how = ("--engine", "best-first", "--until", until, "--statistics", folder / "s")
    done = command("parse", "-g", folder / "g", folder / "test.mrg", *how, "--details", folder / "d")
    assert done.code == 0, done
    assert done.out.count("\n") == 12
    assert ("exhaustive inside pass" in done.err) == (until != "first-parse")
    rows = [json.loads(line) for line in (folder / "d").read_text().splitlines()]
    assert {row["status"] for row in rows} <= {"parsed", "fallback"}
