"""Calibration, and differences between parsers with their intervals, drawn on a page."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbrparse.errors import visible
from mbrparse.evaluate.report.calibration_tables import BOUNDS, KINDS, RATES, Calibration, Reliability
from mbrparse.evaluate.report.figures import Figure, Row, Table, address, percent
from mbrparse.evaluate.tables.significance import LEVEL
from mbrparse.log import counted

if TYPE_CHECKING:
    from mbrparse.evaluate.tables.rate_tables import Summary

_MINUS = "\N{MINUS SIGN}"


def calibration(name: str, found: Calibration) -> dict[str, Any]:
    """Tables of the bins that hold something, and lines of means and of what is left out."""
    lines = [
        f"{kind}: "
        + ", ".join(f"{what} {percent(rate)}" for what, rate in zip(RATES, one.means(), strict=True))
        for kind, one in found.kinds.items()
    ]
    lines += [
        f"left out, {why}: {counted(len(which), 'sentence')}, first {which[0]}"
        for why, which in found.left_out.items()
    ]
    constituents, sentences = (found.kinds[kind] for kind in KINDS[:2])
    tables = {
        "sentences": _bins(sentences, "sentences", name),
        "constituents": _bins(constituents, "constituents"),
    }
    return {"name": visible(name), **tables, "lines": lines}


def _bins(bins: Reliability, of: str, name: str | None = None) -> Table:
    rows = []
    for place, number, expected, found in bins.rows():
        where = "" if name is None else address(view="sentences", system=name, bin=place)
        figures = [
            Figure(percent(expected), share=100 * expected),
            Figure(percent(found), where, share=100 * found),
        ]
        rows.append(Row([BOUNDS[place].replace("-", "\N{EN DASH}"), f"{number:,}"], figures))
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
            # With a plus, or a minus that is as wide as a plus.
            left, text, right = (f"+{criterion.show(value)}".replace("+-", _MINUS) for value in shown)
            says = text, f"{left} to {right}", f"{p:.4f}", p < LEVEL
            start, middle, end = (100 * (scale * value - low) / (high - low) for value in shown)
            where = address(view="sentences", system=name, versus=found.baseline, criterion=criterion.name)
            rows.append(Difference(criterion.heading, visible(name), *says, start, middle, end, where))
        placed = [(text, 100 * (tick - low) / (high - low)) for text, tick in ticks]
        axes.append(Axis("points" if percent else "", -100 * low / (high - low), placed, rows))
    return axes


def _axis(ends: Sequence[float]) -> tuple[float, float, list[tuple[str, float]]]:
    """Bounds that hold zero and all ends, and round ticks between."""
    low, high = min(0.0, *ends, 0.0), max(0.0, *ends, 0.0)
    width = (high - low) or 1.0
    low, high = low - 0.06 * width, high + 0.06 * width
    step = 10.0 ** math.floor(math.log10(width / 2))
    step = next(step * factor for factor in (1, 2, 5, 10) if width / (step * factor) <= 6)
    first = math.ceil(low / step)
    ticks = [step * place for place in range(first, math.floor(high / step) + 1)]
    return low, high, [(f"{tick:g}".replace("-", _MINUS), tick) for tick in ticks]
