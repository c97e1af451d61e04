"""``mbrparse experiment prefixes``: perplexities that are known, the optimum on samples, resumption."""

from __future__ import annotations

import csv
import math
from itertools import product
from pathlib import Path

import pytest
from commandline import Command

LONG = "(S (NP (D the) (N dog)) (V barks))\n"
SHORT = "(S (N dogs) (V bark))\n"
SMALL = "--samples 200 --sentences 40 --order 3"


def rows(folder: Path) -> list[dict[str, str]]:
    with open(folder / "perplexities.csv", newline="") as stream:
        return list(csv.DictReader(stream))


def of(table: list[dict[str, str]], kind: str, text: str) -> list[dict[str, float]]:
    found = (row for row in table if (row.pop("kind"), row.pop("text")) == (kind, text))
    return [{name: float(figure) for name, figure in row.items()} for row in found]


def test_perplexities_by_hand(command: Command, folder: Path) -> None:
    """Two sentences, as often: a choice of one bit in seven words and ends, and none if one is masked."""
    (folder / "trees.mrg").write_text((LONG + SHORT) * 20)
    outcome = command("experiment prefixes trees.mrg --samples 1000 --sentences 400 --order 3 -o p")
    assert outcome.code == 0
    table = rows(folder / "p")
    assert [row["trained on"] for row in table if row["kind"] == "causal"] == [
        *("100", "1000"),
        *("2", "4", "9", "18", "36"),
    ]
    optimum = 2 ** (2 / 7)
    for row in of([dict(row) for row in table], "causal", "held-out"):
        balanced = row["trained on"] % 2 == 0
        assert row["grammar"] == pytest.approx(optimum, rel=1e-12) or not balanced
        assert (row["tested"], row["unparsed"], row["terminals"]) == (4, 0, 3)
    for row in of([dict(row) for row in table], "masked", "held-out"):
        assert row["grammar"] == pytest.approx(1, rel=1e-12)
    *_, last = of([dict(row) for row in table], "causal", "samples")
    assert last["3-gram"] == pytest.approx(last["grammar"], rel=0.02)
    assert last["grammar"] == pytest.approx(optimum, rel=0.02)
    assert last["1-gram"] > last["2-gram"] + 1


@pytest.mark.parametrize("terminals", ["tags", "words"])
def test_no_model_beats_the_grammar_on_its_samples(command: Command, folder: Path, terminals: str) -> None:
    outcome = command(f"experiment prefixes -o p --terminals {terminals} {SMALL} --unary keep")
    assert outcome.code == 0
    assert "causal, samples\n200 " in outcome.output
    table = rows(folder / "p")
    assert len(table) == 2 * (1 + 5)
    for kind, text in product(("causal", "masked"), ("samples", "held-out")):
        for row in of([dict(row) for row in table], kind, text):
            assert row["tested"] + row["unparsed"] == 40
            orders = [row[f"{order}-gram"] for order in (1, 2, 3)]
            assert 1 < orders[2] < orders[0] < row["terminals"] + 1
            if text == "samples":
                assert row["unparsed"] == 0
                assert row["grammar"] > 1
                assert not any(order <= row["grammar"] for order in orders)
    for suffix in ("txt", "md", "tex", "svg", "png"):
        assert (folder / "p" / f"perplexities.{suffix}").stat().st_size > 0


def test_what_is_there_is_not_done_again(command: Command, folder: Path) -> None:
    line = f"experiment prefixes embedded:flights {SMALL} -o p"
    first = command(line)
    (folder / "p" / "run-02.json").unlink()
    state = (folder / "p" / "run-03.json").stat().st_mtime_ns
    again = command(line)
    assert again.output == first.output
    assert (folder / "p" / "run-02.json").exists()
    assert (folder / "p" / "run-03.json").stat().st_mtime_ns == state
    other = command(f"{line} --seed 7")
    assert other.code == 1
    assert "made with other settings (seed: 0, now 7)" in other.last_error


def test_with_nothing_to_hold_out(command: Command, folder: Path) -> None:
    (folder / "one.mrg").write_text(LONG)
    outcome = command("experiment prefixes one.mrg -o p")
    assert outcome.code == 1
    assert "leave none to hold out; raise --test-fraction" in outcome.last_error


def test_held_out_sentences_of_other_words_have_no_perplexity(command: Command, folder: Path) -> None:
    """No sentence is in the grammar's language: dashes, and NaN in the CSV file."""
    (folder / "trees.mrg").write_text(SHORT * 9 + "(S (X x) (Y y))\n")
    outcome = command("experiment prefixes trees.mrg --samples 20 --sentences 5 --order 2 -o p")
    assert outcome.code == 0
    assert "causal, held-out\n1                0         1          2        -" in outcome.output
    found = of(rows(folder / "p"), "masked", "held-out")
    assert [row["unparsed"] for row in found] == [1] * len(found)
    assert all(math.isnan(row[name]) for row in found for name in ("grammar", "1-gram", "2-gram"))
