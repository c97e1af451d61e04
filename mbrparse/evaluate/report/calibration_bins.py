"""Do expected scores come true? What was expected beside what was found, in ten bins of the expectation.

Conventions: of sentences, by the labelled recall that was expected of their trees; rates are pooled within a
bin. Of constituents, by their posterior; what was found is the share that is right. Only trees that the
expectations are about are counted: those whose constituents are the very ones that were expected.
"""

from __future__ import annotations

from typing import NamedTuple

BINS = 10


class Bin(NamedTuple):
    """Expected and found rates, 0 to 1, of what lies between two bounds; none of an empty bin."""

    low: float
    high: float
    number: int
    expected: float
    found: float


class CalibrationBins:
    """Bins that are filled one by one.

    >>> bins = CalibrationBins()
    >>> bins.add(0.95, expected=1.9, found=2, of=2)
    9
    >>> bins.rows()
    [Bin(low=0.9, high=1.0, number=1, expected=0.95, found=1.0)]
    """

    def __init__(self) -> None:
        self._number = [0] * BINS
        self._expected = [0.0] * BINS
        self._found = [0.0] * BINS
        self._expected_of = [0.0] * BINS
        self._found_of = [0.0] * BINS

    def add(
        self, rate: float, expected: float, found: float, of: float, expected_of: float | None = None
    ) -> int:
        """Take something in whose expected rate is ``rate``; returns the number of its bin.

        ``expected`` is a part of ``expected_of`` (default: ``of``), ``found`` of ``of``.
        """
        place = min(int(BINS * max(rate, 0.0)), BINS - 1)
        self._number[place] += 1
        self._expected[place] += expected
        self._found[place] += found
        self._expected_of[place] += of if expected_of is None else expected_of
        self._found_of[place] += of
        return place

    def rows(self) -> list[Bin]:
        """The bins in which there is something, from low to high."""
        return [
            Bin(
                place / BINS,
                (place + 1) / BINS,
                self._number[place],
                self._expected[place] / self._expected_of[place],
                self._found[place] / self._found_of[place],
            )
            for place in range(BINS)
            if self._expected_of[place] and self._found_of[place]
        ]

    @property
    def number(self) -> int:
        """How much there is in all of them."""
        return sum(self._number)
