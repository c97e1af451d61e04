"""Treebanks as lists: the same trees as the commands', and exact splits."""

import math
from pathlib import Path
from typing import Any

import pytest
from commandline import Command
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.errors import MbrparseError
from mbrparse.treebank.binarize import Binarization, HeadDriven
from mbrparse.treebank.corpora.prepare import PreparationStatistics, read_trees
from mbrparse.treebank.heads import head_rules
from mbrparse.treebank.splits import split_fraction, split_number
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
        ("--unary bottom --functions keep", {"unary": "bottom", "functions": "keep"}),
        ("--unary join --hmarkov inf", {"unary": "join", "binarize": Binarization(hmarkov=math.inf)}),
        ("--direction left --hmarkov 1 --vmarkov 2", {"binarize": Binarization("left", 1, 2)}),
        (
            "--head-rules collins --annotate parent,head-tag --subcat",
            {"binarize": Binarization(vmarkov=2, heads=HeadDriven(COLLINS, tags=True, frames=True))},
        ),
    ],
)
def test_what_binarize_does(options: str, arguments: dict[str, Any], command: Command) -> None:
    statistics = PreparationStatistics()
    done = command(f"binarize corpus.mrg {options}")
    assert written(read_trees("corpus.mrg", statistics=statistics, **arguments)) == done.output
    assert "".join(f"mbrparse: {line}\n" for line in (statistics, *statistics.notes())) == done.err
    assert read_trees(Path("corpus.mrg"), **arguments) == read_trees("corpus.mrg", **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sections": "02-21"}, "sections of embedded:flights; only wsj:DIR has them"),
        ({"unary": "none"}, "read_trees: `unary` is one of top, bottom, join, join-tags, keep, not 'none'"),
    ],
)
def test_arguments_that_mean_nothing(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(MbrparseError) as caught:
        read_trees("embedded:flights", **arguments)
    assert str(caught.value).startswith(message)


# --- splits ------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(1, 999))
def test_fraction_is_exact(count: int, thousandths: int) -> None:
    parts = split_fraction(count, f"0.{thousandths:03}")
    assert len(parts.test) == count * thousandths // 1000
    assert [*parts.train, *parts.test] == list(range(count))


@pytest.mark.parametrize(
    ("count", "fraction", "test"), [(100, "0.57", 57), (3, "1/3", 1), (9, "0.1", 0), (10, "1e-1", 1)]
)
def test_fraction_as_people_write_it(count: int, fraction: str, test: int) -> None:
    assert len(split_fraction(count, fraction).test) == test


@given(st.integers(0, 60), st.data(), st.integers())
def test_random_is_a_partition_in_order_and_reproducible(count: int, data: st.DataObject, seed: int) -> None:
    test = data.draw(st.integers(0, count))
    parts = split_number(count, test, seed)
    assert len(parts.test) == test
    assert sorted([*parts.train, *parts.test]) == list(range(count))
    assert list(parts.train) == sorted(parts.train)
    assert list(parts.test) == sorted(parts.test)
    assert split_number(count, test, seed) == parts


def test_random_stays_the_same_from_release_to_release() -> None:
    assert split_number(20, 5, seed=7).test == [1, 2, 4, 10, 12]
