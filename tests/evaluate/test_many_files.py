"""Tables of more files than letters tell apart, and of more columns than a terminal has room for."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest
from commandline import Command
from evaluation_cases import write

from mbrparse.evaluate.tables import lay_out

RIGHT = "(S (A a b) (S_Cont c (B d e)))"
WRONG = "(S (S_Cont (A a b) c) (A d e))"
NAMES = "abcdefgh"


@pytest.fixture(autouse=True)
def files() -> None:
    """File b has a half of the sentences right, the next more, and so on."""
    texts = {
        name: "".join(f"{RIGHT if 7 * number % 60 < place * 60 / 9 else WRONG}\n" for number in range(60))
        for place, name in enumerate(NAMES)
    }
    write(gold=f"{RIGHT}\n" * 60, **texts)


def command_for(names: Sequence[str]) -> str:
    return f"evaluate gold.mrg {' '.join(f'{name}.mrg' for name in names)}"


def test_beyond_six_the_letter_is_the_baselines(command: Command) -> None:
    baseline = "c"
    text = command(f"{command_for(NAMES)} --columns labelled-recall --baseline {baseline}").output
    table, _, rest = text.partition("\n\n")
    found = {row.split()[0]: "".join(row.split()[3:]) for row in table.splitlines()[1:]}
    report = json.loads(command(f"{command_for(NAMES)} --format json --baseline {baseline}").output)
    rows = report["significance"]["rows"]
    beats = {row["name"]: row["criteria"]["labelled_recall"]["beats"] for row in rows}
    assert found == {name: baseline * (baseline in others) for name, others in beats.items()}
    assert set(found.values()) == {"", baseline}
    assert max(map(len, beats.values())) > 1  # what programs read is complete
    assert rest.startswith(f"{baseline} behind a figure: it beats the baseline (approx")


def test_columns_are_folded_only_where_there_is_no_room() -> None:
    names = [f"criterion {number:02}" for number in range(20)]
    grid = [["", *names], ["one", *map(str, range(20))]]
    blocks = "\n".join(lay_out(grid, "text")).split("\n\n")
    assert len(blocks) == 3
    assert re.findall(r"criterion \d\d", "".join(block.split("\n")[0] for block in blocks)) == names
    assert [int(text) for block in blocks for text in block.split("\n")[1].split()[1:]] == list(range(20))
    assert len(lay_out([["", "x" * 111], ["a name", "1"]], "text")) == 2
    assert len(lay_out([["", "x" * 111, "y"], ["a name", "1", "2"]], "text")) == 5
    assert len(lay_out(grid, "markdown")) == 3  # what is rendered is not folded
