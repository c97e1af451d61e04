"""NLTK's Penn sample from the command line to a grammar: the numbers that the issue gives."""

from pathlib import Path

import pytest
from commandline import Command

from mbrparse.treebank.brackets import read_tree_file
from mbrparse.treebank.tree import constituents


@pytest.mark.usefixtures("treebank_sample")  # skips, or fails, where the data is missing
def test_the_small_grammar(command: Command, tmp_path: Path) -> None:
    trees, train, test, grammar = (tmp_path / name for name in ("trees", "train", "test", "grammar"))
    outcome = command("binarize", "nltk:treebank", "--max-length", 40, "-o", trees)
    assert outcome.err == (
        "mbrparse: read 3914 trees, kept 3628, dropped 286 (longer than 40: 285, single terminal: 1)\n"
    )
    command("split", trees, "--test-fraction", "0.1", "--train-output", train, "--test-output", test)
    gold = [tree for _, tree in read_tree_file(test) if tree is not None]
    assert len(gold) == 362
    assert sum(len(constituents(tree)) for tree in gold) == 7756
    assert command("train", train, "-o", grammar).err == "mbrparse: 3266 trees, 2071 rules\n"
    size = dict(line.split(maxsplit=1) for line in command("grammar", "info", grammar).out.splitlines())
    assert (size["symbols"], size["rules"], size["binary"]) == ("91", "2071", "2071")
    assert size["start"].startswith("S 0.9094, SINV 0.0407, NP 0.0358,")
