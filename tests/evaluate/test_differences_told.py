"""What ``evaluate`` tells below the table of several parse files, and how many sentences fell back."""

import csv
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from commandline import Command
from evaluation_cases import GOLD, PARSE, write

FLAWED = "(S (A a b) (A c (B d e)))\n(S x (S_Cont y z))\n(S p q)\n"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return write(tmp_path, gold=GOLD * 5, viterbi=PARSE * 5, flawed=FLAWED * 5, perfect=GOLD * 5)


def below(text: str) -> list[list[str]]:
    """The lines between the legend and the signature, cut at double spaces."""
    _, _, rest = text.partition("Letters behind a figure")
    lines = rest.splitlines()[2:-2]
    return [re.split(r" {2,}", line) for line in lines]


def test_a_line_for_each_file_but_the_first(command: Command, files: list[Path]) -> None:
    found = below(command("evaluate", *files).out)
    assert found[0] == ["lab. recall", "difference to viterbi", "95% interval", "p"]
    assert [line[0] for line in found[1:]] == ["flawed", "perfect"]
    assert found[2][1] == "57.14"  # of 7 constituents 3 and 7 are right
    report = json.loads(command("evaluate", "--format", "json", *files).out)["significance"]
    recall = report["rows"][2]["criteria"]["labelled_recall"]
    low, high = (float(bound) for bound in found[2][2].split(".."))
    assert low == pytest.approx(100 * recall["difference_low"], abs=0.005)
    assert high == pytest.approx(100 * recall["difference_high"], abs=0.005)
    assert found[2][3] == f"{recall['p_randomization']:.4f}"


@pytest.mark.parametrize("name", ["labelled-tree", "labelled_tree"])
def test_another_criterion_and_baseline(command: Command, files: list[Path], name: str) -> None:
    found = below(command("evaluate", "--criterion", name, "--baseline", "perfect", *files).out)
    assert found[0][:2] == ["lab. tree", "difference to perfect"]
    assert [line[:2] for line in found[1:]] == [["viterbi", "-100.00"], ["flawed", "-33.33"]]


def test_the_whole_table_and_the_pairs(command: Command, files: list[Path]) -> None:
    found = below(command("evaluate", "--significance", *files).out)
    parting = found.index([""])
    whole, pairs = found[:parting], found[parting + 1 :]
    assert len(whole) == 1 + 3 * 5
    assert [line[:2] for line in pairs[1:]] == [
        ["viterbi", "flawed"],
        ["viterbi", "perfect"],
        ["flawed", "perfect"],
    ]
    report = json.loads(command("evaluate", "--format", "json", *files).out)["significance"]
    against = report["rows"][1]["criteria"]["labelled_tree"]["p_against"]["perfect"]
    assert pairs[3][2] == f"{against:.4f}"


def test_an_unknown_criterion(command: Command, files: list[Path]) -> None:
    message = command("evaluate", "--criterion", "f-score", *files).error
    assert message.startswith(
        "no criterion of this table is called 'f_score'; it has labelled_tree, labelled_"
    )
    both = command("evaluate", "--criterion", "labelled-tree", "--significance", *files)
    assert both.code == 2


def details(path: Path, *rows: str | Mapping[str, object]) -> Path:
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8"
    )
    return path


PARSED = {"status": "parsed", "trees": {"one": {"expected_score": 1.0}, "two": {"expected_score": 1.0}}}
FELL = {"status": "fallback", "trees": {"one": None, "two": None}}
LOST = {"status": "fallback", "trees": {"one": {"expected_score": None}, "two": {"expected_score": 0.5}}}


def test_how_many_fell_back(command: Command, tmp_path: Path) -> None:
    gold, one, two, other = write(tmp_path, gold=GOLD, one=GOLD, two=GOLD, other=GOLD)
    shared = details(tmp_path / "all.jsonl", PARSED, FELL, LOST)
    own = details(tmp_path / "own.jsonl", PARSED, PARSED, PARSED)
    paths = gold, one, two, other
    report = json.loads(command("evaluate", "--details", shared, "--format", "json", *paths).out)
    assert [row["counts"]["fell_back"] for row in report["rows"]] == [2, 1, 2]
    rows = list(
        csv.DictReader(command("evaluate", "--details", shared, "--format", "csv", *paths).out.splitlines())
    )
    assert [(row["fell_back"], row["fell_back_count"]) for row in rows] == [
        (str(fell / 3), str(fell)) for fell in (2, 1, 2)
    ]
    text = command("evaluate", *(("--details", own) * 2), "--details", shared, *paths).out
    assert [line.split()[-2:] for line in text.splitlines()[1:4]] == [
        ["100.00", "0.00"],
        ["100.00", "0.00"],
        ["100.00", "66.67"],
    ]
    assert text.splitlines()[0].endswith("  not empty  fell back")
    assert command("evaluate", "--details", own, "--details", shared, *paths).code == 2


def test_with_evalb_the_fallbacks_stand_in_a_table(command: Command, tmp_path: Path) -> None:
    words = "(S (NP (DT the) (NN dog)) (VP (VB eats)))\n"
    gold, one = write(tmp_path, gold=words, one=words)
    prm = tmp_path / "some.prm"
    prm.write_text("DELETE_LABEL TOP\n")
    found = command("evaluate", "--evalb", prm, "--details", details(tmp_path / "d", FELL), gold, one).out
    assert found.splitlines()[0].endswith("  coverage  fell back")
    assert found.splitlines()[1].split()[-1] == "100.00"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            (PARSED,),
            "the details of one are of 1 sentences, the gold holds 3; give what parse --details wrote",
        ),
        ((PARSED, "(S a b)", PARSED), ":2: no line of parse --details; give a file that mbrparse parse"),
        ((PARSED, '{"status": "parsed", "trees": 3}'), ":2: no line of parse --details"),
        ((PARSED, "[" * 100_000), ":2: no line of parse --details"),
    ],
)
def test_details_that_do_not_fit(
    command: Command, tmp_path: Path, rows: tuple[str | Mapping[str, object], ...], message: str
) -> None:
    gold, one = write(tmp_path, gold=GOLD, one=GOLD)
    assert message in command("evaluate", "--details", details(tmp_path / "d.jsonl", *rows), gold, one).error


def test_what_parse_writes_is_read(command: Command, tmp_path: Path) -> None:
    """The whole way: a sentence with an unknown terminal falls back, and is counted."""
    train, test = write(tmp_path, train="(S a b)\n", test="(S a b)\n(S a c)\n")
    grammar, parses, rows = tmp_path / "grammar.txt", tmp_path / "parses.mrg", tmp_path / "rows.jsonl"
    assert command("train", train, "-o", grammar).code == 0
    assert command("parse", "-g", grammar, test, "-o", parses, "--details", rows).code == 0
    found = json.loads(command("evaluate", "--format", "json", "--details", rows, test, parses).out)
    assert found["rows"][0]["counts"]["fell_back"] == 1
