"""Splitting a treebank into a training and a test part."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from mbrparse.errors import CorpusError, shortened

_FRACTION = re.compile(r"[0-9./]{1,40}(e-?[0-9]{1,3})?")


class Split(NamedTuple):
    """Positions (0-based, ascending) of the training and of the test part."""

    train: Sequence[int]
    test: Sequence[int]


def split_last(count: int, test: int) -> Split:
    """The last ``test`` of ``count`` items for testing.

    >>> split_last(5, 2)
    Split(train=range(0, 3), test=range(3, 5))
    """
    _check(count, test)
    return Split(range(count - test), range(count - test, count))


def split_fraction(count: int, fraction: str) -> Split:
    """The last floor(count * fraction) items for testing; exact, since the fraction is text.

    >>> len(split_fraction(100, "0.29").test)
    29
    """
    try:
        # An exponent may be so large that the number never comes about.
        share = Fraction(fraction if _FRACTION.fullmatch(fraction) else -1)
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if not 0 < share < 1:
        raise CorpusError(f"a test fraction lies between 0 and 1, not {shortened(fraction)}")
    return split_last(count, math.floor(count * share))


def split_random(count: int, test: int, seed: int) -> Split:
    """``test`` items drawn at random for testing; both parts keep the order of the input."""
    _check(count, test)
    drawn = set(random.Random(seed).sample(range(count), test))
    return Split([i for i in range(count) if i not in drawn], sorted(drawn))


def _check(count: int, test: int) -> None:
    if not 0 <= test <= count:
        raise CorpusError(f"{test} test trees asked for, but there are {count} trees")
