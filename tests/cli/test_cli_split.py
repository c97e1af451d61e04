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
        (
            "--test-last 8 --dev-fraction 0.3 --dev-output c",
            TREES,
            "3 trees asked for, but there are 2",
        ),
        (
            "--test-last 1 --dev-fraction 1 --dev-output c",
            TREES,
            "a fraction lies between 0 and 1, not 1",
        ),
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


def test_fractions_as_people_write_them(command: Command) -> None:
    for half in (".5", "0.5", "1/2", "5e-1"):
        assert command(f"split - --test-output - --test-fraction {half}", stdin=TREES).out.count("\n") == 5


def test_a_fraction_at_random(command: Command) -> None:
    drawn = command("split - --test-fraction 0.35 --seed 7 --test-output -", stdin=TREES)
    assert drawn == command("split - --test-random 3 --seed 7 --test-output -", stdin=TREES)
    assert drawn.output != TREES[-24:]


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


def test_a_development_part_before_the_test_part(command: Command) -> None:
    outputs = "--train-output - --dev-output dev --test-output test"
    done = command(f"split - --test-fraction 0.29 --dev-fraction 0.35 {outputs}", stdin=TREES)
    lines = TREES.splitlines(keepends=True)
    assert done.err == "mbrparse: 5 training trees, 3 development trees, 2 test trees\n"
    assert [done.out, Path("dev").read_text(), Path("test").read_text()] == [
        "".join(part) for part in (lines[:5], lines[5:8], lines[8:])
    ]


def test_a_random_development_part_leaves_the_test_part_as_it_is(command: Command) -> None:
    trees = [f"(S x {place})\n" for place in range(400)]
    drawn = set()
    for seed in range(3):
        how = f"--test-fraction 0.2 --seed {seed} --train-output train --test-output test"
        command(f"split - {how}", stdin="".join(trees))
        before, rest = (Path(name).read_text() for name in ("test", "train"))
        command(f"split - {how} --dev-fraction 0.2 --dev-output dev", stdin="".join(trees))
        train, dev, test = (Path(name).read_text().splitlines(True) for name in ("train", "dev", "test"))
        assert "".join(test) == before
        assert (len(train), len(dev)) == (240, 80)
        assert sorted(train + dev, key=trees.index) == rest.splitlines(True)
        assert dev == sorted(dev, key=trees.index)
        drawn.add(tuple(dev))
    assert len(drawn) == 3
