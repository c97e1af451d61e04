"""Tables of rates, as text, Markdown, LaTeX, CSV or JSON.

For people (text, Markdown, LaTeX) rates are per cent with two decimals, a rate that is not a number a
dash; where significance was tested, letters behind a figure name the files that it beats, and a second
table has intervals and p-values. For programs (CSV, JSON) rates are 0 to 1 in full, the summed counts
beside them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from mbrparse.evaluate.criteria import PAPER, Average, Criterion, coverage, rates, totals
from mbrparse.evaluate.grids import LAYOUTS, Cell, Grid, PrintFormat
from mbrparse.evaluate.signature import signature
from mbrparse.evaluate.significance_report import (
    LEGEND,
    as_columns,
    as_data,
    details,
    letters,
    mark,
    method,
    number,
)

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from mbrparse.evaluate.criteria import Column
    from mbrparse.evaluate.significance import Significance

Format = Literal["text", "markdown", "latex", "csv", "json"]

COVERAGE = Criterion("coverage", "coverage", lambda counts: counts["parsed"], lambda counts: counts["parsed"])


class Conventions(Protocol):
    """How constituents are compared: the paper's ``Comparison`` or ``EvalbParameters``."""

    def signature(self) -> dict[str, str]:
        """Its part of a table's signature."""
        ...


@dataclass(frozen=True)
class Summary:
    """What a table shows; the rows of all parts are named alike and stand in the same order."""

    criteria: tuple[Criterion, ...]
    rates: pd.DataFrame
    totals: pd.DataFrame
    coverage: Column
    signature: str
    significance: Significance | None = None


def summarize(
    counts: pd.DataFrame,
    gold: str | Path,
    how: Conventions,
    criteria: Sequence[Criterion] = PAPER,
    average: Average = "pooled",
    significance: Significance | None = None,
) -> Summary:
    """Sum a table of counts up."""
    sums, covered = totals(counts), coverage(counts)
    tested = None if significance is None else method(significance)
    return Summary(
        tuple(criteria),
        rates(counts, criteria, average),
        sums,
        covered,
        signature(gold, how.signature(), criteria, average, sums, covered, tested),
        significance,
    )


def render(summary: Summary, format: Format = "text") -> str:
    """The table in one of the formats, with its last line end.

    Text, Markdown, LaTeX and JSON carry the signature; CSV has no place for it.
    """
    if format == "csv":
        return _csv(summary)
    return _json(summary) if format == "json" else _printed(summary, format)


def cells(summary: Summary) -> Grid:
    """The table that people see, heading first: names (and letters for marks), rates, coverage."""
    found = summary.significance
    names = letters(found, len(summary.rates))
    heading = ["", *[""] * bool(found), *(criterion.heading for criterion in summary.criteria), "coverage"]
    grid = [[Cell(text) for text in heading]]
    table = zip(
        summary.rates.index, summary.rates.to_numpy().tolist(), summary.coverage.tolist(), strict=True
    )
    for file, (name, row, covered) in enumerate(table):
        who = [Cell(str(name)), Cell(names[file])] if found else [Cell(str(name))]
        figures = [
            Cell(criterion.show(rate), mark(found, file, place))
            for place, (criterion, rate) in enumerate(zip(summary.criteria, row, strict=True))
        ]
        grid.append([*who, *figures, Cell(COVERAGE.show(covered))])
    return grid


def _printed(summary: Summary, format: PrintFormat) -> str:
    lay_out = LAYOUTS[format]
    lines = lay_out(cells(summary), 1 if summary.significance is None else 2)
    before, after = {"text": ("", ""), "markdown": ("`", "`"), "latex": ("% ", "")}[format]
    if summary.significance is not None:
        more = details(summary.significance, summary.criteria, summary.rates.to_numpy())
        lines += ["", f"% {LEGEND}" if format == "latex" else LEGEND, "", *lay_out(more, 2)]
    if format != "latex":
        lines.append("")
    return "\n".join([*lines, f"{before}{summary.signature}{after}", ""])


def _csv(summary: Summary) -> str:
    table = summary.rates.assign(coverage=summary.coverage).join(summary.totals)
    if summary.significance is not None:
        table = table.join(as_columns(summary.significance, summary.criteria))
    text: str = table.to_csv(index_label="name", lineterminator="\n")
    return text


def _json(summary: Summary) -> str:
    rows = [
        {
            "name": str(name),
            "rates": {
                criterion.name: number(summary.rates.at[name, criterion.name])
                for criterion in summary.criteria
            },
            "counts": {str(column): int(count) for column, count in summary.totals.loc[name].items()},
            "coverage": number(summary.coverage.at[name]),
        }
        for name in summary.rates.index
    ]
    report: dict[str, Any] = {"rows": rows, "signature": summary.signature}
    if summary.significance is not None:
        report["significance"] = as_data(summary.significance, summary.criteria)
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"
