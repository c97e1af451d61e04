"""Goodman's (1996) Table 1: two decoders over runs, their paired differences, the paired t-test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mbrparse.evaluate.tables.grids import Cell, grid_of
from mbrparse.experiments.goodman.bracketed_trial import CRITERIA, DECODERS
from mbrparse.experiments.paired_runs import Summary, paired_test, show_probability, summarize

HEADINGS = {
    "consistent_brackets_recall": "cons. brack. recall",
    "consistent_brackets_tree": "cons. brack. tree",
    "bracketed_recall": "brack. recall",
}
NAMES = {"labelled-tree": "Labelled Tree", "bracketed-recall": "Bracketed Recall"}


def final_rates(results: Sequence[dict[str, Any]], decoder: str, criterion: str) -> list[float]:
    """The rate of each run after its last iteration."""
    return [result["rates"][decoder][criterion][-1] for result in results]


def differences(results: Sequence[dict[str, Any]], criterion: str) -> list[float]:
    """Bracketed Recall's rate less Labelled Tree's, run by run."""
    one, other = (final_rates(results, decoder, criterion) for decoder in DECODERS)
    return [b - a for a, b in zip(one, other, strict=True)]


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
        rows.append(
            [HEADINGS[name], *_percent(summarize(values)), _number(test.t, 2), show_probability(test.p)]
        )
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
