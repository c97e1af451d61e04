"""``mbrparse experiment calibration``: on sampled sentences the parser gets what it expects."""

import csv
import io
from pathlib import Path

from commandline import Command


def test_measured_recall_lies_where_it_is_expected(command: Command) -> None:
    """With a right model, 99 of 100 intervals hold the measured figure; the seed fixes the sample."""
    outcome = command("experiment", "calibration", "embedded:flights", "--samples", 2000, "--format", "csv")
    assert outcome.code == 0
    rows = list(csv.DictReader(io.StringIO(outcome.out)))
    assert len(rows) == 12
    sampled = [row for row in rows if row["sentences"] == "sampled"]
    assert [row["inside"] for row in sampled] == ["True"] * 6
    expected = {(row["objective"], row["measure"]): float(row["expected"]) for row in sampled}
    for measure, best in (("labelled recall", "labelled-recall"), ("bracketed recall", "bracketed-recall")):
        figures = {objective: g for (objective, name), g in expected.items() if name == measure}
        assert max(figures, key=figures.__getitem__) == best


def test_nothing_to_hold_out(command: Command) -> None:
    outcome = command("experiment", "calibration", "embedded:flights", "--test-fraction", "0.0001")
    assert outcome.code == 1
    assert "hold out" in outcome.err


def test_without_a_parsable_sentence_there_is_nothing_to_compare(command: Command, tmp_path: Path) -> None:
    """Held out is a tag that was never seen."""
    (tmp_path / "trees.mrg").write_text("(S (A (a x) (b y)) (c z))\n" * 9 + "(S (d x) (e y))\n")
    outcome = command("experiment", "calibration", tmp_path / "trees.mrg", "--samples", 5)
    assert (outcome.code, outcome.out) == (1, "")
    [_, message] = outcome.err.splitlines()
    assert message.startswith("mbrparse: the grammar can parse none of the held-out sentences")
    assert "; give a larger treebank" in message
