"""Every tree of NLTK's Penn sample goes through every way of binarizing, and comes back."""

import itertools
import math

import pytest

from mbrparse.treebank.binarize import Binarization, Direction, binarize, debinarize
from mbrparse.treebank.brackets import read_trees
from mbrparse.treebank.clean import UnaryPolicy, clean
from mbrparse.treebank.tree import Tree, is_binary

ORDERS: list[tuple[str, float, int]] = list(itertools.product(("strip", "keep"), (0, 1, math.inf), (1, 2)))


@pytest.mark.long
@pytest.mark.parametrize("direction", ["right", "left"])
@pytest.mark.parametrize("unary", ["top", "bottom", "join"])
def test_round_trip(unary: UnaryPolicy, direction: Direction, treebank_sample: tuple[Tree, ...]) -> None:
    """Each tree meets one of the twelve combinations of the other options, and each of these 326 trees."""
    for tree, (functions, hmarkov, vmarkov) in zip(treebank_sample, itertools.cycle(ORDERS), strict=False):
        cleaned = clean(tree, unary, functions)
        assert cleaned is not None
        binary = binarize(cleaned, Binarization(direction, hmarkov, vmarkov))
        assert is_binary(binary)
        assert debinarize(binary) == cleaned


def test_round_trip_through_text(treebank_sample: tuple[Tree, ...]) -> None:
    assert len(treebank_sample) == 3914
    lines = map(str, treebank_sample)
    assert [tree for _, tree in read_trees(lines)] == list(treebank_sample)
