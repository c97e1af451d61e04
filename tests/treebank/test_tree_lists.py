"""Treebanks as lists: the same trees as the commands', and exact splits."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commandline import Command
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.io.errors import BracketError, CorpusError, FileError, MbrparseError
from mbrparse.treebank.binarize import Binarization
from mbrparse.treebank.prepare import PreparationStatistics
from mbrparse.treebank.tree import Tree
from mbrparse.treebank.tree_lists import read_parses, read_trees, split

TREES = """\
( (S (NP-SBJ (DT the) (JJ old) (NN dog)) (VP (VBZ barks) (ADVP-MNR (RB loudly)))) )
(())
(FRAG (NP (NN dog)))
(S (NP (-NONE- *)))
(S (VP (VB go) (NP (NN home))))
"""


def written(trees: list[Tree]) -> str:
    return "".join(f"{tree}\n" for tree in trees)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.mrg"
    path.write_text(TREES)
    return path


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ([], {}),
        (["--unary", "bottom", "--functions", "keep"], {"unary": "bottom", "functions": "keep"}),
        (["--unary", "keep"], {"unary": "keep"}),
        (["--max-length", "4"], {"max_length": 4}),
        (
            ["--direction", "left", "--hmarkov", "1", "--vmarkov", "2"],
            {"binarize": Binarization("left", 1, 2)},
        ),
    ],
)
def test_what_binarize_does(
    options: list[str], arguments: dict[str, Any], corpus: Path, command: Command
) -> None:
    for spec in (str(corpus), "embedded:flights"):
        statistics = PreparationStatistics()
        done = command("binarize", spec, *options)
        assert written(read_trees(spec, statistics=statistics, **arguments)) == done.out
        assert f"mbrparse: {statistics}\n" == done.err
    assert read_trees(corpus, **arguments) == read_trees(str(corpus), **arguments)


def test_trees_as_they_stand(tmp_path: Path) -> None:
    text = "(S^TOP (NP-SBJ (A x)) (S_Cont y z))\n(S x y)\n"
    path = tmp_path / "trees.mrg"
    path.write_text(text)
    assert written(read_trees(path, binarize=False)) == text
    statistics = PreparationStatistics()
    assert written(read_trees(path, binarize=False, max_length=2, statistics=statistics)) == "(S x y)\n"
    assert str(statistics) == "read 2 trees, kept 1, dropped 1 (longer than 2: 1)"


def test_an_empty_parse_is_not_overlooked(corpus: Path) -> None:
    with pytest.raises(CorpusError) as caught:
        read_trees(corpus, binarize=False)
    assert (caught.value.source, caught.value.line) == (str(corpus), 2)
    assert [tree is None for tree in read_parses(corpus)] == [False, True, False, False, False]


def test_malformed_trees(tmp_path: Path) -> None:
    path = tmp_path / "trees.mrg"
    path.write_text("(S x y)\n(S (A x y)\n(S y z)\n")
    for binarize in (True, False):
        with pytest.raises(BracketError, match=":2: unbalanced"):
            read_trees(path, binarize=binarize)
        statistics = PreparationStatistics()
        found = read_trees(path, binarize=binarize, on_error="skip", statistics=statistics)
        assert written(found) == "(S x y)\n(S y z)\n"
        assert statistics.dropped == {"malformed": 1}


def test_encodings(tmp_path: Path) -> None:
    path = tmp_path / "trees.mrg"
    path.write_bytes("(S café y)\n(())\n".encode("utf-16"))
    assert written(read_trees(path, encoding="utf-16")) == "(S café y)\n"
    assert read_parses(path, encoding="utf-16")[1] is None
    assert written(read_trees(path)) == "(S café y)\n"  # by its mark
    path.write_bytes("(S café y)\n".encode("latin-1"))
    with pytest.raises(FileError, match=r":1: bytes that are not utf-8"):
        read_trees(path)


@pytest.mark.parametrize("binarize", [True, False])
def test_no_corpus(tmp_path: Path, binarize: bool) -> None:
    (tmp_path / "empty").write_text("")
    with pytest.raises(CorpusError, match="no trees in the input"):
        read_trees(tmp_path / "empty", binarize=binarize)
    with pytest.raises(FileError, match="no such file"):
        read_trees(tmp_path / "nothing", binarize=binarize)
    with pytest.raises(CorpusError, match="no embedded treebank 'trains'"):
        read_trees("embedded:trains", binarize=binarize)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sections": "02-21"}, "sections of embedded:flights; only wsj:DIR has them"),
        ({"on_error": "ignore"}, "on_error is stop or skip, not 'ignore'"),
        ({"unary": "none"}, "unary is one of top, bottom, join, keep, not 'none'"),
        (
            {"functions": True},
            "functions are strip, keep, after:CHARACTERS or before:CHARACTERS, not True; "
            "after:-= cuts NP-SBJ to NP, before:+ cuts UTT+np to np",
        ),
    ],
)
def test_arguments_that_mean_nothing(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(MbrparseError) as caught:
        read_trees("embedded:flights", **arguments)
    assert str(caught.value) == message


@given(st.integers(1, 3000), st.integers(1, 999))
def test_a_fraction_is_exact_as_a_number(count: int, thousandths: int) -> None:
    expected = count * thousandths // 1000
    for fraction in (thousandths / 1000, np.float64(thousandths / 1000), Fraction(thousandths, 1000)):
        train, test = split(range(count), fraction)
        assert len(test) == expected
        assert [*train, *test] == list(range(count))


def test_a_number_of_trees() -> None:
    assert split("abc", 0) == (["a", "b", "c"], [])
    assert split("abc", 3) == split("abc", np.int64(3)) == ([], ["a", "b", "c"])


def test_the_commands_splits(command: Command, tmp_path: Path) -> None:
    trees = read_trees("embedded:flights")
    path = tmp_path / "trees"
    path.write_text(written(trees))
    for options, arguments, seed in (
        (["--test-fraction", "0.1"], 0.1, None),
        (["--test-last", 7], 7, None),
        (["--test-random", 150, "--seed", 3], 150, 3),
    ):
        done = command("split", path, *options, "--train-output", "-", "--test-output", tmp_path / "test")
        train, test = split(trees, arguments, seed=seed)
        assert (done.out, (tmp_path / "test").read_text()) == (written(train), written(test))


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, float("nan"), float("inf"), "ten", 4, -1])
def test_what_is_no_share(fraction: float | str) -> None:
    with pytest.raises(CorpusError):
        split("abc", fraction)
    with pytest.raises(CorpusError):
        split("abc", fraction, seed=1)


def test_nothing_to_split() -> None:
    with pytest.raises(CorpusError, match="no trees to split"):
        split([], 0.5)


def test_labels_and_leaves_of_other_traditions(tmp_path: Path) -> None:
    trees, names = tmp_path / "a.psd", tmp_path / "names"
    trees.write_text("( (IP-MAT (NP-SBJ (N-N hestar-hestur) (D x-y)) (V 0) (V er-vera)) (ID A,.1))\n")
    names.write_text("NP-* nominal\nN-? N\n")
    spec = f"penn-historical:{trees}"
    statistics = PreparationStatistics()
    [tree] = read_trees(spec, leaves="lemma", label_map=names, statistics=statistics)
    assert str(tree) == "(IP (nominal (N hestur) (D y)) (V vera))"
    assert statistics.removed == {"(ID)": 1, "wrapper": 1, "0": 1}
    [tree] = read_trees(spec, functions="after:P", leaves="word")
    assert str(tree) == "(I (N (N-N hestar) (D x)) (V er))"
    [tree] = read_trees(spec, binarize=False)
    assert str(tree) == "(IP-MAT (NP-SBJ (N-N hestar-hestur) (D x-y)) (V er-vera))"
