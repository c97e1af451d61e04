"""Calibration on a page: expected beside found rates, in ten bins of the expectation.

Conventions: of sentences, by the labelled recall that was expected of their trees; rates are pooled within a
bin. Of constituents, by their posterior; what was found is the share that is right. Only trees that the
expectations are about are counted: those whose constituents are the very ones that were expected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from mbrparse.errors import visible
from mbrparse.evaluate.report.figures import Figure, Row, Table, address, percent

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


@dataclass(frozen=True)
class Calibration:
    """One parser's bins, of sentences and of constituents; ``left_out`` are of other trees."""

    name: str
    sentences: Table
    constituents: Table
    left_out: int


def calibration(
    name: str, by_sentence: CalibrationBins, by_constituent: CalibrationBins, left_out: int
) -> Calibration:
    """Expected and found rates of the bins that hold something."""
    return Calibration(
        visible(name),
        _bins(by_sentence, "sentences", name),
        _bins(by_constituent, "constituents"),
        left_out,
    )


def _bins(bins: CalibrationBins, of: str, name: str | None = None) -> Table:
    rows = []
    for row in bins.rows():
        place = round(row.low * BINS)
        where = "" if name is None else address(view="sentences", system=name, bin=place)
        bounds = f"{100 * row.low:.0f}\N{EN DASH}{100 * row.high:.0f}"
        figures = [
            Figure(percent(row.expected), share=100 * row.expected),
            Figure(percent(row.found), where, share=100 * row.found),
        ]
        rows.append(Row([bounds, f"{row.number:,}"], figures))
    return Table(["expected, %", of, "mean", "found"], rows)
