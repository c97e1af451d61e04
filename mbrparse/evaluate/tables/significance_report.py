"""The results of significance tests for tables: letters, marks, intervals, and all of it as data."""

from __future__ import annotations

import itertools
import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from mbrparse.evaluate.tables.criteria import DASH, Criterion
from mbrparse.evaluate.tables.grids import grid_of
from mbrparse.evaluate.tables.significance import LEVEL, Differences, Significance

if TYPE_CHECKING:
    from mbrparse.evaluate.tables.count_table import Columns, Floats
    from mbrparse.evaluate.tables.grids import Grid

#: Of more files than these, marks tell only which beat the baseline.
PAIRED = 6
_TEST = f"(approximate randomization, p < {LEVEL}, two-sided, each pair by itself)."
#: What the marks mean.
LEGEND = f"Letters behind a figure: the files that it beats {_TEST}"


def legend(found: Significance) -> str:
    """What the marks mean among as many files."""
    letter = letters(found, len(found.names))[found.names.index(found.baseline)]
    of_many = f"{letter} behind a figure: it beats the baseline {_TEST}"
    return LEGEND if len(found.names) <= PAIRED else of_many


def letters(found: Significance | None, files: int) -> list[str]:
    """The name of each file in marks: a, b, ... z, then numbers in brackets; empty without tests.

    >>> letters(None, 2)
    ['', '']
    """
    if found is None:
        return [""] * files
    return [chr(ord("a") + place) if place < 26 else f"({place + 1})" for place in range(files)]


def mark(found: Significance | None, file: int, criterion: Criterion, paired: int = PAIRED) -> str:
    """The letters of the files that a file beats by a criterion, by more than chance.

    Of more than ``paired`` files that is the baseline alone.
    """
    if found is None or criterion not in found.criteria:
        return ""
    beats = found.beats[file, :, found.criteria.index(criterion)]
    return "".join(
        letter
        for letter, name, beaten in zip(letters(found, len(beats)), found.names, beats, strict=True)
        if beaten and (len(beats) <= paired or name == found.baseline)
    )


def method(found: Significance) -> str:
    """The method of the tests, for a signature."""
    return f"bootstrap+randomization,resamples={found.resamples},seed={found.seed},level={LEVEL}"


def difference_lines(found: Significance, criterion: Criterion) -> Grid:
    """By one criterion, a line for each file but the baseline: its difference, interval and p-value."""
    place = found.criteria.index(criterion)
    grid = [[criterion.heading, f"difference to {found.baseline}", "95% interval", "p"]]
    for file, name in enumerate(found.names):
        if name != found.baseline:
            at = file, place
            interval = interval_text(criterion, found.difference_low[at], found.difference_high[at])
            difference = criterion.show(float(found.difference[at]))
            grid.append([name, difference, interval, p_value_text(found.p_randomization[at])])
    return grid_of(grid)


def pairs(found: Significance) -> Grid:
    """The p-values by randomization of every two files: a line for each pair, a column for each criterion."""
    grid = [["p (randomization)", "", *(criterion.heading for criterion in found.criteria)]]
    for one, other in itertools.combinations(range(len(found.names)), 2):
        grid.append([found.names[one], found.names[other], *map(p_value_text, found.pairs[one, other])])
    return grid_of(grid)


def details(found: Significance, rates: Columns) -> Grid:
    """A line for each file and criterion: the rate, the difference from the baseline, their intervals."""
    heading = ["", "criterion", "rate", "95% interval", f"difference to {found.baseline}", "95% interval"]
    grid = [[*heading, "p (bootstrap)", "p (randomization)"]]
    first = found.names.index(found.baseline)
    for file, name in enumerate(found.names):
        for place, criterion in enumerate(found.criteria):
            at = file, place
            texts = [name, criterion.heading, criterion.show(rates[criterion.name][file])]
            texts.append(interval_text(criterion, found.low[at], found.high[at]))
            if file == first:
                texts += [DASH] * 4
            else:
                texts.append(criterion.show(float(found.difference[at])))
                texts.append(interval_text(criterion, found.difference_low[at], found.difference_high[at]))
                texts += [p_value_text(found.p_bootstrap[at]), p_value_text(found.p_randomization[at])]
            grid.append(texts)
    return grid_of(grid)


def interval_text(criterion: Criterion, low: float, high: float) -> str:
    """An interval of rates; a dash where there is none."""
    return DASH if math.isnan(low) else f"{criterion.show(float(low))}..{criterion.show(float(high))}"


def p_value_text(value: float) -> str:
    """A p-value with four decimals; a dash where there is none.

    >>> p_value_text(0.00001), p_value_text(0.25), p_value_text(float("nan"))
    ('<0.0001', '0.2500', '-')
    """
    if value < 0.00005:
        return "<0.0001"
    return DASH if math.isnan(value) else f"{value:.4f}"


def as_columns(found: Significance) -> dict[str, Floats]:
    """Columns for CSV: for each criterion the interval, and the p-values against the baseline."""
    names = ("low", "high", "p_bootstrap", "p_randomization")
    return {
        f"{criterion.name}_{name}": getattr(found, name)[:, place]
        for place, criterion in enumerate(found.criteria)
        for name in names
    }


def as_data(found: Significance) -> dict[str, Any]:
    """All of it for JSON; what is not a number is null."""
    arrays = [field.name for field in fields(Differences)]
    rows = []
    for file, name in enumerate(found.names):
        others = [(rival, other) for rival, other in enumerate(found.names) if rival != file]
        by_criterion = {}
        for place, criterion in enumerate(found.criteria):
            at = file, place
            entry: dict[str, Any] = {array: number(getattr(found, array)[at]) for array in arrays}
            entry["p_randomization"] = number(found.p_randomization[at])
            entry["p_against"] = {other: number(found.pairs[file, rival, place]) for rival, other in others}
            entry["beats"] = [other for rival, other in others if found.beats[file, rival, place]]
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
