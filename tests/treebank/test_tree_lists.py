"""Treebanks as lists: the same trees as the commands', and exact splits."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commandline import Command

from mbrparse.errors import BracketError, CorpusError, FileError, MbrparseError
from mbrparse.treebank.binarize import Binarization, HeadDriven
from mbrparse.treebank.corpora.prepare import PreparationStatistics, read_parses, read_trees
from mbrparse.treebank.formats.conventions import CorpusReading
from mbrparse.treebank.heads import head_rules
from mbrparse.treebank.splits import split
from mbrparse.treebank.tree import Tree

TREES = """\
( (S (NP-SBJ (DT the) (JJ old) (NN dog)) (VP (VBZ barks) (ADVP-MNR (RB loudly)))) )
(())
(FRAG (NP (NN dog)))
(S (NP (-NONE- *)))
(S (VP (VB go) (NP (NN home))))
"""


def written(trees: list[Tree]) -> str:
    return "".join(f"{tree}\n" for tree in trees)


@pytest.fixture(autouse=True)
def corpus() -> None:
    Path("corpus.mrg").write_text(TREES)


COLLINS = head_rules("collins")


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ("", {}),
        ("--unary bottom --functions keep", {"unary": "bottom", "functions": "keep"}),
        ("--unary keep", {"unary": "keep"}),
        ("--unary join --hmarkov inf", {"unary": "join", "binarize": Binarization(hmarkov=math.inf)}),
        ("--max-length 4", {"max_length": 4}),
        ("--direction left --hmarkov 1 --vmarkov 2", {"binarize": Binarization("left", 1, 2)}),
        ("--annotate parent --hmarkov 1", {"binarize": Binarization("right", 1, 2)}),
        ("--head-rules collins", {"binarize": Binarization(heads=HeadDriven(COLLINS))}),
        (
            "--head-rules collins --annotate parent,head-tag --subcat",
            {"binarize": Binarization(vmarkov=2, heads=HeadDriven(COLLINS, tags=True, frames=True))},
        ),
        (
            "--head-rules collins --annotate head-tag --vmarkov 3 --functions keep",
            {"binarize": Binarization(vmarkov=3, heads=HeadDriven(COLLINS, tags=True)), "functions": "keep"},
        ),
    ],
)
def test_what_binarize_does(options: str, arguments: dict[str, Any], command: Command) -> None:
    for spec in ("corpus.mrg", "embedded:flights"):
        statistics = PreparationStatistics()
        done = command(f"binarize {spec} {options}")
        assert written(read_trees(spec, statistics=statistics, **arguments)) == done.output
        assert f"mbrparse: {statistics}\n" == done.err
    assert read_trees(Path("corpus.mrg"), **arguments) == read_trees("corpus.mrg", **arguments)


def test_trees_as_they_stand() -> None:
    text = "(S^TOP (NP-SBJ (A x)) (S_Cont y z))\n(S x y)\n"
    path = Path("trees.mrg")
    path.write_text(text)
    assert written(read_trees(path, binarize=False)) == text
    statistics = PreparationStatistics()
    assert written(read_trees(path, binarize=False, max_length=2, statistics=statistics)) == "(S x y)\n"
    assert str(statistics) == "read 2 trees, kept 1, dropped 1 (longer than 2: 1)"


def test_an_empty_parse_is_not_overlooked() -> None:
    with pytest.raises(CorpusError) as caught:
        read_trees("corpus.mrg", binarize=False)
    assert (caught.value.source, caught.value.line) == ("corpus.mrg", 2)
    assert [tree is None for tree in read_parses("corpus.mrg")] == [False, True, False, False, False]


def test_malformed_trees() -> None:
    path = Path("trees.mrg")
    path.write_text("(S x y)\n(S (A x y)\n(S y z)\n")
    for binarize in (True, False):
        with pytest.raises(BracketError, match=":2: unbalanced"):
            read_trees(path, binarize=binarize)
        statistics = PreparationStatistics()
        found = read_trees(path, binarize=binarize, on_error="skip", statistics=statistics)
        assert written(found) == "(S x y)\n(S y z)\n"
        assert statistics.dropped == {"malformed": 1}


def test_encodings() -> None:
    path = Path("trees.mrg")
    path.write_bytes("(S café y)\n(())\n".encode("utf-16"))
    assert written(read_trees(path, reading=CorpusReading("utf-16"))) == "(S café y)\n"
    assert read_parses(path, encoding="utf-16")[1] is None
    assert written(read_trees(path)) == "(S café y)\n"  # by its mark
    path.write_bytes("(S café y)\n".encode("latin-1"))
    with pytest.raises(FileError, match=r":1: bytes that are not utf-8"):
        read_trees(path)


@pytest.mark.parametrize("binarize", [True, False])
def test_no_corpus(binarize: bool) -> None:
    Path("empty").touch()
    for name, message in (
        ("empty", "no trees in the input"),
        ("nothing", "no such file"),
        ("embedded:trains", "no embedded treebank 'trains'"),
    ):
        with pytest.raises(MbrparseError, match=message):
            read_trees(name, binarize=binarize)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sections": "02-21"}, "sections of embedded:flights; only wsj:DIR has them"),
        ({"on_error": "ignore"}, "on_error is stop or skip, not 'ignore'"),
        ({"unary": "none"}, "unary is one of top, bottom, join, join-tags, keep, not 'none'"),
        ({"functions": True}, "functions are strip, keep, after:CHARACTERS or before:CHARACTERS, not True; "),
    ],
)
def test_arguments_that_mean_nothing(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(MbrparseError) as caught:
        read_trees("embedded:flights", **arguments)
    assert str(caught.value).startswith(message)


def test_shares_and_numbers_of_trees() -> None:
    """A share is exact as a number of any type."""
    for thousandths in range(1, 1000):
        for share in (thousandths / 1000, np.float64(thousandths / 1000), Fraction(thousandths, 1000)):
            train, test = split(range(1000), share)
            assert (len(test), [*train, *test]) == (thousandths, list(range(1000)))
    assert split("abc", 0) == (["a", "b", "c"], [])
    assert split("abc", 3) == split("abc", np.int64(3)) == ([], ["a", "b", "c"])


def test_the_commands_splits(command: Command) -> None:
    trees = read_trees("embedded:flights")
    Path("trees").write_text(written(trees))
    for options, size, seed in (
        ("--test-fraction 0.1", 0.1, None),
        ("--test-last 7", 7, None),
        ("--test-random 150 --seed 3", 150, 3),
    ):
        done = command(f"split trees {options} --train-output - --test-output test")
        train, test = split(trees, size, seed=seed)
        assert (done.output, Path("test").read_text()) == (written(train), written(test))


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, float("nan"), float("inf"), "ten", 4, -1])
def test_what_is_no_share(fraction: float | str) -> None:
    for seed in (None, 1):
        with pytest.raises(CorpusError):
            split("abc", fraction, seed=seed)
    with pytest.raises(CorpusError, match="no trees to split"):
        split([], 0.5)


def test_labels_and_leaves_of_other_traditions() -> None:
    text = "( (IP-MAT (NP-SBJ (N-N hestar-hestur) (D x-y)) (V 0) (V er-vera)) (ID A,.1))\n"
    Path("a.psd").write_text(text)
    Path("names").write_text("NP-* nominal\nN-? N\n")
    spec, statistics = "penn-historical:a.psd", PreparationStatistics()
    [tree] = read_trees(spec, reading=CorpusReading(leaves="lemma"), label_map="names", statistics=statistics)
    assert str(tree) == "(IP (nominal (N hestur) (D y)) (V vera))"
    assert statistics.removed == {"(ID)": 1, "wrapper": 1, "0": 1}
    [tree] = read_trees(spec, functions="after:P", reading=CorpusReading(leaves="word"))
    assert str(tree) == "(I (N (N-N hestar) (D x)) (V er))"
    [tree] = read_trees(spec, binarize=False)
    assert str(tree) == "(IP-MAT (NP-SBJ (N-N hestar-hestur) (D x-y)) (V er-vera))"
