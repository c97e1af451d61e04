"""``mbrparse score`` on whole treebanks: bounded memory, workers, resumption, and ``--jackknife``."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from commandline import Command, run

TREE = "(S (NP (DT the) (NN {})) (S_Cont (VP (VB sees) (NP (DT a) (NN cat))) (. .)))\n"
ODD = "(S (NP (DT the) (NN dog)) (S_Cont (VP (VB sleeps) (RB well)) (. .)))\n(())\n"


@pytest.fixture(autouse=True)
def treebank(command: Command, folder: Path) -> None:
    trees = [TREE.format(f"w{number % 7}") + ODD * (number % 9 == 4) for number in range(40)]
    (folder / "t.mrg").write_text("".join(trees) + "\n")
    assert command("train t.mrg -o g").code == 0


@pytest.mark.parametrize("layout", ["json", "tsv"])
@pytest.mark.parametrize("how", ["-g g", "--jackknife 3", "--jackknife 3 --terminals words --items"])
def test_any_number_of_jobs_writes_the_same_bytes(command: Command, how: str, layout: str) -> None:
    line = f"score t.mrg {how} --format {layout}"
    one = command(line).output
    assert command(f"{line} --jobs 2").output == one
    assert command(f"score {how} --format {layout}", stdin=Path("t.mrg").read_text()).output == re.sub(
        r"t\.mrg", "<stdin>", one
    )


def test_a_jackknife_is_split_train_and_score(command: Command) -> None:
    """By hand: the lines of each third, a grammar of the others, their rows one after the other."""
    lines = [line for line in Path("t.mrg").read_text().splitlines() if line.startswith("(S")]
    Path("whole").write_text("".join(f"{line}\n" for line in lines))
    cuts, expected = [len(lines) * part // 3 for part in range(4)], []
    for begin, end in pairwise(cuts):
        Path("test").write_text("".join(f"{line}\n" for line in lines[begin:end]))
        Path("train").write_text("".join(f"{line}\n" for line in [*lines[:begin], *lines[end:]]))
        assert run("train train --terminals words -o by.hand").code == 0
        expected += [json.loads(row) for row in run("score -g by.hand test").output.splitlines()]
    found = command("score whole --jackknife 3 --terminals words").output
    for number, (row, by_hand) in enumerate(
        zip(map(json.loads, found.splitlines()), expected, strict=True), 1
    ):
        place = {"sentence": number, "line": number, "source": "whole"}
        assert {name: _near(value) for name, value in row.items()} == {
            name: _near(value) for name, value in {**by_hand, **place}.items()
        }


def _near(value: object) -> object:
    """Numbers that are to be nearly equal, also in lists."""
    if isinstance(value, list):
        return list(map(_near, value))
    return f"{value:.9g}" if isinstance(value, float) and value > 1e-12 else value or 0


def test_places_are_those_of_the_corpus(command: Command) -> None:
    Path("own.mrg").write_text("( (S (NP (DT the) (NN dog)) (VP (VB barks)) (. .)))\n\n" * 3)
    assert command("binarize own.mrg -o b.mrg").code == 0
    assert command("train b.mrg -o own.g").code == 0
    rows = [json.loads(line) for line in command("score b.mrg -g own.g").output.splitlines()]
    assert [(row["source"], row["line"], row["id"]) for row in rows] == [
        ("own.mrg", line, "") for line in (1, 3, 5)
    ]
    table = command("score t.mrg -g g --format tsv").output.splitlines()
    assert table[0].split("\t")[-8:-3] == [
        *(f"least_expected_{what}" for what in ("start", "end", "label", "posterior")),
        "never_seen",
    ]
    assert table[6].split("\t")[-3:] == ["t.mrg", "6", ""]
