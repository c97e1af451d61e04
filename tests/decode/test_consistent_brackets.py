"""The objective consistent-brackets in details and files; tests/fuzz compares it with all trees."""

import json
from pathlib import Path

import numpy as np
import pytest
from commandline import run

CONSISTENT = ("--objective", "consistent-brackets")


def test_details_and_the_way_through_a_file(toy_folder: Path) -> None:
    both = (*CONSISTENT, "--objective", "consistent-brackets-product", "--objective", "labelled-recall")
    wrote = run(
        *("parse", "-g", "grammar.txt", "tags.txt", *both, "--details", "one.jsonl"),
        *("--write-posteriors", "posteriors.npz", "-o", "{objective}.mrg"),
    )
    assert wrote.code == 0, wrote.err
    rows = [json.loads(line)["trees"] for line in (toy_folder / "one.jsonl").read_text().splitlines()]
    tree = rows[0]["consistent-brackets"]
    assert len(tree["consistent"]) == len(tree["nodes"]) == 8
    assert tree["expected_consistent"] == pytest.approx(tree["expected_score"])
    assert tree["expected_consistent_recall"] == pytest.approx(tree["expected_score"] / 8)
    assert "consistent" not in rows[0]["labelled-recall"]
    read = run("parse", "--posteriors", "posteriors.npz", "tags.txt", *both, "-o", "again-{objective}.mrg")
    assert read.code == 0, read.err
    for name in ("consistent-brackets", "consistent-brackets-product", "labelled-recall"):
        lines = (toy_folder / f"{name}.mrg").read_text().splitlines()
        again = (toy_folder / f"again-{name}.mrg").read_text().splitlines()
        assert lines[0] == again[0]
        assert lines[3] == again[3]


def test_wrong_values_are_refused(toy_folder: Path) -> None:
    parse = "parse -g grammar.txt tags.txt --objective consistent-brackets"
    assert run(f"{parse} --write-posteriors p.npz -o out.mrg").code == 0
    arrays = dict(np.load(toy_folder / "p.npz"))
    above = arrays["consistent"].copy()
    above[3] = 1.1
    for wrong in (arrays["consistent"][:-1], above):
        np.savez(toy_folder / "p.npz", **(arrays | {"consistent": wrong}))
        error = run("parse --posteriors p.npz tags.txt --objective consistent-brackets").error
        assert "consistent" in error
