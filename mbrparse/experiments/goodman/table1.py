"""Goodman's (1996) Table 1: two decoders over runs, their paired differences, the paired t-test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mbrparse.evaluate.grids import Cell, grid_of
from mbrparse.experiments.goodman.bracketed_trial import CRITERIA, DECODERS

HEADINGS = {
    "consistent_brackets_recall": "cons. brack. recall",
    "consistent_brackets_tree": "cons. brack. tree",
    "bracketed_recall": "brack. recall",
}
NAMES = {"labelled-tree": "Labelled Tree", "bracketed-recall": "Bracketed Recall"}


class Summary(NamedTuple):
    """Of one criterion over the runs; rates 0 to 1, ``sd`` that of a sample (divided by runs - 1)."""

    minimum: float
    maximum: float
    mean: float
    sd: float


class Test(NamedTuple):
    """The paired t-test, two-sided; not a number where the runs do not differ or are too few."""

    t: float
    p: float


def final_rates(results: Sequence[dict[str, Any]], decoder: str, criterion: str) -> list[float]:
    """The rate of each run after its last iteration."""
    return [result["rates"][decoder][criterion][-1] for result in results]


def differences(results: Sequence[dict[str, Any]], criterion: str) -> list[float]:
    """Bracketed Recall's rate less Labelled Tree's, run by run."""
    one, other = (final_rates(results, decoder, criterion) for decoder in DECODERS)
    return [b - a for a, b in zip(one, other, strict=True)]


def summarize(values: Sequence[float]) -> Summary:
    """Summarize the rates of the runs.

    >>> summarize([0.5, 0.7]).mean
    0.6
    """
    array = np.array(values)
    sd = float(array.std(ddof=1)) if len(array) > 1 else math.nan
    return Summary(float(array.min()), float(array.max()), float(array.mean()), sd)


def paired_test(values: Sequence[float]) -> Test:
    """Student's paired t-test, from the differences of the pairs."""
    from scipy.stats import ttest_rel

    if len(values) < 2 or min(values) == max(values):
        return Test(math.nan, math.nan)
    result: Any = ttest_rel(values, np.zeros(len(values)))
    return Test(float(result.statistic), float(result.pvalue))


def table1(results: Sequence[dict[str, Any]]) -> list[list[Cell]]:
    """The table for people, in per cent."""
    rows = [["criterion", "min", "max", "mean", "sd", "t", "p"]]
    for decoder in DECODERS:
        rows.append([NAMES[decoder]])
        rows.extend(
            [HEADINGS[name], *_percent(summarize(final_rates(results, decoder, name))), "", ""]
            for name in CRITERIA
        )
    rows.append([f"Difference ({NAMES[DECODERS[1]]} - {NAMES[DECODERS[0]]})"])
    for name in CRITERIA:
        values = differences(results, name)
        test = paired_test(values)
        rows.append([HEADINGS[name], *_percent(summarize(values)), _number(test.t, 2), _probability(test.p)])
    return grid_of(rows)


def table1_data(results: Sequence[dict[str, Any]]) -> list[list[Cell]]:
    """The same for programs: a row for each decoder (or the difference) and criterion, 0 to 1."""
    rows: list[list[object]] = [["row", "criterion", *Summary._fields, "t", "p"]]
    for decoder in DECODERS:
        for name in CRITERIA:
            summary = summarize(final_rates(results, decoder, name))
            rows.append([decoder, name, *summary, "", ""])
    for name in CRITERIA:
        values = differences(results, name)
        rows.append(["difference", name, *summarize(values), *paired_test(values)])
    return grid_of(rows)


def _percent(summary: Summary) -> list[str]:
    return [_number(100 * value, 2) for value in summary]


def _number(value: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def _probability(value: float) -> str:
    return "<0.0001" if value < 0.0001 else _number(value, 4)
