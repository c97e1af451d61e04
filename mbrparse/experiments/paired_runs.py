"""Rates of several runs: what they are like together, and the paired t-test over them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mbrparse.evaluate.tables.criteria import DASH

# What subtracting rates leaves, and no rates of sentences come near.
_ROUNDING = 1e-12


class Summary(NamedTuple):
    """Of one criterion over the runs; rates 0 to 1, ``sd`` that of a sample (divided by runs - 1)."""

    minimum: float
    maximum: float
    mean: float
    sd: float


class PairedTest(NamedTuple):
    """The paired t-test, two-sided; not a number where the runs do not differ or are too few."""

    t: float
    p: float


def summarize(values: Sequence[float]) -> Summary:
    """Summarize the rates of the runs.

    >>> summarize([0.5, 0.7]).mean
    0.6
    """
    array = np.array(values)
    sd = float(array.std(ddof=1)) if len(array) > 1 else math.nan
    return Summary(float(array.min()), float(array.max()), float(array.mean()), sd)


def paired_test(values: Sequence[float]) -> PairedTest:
    """Student's paired t-test, from the differences of the pairs.

    Differences that only rounding tells apart are one.
    """
    from scipy.stats import ttest_rel

    if len(values) < 2 or max(values) - min(values) < _ROUNDING:
        return PairedTest(math.nan, math.nan)
    result: Any = ttest_rel(values, np.zeros(len(values)))
    return PairedTest(float(result.statistic), float(result.pvalue))


def show_probability(value: float) -> str:
    """A p-value as tables have it.

    >>> show_probability(0.00001), show_probability(0.25), show_probability(float("nan"))
    ('<0.0001', '0.2500', '-')
    """
    if value < 0.0001:
        return "<0.0001"
    return DASH if math.isnan(value) else f"{value:.4f}"
