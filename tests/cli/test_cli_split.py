"""``mbrparse split``; its parts are the library's (treebank/test_tree_lists.py)."""

from pathlib import Path

import pytest
from commandline import Command

TREES = "".join(f"(S x {number})\n" for number in range(10))


def test_both_parts(command: Command) -> None:
    outcome = command("split - --test-fraction 0.29 --train-output a --test-output -", stdin=TREES)
    assert outcome.output == "(S x 8)\n(S x 9)\n"
    assert outcome.err == "mbrparse: 8 training trees, 2 test trees\n"
    assert Path("a").read_text() + outcome.out == TREES


def test_trees_of_several_lines_and_empty_parses(command: Command) -> None:
    text = "( (S\n  x\n  0))\n(())\n\n( (S x 1))\n"
    assert command("split - --test-last 2 --test-output -", stdin=text).output == "( (S x 0))\n( (S x 1))\n"


@pytest.mark.parametrize(
    ("options", "text", "message"),
    [
        ("--test-last 11", TREES, "11 trees asked for, but there are 10"),
        ("--test-fraction half", TREES, "a fraction lies between 0 and 1, not half"),
        ("--test-fraction 1e-9999999999", TREES, "a fraction lies between 0 and 1"),
        ("--test-last 8 --dev-fraction 0.3 --dev-output c", TREES, "3 trees asked for, but there are 2"),
        ("--test-last 1 --dev-fraction 1 --dev-output c", TREES, "a fraction lies between 0 and 1, not 1"),
        ("--fold 0/3", TREES, "a fold is I/N, with I from 1 to N and N from 2, not 0/3"),
        ("--fold 1/1", TREES, "a fold is I/N"),
        ("--fold 4/3", TREES, "a fold is I/N"),
        ("--fold 1/11", TREES, "11 folds asked for, but there are 10 trees"),
        ("--test-last 1 --train-size 10", TREES, "10 training trees asked for, but there are 9"),
        ("--test-last 1 --train-size .01", TREES, "0 training trees asked for"),
        (f"--test-last 1 --train-size {'9' * 5000}", TREES, "a part is a number of sentences, or a fraction"),
        ("--test-last 1 --train-size 1.5", TREES, "a part is a number of sentences, or a fraction"),
        ("--test-last 1", "", "<stdin>: no trees in the input"),
        ("--test-last 1", "(())\n", "<stdin>: no trees in the input"),
        ("--test-last 1", TREES + "(S\n", "<stdin>:11: unbalanced brackets: 1 opened"),
        ("--test-last 1 --train-output none/a", TREES, "none/a: cannot be written"),
    ],
)
def test_errors_leave_no_file(options: str, text: str, message: str, command: Command, folder: Path) -> None:
    error = command(f"split - --train-output a --test-output b {options}", stdin=text).error
    assert error.startswith(message)
    assert list(folder.iterdir()) == []


def test_a_corpus_sorted_by_length_is_noticed(command: Command) -> None:
    """Half a standard deviation between the means; a random draw needs no warning."""
    trees = [f"(S {' '.join('x' * (2 + place % 7))})\n" for place in range(300)]
    by_length = sorted(trees, key=len)
    for text, options, warning in (
        (trees, "", ""),
        (by_length, "", "warning: test sentences have 8.0 words, training sentences 4.7"),
        (by_length, "--seed 1", ""),
        (by_length[10:], "", ""),  # 29 are too few to say
    ):
        done = command(f"split - --test-fraction 0.1 --test-output - {options}", stdin="".join(text))
        assert ("warning: test sentences have" in done.err) == bool(warning)
        assert warning in done.err
