"""What ``evaluate`` tells below the table of several parse files, and how many sentences fell back."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from commandline import Command
from evaluation_cases import GOLD, PARSE, write

from mbrparse.evaluate.tables import lay_out

FLAWED = "(S (A a b) (A c (B d e)))\n(S x (S_Cont y z))\n(S p q)\n"
FILES = "gold.mrg viterbi.mrg flawed.mrg perfect.mrg"


@pytest.fixture(autouse=True)
def files() -> None:
    write(gold=GOLD * 5, viterbi=PARSE * 5, flawed=FLAWED * 5, perfect=GOLD * 5)


def below(text: str) -> list[list[str]]:
    """The lines between the legend and the signature, cut at double spaces."""
    _, _, rest = text.partition("Letters behind a figure")
    return [re.split(r" {2,}", line) for line in rest.splitlines()[2:-2]]


def significance(command: Command, row: int, criterion: str) -> dict[str, Any]:
    report = json.loads(command(f"evaluate --format json {FILES}").output)
    found: dict[str, Any] = report["significance"]["rows"][row]["criteria"][criterion]
    return found


def test_a_line_for_each_file_but_the_first(command: Command) -> None:
    found = below(command(f"evaluate {FILES}").output)
    assert found[0] == ["lab. recall", "difference to viterbi", "95% interval", "p"]
    assert [line[0] for line in found[1:]] == ["flawed", "perfect"]
    assert found[2][1] == "57.14"  # of 7 constituents 3 and 7 are right
    recall = significance(command, 2, "labelled_recall")
    low, high = (float(bound) for bound in found[2][2].split("\u2013"))
    assert low == pytest.approx(100 * recall["difference_low"], abs=0.005)
    assert high == pytest.approx(100 * recall["difference_high"], abs=0.005)
    assert found[2][3] == f"{recall['p_randomization']:.4f}"


def details(name: str, *rows: str | Mapping[str, object]) -> None:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    Path(name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


PARSED = {"status": "parsed", "trees": {"one": {"expected_score": 1.0}, "two": {"expected_score": 1.0}}}
FELL = {"status": "fallback", "trees": {"one": None, "two": None}}
LOST = {"status": "fallback", "trees": {"one": {"expected_score": None}, "two": {"expected_score": 0.5}}}


def test_how_many_fell_back(command: Command) -> None:
    write(gold=GOLD, one=GOLD, two=GOLD, other=GOLD)
    details("all", PARSED, FELL, LOST)
    details("own", PARSED, PARSED, PARSED)
    evaluate = "evaluate gold.mrg one.mrg two.mrg other.mrg --details all"
    report = json.loads(command(f"{evaluate} --format json").output)
    assert [row["counts"]["fell_back"] for row in report["rows"]] == [2, 1, 2]
    rows = csv.DictReader(command(f"{evaluate} --format csv").output.splitlines())
    assert [(row["fell_back"], row["fell_back_count"]) for row in rows] == [
        (str(fell / 3), str(fell)) for fell in (2, 1, 2)
    ]
    heading, *lines = command(evaluate.replace("all", "own --details own --details all")).out.splitlines()
    assert heading.endswith("  not empty  fell back")
    assert [line.split()[-2:] for line in lines[:3]] == [
        ["100.00", fell] for fell in ("0.00", "0.00", "66.67")
    ]
    assert command(f"{evaluate} --details own").code == 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            (PARSED,),
            "the details of one are of 1 sentences, the gold holds 3; give what parse --details wrote",
        ),
        ((PARSED, '{"status": "parsed", "trees": 3}'), ":2: no line of parse --details"),
    ],
)
def test_details_that_do_not_fit(
    command: Command, rows: tuple[str | Mapping[str, object], ...], message: str
) -> None:
    write(gold=GOLD, one=GOLD)
    details("d", *rows)
    assert message in command("evaluate --details d gold.mrg one.mrg").last_error


RIGHT = "(S (A a b) (S_Cont c (B d e)))"
WRONG = "(S (S_Cont (A a b) c) (A d e))"
NAMES = "abcdefgh"


@pytest.fixture
def eight_files() -> None:
    """File b has a half of the sentences right, the next more, and so on."""
    texts = {
        name: "".join(f"{RIGHT if 7 * number % 60 < place * 60 / 9 else WRONG}\n" for number in range(60))
        for place, name in enumerate(NAMES)
    }
    write(gold=f"{RIGHT}\n" * 60, **texts)


def command_for(names: Sequence[str]) -> str:
    return f"evaluate gold.mrg {' '.join(f'{name}.mrg' for name in names)}"


@pytest.mark.usefixtures("eight_files")
def test_beyond_six_the_letter_is_the_baselines(command: Command) -> None:
    baseline = "c"
    text = command(f"{command_for(NAMES)} --columns labelled-recall --baseline {baseline}").output
    table, _, rest = text.partition("\n\n")
    found = {row.split()[0]: "".join(row.split()[3:]) for row in table.splitlines()[1:]}
    report = json.loads(command(f"{command_for(NAMES)} --format json --baseline {baseline}").output)
    rows = report["significance"]["rows"]
    beats = {row["name"]: row["criteria"]["labelled_recall"]["beats"] for row in rows}
    assert found == {name: baseline * (baseline in others) for name, others in beats.items()}
    assert set(found.values()) == {"", baseline}
    assert max(map(len, beats.values())) > 1  # what programs read is complete
    assert rest.startswith(f"{baseline} behind a figure: it beats the baseline (approx")


def test_columns_are_folded_only_where_there_is_no_room() -> None:
    names = [f"criterion {number:02}" for number in range(20)]
    grid = [["", *names], ["one", *map(str, range(20))]]
    blocks = "\n".join(lay_out(grid, "text")).split("\n\n")
    assert len(blocks) == 3
    assert re.findall(r"criterion \d\d", "".join(block.split("\n")[0] for block in blocks)) == names
    assert [int(text) for block in blocks for text in block.split("\n")[1].split()[1:]] == list(range(20))
    assert len(lay_out([["", "x" * 111], ["a name", "1"]], "text")) == 2
    assert len(lay_out([["", "x" * 111, "y"], ["a name", "1", "2"]], "text")) == 5
    assert len(lay_out(grid, "markdown")) == 3  # what is rendered is not folded
