"""``mbrparse experiment`` calibration and palindromes, and what all experiments refuse."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from commandline import Command

from mbrparse.experiments.palindromes import PalindromeTrial, log2_probability
from mbrparse.training.em.bracketings import BracketedSentence


def test_measured_recall_lies_where_it_is_expected(command: Command) -> None:
    """With a right model, 99 of 100 intervals hold the measured figure; the seed fixes the sample."""
    outcome = command("experiment calibration embedded:flights --samples 2000 --format csv")
    rows = list(csv.DictReader(io.StringIO(outcome.output)))
    assert len(rows) == 12
    sampled = [row for row in rows if row["sentences"] == "sampled"]
    assert [row["inside"] for row in sampled] == ["True"] * 6
    expected = {(row["objective"], row["measure"]): float(row["expected"]) for row in sampled}
    for measure, best in (("labelled recall", "labelled-recall"), ("bracketed recall", "bracketed-recall")):
        figures = {objective: g for (objective, name), g in expected.items() if name == measure}
        assert max(figures, key=figures.__getitem__) == best


def test_without_a_parsable_sentence_there_is_nothing_to_compare(command: Command, folder: Path) -> None:
    """Held out is a tag that was never seen."""
    (folder / "trees.mrg").write_text("(S (A (a x) (b y)) (c z))\n" * 9 + "(S (d x) (e y))\n")
    message = command("experiment calibration trees.mrg --samples 5").last_error
    assert message.startswith("mbrparse: the grammar can parse none of the held-out sentences")
    assert "; give a larger treebank" in message


def test_palindromes_bracketed_training_succeeds_where_raw_fails() -> None:
    """Pereira & Schabes (1992) on a small scale; the run is fixed by its seed."""
    result = PalindromeTrial(train=60, test=30, nonterminals=5, iterations=60, seed=0)(1)
    assert result["bracketed"]["accuracy"] > 0.99
    assert result["raw"]["accuracy"] < 0.8
    assert result["bracketed"]["cross_entropy"] < result["raw"]["cross_entropy"] - 0.2


def test_the_palindrome_source_is_a_distribution() -> None:
    """Over the strings of up to 2k letters the probabilities sum to 1 - 0.8**k."""
    lengths = range(1, 8)
    total = sum(2**half * 2 ** log2_probability(BracketedSentence(("a",) * (2 * half))) for half in lengths)
    assert total == pytest.approx(1 - 0.8**7)


def test_palindromes_have_a_table(command: Command, folder: Path) -> None:
    done = command("experiment palindromes --runs 2 --train 10 --test 5 --iterations 2 -o p")
    *lines, blank, signed = done.output.splitlines()
    assert [line.split()[0] for line in lines] == ["run", "1", "2", "mean"]
    assert (blank, signed[:42]) == ("", "table:palindromes|experiment:palindromes|r")
    assert (folder / "p" / "palindromes.csv").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("beyond-recall embedded:flights --test-fraction 0.0001 -o x", "raise --test-fraction"),
        ("calibration embedded:flights --test-fraction 0.0001", "hold out"),
        (
            "dop embedded:flights --train 1490 --test 0.01 -o x",
            "1490 training and 14 test sentences asked for",
        ),
        ("dop embedded:flights --train 100 --test 0 -o x", "100 training and 0 test sentences asked for"),
        (
            "dop embedded:flights --test 1.5 -o x",
            "sentences, or a fraction that lies between 0 and 1, not 1.5",
        ),
        (
            "pereira-schabes embedded:flights --train 60 --test 1440 -o x",
            "60 training and 1440 test sentences asked for, but there are 1499 sentences; ",
        ),
        ("pereira-schabes embedded:flights --max-length 2 -o x", "asked for, but there are "),
        ("simaan embedded:trains -o x", "no embedded treebank 'trains'"),
        ("simaan nowhere.mrg -o x", "no such file"),
        ("simaan wsj:nowhere -o x", "no sections (folders named 00 to 24) found"),
        (
            "simaan one.mrg -o x",
            "1 trees leave none to hold out; raise --test-fraction, or give a larger treebank",
        ),
    ],
)
def test_treebanks_and_parts_that_cannot_be(command: Command, line: str, message: str) -> None:
    Path("one.mrg").write_text("(S (NP (NN dog)) (VP (VBZ eats)))")
    assert message in command(f"experiment {line}").last_error
