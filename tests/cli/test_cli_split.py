"""``mbrparse split``."""

from pathlib import Path

import pytest
from commandline import Command

TREES = "".join(f"(S x {number})\n" for number in range(10))


def lines(*numbers: int) -> str:
    return "".join(f"(S x {number})\n" for number in numbers)


def test_fraction(command: Command, tmp_path: Path) -> None:
    outcome = command(
        "split",
        "-",
        "--test-fraction",
        "0.29",
        "--train-output",
        tmp_path / "a",
        "--test-output",
        "-",
        stdin=TREES,
    )
    assert (outcome.code, outcome.out) == (0, lines(8, 9))
    assert outcome.err == "mbrparse: 8 training trees, 2 test trees\n"
    assert (tmp_path / "a").read_text() == lines(*range(8))


def test_last(command: Command) -> None:
    outcome = command("split", "-", "--test-last", 3, "--train-output", "-", stdin=TREES)
    assert outcome.out == lines(*range(7))


def test_random_both_parts_in_order(command: Command, tmp_path: Path) -> None:
    parts = []
    for name in ("first", "second"):
        outputs = ["--train-output", tmp_path / name, "--test-output", "-"]
        outcome = command("split", "-", "--test-random", 4, "--seed", 7, *outputs, stdin=TREES)
        parts.append((outcome.out, (tmp_path / name).read_text()))
    assert parts[0] == parts[1]
    test, train = (part.splitlines() for part in parts[0])
    assert len(test) == 4
    assert (test, train) == (sorted(test), sorted(train))
    assert sorted(test + train) == TREES.splitlines()


def test_trees_of_several_lines_and_empty_parses(command: Command) -> None:
    text = "( (S\n  x\n  0))\n(())\n\n( (S x 1))\n"
    outcome = command("split", "-", "--test-last", 2, "--test-output", "-", stdin=text)
    assert outcome.out == "( (S x 0))\n( (S x 1))\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "Give one of --test-fraction, --test-last and --test-random."),
        (["--test-last", "1", "--test-fraction", "0.1"], "Give one of --test-fraction,"),
        (["--test-random", "1"], "--test-random needs --seed."),
        (["--test-last", "1", "--seed", "1"], "--seed goes with --test-fraction and --test-random."),
        (["--test-last", "-1"], "-1 is not in the range x>=0"),
    ],
    ids=" ".join,
)
def test_options_that_do_not_fit(options: list[str], message: str, command: Command) -> None:
    outcome = command("split", "-", *options, "--test-output", "-", stdin=TREES)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


@pytest.mark.parametrize("outputs", [[], ["--train-output", "x", "--test-output", "x"]], ids=["none", "same"])
def test_outputs_that_do_not_fit(outputs: list[str], command: Command) -> None:
    outcome = command("split", "-", "--test-last", 1, *outputs, stdin=TREES)
    assert (outcome.code, outcome.out) == (2, "")
    assert "--train-output" in outcome.err


@pytest.mark.parametrize(
    ("options", "text", "message"),
    [
        (["--test-last", "11"], TREES, "11 test trees asked for, but there are 10 trees"),
        (["--test-fraction", "1"], TREES, "a test fraction lies between 0 and 1, not 1"),
        (["--test-fraction", "half"], TREES, "a test fraction lies between 0 and 1, not half"),
        (["--test-last", "1"], "", "<stdin>: no trees in the input"),
        (["--test-last", "1"], "(())\n", "<stdin>: no trees in the input"),
        (["--test-last", "1"], TREES + "(S\n", "<stdin>:11: unbalanced brackets: 1 opened"),
    ],
)
def test_errors_leave_no_file(
    options: list[str], text: str, message: str, command: Command, tmp_path: Path
) -> None:
    outputs = ["--train-output", tmp_path / "a", "--test-output", tmp_path / "b"]
    assert command("split", "-", *options, *outputs, stdin=text).error.startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_both_files_or_none(command: Command, tmp_path: Path) -> None:
    outputs = ["--train-output", tmp_path / "a", "--test-output", tmp_path / "none" / "b"]
    assert "cannot be written" in command("split", "-", "--test-last", 1, *outputs, stdin=TREES).error
    assert list(tmp_path.iterdir()) == []


def test_a_fraction_at_random(command: Command) -> None:
    drawn = command("split", "-", "--test-fraction", 0.35, "--seed", 7, "--test-output", "-", stdin=TREES)
    counted = command("split", "-", "--test-random", 3, "--seed", 7, "--test-output", "-", stdin=TREES)
    assert drawn.out == counted.out
    assert drawn.out != lines(7, 8, 9)


def flat(length: int) -> str:
    return f"(S {' '.join('x' * length)})\n"


def test_a_corpus_sorted_by_length_is_noticed(command: Command) -> None:
    """Half a standard deviation between the means; a random draw needs no warning."""
    fair = "".join(flat(2 + place % 7) for place in range(300))
    by_length = "".join(sorted(fair.splitlines(keepends=True), key=len))
    for text, options, warned in (
        (fair, [], False),
        (by_length, [], True),
        (by_length, ["--seed", 1], False),
        ("".join(by_length.splitlines(keepends=True)[10:]), [], False),  # 29 are too few to say
    ):
        outcome = command("split", "-", "--test-fraction", 0.1, *options, "--test-output", "-", stdin=text)
        assert ("warning: test sentences have" in outcome.err) == warned
    outcome = command("split", "-", "--test-fraction", 0.1, "--test-output", "-", stdin=by_length)
    assert "test sentences have 8.0 words, training sentences 4.7" in outcome.err
