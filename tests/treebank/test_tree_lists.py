"""Treebanks as lists: the same trees as the commands', and exact splits."""

import math
from pathlib import Path
from typing import Any

import pytest
from commandline import Command

from mbrparse.errors import MbrparseError
from mbrparse.treebank.binarize import Binarization, HeadDriven
from mbrparse.treebank.corpora.prepare import PreparationStatistics, read_trees
from mbrparse.treebank.heads import head_rules
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
    assert f"mbrparse: {statistics}\n" == done.err
    assert read_trees(Path("corpus.mrg"), **arguments) == read_trees("corpus.mrg", **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sections": "02-21"}, "sections of embedded:flights; only wsj:DIR has them"),
        ({"unary": "none"}, "unary is one of top, bottom, join, join-tags, keep, not 'none'"),
    ],
)
def test_arguments_that_mean_nothing(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(MbrparseError) as caught:
        read_trees("embedded:flights", **arguments)
    assert str(caught.value).startswith(message)
