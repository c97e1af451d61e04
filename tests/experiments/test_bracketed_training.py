"""Goodman's (1996) Table 1 and Figure 2, on a small scale."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
from commandline import Command, Outcome

from mbrparse.evaluate.tables.grids import csv_grid, latex_grid, markdown_grid, text_grid
from mbrparse.experiments.goodman.bracketed_training import (
    CRITERIA,
    DECODERS,
    DIFFERENCE,
    final_rates,
    table1,
)
from mbrparse.experiments.trial_runs import paired_test, summarize

SMALL = ("--train", 60, "--test", 12, "--nonterminals", 4, "--iterations", 3)


def experiment(command: Command, folder: Path, *more: object) -> Outcome:
    return command("experiment", "pereira-schabes", "embedded:flights", *SMALL, "-o", folder, *more)


def test_table_and_figure_are_written_and_do_not_depend_on_jobs(command: Command, tmp_path: Path) -> None:
    done = experiment(command, tmp_path / "a", "--runs", 2)
    assert done.code == 0, done.err
    assert "Labelled Tree\n" in done.out
    assert "bracketing accuracy" in done.out
    for name in ("table1.txt", "table1.md", "table1.tex", "table1.csv", "figure2.svg", "figure2.png"):
        assert (tmp_path / "a" / name).stat().st_size > 0
    rows = list(csv.DictReader((tmp_path / "a" / "table1.csv").open()))
    assert len(rows) == 9
    assert all(0 <= float(row["mean"]) <= 1 for row in rows[:6])
    result = json.loads((tmp_path / "a" / "run-01.json").read_text())["result"]
    assert all(len(result["rates"][decoder][name]) == 4 for decoder in DECODERS for name in CRITERIA)
    assert result["cross_entropy"] == sorted(result["cross_entropy"], reverse=True)
    assert experiment(command, tmp_path / "b", "--runs", 2, "--jobs", 2).out == done.out
    for name in ("run-01.json", "run-02.json", "figure2.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_an_interrupted_experiment_goes_on(command: Command, tmp_path: Path) -> None:
    assert experiment(command, tmp_path, "--runs", 1).code == 0
    first = (tmp_path / "run-01.json").stat()
    # As after a power failure: what could not be removed; and a file that is not ours.
    left_over, strange = tmp_path / ".run-02.json.k3_x9abz", tmp_path / ".editor.settings"
    left_over.write_text("{")
    strange.write_text("")
    done = experiment(command, tmp_path, "--runs", 2)
    assert done.code == 0
    assert (tmp_path / "run-01.json").stat().st_mtime_ns == first.st_mtime_ns
    assert (tmp_path / "run-02.json").exists()
    assert strange.exists()
    assert not left_over.exists()
    other = experiment(command, tmp_path, "--seed", 1)
    assert other.code == 1
    assert "run-01.json: made with other settings (seed: 0, now 1); " in other.err
    (tmp_path / "run-01.json").write_text("{")
    assert (
        "run-01.json: not a result of this experiment: it is no JSON, or was cut off; remove it"
        in experiment(command, tmp_path).err
    )


def test_raw_training_heeds_no_brackets(command: Command, tmp_path: Path) -> None:
    bracketed = experiment(command, tmp_path / "a", "--runs", 1)
    raw = experiment(command, tmp_path / "b", "--runs", 1, "--no-brackets")
    assert raw.out.startswith("embedded:flights, raw training, 1 run,")
    assert raw.out != bracketed.out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--test", 1440), "60 training and 1440 test sentences asked for, but there are 1499 sentences; "),
        (("--max-length", 2), "asked for, but there are "),
    ],
)
def test_more_sentences_than_there_are(
    command: Command, tmp_path: Path, more: tuple[object, ...], message: str
) -> None:
    done = experiment(command, tmp_path, *more)
    assert (done.code, done.out) == (1, "")
    assert message in done.err.splitlines()[-1]


def results(*pairs: tuple[float, float]) -> list[dict[str, Any]]:
    """Runs in which every criterion has these rates for the two decoders."""
    return [
        {
            "rates": {
                decoder: {name: [0.0, rate] for name in CRITERIA}
                for decoder, rate in zip(DECODERS, pair, strict=True)
            }
        }
        for pair in pairs
    ]


def test_summary_and_paired_test_by_hand() -> None:
    found = results((0.5, 0.6), (0.7, 0.7), (0.6, 0.8))
    values = final_rates(found, DIFFERENCE, CRITERIA[0])
    assert values == pytest.approx([0.1, 0.0, 0.2])
    summary = summarize(values)
    assert summary == pytest.approx((0.0, 0.2, 0.1, 0.1))
    t, p = paired_test(values)
    assert t == pytest.approx(math.sqrt(3))  # mean 0.1, standard error 0.1 / sqrt(3)
    assert p == pytest.approx(0.2254, abs=1e-4)
    assert all(map(math.isnan, paired_test([0.1])))
    assert all(map(math.isnan, paired_test([0.1, 0.1])))
    close = results((0.5, 0.6), (0.5, 0.600001), (0.5, 0.600002))
    assert table1(close)[0][-1][-1].text == "<0.0001"
    assert csv_grid(table1(found)[1])[-1].startswith("difference,bracketed_recall,0.0,")


def test_the_table_in_each_format() -> None:
    grid, _ = table1(results((0.5, 0.625)))
    text = text_grid(grid)
    assert text[0] == "criterion              min    max   mean  sd  t  p"
    assert text[1:3] == ["Labelled Tree", "cons. brack. recall  50.00  50.00  50.00   -"]
    assert markdown_grid(grid)[2].startswith("| **Labelled Tree** ")
    latex = latex_grid(grid)
    assert r"\multicolumn{7}{l}{\emph{Labelled Tree}} \\" in latex
    # Full stops that end no sentence, dashes.
    assert r"cons.\ brack.\ recall & 50.00 & 50.00 & 50.00 & -- &  &  \\" in latex
