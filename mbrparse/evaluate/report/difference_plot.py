"""How parsers differ from the baseline, drawn on an axis with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbrparse.errors import visible
from mbrparse.evaluate.report.figures import address
from mbrparse.evaluate.tables.criteria import Criterion
from mbrparse.evaluate.tables.significance import LEVEL

if TYPE_CHECKING:
    from mbrparse.evaluate.tables.rate_tables import Summary


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
