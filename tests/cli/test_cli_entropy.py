"""``grammar info --entropy``: how long a grammar's trees are, and how uncertain."""

import json
from pathlib import Path

import numpy as np
import pytest
from commandline import Command, grammar_text

from mbrparse.treebank.formats.formats import read_tree_file

CATALAN = grammar_text("0.25 - S -> S S; 0.75 - S -> 'a'", start="S 1 -")
FIGURES = """\
spectral radius        0.5
words                  1.5
nodes                  2
entropy in bits        1.62256
bits a word            1.0817
"""
NAMES = [line[:22].strip() for line in FIGURES.splitlines()]


def test_figures(command: Command) -> None:
    assert command("grammar info - --entropy", stdin=CATALAN).output == FIGURES
    lengths = "length 1               0.75\nlength 2               0.140625\n"
    assert command("grammar info - --entropy --lengths 2", stdin=CATALAN).output == FIGURES + lengths
    csv = command("grammar info - --entropy --lengths 2 --format csv", stdin=CATALAN).output.splitlines()
    assert csv[0] == "figure,value"
    rows = [line.split(",") for line in csv[1:]]
    assert [name for name, _ in rows] == [*NAMES, "length 1", "length 2"]
    assert dict(rows)["length 2"] == "0.140625"
    lines = command("grammar info - --entropy --lengths 20 --format json", stdin=CATALAN).output.splitlines()
    found = {row["figure"]: row["value"] for row in map(json.loads, lines)}
    assert found["words"] == 1.5
    assert len(found) == len(NAMES) + 20
    assert list(found) == [*NAMES, *(f"length {n}" for n in range(1, 21))]


@pytest.mark.parametrize("terminals", ["tags", "words"])
def test_a_counted_grammar_expects_the_mean_of_its_treebank(terminals: str, command: Command) -> None:
    assert command("binarize embedded:flights -o bin").code == 0
    assert command(f"train bin -o g --terminals {terminals}").code == 0
    lines = command("grammar info g --entropy --lengths 60 --format json").output.splitlines()
    found = {row["figure"]: row["value"] for row in map(json.loads, lines)}
    trees = [tree for _, tree, _ in read_tree_file(Path("bin"), "utf-8") if tree is not None]
    assert found["words"] == pytest.approx(np.mean([len(tree.leaves()) for tree in trees]), rel=1e-10)
    assert found["nodes"] == pytest.approx(np.mean([len(list(t.preorder())) for t in trees]), rel=1e-10)
    assert found["spectral radius"] < 1
    lengths = [found[f"length {n}"] for n in range(1, 61)]
    assert np.dot(lengths, range(1, 61)) == pytest.approx(found["words"], rel=0.05)


def test_an_inconsistent_grammar(command: Command) -> None:
    text = grammar_text("0.75 - S -> S S; 0.25 - S -> 'a'", start="S 1 -")
    outcome = command("grammar info - --entropy --lengths 1", stdin=text)
    assert outcome.output == "spectral radius        1.5\nlength 1               0.25\n"
    assert "<stdin>: a spectral radius of one or more: neither expected length nor entropy" in outcome.err
