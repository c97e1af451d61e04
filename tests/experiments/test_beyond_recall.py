"""``mbrparse experiment beyond-recall``, on a part of the embedded treebank."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from commandline import Command, Outcome

EXPERIMENT = "experiment beyond-recall embedded:flights --test-fraction 0.02 --resamples 50 -o"


@pytest.fixture(scope="module")
def finished(command: Command, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    folder = tmp_path_factory.mktemp("beyond")
    done = command(EXPERIMENT, folder)
    assert done.code == 0, done.err
    return folder, done


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open(encoding="utf-8")))


@pytest.mark.parametrize(("table", "form"), [("nary", "original"), ("binary", "binarized")])
def test_the_tables_say_what_evaluate_says_of_the_files(
    command: Command, finished: tuple[Path, Outcome], table: str, form: str
) -> None:
    folder, done = finished
    assert (folder / f"{table}.txt").read_text("utf-8") in done.out + "\n"
    found = {row["name"]: row for row in rows(folder / f"{table}.csv")}
    files = [folder / f"{name}.mrg" for name in ("gold", *found)]
    for average in ("pooled", "sentence"):
        evaluate = f"evaluate --form {form} --all --average {average} --resamples 0 --format json"
        for row in json.loads(command(evaluate, *files).output)["rows"]:
            for name, rate in found[row["name"]].items():
                measure, _, averaged = name.rpartition("_")
                if averaged == average:
                    assert float(rate) == pytest.approx(row["rates"][measure], abs=1e-12)


def test_a_cost_buys_precision_with_recall(finished: tuple[Path, Outcome]) -> None:
    """From the cheapest node to the dearest; between them luck may have a say."""
    folder, _ = finished
    curve = rows(folder / "curve.csv")
    recalls = [float(row["recall"]) for row in curve]
    assert recalls[0] == max(recalls)
    assert recalls[-1] == min(recalls)
    assert float(curve[-1]["precision"]) > float(curve[0]["precision"])
    assert (folder / "curve.svg").read_text("utf-8").count("<text") > 10


def test_finished_parses_are_not_made_again(command: Command, finished: tuple[Path, Outcome]) -> None:
    folder, done = finished
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.mrg")}
    assert command(EXPERIMENT, folder).out == done.out
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*.mrg")}
    error = command(EXPERIMENT, folder, "--max-length", 5).last_error
    assert "made with other settings" in error
    assert "another folder: -o DIR" in error
