"""Calibration, and differences between parsers with their intervals, drawn on a page.

Calibration: expected beside found rates, in ten bins of the expectation. Of sentences, by the labelled recall
that was expected of their trees; rates are pooled within a bin. Of constituents, by their posterior; what was
found is the share that is right. Only trees that the expectations are about are counted: those whose
constituents are the very ones that were expected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mbrparse.evaluate.report.figures import Figure, Row, Table, address, percent
from mbrparse.evaluate.tables.criteria import Criterion
from mbrparse.evaluate.tables.significance import LEVEL
from mbrparse.io.errors import visible

if TYPE_CHECKING:
    from mbrparse.evaluate.tables.rate_tables import Summary

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


@dataclass(frozen=True)
class Difference:
    """How a parser differs from the baseline by a criterion; places are in per cent of the axis."""

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
    """How the other parsers differ from the baseline: rates on one axis, other figures each on its own."""
    found = summary.significance
    if found is None:
        return []
    groups: dict[str, list[int]] = {}
    for place, criterion in enumerate(found.criteria):
        groups.setdefault("" if criterion.percent else criterion.name, []).append(place)
    others = [file for file, name in enumerate(found.names) if name != found.baseline]
    axes = []
    for places in groups.values():
        percent = found.criteria[places[0]].percent
        scale = 100.0 if percent else 1.0
        ends = [
            scale * float(bound[file, place])
            for bound in (found.difference_low, found.difference_high)
            for file in others
            for place in places
        ]
        low, high, ticks = _axis([end for end in ends if not math.isnan(end)])
        rows = []
        for place in places:
            criterion = found.criteria[place]
            for file in others:
                at = file, place
                shown = [
                    float(bound[at])
                    for bound in (found.difference_low, found.difference, found.difference_high)
                ]
                if any(map(math.isnan, shown)):
                    continue
                name = found.names[file]
                p = float(found.p_randomization[at])
                left, middle, right = (100 * (scale * value - low) / (high - low) for value in shown)
                rows.append(
                    Difference(
                        criterion.heading,
                        visible(name),
                        _signed(criterion, shown[1]),
                        f"{_signed(criterion, shown[0])} to {_signed(criterion, shown[2])}",
                        f"{p:.4f}",
                        p < LEVEL,
                        left,
                        middle,
                        right,
                        address(
                            view="sentences", system=name, versus=found.baseline, criterion=criterion.name
                        ),
                    )
                )
        where = [(text, 100 * (tick - low) / (high - low)) for text, tick in ticks]
        axes.append(Axis("points" if percent else "", -100 * low / (high - low), where, rows))
    return axes


def _signed(criterion: Criterion, difference: float) -> str:
    """With a sign that is one, and a minus that is as wide as a plus."""
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
