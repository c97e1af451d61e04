"""Splitting a treebank into a training and a test part."""

from __future__ import annotations

import math
import random
import re
import statistics
from collections.abc import Sequence
from fractions import Fraction
from numbers import Integral
from typing import NamedTuple, SupportsIndex, TypeVar

from mbrparse.arguments import checked
from mbrparse.errors import CorpusError, shortened

Item = TypeVar("Item")

_FEW = 30
_DIGITS = 16
_FOLD = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")
_FRACTION = re.compile(r"[0-9./]{1,40}(e-?[0-9]{1,3})?")


class Split(NamedTuple):
    """Positions (0-based, ascending) of the training and of the test part."""

    train: Sequence[int]
    test: Sequence[int]


def split_number(count: int, test: int, seed: int | None = None) -> Split:
    """The last ``test`` of ``count`` items for testing, or as many at random; parts keep the input's order.

    >>> split_number(5, 2), split_number(5, 2, seed=1).test
    (Split(train=range(0, 3), test=range(3, 5)), [0, 1])
    """
    if not 0 <= test <= count:
        raise CorpusError(f"{test} trees asked for, but there are {count}")
    if seed is None:
        return Split(range(count - test), range(count - test, count))
    drawn = set(random.Random(seed).sample(range(count), test))
    return Split([i for i in range(count) if i not in drawn], sorted(drawn))


def split_fraction(count: int, fraction: str, seed: int | None = None) -> Split:
    """The last floor(count * fraction) items for testing, or as many at random.

    The number is exact, since the fraction is text.

    >>> len(split_fraction(100, "0.29").test)
    29
    """
    return split_number(count, math.floor(count * _share(fraction, "a fraction")), seed)


def split_fold(count: int, fold: str, seed: int | None = None) -> Split:
    """One of the equal parts of ``count`` items for testing: "2/10" is the second of ten.

    Parts are neighbours, or with a seed drawn at random; each item is in one of them.

    >>> split_fold(5, "2/2").test, split_fold(5, "1/2", seed=1).test, split_fold(5, "2/2", seed=1).test
    ([2, 3, 4], [2, 3], [0, 1, 4])
    """
    found = _FOLD.fullmatch(fold)
    number, folds = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= folds or folds < 2:
        raise CorpusError(f"a fold is I/N, with I from 1 to N and N from 2, not {shortened(fold)}")
    if folds > count:
        raise CorpusError(f"{folds} folds asked for, but there are {count} trees")
    order = _shuffled(range(count), seed)
    test = set(order[count * (number - 1) // folds : count * number // folds])
    return Split([place for place in range(count) if place not in test], sorted(test))


def first_part(places: Sequence[int], size: str, seed: int | None = None) -> Sequence[int]:
    """A part of the items (a fraction of them, 1 for all, or a number from 2): the first, or drawn at random.

    With one seed a smaller part lies in a larger one.

    >>> first_part(range(9), "1/3"), first_part(range(9), "2"), len(first_part(range(9), "1"))
    ([0, 1, 2], [0, 1], 9)
    """
    if re.fullmatch("0*1", size):
        return places
    kept = part_size(size, len(places))
    if not 0 < kept <= len(places):
        raise CorpusError(f"{kept} training trees asked for, but there are {len(places)}")
    return sorted(_shuffled(places, seed)[:kept])


def _shuffled(places: Sequence[int], seed: int | None) -> list[int]:
    order = list(places)
    if seed is not None:
        random.Random(seed).shuffle(order)
    return order


def part_size(text: str, count: int) -> int:
    """How many of ``count`` items a part has that is given as their number or as a fraction of them all.

    >>> part_size("88", 1500), part_size("0.05", 1500), part_size("1/3", 10)
    (88, 75, 3)
    """
    if text.isascii() and text.isdigit() and len(text) < _DIGITS:
        return int(text)
    return math.floor(count * _share(text, "a part is a number of sentences, or a fraction that"))


def length_note(lengths: Sequence[int], split: Split) -> str | None:
    """A warning in one line where the parts are no two samples of one text; None otherwise.

    They are not where their mean lengths differ by half a standard deviation: in a corpus sorted by length
    the last tenth is more than one away. Parts of fewer than 30 may differ.

    >>> length_note(range(300), split_number(300, 30))[:51], length_note([4, 5] * 150, split_number(300, 30))
    ('warning: test sentences have 284.5 words, training ', None)
    """
    if min(len(split.train), len(split.test)) < _FEW:
        return None
    train, test = (sum(lengths[place] for place in part) / len(part) for part in split)
    if abs(test - train) <= statistics.pstdev(lengths) / 2:
        return None
    return (
        f"warning: test sentences have {test:.1f} words, training sentences {train:.1f}: if the corpus is "
        "sorted, draw the test part at random (`seed`)"
    )


@checked
def split(
    trees: Sequence[Item], test_fraction: float | str | Fraction | SupportsIndex, *, seed: int | None = None
) -> tuple[list[Item], list[Item]]:
    """Split trees (or anything else) into a training and a test part, both in the given order.

    Args:
        trees: The sentences, N of them.
        test_fraction: The share of test sentences, between 0 and 1, or as an int their number. A share
            counts as it is written: of 100 sentences, 0.29 are 29, though as a float it is a little less.
            Of N sentences, floor(N * share) are taken.
        seed: Of a random draw, the same from release to release; without, the last sentences are taken.

    Returns:
        The training part and the test part.

    Raises:
        CorpusError: No sentences, fewer than the test part, or a share that is none.

    >>> from mbrparse.treebank.corpora.prepare import read_trees
    >>> train, test = split(read_trees("embedded:flights"), 0.1)
    >>> len(train), len(test)
    (1350, 149)
    >>> split("abcde", 2), split("abcde", 0.4, seed=1)
    ((['a', 'b', 'c'], ['d', 'e']), (['c', 'd', 'e'], ['a', 'b']))
    """
    count = len(trees)
    if not count:
        raise CorpusError("no trees to split")
    if not isinstance(test_fraction, Integral):
        parts = split_fraction(count, str(test_fraction), seed)
    else:
        parts = split_number(count, int(test_fraction), seed)
    return [trees[place] for place in parts.train], [trees[place] for place in parts.test]


def _share(fraction: str, what: str) -> Fraction:
    try:
        # An exponent may be so large that the number never comes about.
        share = Fraction(fraction if _FRACTION.fullmatch(fraction) else -1)
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if not 0 < share < 1:
        raise CorpusError(f"{what} lies between 0 and 1, not {shortened(fraction)}")
    return share
