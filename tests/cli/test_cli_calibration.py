"""``mbrparse experiment calibration``: on sampled sentences the parser gets what it expects."""

import csv
import io

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
