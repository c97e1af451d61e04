"""Calibration on a page: for each parser its bins, of sentences and of constituents."""

from __future__ import annotations

from dataclasses import dataclass

from mbrparse.errors import visible
from mbrparse.evaluate.report.calibration_bins import BINS, CalibrationBins
from mbrparse.evaluate.report.figures import Figure, Row, Table, address, percent


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
