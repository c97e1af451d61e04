"""``mbrparse parse --details``: expectations that were once wrong, each reckoned by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from commandline import Command

# Two symbols of one label: over "y y y" the one derives y (y y), the other only its own split.
SYMBOLS = """mbrparse-grammar 1
terminals tags
start S 1 -
rules 4
0.6 - S -> A^S 'y'
0.4 - S -> A^B 'y'
1 - A^S -> 'y' 'y'
1 - A^B -> 'y' 'y'
end
"""

# Over one word A is a preterminal in seven of ten derivations, a constituent in the others.
ONE_WORD = """mbrparse-grammar 1
terminals tags
start S 1 -
rules 4
1 - S -> 'y' A
0.7 - A -> 'y'
0.3 - A -> B
1 - B -> 'y'
end
"""


def row(command: Command, folder: Path, grammar: str, sentence: str, *arguments: str) -> Any:
    path, out = folder / "grammar.txt", folder / "details.jsonl"
    path.write_text(grammar)
    outcome = command("parse", "-g", path, "--details", out, *arguments, stdin=f"{sentence}\n")
    assert outcome.code == 0, outcome.err
    [tree] = json.loads(out.read_text())["trees"].values()
    return tree


@pytest.mark.parametrize("space", ["free", "grammar"])
def test_the_score_of_symbols_is_of_symbols(command: Command, tmp_path: Path, space: str) -> None:
    arguments = ("--objective", "labelled-recall", "--space", space)
    assert row(command, tmp_path, SYMBOLS, "y y y", *arguments)["expected_score"] == pytest.approx(2)
    found = row(command, tmp_path, SYMBOLS, "y y y", *arguments, "--items", "symbol")
    assert found["expected_score"] == pytest.approx(1.6)
    # How many constituents are right does not depend on what was maximized.
    assert found["expected_labelled"] == pytest.approx(2)


def test_a_preterminal_is_no_constituent(command: Command, tmp_path: Path) -> None:
    found = row(command, tmp_path, ONE_WORD, "y y", "--objective", "labelled-recall", "--space", "grammar")
    assert found["nodes"] == [[0, 2, "S", pytest.approx(1)], [1, 2, "A", pytest.approx(0.3)]]
    assert found["expected_labelled"] == pytest.approx(1.3)
    assert found["expected_labelled_recall"] == pytest.approx(1)
    assert found["expected_bracketed"] == pytest.approx(1.3)


def test_empty_sentences_at_the_head_of_the_input(command: Command, tmp_path: Path) -> None:
    """They say nothing of whether grammar and input fit together."""
    grammar = tmp_path / "grammar.txt"
    grammar.write_text(SYMBOLS)
    empty = "(())\n" * 1000
    outcome = command("parse", "-g", grammar, "--fallback", "empty", stdin=f"{empty}(S (y a) (y b) (y c))\n")
    assert (outcome.code, outcome.out) == (0, f"{empty}(S (A (y a) (y b)) (y c))\n")
    outcome = command("parse", "-g", grammar, stdin=f"{empty}(S (z a) (z b))\n")
    assert "none of the first 1 sentences holds one (they begin with 'z')" in outcome.err
    assert outcome.code == 1
