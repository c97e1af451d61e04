"""Tables of rates, as text, Markdown, LaTeX, CSV or JSON.

For people (text, Markdown, LaTeX) rates are per cent with two decimals, a rate that is not a number a
dash. For programs (CSV, JSON) they are 0 to 1 in full, the summed counts beside them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from mbrparse.evaluate.criteria import PAPER, Average, Criterion, coverage, rates, totals
from mbrparse.evaluate.signature import signature

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from mbrparse.evaluate.criteria import Column
    from mbrparse.evaluate.gold import Comparison

Format = Literal["text", "markdown", "latex", "csv", "json"]

DASH = "-"

_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX_SPECIAL = re.compile(r"[\\~^&%$#_{}]")


@dataclass(frozen=True)
class Summary:
    """What a table shows; the rows of all parts are named alike and stand in the same order."""

    criteria: tuple[Criterion, ...]
    rates: pd.DataFrame
    totals: pd.DataFrame
    coverage: Column
    signature: str


def summarize(
    counts: pd.DataFrame,
    gold: str | Path,
    how: Comparison,
    criteria: Sequence[Criterion] = PAPER,
    average: Average = "pooled",
) -> Summary:
    """Sum a table of counts up."""
    sums, covered = totals(counts), coverage(counts)
    return Summary(
        tuple(criteria),
        rates(counts, criteria, average),
        sums,
        covered,
        signature(gold, how, criteria, average, sums, covered),
    )


def render(summary: Summary, format: Format = "text") -> str:
    """The table in one of the formats, with its last line end.

    Text, Markdown, LaTeX and JSON carry the signature; CSV has no place for it.
    """
    return _RENDERERS[format](summary)


def cells(summary: Summary) -> list[list[str]]:
    """The table that people see, heading first: names, rates and coverage."""
    heading = ["", *(criterion.heading for criterion in summary.criteria), "coverage"]
    rows = [
        [str(name), *(_percent(rate) for rate in row), _percent(covered)]
        for name, row, covered in zip(
            summary.rates.index, summary.rates.to_numpy().tolist(), summary.coverage.tolist(), strict=True
        )
    ]
    return [heading, *rows]


def _percent(rate: float) -> str:
    return DASH if math.isnan(rate) else f"{100 * rate:.2f}"


def _text(summary: Summary) -> str:
    grid = cells(summary)
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    lines = [_aligned(row, widths, "  ") for row in grid]
    return "\n".join([*lines, "", summary.signature, ""])


def _markdown(summary: Summary) -> str:
    grid = [[cell.replace("|", r"\|") for cell in row] for row in cells(summary)]
    widths = [max(3, *map(len, column)) for column in zip(*grid, strict=True)]
    rule = "|".join(["-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])])
    heading, *rows = [f"| {_aligned(row, widths, ' | ')} |" for row in grid]
    return "\n".join([heading, f"|{rule}|", *rows, "", f"`{summary.signature}`", ""])


def _aligned(row: list[str], widths: list[int], between: str) -> str:
    """Names to the left, figures to the right."""
    padded = [row[0].ljust(widths[0])]
    padded += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
    return between.join(padded)


def _latex(summary: Summary) -> str:
    grid = [[_latex_cell(cell) for cell in row] for row in cells(summary)]
    heading, *rows = [" & ".join(row) + r" \\" for row in grid]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{l{'r' * (len(grid[0]) - 1)}}}",
            r"\hline",
            heading,
            r"\hline",
            *rows,
            r"\hline",
            r"\end{tabular}",
            f"% {summary.signature}",
            "",
        ]
    )


def _latex_cell(text: str) -> str:
    if text == DASH:
        return "--"
    # A full stop inside a heading ends no sentence.
    escaped = _LATEX_SPECIAL.sub(lambda match: _LATEX.get(match.group(), "\\" + match.group()), text)
    return escaped.replace(". ", ".\\ ")


def _csv(summary: Summary) -> str:
    table = summary.rates.assign(coverage=summary.coverage).join(summary.totals)
    text: str = table.to_csv(index_label="name", lineterminator="\n")
    return text


def _json(summary: Summary) -> str:
    rows = [
        {
            "name": str(name),
            "rates": {
                criterion.name: _number(summary.rates.at[name, criterion.name])
                for criterion in summary.criteria
            },
            "counts": {str(column): int(count) for column, count in summary.totals.loc[name].items()},
            "coverage": _number(summary.coverage.at[name]),
        }
        for name in summary.rates.index
    ]
    return json.dumps({"rows": rows, "signature": summary.signature}, indent=2, ensure_ascii=False) + "\n"


def _number(rate: Any) -> float | None:
    """JSON has no not-a-number."""
    value = float(rate)
    return None if math.isnan(value) else value


_RENDERERS = {"text": _text, "markdown": _markdown, "latex": _latex, "csv": _csv, "json": _json}
