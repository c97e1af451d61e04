"""Tables of rates, as text, Markdown, LaTeX, HTML, CSV or JSON.

For people (text, Markdown, LaTeX, HTML) rates are per cent with two decimals, a rate that is not a number a
dash; where significance was tested, letters behind a figure name the files that it beats, and the
differences by one criterion, or all intervals and p-values, follow below. For programs (CSV, JSON) rates are
0 to 1 in full, the summed counts beside them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from mbrparse.errors import MbrparseError
from mbrparse.evaluate.tables.criteria import Average, Criterion, rates, totals
from mbrparse.evaluate.tables.grids import LAYOUTS, Cell, Grid, PrintFormat
from mbrparse.evaluate.tables.significance_report import (
    PAIRED,
    as_columns,
    as_data,
    details,
    difference_lines,
    legend,
    letters,
    mark,
    method,
    number,
    pairs,
)
from mbrparse.program import signature as signed

if TYPE_CHECKING:
    from mbrparse.evaluate.tables.count_table import Columns
    from mbrparse.evaluate.tables.significance import Significance

Column = TypeVar("Column")
Format = Literal["text", "markdown", "latex", "html", "csv", "json"]


@dataclass(frozen=True)
class Summary:
    """The content of a table; all parts have the same rows in the same order."""

    criteria: tuple[Criterion, ...]
    rates: Columns  #: 0 to 1 (or a number), a column for each criterion
    totals: Columns  #: the summed counts
    signature: str
    significance: Significance | None = None
    #: the criterion of the differences below the table; None: all, and all pairs
    shown: Criterion | None = None


def summarize(
    counts: Columns,
    gold: str | Path,
    conventions: Mapping[str, object],
    criteria: Sequence[Criterion],
    average: Average = "pooled",
    significance: Significance | None = None,
    shown: Criterion | None = None,
) -> Summary:
    """Sum a table of counts up, with its signature, ``key:value`` parts joined by ``|``.

    ``conventions`` are what was compared, and how (and averaged, where criteria say that for themselves).
    Criteria that are context are given with their rates, in per cent, as a range where these differ.
    """
    found, sums = rates(counts, criteria, average), totals(counts)
    parts = {
        "criteria": ",".join(criterion.name for criterion in criteria if not criterion.context),
        "gold": "stdin" if str(gold) == "-" else Path(gold).name,
        **conventions,
        **({} if "average" in conventions else {"average": average}),
        "sentences": str(sums["sentences"].max()),
        **{criterion.name: _range(found, criterion) for criterion in criteria if criterion.context},
        **({} if significance is None else {"significance": method(significance)}),
    }
    return Summary(tuple(criteria), found, sums, signed(parts), significance, shown)


def render(summary: Summary, format: Format = "text", columns: Sequence[str] = (), below: Grid = ()) -> str:
    """The table in one of the formats, with its last line end; people are shown these columns, if any.

    People are shown the rows ``below``, too. All but CSV, which has no place for it, carry the signature.
    Raises MbrparseError for an unknown column.
    """
    if format == "csv":
        return _csv(summary)
    return _json(summary) if format == "json" else _printed(summary, format, columns, below)


def cells(summary: Summary, columns: Sequence[str] = (), paired: int = PAIRED) -> Grid:
    """The printed table, heading first: names (and letters for marks), then rates, the best marked.

    For ``paired`` see ``mark``.
    """
    found = summary.significance
    names = letters(found, len(summary.rates))
    criteria = chosen(columns, {criterion.name: criterion for criterion in summary.criteria})
    heading = ["", *[""] * bool(found), *(criterion.heading for criterion in criteria)]
    grid = [[Cell(text) for text in heading]]
    for file, row in enumerate(summary.rates.records()):
        who = [Cell(row["name"]), Cell(names[file])] if found else [Cell(row["name"])]
        figures = [
            Cell(
                criterion.show(row[criterion.name]),
                mark(found, file, criterion, paired),
                criterion.is_best(row[criterion.name], summary.rates[criterion.name]),
            )
            for criterion in criteria
        ]
        grid.append([*who, *figures])
    return grid


def chosen(columns: Sequence[str], known: Mapping[str, Column]) -> list[Column]:
    """The columns of these names, in their order, or all; raises MbrparseError for an unknown name."""
    for name in columns:
        if name not in known:
            raise MbrparseError(f"no column is called {name!r}", remedy=f"there are {', '.join(known)}")
    return [known[name] for name in columns or known]


def prose(text: str, format: PrintFormat) -> str:
    """A line of prose above or below a table, as the format has it."""
    return {"latex": f"% {text}", "html": f"<p>{escape(text)}</p>"}.get(format, text)


def signature_line(text: str, format: PrintFormat) -> str:
    """A signature below a table, as the format has it."""
    return {
        "text": text,
        "markdown": f"`{text}`",
        "latex": f"% {text}",
        "html": f"<p><code>{escape(text)}</code></p>",
    }[format]


def _printed(summary: Summary, format: PrintFormat, columns: Sequence[str], below: Grid) -> str:
    lay_out = LAYOUTS[format]
    lines = lay_out([*cells(summary, columns), *below], 1 if summary.significance is None else 2)
    if summary.significance is not None:
        lines += ["", prose(legend(summary.significance), format)]
        if summary.shown is not None:
            lines += ["", *lay_out(difference_lines(summary.significance, summary.shown), 1)]
        else:
            for more in (details(summary.significance, summary.rates), pairs(summary.significance)):
                lines += ["", *lay_out(more, 2)]
    if format != "latex":
        lines.append("")
    return "\n".join([*lines, signature_line(summary.signature, format), ""])


def _csv(summary: Summary) -> str:
    table = summary.rates
    for name in summary.totals.names[1:]:
        # A share of the sentences may be called as their number is: "fell_back".
        table = table.having(f"{name}_count" if name in table else name, summary.totals[name])
    if summary.significance is not None:
        for name, column in as_columns(summary.significance).items():
            table = table.having(name, column)
    text: str = table.to_frame().to_csv(index=False, lineterminator="\n")
    return text


def _json(summary: Summary) -> str:
    rows = []
    for found, counts in zip(summary.rates.records(), summary.totals.records(), strict=True):
        name = counts.pop("name")
        shares = {c.name: number(found[c.name]) for c in summary.criteria if not c.context}
        sums = {column: int(count) if count == int(count) else count for column, count in counts.items()}
        context = {c.name: number(found[c.name]) for c in summary.criteria if c.context}
        rows.append({"name": name, "rates": shares, "counts": sums, **context})
    report: dict[str, Any] = {"rows": rows, "signature": summary.signature}
    if summary.significance is not None:
        report["significance"] = as_data(summary.significance)
    return json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _range(rates: Columns, criterion: Criterion) -> str:
    column = rates[criterion.name]
    lowest, highest = criterion.show(column.min()), criterion.show(column.max())
    return lowest if lowest == highest else f"{lowest}..{highest}"
