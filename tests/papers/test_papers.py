"""The papers' scripts on parts of the embedded treebank: figures, and steps that are not done again."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pandas as pd
import pytest
from children import LIMIT

GOLDEN = Path(__file__).parent / "data"
#: The figures of these scripts were those of the experiments that the package had before, to the last digit.
SCRIPTS = {
    "goodman1996_table1": "embedded:flights --runs 2 --train 60 --test 12 --nonterminals 4 --iterations 3",
    "pereira_schabes1992": "palindromes --runs 2 --train 20 --test 20 --iterations 5",
    "calibration": "embedded:flights --samples 300",
    "prefixes": "embedded:flights --samples 1000 --sentences 50",
    "caraballo1998": "embedded:flights --sentences 20 --merit stack --merit boundary-trigram",
    "simaan2003": "embedded:flights --train-trees 200 --test-trees 30 --resamples 50",
    "dop1996": "embedded:flights --runs 2 --train 100 --test 0.01 --samples 20 --resamples 50 "
    "--fragments 3000",
    "beyond_recall": "embedded:flights --test-fraction 0.02 --resamples 50",
    "split_merge": "embedded:flights --cycles 1 --test-fraction 0.02 --max-length 12 --resamples 50",
}
#: A table of each, its row and column, and the figure there.
FIGURES: dict[str, tuple[str, Any, str, float]] = {
    "calibration": ("calibration", ("held-out", "labelled-recall", "labelled recall"), "measured", 0.8587),
    "prefixes": ("perplexities", ("masked", "held-out", 1350), "5-gram", 1.43),
    "caraballo1998": ("shares", "boundary-trigram", "edges", 0.473),
    "simaan2003": ("table2", ("M_H", "MLR"), "bracketing_f", 0.6547),
    "dop1996": ("models", "DOP-bonnema, labelled recall", "labelled_recall", 0.6008),
    "beyond_recall": ("original-pooled", "labelled-f-pooled", "labelled_f", 0.9169),
    "split_merge": ("cycles", "max-rule-product", "1", 0.9499),
}


def run(name: str, folder: Path) -> None:
    arguments = [*SCRIPTS[name].split(), "-o", str(folder)]
    importlib.import_module(name).main(arguments, standalone_mode=False)


def without_times(folder: Path) -> dict[str, str]:
    tables = [path for path in folder.glob("*.csv") if path.name not in ("models.csv", "speed.csv")]
    return {path.name: path.read_text("utf-8") for path in tables}


@pytest.mark.parametrize(
    "options", ["dop1996 --train x", "dop1996 --test 1/0", "dop1996 --runs 0", "goodman1996_table1 --runs 0"]
)
def test_numbers_out_of_range_are_refused(options: str, tmp_path: Path) -> None:
    name, *words = options.split()
    main = importlib.import_module(name).main
    with pytest.raises(click.ClickException, match=r"is no number of trees|is not in the range 1<="):
        main(["embedded:flights", "-o", str(tmp_path), *words], standalone_mode=False)


def test_table_1_is_the_golden_one(tmp_path: Path) -> None:
    run("goodman1996_table1", tmp_path)
    assert (tmp_path / "table1.txt").read_text("utf-8") == (GOLDEN / "table1.txt").read_text("utf-8")
    assert (tmp_path / "fit.txt").read_text("utf-8") == (GOLDEN / "fit.txt").read_text("utf-8")
    assert (tmp_path / "figure2.svg").read_text("utf-8").count("<text") > 10
    made = {path: path.stat().st_mtime_ns for path in tmp_path.glob("run-*.json")}
    assert len(made) == 2
    run("goodman1996_table1", tmp_path)
    assert made == {path: path.stat().st_mtime_ns for path in tmp_path.glob("run-*.json")}


def test_palindromes(tmp_path: Path) -> None:
    run("pereira_schabes1992", tmp_path)
    mean = pd.read_csv(tmp_path / "palindromes.csv", index_col=0).loc["mean"]
    found = [
        mean[name] for name in ("source: bits", "bracketed: bits", "bracketed: accuracy", "raw: accuracy")
    ]
    assert found == pytest.approx([0.839, 1.515, 0.2836, 0.2209], abs=6e-4)


# What each cost of a search writes anew, and what has no settings of its own.
EXEMPT = ("gold.mrg", "most-probable-tree.mrg", "labelled-f-pooled.mrg")


@pytest.mark.long
@pytest.mark.parametrize("name", list(FIGURES))
def test_script(name: str, tmp_path: Path) -> None:
    run(name, tmp_path)
    table, row, column, figure = FIGURES[name]
    index = list(range(len(row))) if isinstance(row, tuple) else 0
    found = pd.read_csv(tmp_path / f"{table}.csv", index_col=index)
    assert found.loc[row, column] == pytest.approx(figure, abs=0.006 if name == "prefixes" else 6e-4)
    before = without_times(tmp_path)
    made = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.mrg")}
    run(name, tmp_path)
    assert without_times(tmp_path) == before
    rewritten = [path for path in made if path.stat().st_mtime_ns != made[path]]
    assert [path.name for path in rewritten if path.name not in EXEMPT] == []


@pytest.mark.long
def test_jobs_change_nothing(tmp_path: Path) -> None:
    """Runs in processes of their own."""
    run("goodman1996_table1", tmp_path / "one")
    module = importlib.import_module("goodman1996_table1")
    arguments = [*SCRIPTS["goodman1996_table1"].split(), "--jobs", "2", "-o", str(tmp_path / "two")]
    module.main(arguments, standalone_mode=False)
    assert without_times(tmp_path / "one") == without_times(tmp_path / "two")


def test_a_script_that_is_ended_ends_its_command(tmp_path: Path) -> None:
    """SIGTERM comes to the script alone, while its command waits for a pipe's end."""
    corpus = tmp_path / "corpus"
    os.mkfifo(corpus)
    text = (
        "import steps as s\n@s.paper\ndef main(corpus, steps): s.mbrparse('check', corpus)\n"
        f"main([{str(corpus)!r}, '-o', 'o'])"
    )
    paths = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    child = subprocess.Popen([sys.executable, "-c", text], cwd=tmp_path, env=paths)
    pipe = -1
    while pipe < 0 and child.poll() is None:
        with contextlib.suppress(OSError):  # until the command reads it
            pipe = os.open(corpus, os.O_WRONLY | os.O_NONBLOCK)
        time.sleep(0.05)
    child.send_signal(signal.SIGTERM)
    assert child.wait(LIMIT) == 128 + signal.SIGTERM
    with pytest.raises(BrokenPipeError):  # nobody reads it any longer
        os.write(pipe, b"(S (A a))")
    os.close(pipe)
