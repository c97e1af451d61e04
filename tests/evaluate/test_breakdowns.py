"""``--by length|label|confusions``, for the paper's criteria and EVALB's."""

import csv
import json
from pathlib import Path

import pytest
from commandline import Command
from evaluation_cases import GOLD, PARSE, write

DATA = Path(__file__).parent.parent / "data" / "evalb"
SAMPLE = ["--evalb", DATA / "sample.prm", DATA / "sample.gld", DATA / "sample.tst"]


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_by_label(command: Command, tmp_path: Path) -> None:
    """The worked example of test_counts.py: S (0,5), A (0,2) right; B as A; two S_Cont missed."""
    paths = write(tmp_path, gold=GOLD, viterbi=PARSE)
    rows = read(command("evaluate", "--by", "label", "--format", "csv", *paths).out)
    found = {row["label"]: [row[key] for key in ("gold", "guess", "matched")] for row in rows}
    assert found == {
        "S": ["3", "2", "2"],
        "A": ["1", "2", "1"],
        "S_Cont": ["2", "1", "0"],
        "B": ["1", "1", "0"],
    }
    assert (rows[0]["label"], rows[0]["precision"], rows[0]["f"]) == ("S", "1.0", "0.8")
    rows = read(command("evaluate", "--by", "confusions", "--format", "csv", *paths).out)
    assert rows == [{"name": "viterbi", "gold": "B", "guess": "A", "count": "1"}]


def test_by_label_of_evalb(command: Command) -> None:
    """Sums over labels are EVALB's totals; the sample's PRT-less labels are never equal to others."""
    rows = read(command("evaluate", "--by", "label", "--format", "csv", *SAMPLE).out)
    assert [sum(int(row[key]) for row in rows) for key in ("matched", "gold", "guess")] == [86, 98, 95]
    report = json.loads(command("evaluate", "--by", "label", "--format", "json", *SAMPLE).out)
    assert set(report) == {"by_label", "confusions", "signature"}
    assert {"name": "sample", "gold": "A", "guess": "C", "count": 2} in report["confusions"]
    assert "|evalb:sample.prm|labels:yes|" in report["signature"]


def test_equal_labels_of_evalb(command: Command, tmp_path: Path) -> None:
    gold, test = write(tmp_path, gold="(S (ADVP (RB a)) (X (RB b)))\n", test="(S (PRT (RB a)) (Y (RB b)))\n")
    done = command(
        "evaluate", "--by", "label", "--format", "csv", "--evalb", DATA / "COLLINS.prm", gold, test
    )
    found = {row["label"]: (row["precision"], row["recall"]) for row in read(done.out)}
    assert found == {
        "S": ("1.0", "1.0"),
        "ADVP": ("", "1.0"),
        "PRT": ("1.0", ""),
        "X": ("", "0.0"),
        "Y": ("0.0", ""),
    }


def test_by_length(command: Command) -> None:
    rows = read(command("evaluate", "--by", "length", "--format", "csv", *SAMPLE).out)
    assert [(row["length"], row["sentences"]) for row in rows] == [("1-10", "23"), ("41+", "1")]
    assert float(rows[0]["bracketing_recall"]) == pytest.approx(0.8125)
    assert float(rows[0]["coverage"]) == pytest.approx(16 / 23)


@pytest.mark.parametrize("by", ["length", "label", "confusions"])
@pytest.mark.parametrize("format", ["text", "markdown", "latex", "csv", "json"])
def test_every_format(command: Command, tmp_path: Path, by: str, format: str) -> None:
    paths = write(tmp_path, gold=GOLD, one=PARSE, two=GOLD)
    done = command("evaluate", "--by", by, "--format", format, *paths)
    assert done.code == 0
    assert "criteria:labelled_tree" in (done.err if format == "csv" else done.out)


def test_evalb_in_tables(command: Command) -> None:
    report = json.loads(command("evaluate", "--format", "json", *SAMPLE).out)
    [row] = report["rows"]
    assert row["rates"] == pytest.approx(
        {
            "bracketing_recall": 86 / 98,
            "bracketing_precision": 86 / 95,
            "bracketing_f": 2 * 86 / (98 + 95),
            "complete_match": 9 / 17,
            "average_crossing": 1 / 17,
            "no_crossing": 16 / 17,
            "two_or_less_crossing": 1.0,
            "tagging_accuracy": 106 / 108,
        }
    )
    assert row["coverage"] == pytest.approx(17 / 24)
    assert {key: row["counts"][key] for key in ("sentences", "error", "skipped", "words")} == {
        "sentences": 24,
        "error": 5,
        "skipped": 2,
        "words": 108,
    }
    text = command("evaluate", "--format", "text", *SAMPLE).out.splitlines()
    assert text[1].split() == [
        "sample",
        "87.76",
        "90.53",
        "89.12",
        "52.94",
        "0.06",
        "94.12",
        "100.00",
        "98.15",
        "70.83",
    ]


def test_counts_of_evalb(command: Command, tmp_path: Path) -> None:
    counts = tmp_path / "counts.csv"
    literal = command("evaluate", "--per-sentence", counts, *SAMPLE)
    assert literal.out == (DATA / "sample.rsl").read_text()
    rows = read(counts.read_text())
    assert [row["status"] for row in rows].count("1") == 5
    assert rows[5] == {
        "name": "sample",
        "sentence": "6",
        "gold_line": "6",
        "parse_line": "6",
        "status": "0",
        "length": "4",
        "parsed": "1",
        "matched": "2",
        "gold": "4",
        "test": "3",
        "crossing": "1",
        "words": "4",
        "correct_tags": "4",
    }
    command("evaluate", "--per-sentence", tmp_path / "again.csv", "--format", "csv", *SAMPLE)
    assert read((tmp_path / "again.csv").read_text()) == rows
