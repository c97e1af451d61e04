"""Mixtures of posteriors as the commands show them; tests/fuzz compares their sums."""

import json
from pathlib import Path

import numpy as np
import pytest
from commandline import Command
from conversion import write_posteriors

import mbrparse as mp
from mbrparse.errors import InputMismatchError


@pytest.fixture
def two(folder: Path) -> None:
    """A.npz and B.npz of two sentences, each with labels of its own; B knows nothing of the second."""
    rows = [(0, 0, 3, "S", 1.0), (0, 0, 2, "NP", 0.9), (1, 0, 2, "S", 1.0)]
    write_posteriors(folder / "A.npz", [3, 2], rows)
    write_posteriors(folder / "B.npz", [3, 2], [(0, 0, 3, "S", 1.0), (0, 1, 3, "VP", 0.7)])


@pytest.mark.usefixtures("two")
def test_two_files_of_posteriors_are_parsed_with(command: Command) -> None:
    for mix, tree in (
        ("", "(S (NP a b) c)"),
        ("--mix .5,.5", "(S (NP a b) c)"),
        ("--mix .6,1.4", "(S a (VP b c))"),
    ):
        options = f"--posteriors A.npz --posteriors B.npz {mix} --details out.jsonl"
        done = command(f"parse {options}", stdin="a b c\nd e\n")
        assert done.output == f"{tree}\n(S d e)\n"
        assert "mbrparse: B.npz: no posteriors of sentence 2: left to the other files\n" in done.err
    rows = [json.loads(line)["trees"]["labelled-recall"] for line in Path("out.jsonl").open()]
    assert rows[0]["expected_labelled"] == pytest.approx(1 + 0.7 * 0.7)
    assert rows[1]["expected_labelled"] == 1
    chart = command("posteriors --posteriors A.npz --posteriors B.npz --mix 1,3 --format tsv").output
    assert "NP" in chart
    assert "22.5" in chart or "0.225" in chart


@pytest.mark.usefixtures("two")
def test_files_and_weights_that_do_not_fit(command: Command) -> None:
    arrays = dict(np.load("B.npz"))
    np.savez("C.npz", **{**arrays, "lengths": [3, 3]})
    np.savez("D.npz", **{**arrays, "lengths": [3]})
    texts = {
        "C": "sentence 2 has 3 words here, but 2 in A.npz",
        "D": "there are 1 sentences here, but 2 in A",
    }
    for name, text in texts.items():
        error = command(f"parse --posteriors A.npz --posteriors {name}.npz", stdin="a b c\nd e\n").error
        assert error.startswith(f"{name}.npz: {text}")
    for mix, text in (
        ("--mix 1", "1 weights, where there are 2 files"),
        ("--mix nan,1", "numbers from 0 on"),
        ("--mix a,b", "'a,b' is no list of numbers"),
    ):
        assert text in command(f"parse --posteriors A.npz --posteriors B.npz {mix}").usage_error
    assert "--mix needs --posteriors" in command("posteriors -g g.txt --mix 1,1").usage_error
    a, c = mp.read_posteriors("A.npz"), mp.read_posteriors("C.npz")
    with pytest.raises(InputMismatchError, match="sentence 2 has 3 words"):
        mp.mix_posteriors([a, c])
