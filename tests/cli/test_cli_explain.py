"""``mbrparse explain``, typed."""

from pathlib import Path

import pytest
from commandline import Command, grammar_text

FOUR = "0.25 - S -> A C; 0.25 - S -> A D; 0.25 - S -> E B; 0.25 - S -> F B; 1 - X -> 'x'"
ALL = "; ".join([FOUR, *(f"1 - {label} -> X X" for label in "ABCDEF")])


@pytest.fixture(autouse=True)
def grammar() -> None:
    Path("four.txt").write_text(grammar_text(ALL, terminals="words"))


def test_a_sentence_typed_or_from_a_file(command: Command) -> None:
    assert command("explain -g four.txt -o page.html", "x x x x").output == ""
    page = Path("page.html").read_text("utf-8")
    assert "1.75" in page
    assert command("explain -g four.txt x x x x").output == page
    Path("tokens").write_text("x\nx x x x\n")
    assert command("explain -g four.txt --file tokens --line 2").output == page
    Path("trees").write_text("(S (A (X x) (X x)) (B (X x) (X x)))\n")
    assert command("explain -g four.txt --file trees").output == page
    assert command("explain -g four.txt --file -", stdin="x x x x\n").output == page


def test_objectives_and_readings_are_chosen(command: Command) -> None:
    page = command("explain -g four.txt --objective consistent-brackets --readings 1 x x x x").output
    assert ">consistent-brackets<" in page
    assert "labelled-f" not in page
    assert "75% of the sentence" in " ".join(page.split())


def test_what_is_refused(command: Command) -> None:
    assert command("explain -g four.txt x dog").error.startswith("the grammar has no 'dog'; its terminals")
    assert command("explain -g four.txt x").error.startswith("the grammar has no tree of 'x'")
    assert "of 40 at most" in command("explain -g four.txt", "x " * 41).error
    assert "Give either a SENTENCE or --file" in command("explain -g four.txt").usage_error
    assert "Give either" in command("explain -g four.txt --file tokens x").usage_error
    assert "would overwrite --grammar" in command("explain -g four.txt x -o four.txt").usage_error
    Path("tokens").write_text("x x x x\n")
    assert command("explain -g four.txt --file tokens --line 2").error.startswith(
        "tokens: there is no sentence 2"
    )
    assert not Path("page.html").exists()
