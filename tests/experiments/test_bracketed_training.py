"""Goodman's (1996) Table 1 and Figure 2, on a small scale."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
from commandline import Command, Outcome

from mbrparse.evaluate.tables import csv_grid, latex_grid, markdown_grid, text_grid
from mbrparse.experiments.goodman.bracketed_training import (
    CRITERIA,
    DECODERS,
    DIFFERENCE,
    final_rates,
    table1,
)
from mbrparse.experiments.trial_runs import paired_test, summarize

SMALL = "--train 60 --test 12 --nonterminals 4 --iterations 3"

pytestmark = pytest.mark.usefixtures("folder")


def experiment(command: Command, options: str) -> Outcome:
    return command(f"experiment pereira-schabes embedded:flights {SMALL} {options}")


def test_table_and_figure_are_written_and_do_not_depend_on_jobs(command: Command) -> None:
    done = experiment(command, "--runs 2 -o a")
    assert "Labelled Tree\n" in done.output
    assert "bracketing accuracy" in done.out
    for name in ("table1.txt", "table1.md", "table1.tex", "table1.csv", "figure2.svg", "figure2.png"):
        assert Path("a", name).stat().st_size > 0
    rows = list(csv.DictReader(Path("a", "table1.csv").open()))
    assert len(rows) == 9
    assert [row["mean_published"] for row in rows[::4]] == ["0.9013", "0.6364", "0.0017"]
    heading = "Published, on other data: Goodman (1996), Table 1, ATIS: "
    paper = done.output.partition(f"{heading}Bracketed Recall\n")[2]
    assert paper.splitlines()[0].split() == [
        "cons.",
        "brack.",
        "recall",
        "88.02",
        "94.34",
        "91.14",
        "2.22",
        "-",
        "-",
    ]
    assert done.output.count(heading) == 3
    assert all(0 <= float(row["mean"]) <= 1 for row in rows[:6])
    result = json.loads(Path("a", "run-01.json").read_text())["result"]
    assert all(len(result["rates"][decoder][name]) == 4 for decoder in DECODERS for name in CRITERIA)
    assert result["cross_entropy"] == sorted(result["cross_entropy"], reverse=True)
    assert experiment(command, "--runs 2 --jobs 2 -o b").out == done.out
    for name in ("run-01.json", "run-02.json", "figure2.svg"):
        assert Path("a", name).read_bytes() == Path("b", name).read_bytes()


def test_an_interrupted_experiment_goes_on(command: Command) -> None:
    assert experiment(command, "--runs 1 -o x").code == 0
    first, second = Path("x/run-01.json"), Path("x/run-02.json")
    before = first.stat().st_mtime_ns
    # As after a power failure: what could not be removed; and a file that is not ours.
    left_over, strange = Path("x/.run-02.json.k3_x9abz"), Path("x/.editor.settings")
    left_over.write_text("{")
    strange.write_text("")
    assert experiment(command, "--runs 2 -o x").code == 0
    assert first.stat().st_mtime_ns == before
    assert second.exists()
    assert strange.exists()
    assert not left_over.exists()
    other = experiment(command, "--seed 1 -o x").last_error
    assert "run-01.json: made with other settings (seed: 0, now 1); " in other
    first.write_text("{")
    broken = experiment(command, "-o x").last_error
    assert "run-01.json: not a result of this experiment: it is no JSON, or was cut off; remove it" in broken


def test_raw_training_heeds_no_brackets(command: Command) -> None:
    bracketed = experiment(command, "--runs 1 -o a")
    raw = experiment(command, "--runs 1 --no-brackets -o b")
    assert raw.out.startswith("embedded:flights, raw training, 1 run,")
    assert raw.out != bracketed.out


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
    values = final_rates(found, DIFFERENCE, "consistent_brackets_recall")
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
