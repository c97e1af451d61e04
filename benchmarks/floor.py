"""The dense matrix-product floor: what no parser can beat that computes each cell by dense products.

A cell of inside is the product of [symbols, splits] by [splits, symbols], and the outside pass makes two
products of the same size of it. Only symbols that can be wide count, and only the splits that leave two
parts of two or more terminals; whatever else a chart needs (rules, tags, scales, posteriors, search) is
taken to cost nothing. The floor is the number of operations over the rate of a large matrix product,
measured on the spot.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

SIDE = 768  # of the large product: long enough for the peak, short enough to be repeated


def operations(lengths: Iterable[int], symbols: int, passes: int = 3) -> float:
    """Additions and multiplications of the products of all cells (passes: 1 is inside alone)."""
    return sum(
        2.0 * passes * symbols * symbols * (width - 3) * (length - width + 1)
        for length in lengths
        for width in range(4, length + 1)
    )


class LargeProduct:
    """A product of two square matrices: the core's peak."""

    def __init__(self, dtype: type[np.floating]) -> None:
        source = np.random.default_rng(0)
        self._left, self._right = (source.random((SIDE, SIDE)).astype(dtype) for _ in range(2))
        self._result = np.empty((SIDE, SIDE), dtype)
        self.operations = 2.0 * SIDE**3

    def __call__(self) -> float:
        np.matmul(self._left, self._right, out=self._result)
        return 0.0


class CellProducts:
    """The same products one cell after the other, as numpy multiplies such small matrices."""

    def __init__(self, lengths: list[int], symbols: int) -> None:
        source = np.random.default_rng(0)
        longest = max(lengths)
        self._lengths = lengths
        self._left = source.random((symbols, longest))
        self._right = source.random((longest, symbols))
        self._weight = source.random((symbols, symbols))

    def __call__(self) -> float:
        weight = self._weight
        for length in self._lengths:
            for width in range(4, length + 1):
                left: NDArray[np.float64] = self._left[:, : width - 3]
                right: NDArray[np.float64] = self._right[: width - 3]
                for _ in range(length - width + 1):
                    np.matmul(left, right)
                    np.matmul(weight, right.T)
                    np.matmul(left.T, weight)
        return 0.0
