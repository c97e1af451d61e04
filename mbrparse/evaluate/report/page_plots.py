"""Calibration, and differences between parsers with their intervals, drawn on a page.

Calibration: expected beside found rates, in ten bins of the expectation. Of sentences, by the labelled recall
that was expected of their trees; rates are pooled within a bin. Of constituents, by their posterior; what was
found is the share that is right. Only trees that the expectations are about are counted: those whose
constituents are the very ones that were expected.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbrparse.evaluate.report.figures import Figure, Row, Table, address, percent
from mbrparse.evaluate.tables.criteria import Criterion
from mbrparse.evaluate.tables.significance import LEVEL
from mbrparse.io.errors import visible

if TYPE_CHECKING:
    from mbrparse.evaluate.tables.rate_tables import Summary

BINS = 10


class Bin(NamedTuple):
    """Expected and found rates, 0 to 1, of the items whose expected rate is between two bounds."""

    low: float
    high: float
    number: int
    expected: float
    found: float


class CalibrationBins:
    """Bins, filled item by item.

    >>> bins = CalibrationBins()
    >>> bins.add(0.95, expected=1.9, found=2, of=2)
    9
    >>> bins.rows()
    [Bin(low=0.9, high=1.0, number=1, expected=0.95, found=1.0)]
    """

    def __init__(self) -> None:
        #: of each bin: how many, expected, found, and the wholes of which these are parts
        self._sums = [[0.0] * 5 for _ in range(BINS)]

    def add(
        self, rate: float, expected: float, found: float, of: float, expected_of: float | None = None
    ) -> int:
        """Add an item whose expected rate is ``rate``; returns the number of its bin.

        ``expected`` is a part of ``expected_of`` (default: ``of``), ``found`` of ``of``.
        """
        place = min(int(BINS * max(rate, 0.0)), BINS - 1)
        sums = self._sums[place]
        for index, value in enumerate((1, expected, found, of if expected_of is None else expected_of, of)):
            sums[index] += value
        return place

    def rows(self) -> list[Bin]:
        """The bins that hold something, from low to high."""
        return [
            Bin(place / BINS, (place + 1) / BINS, int(number), expected / expected_of, found / found_of)
            for place, (number, expected, found, expected_of, found_of) in enumerate(self._sums)
            if expected_of and found_of
        ]

    @property
    def number(self) -> int:
        """The number of items in all bins."""
        return int(sum(number for number, *_ in self._sums))


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
    sentences, constituents = _bins(by_sentence, "sentences", name), _bins(by_constituent, "constituents")
    return Calibration(visible(name), sentences, constituents, left_out)


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


@dataclass(frozen=True)
class Difference:
    """The difference of a parser from the baseline by a criterion; positions are in per cent of the axis."""

    criterion: str
    name: str
    text: str
    interval: str
    p: str
    clear: bool  #: more than chance
    low: float
    at: float
    high: float
    address: str


@dataclass(frozen=True)
class Axis:
    """Differences on one axis: its ticks and their places in per cent."""

    unit: str
    zero: float
    ticks: list[tuple[str, float]]
    rows: list[Difference]


def differences(summary: Summary) -> list[Axis]:
    """The differences from the baseline: rates on one axis, other figures each on an axis of its own."""
    found = summary.significance
    if found is None:
        return []
    bounds = np.stack([found.difference_low, found.difference, found.difference_high])
    others = [file for file, name in enumerate(found.names) if name != found.baseline]
    groups: dict[str, list[int]] = {}
    for place, criterion in enumerate(found.criteria):
        groups.setdefault("" if criterion.percent else criterion.name, []).append(place)
    axes = []
    for places in groups.values():
        percent = found.criteria[places[0]].percent
        scale = 100.0 if percent else 1.0
        ends = scale * bounds[::2, others][:, :, places]
        low, high, ticks = _axis(ends[~np.isnan(ends)].tolist())
        rows = []
        for place, file in itertools.product(places, others):
            criterion, name = found.criteria[place], found.names[file]
            shown = bounds[:, file, place].tolist()
            if any(map(math.isnan, shown)):
                continue
            p = float(found.p_randomization[file, place])
            left, text, right = (_signed(criterion, value) for value in shown)
            start, middle, end = (100 * (scale * value - low) / (high - low) for value in shown)
            state = {"system": name, "versus": found.baseline, "criterion": criterion.name}
            rows.append(
                Difference(
                    criterion.heading,
                    visible(name),
                    text,
                    f"{left} to {right}",
                    f"{p:.4f}",
                    p < LEVEL,
                    start,
                    middle,
                    end,
                    address(view="sentences", **state),
                )
            )
        where = [(text, 100 * (tick - low) / (high - low)) for text, tick in ticks]
        axes.append(Axis("points" if percent else "", -100 * low / (high - low), where, rows))
    return axes


def _signed(criterion: Criterion, difference: float) -> str:
    """With a plus, or a minus that is as wide as a plus."""
    text = criterion.show(difference)
    return text.replace("-", "\N{MINUS SIGN}") if text[0] == "-" else f"+{text}"


def _axis(ends: Sequence[float]) -> tuple[float, float, list[tuple[str, float]]]:
    """Bounds that hold zero and all ends, and round ticks between."""
    low, high = min(0.0, *ends, 0.0), max(0.0, *ends, 0.0)
    width = (high - low) or 1.0
    low, high = low - 0.06 * width, high + 0.06 * width
    step = 10.0 ** math.floor(math.log10(width / 2))
    step = next(step * factor for factor in (1, 2, 5, 10) if width / (step * factor) <= 6)
    first = math.ceil(low / step)
    ticks = [step * place for place in range(first, math.floor(high / step) + 1)]
    return low, high, [(f"{tick:g}".replace("-", "\N{MINUS SIGN}"), tick) for tick in ticks]
