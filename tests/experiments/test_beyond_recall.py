"""``mbrparse experiment beyond-recall``, on a part of the embedded treebank."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from commandline import Command, Outcome

SMALL = ("--test-fraction", "0.02", "--resamples", 50)


def experiment(command: Command, folder: Path, *more: object) -> Outcome:
    return command("experiment", "beyond-recall", "embedded:flights", *SMALL, "-o", folder, *more)


@pytest.fixture(scope="module")
def finished(command: Command, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    folder = tmp_path_factory.mktemp("beyond")
    done = experiment(command, folder)
    assert done.code == 0, done.err
    return folder, done


def rows(path: Path) -> dict[str, dict[str, str]]:
    return {row["name"]: row for row in csv.DictReader(path.open(encoding="utf-8"))}


@pytest.mark.parametrize(("table", "form"), [("nary", "original"), ("binary", "binarized")])
def test_the_tables_say_what_evaluate_says_of_the_files(
    command: Command, finished: tuple[Path, Outcome], table: str, form: str
) -> None:
    folder, _ = finished
    found = rows(folder / f"{table}.csv")
    files = [folder / f"{name}.mrg" for name in found]
    for average in ("pooled", "sentence"):
        options = ("--form", form, "--all", "--average", average, "--resamples", 0, "--format", "json")
        told = json.loads(command("evaluate", folder / "gold.mrg", *files, *options).out)
        for row in told["rows"]:
            for name, rate in found[row["name"]].items():
                measure, _, averaged = name.rpartition("_")
                if averaged == average:
                    assert float(rate) == pytest.approx(row["rates"][measure], abs=1e-12)


def test_what_is_printed_is_what_the_folder_holds(finished: tuple[Path, Outcome]) -> None:
    folder, done = finished
    for table in ("nary", "binary"):
        assert (folder / f"{table}.txt").read_text("utf-8") in done.out + "\n"
    assert (folder / "curve.svg").read_text("utf-8").count("<text") > 10


def test_a_cost_buys_precision_with_recall(finished: tuple[Path, Outcome]) -> None:
    """From the cheapest node to the dearest; between them luck may have a say."""
    folder, _ = finished
    curve = list(csv.DictReader((folder / "curve.csv").open(encoding="utf-8")))
    recalls = [float(row["recall"]) for row in curve]
    assert recalls[0] == max(recalls)
    assert recalls[-1] == min(recalls)
    assert float(curve[-1]["precision"]) > float(curve[0]["precision"])


def test_finished_parses_are_not_made_again(command: Command, finished: tuple[Path, Outcome]) -> None:
    folder, done = finished
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.mrg")}
    again = experiment(command, folder)
    assert again.out == done.out
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*.mrg")}


def test_a_folder_of_other_settings_is_refused(command: Command, finished: tuple[Path, Outcome]) -> None:
    folder, _ = finished
    done = experiment(command, folder, "--max-length", 5)
    assert (done.code, done.out) == (1, "")
    assert "made with other settings" in done.err
    assert "another folder: -o DIR" in done.err


def test_nothing_held_out(command: Command, tmp_path: Path) -> None:
    done = experiment(command, tmp_path, "--test-fraction", "0.0001")
    assert done.code == 1
    assert "raise --test-fraction" in done.err
