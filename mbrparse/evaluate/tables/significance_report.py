"""The results of significance tests for tables: letters, marks, intervals, and all of it as data."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from mbrparse.evaluate.tables.criteria import DASH, Criterion
from mbrparse.evaluate.tables.grids import Cell
from mbrparse.evaluate.tables.significance import LEVEL, Significance

if TYPE_CHECKING:
    from mbrparse.evaluate.tables.count_table import Columns, Floats
    from mbrparse.evaluate.tables.grids import Grid

#: What the marks mean.
LEGEND = (
    f"Letters behind a figure: the files that it beats (approximate randomization, p < {LEVEL}, "
    "two-sided, each pair by itself)."
)


def letters(found: Significance | None, files: int) -> list[str]:
    """What each file is called in marks: a, b, ... z, then numbers in brackets; nothing without tests.

    >>> letters(None, 2)
    ['', '']
    """
    if found is None:
        return [""] * files
    return [chr(ord("a") + place) if place < 26 else f"({place + 1})" for place in range(files)]


def mark(found: Significance | None, file: int, criterion: Criterion) -> str:
    """The letters of the files that a file beats by a criterion, by more than chance."""
    if found is None or criterion not in found.criteria:
        return ""
    names = letters(found, len(found.names))
    beats = found.beats[file, :, found.criteria.index(criterion)]
    return "".join(name for name, beaten in zip(names, beats, strict=True) if beaten)


def method(found: Significance) -> str:
    """How it was done, for a signature."""
    return f"bootstrap+randomization,resamples={found.resamples},seed={found.seed},level={LEVEL}"


def difference_lines(found: Significance, criterion: Criterion) -> Grid:
    """By one criterion, a line for each file but the baseline: how it differs, and by how much luck."""
    place = found.criteria.index(criterion)
    heading = [criterion.heading, f"difference to {found.baseline}", "95% interval", "p"]
    grid = [[Cell(text) for text in heading]]
    for file, name in enumerate(found.names):
        if name != found.baseline:
            at = file, place
            interval = _interval(criterion, found.difference_low[at], found.difference_high[at])
            difference = criterion.show(float(found.difference[at]))
            texts = [name, difference, interval, _p_value(found.p_randomization[at])]
            grid.append([Cell(text) for text in texts])
    return grid


def pairs(found: Significance) -> Grid:
    """The p-values by randomization of every two files: a line for each pair, a column for each criterion."""
    grid = [[Cell("p (randomization)"), Cell(""), *(Cell(criterion.heading) for criterion in found.criteria)]]
    for one, other in itertools.combinations(range(len(found.names)), 2):
        values = [Cell(_p_value(value)) for value in found.pairs[one, other]]
        grid.append([Cell(found.names[one]), Cell(found.names[other]), *values])
    return grid


def details(found: Significance, rates: Columns) -> Grid:
    """A line for each file and criterion: the rate, the difference from the baseline, their intervals."""
    heading = ["", "criterion", "rate", "95% interval", f"difference to {found.baseline}", "95% interval"]
    grid = [[Cell(text) for text in [*heading, "p (bootstrap)", "p (randomization)"]]]
    first = found.names.index(found.baseline)
    for file, name in enumerate(found.names):
        for place, criterion in enumerate(found.criteria):
            at = file, place
            texts = [name, criterion.heading, criterion.show(rates[criterion.name][file])]
            texts.append(_interval(criterion, found.low[at], found.high[at]))
            if file == first:
                texts += [DASH] * 4
            else:
                texts.append(criterion.show(float(found.difference[at])))
                texts.append(_interval(criterion, found.difference_low[at], found.difference_high[at]))
                texts += [_p_value(found.p_bootstrap[at]), _p_value(found.p_randomization[at])]
            grid.append([Cell(text) for text in texts])
    return grid


def _interval(criterion: Criterion, low: float, high: float) -> str:
    return DASH if math.isnan(low) else f"{criterion.show(float(low))}..{criterion.show(float(high))}"


def _p_value(value: float) -> str:
    return DASH if math.isnan(value) else f"{value:.4f}"


def as_columns(found: Significance) -> dict[str, Floats]:
    """Columns for CSV: for each criterion the interval, and the p-values against the baseline."""
    columns = {}
    for place, criterion in enumerate(found.criteria):
        for ending, values in (
            ("low", found.low),
            ("high", found.high),
            ("p_bootstrap", found.p_bootstrap),
            ("p_randomization", found.p_randomization),
        ):
            columns[f"{criterion.name}_{ending}"] = values[:, place]
    return columns


def as_data(found: Significance) -> dict[str, Any]:
    """All of it for JSON; what is not a number is null."""
    arrays = {
        "low": found.low,
        "high": found.high,
        "difference": found.difference,
        "difference_low": found.difference_low,
        "difference_high": found.difference_high,
        "p_bootstrap": found.p_bootstrap,
        "p_randomization": found.p_randomization,
    }
    rows = []
    for file, name in enumerate(found.names):
        by_criterion = {}
        for place, criterion in enumerate(found.criteria):
            entry: dict[str, Any] = {key: number(array[file, place]) for key, array in arrays.items()}
            entry["p_against"] = {
                other: number(found.pairs[file, rival, place])
                for rival, other in enumerate(found.names)
                if rival != file
            }
            entry["beats"] = [
                other for rival, other in enumerate(found.names) if found.beats[file, rival, place]
            ]
            by_criterion[criterion.name] = entry
        rows.append({"name": name, "criteria": by_criterion})
    return {
        "baseline": found.baseline,
        "resamples": found.resamples,
        "seed": found.seed,
        "level": LEVEL,
        "rows": rows,
    }


def number(value: Any) -> float | None:
    """A number for JSON, which has no not-a-number."""
    return None if math.isnan(float(value)) else float(value)
