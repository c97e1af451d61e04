"""Every table of every experiment has a signature, and no two settings or corpora share one."""

from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from commandline import Command

from mbrparse.cli.main import cli

TREES = "".join(
    f"( (S (NP (DT the) (NN {noun})) (VP (VBZ {verb}) (NP (DT a) (NN {noun}))) (. .)) )\n"
    for noun in ("dog", "cat", "bird", "fish", "cow")
    for verb in ("sees", "hears", "likes", "has")
)
#: How work is done and where its results are; and how a corpus is read, which the digests of trees tell.
SAME = {"--output", "--jobs", "--scheduler", "--format"}
SAME |= {"--encoding", "--leaves", "--drop", "--roots", "--ids", "--terminals-below"}

#: A call, and values of its options that are others than those of the call.
CALLS = {
    "palindromes": (
        "palindromes --runs 2 --train 4 --test 3 --nonterminals 2 --iterations 2",
        "--runs 3 --train 5 --test 4 --nonterminals 3 --iterations 1 --seed 5",
    ),
    "calibration": (
        "calibration trees.mrg --samples 5 --test-fraction 0.2",
        "--samples 6 --seed 5 --test-fraction 0.3 --max-length 39",
    ),
    "pereira-schabes": (
        "pereira-schabes trees.mrg --runs 1 --train 3 --test 2 --nonterminals 2 --iterations 2",
        "--runs 2 --train 4 --test 3 --nonterminals 3 --iterations 1 --seed 5 --no-brackets",
    ),
    "figures-of-merit": (
        "figures-of-merit trees.mrg --sentences 2 --test-fraction 0.2 --merit boundary-trigram",
        "--merit beta --sentences 1 --min-length 4 --max-length 29 --test-fraction 0.3 --mass 0.9 "
        "--beta-threshold 0.02",
    ),
    "simaan": (
        "simaan trees.mrg --test-fraction 0.3 --resamples 20 --unknown signature",
        "--unknown none --rare 3 --node-cost 0.1 --test-fraction 0.2 --train-trees 10 --test-trees 3 "
        "--resamples 30 --seed 5",
    ),
    "dop": (
        "dop trees.mrg --runs 1 --train 0.7 --test 0.3 --samples 5 --resamples 20 --no-speed --no-curves",
        "--runs 2 --train 0.6 --test 0.2 --weights equal --max-depth 3 --prune 0.01 --samples 6 "
        "--resamples 30 --seed 5",
    ),
    "beyond-recall": (
        "beyond-recall trees.mrg --test-fraction 0.3 --resamples 20",
        "--test-fraction 0.2 --resamples 30 --seed 5",
    ),
    "split-merge": (
        "split-merge trees.mrg --test-fraction 0.3 --resamples 20 --cycles 0 --objective labelled-tree",
        "--cycles 1 --objective labelled-f --test-fraction 0.2 --prune 0.01 --resamples 30 --seed 5",
    ),
    "grid": (
        "grid trees.mrg --test-fraction 0.3 --resamples 20",
        "--binarize hmarkov=1 --train terminals=words --parse node-cost=0.1 --unary keep --seed 5 "
        "--objective labelled-tree --folds 2 --test-fraction 0.2 --train-size .5 --resamples 30",
    ),
    "prefixes": (
        "prefixes trees.mrg --samples 20 --sentences 5 --test-fraction 0.3 --order 2",
        "--terminals words --unary keep --samples 30 --sentences 4 --order 3 --test-fraction 0.2 --seed 5",
    ),
}
#: Whose trees differ, if figures do; and what is measured beside a table.
BY_TREES = {"--max-length", "--grammar", "--statistics", "--train-sections", "--test-sections"}
BY_TREES |= {"--curves", "--speed", "--fragments", "--sentences"}
LONG = [name for name in CALLS if name not in ("palindromes", "calibration", "grid")]


def options(text: str) -> list[list[str]]:
    """Each option with its value."""
    found: list[list[str]] = []
    for word in text.split():
        if word.startswith("--"):
            found.append([])
        found[-1].append(word)
    return found


def tables(command: Command, words: Sequence[str], folder: str) -> set[str]:
    """The signatures of what an experiment prints and writes; every table has one."""
    output = [] if words[1] == "calibration" else ["-o", folder]
    printed = command(" ".join(words), *output).output
    texts = [printed, *(path.read_text("utf-8") for path in Path(folder).glob("*.txt"))]
    found = set()
    for text in texts:
        signed = [line for line in text.splitlines() if line.startswith("table:")]
        assert signed
        assert all(f"|experiment:{words[1]}|" in line and "|version:mbrparse-" in line for line in signed)
        found |= set(signed)
    return found


@pytest.mark.parametrize("name", CALLS)
def test_each_option_is_tried(name: str) -> None:
    group = cli.get_command(click.Context(cli), "experiment")
    assert isinstance(group, click.Group)
    command = group.get_command(click.Context(group), name)
    assert command is not None
    known = {max(one.opts, key=len) for one in command.params if isinstance(one, click.Option)}
    tried = {option.replace("--no-", "--") for option, *_ in options(CALLS[name][1])}
    assert tried <= known
    assert known - tried <= SAME | BY_TREES


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in CALLS]
)
def test_no_two_settings_share_a_signature(command: Command, name: str) -> None:
    Path("trees.mrg").write_text(TREES, encoding="utf-8")
    call, others = CALLS[name]
    usual, start = (["experiment", *text.split()] for text in (call, call[: call.index("--")]))
    seen = tables(command, usual, "usual")
    assert tables(command, usual, "again") == seen
    for option in options(others):
        kept = [part for part in options(call[call.index("--") :]) if part[0] != option[0]]
        words = [*start, *(word for part in [*kept, option] for word in part)]
        found = tables(command, words, f"x{option[0]}")
        assert not found & seen, option
        seen |= found
    if "trees.mrg" in call:  # another corpus of that name
        Path("trees.mrg").write_text(TREES.replace("(DT a) ", "(DT a) (JJ big) ", 3), encoding="utf-8")
        assert not tables(command, usual, "other") & seen
