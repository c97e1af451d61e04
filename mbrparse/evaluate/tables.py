"""Grids of cells, laid out as text, Markdown, LaTeX, HTML or CSV: heading first, names left, figures right.

A cell may carry a mark (the letters of the files that it beats), which is set as a superscript where
the format has such; the best of a column is bold in Markdown, LaTeX and HTML. A row of one cell is a heading
over the rows below it. For people (not in CSV) figures have minus signs, and intervals en dashes.

The results of significance tests for tables: letters, marks, intervals, and all of it as data.

Tables of rates, as text, Markdown, LaTeX, HTML, CSV or JSON.

For people (text, Markdown, LaTeX, HTML) rates are per cent with two decimals, a rate that is not a number a
dash; where significance was tested, letters behind a figure name the files that it beats, and the
differences by one criterion, or all intervals and p-values, follow below. For programs (CSV, JSON) rates are
0 to 1 in full, the summed counts beside them.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from mbrparse.errors import MbrparseError, visible
from mbrparse.evaluate.criteria import DASH, Average, Columns, Criterion, Floats, rates, totals
from mbrparse.evaluate.significance import LEVEL, Differences, Significance
from mbrparse.latex import latex
from mbrparse.program import signature as signed

PrintFormat = Literal["text", "markdown", "latex", "html"]
#: The longest row of a text.
WIDTH = 120

# Of figures only: "1-10" and "a-1" keep their hyphens.
_MINUS = re.compile(r"(?<![^\s(])-(?=[\d.])")
_INTERVAL = re.compile(r"(?<=\d)\.\.(-?)(?=\d)")


class Cell(NamedTuple):
    """The text of a cell, its mark, and whether it is the best of its column."""

    text: str
    mark: str = ""
    best: bool = False


Grid = Sequence[Sequence[Cell]]


def grid_of(rows: Iterable[Iterable[object]]) -> list[list[Cell]]:
    """A grid of unmarked cells, numbers in full precision.

    >>> grid_of([["recall", 0.5]])
    [[Cell(text='recall', mark='', best=False), Cell(text='0.5', mark='', best=False)]]
    """
    return [[Cell(str(content)) for content in row] for row in rows]


def text_grid(grid: Grid, names: int = 1) -> list[str]:
    """Lines of a grid whose first ``names`` columns are names; marks follow the figures.

    Rows longer than ``WIDTH`` go on in a second table below, with the names again.

    >>> text_grid([[Cell(""), Cell("F")], [Cell("a one"), Cell("50.00", "b")], [Cell("b two"), Cell("1.00")]])
    ['           F', 'a one  50.00 b', 'b two   1.00']
    >>> text_grid(grid_of([["", "mean"], ["Tree"], ["recall", 90.13]]))
    ['         mean', 'Tree', 'recall  90.13']
    """
    # Headings take no room in any column.
    rows = zip(*(row for row in grid if not _is_heading(row, grid)), strict=True)
    columns = [_with_spaced_marks(column) for column in rows]
    widths = [max(map(len, column)) + 2 for column in columns]
    if sum(widths[:names]) > WIDTH // 2 and sum(widths) > WIDTH + 2:  # very long names
        most = max(24, min(WIDTH // 2, WIDTH - sum(widths[names:])) // names)
        columns = [[_cut(text, most) for text in column] for column in columns]
        widths = [max(map(len, column)) + 2 for column in columns]
    lines: list[str] = []
    for part in _folded(widths[names:], WIDTH + 2 - sum(widths[:names])):
        aligned = iter(_aligned(columns[:names] + columns[names:][part], names, "  "))
        lines += [""] * bool(lines)
        lines += [(row[0].text if _is_heading(row, grid) else next(aligned)).rstrip() for row in grid]
    return lines


def _folded(widths: Sequence[int], room: int) -> Iterator[slice]:
    """The columns that stand side by side, from the left as many as there is room for."""
    start = used = 0
    for place, width in enumerate(widths):
        if place > start and used + width > room:
            yield slice(start, place)
            start, used = place, 0
        used += width
    yield slice(start, None)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2 - 2]}...{text[most // 2 + 1 - most :]}"


def markdown_grid(grid: Grid, names: int = 1) -> list[str]:
    """A Markdown table; headings are bold."""
    blank = [Cell("")] * (len(grid[0]) - 1)
    rows = [
        [f"**{_markdown_cell(row[0])}**", *map(_markdown_cell, blank)]
        if _is_heading(row, grid)
        else [_markdown_cell(cell) for cell in row]
        for row in grid
    ]
    columns = [
        [cell.ljust(3) if place < names else cell.rjust(3) for cell in column]
        for place, column in enumerate(zip(*rows, strict=True))
    ]
    heading, *body = [f"| {line} |" for line in _aligned(columns, names, " | ")]
    widths = [max(map(len, column)) for column in columns]
    rule = "|".join(
        "-" * (width + 2) if place < names else "-" * (width + 1) + ":" for place, width in enumerate(widths)
    )
    return [heading, f"|{rule}|", *body]


def latex_grid(grid: Grid, names: int = 1) -> list[str]:
    """A LaTeX tabular with the rules of the package booktabs; headings are set in italics."""
    columns = len(grid[0])
    heading, *body = [
        (
            rf"\multicolumn{{{columns}}}{{l}}{{\emph{{{_latex_cell(row[0])}}}}}"
            if _is_heading(row, grid)
            else " & ".join(map(_latex_cell, row))
        )
        + r" \\"
        for row in grid
    ]
    return [
        r"% needs \usepackage{booktabs}",
        rf"\begin{{tabular}}{{{'l' * names}{'r' * (columns - names)}}}",
        r"\toprule",
        heading,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]


def csv_grid(grid: Grid) -> list[str]:
    """Comma-separated values, without marks.

    >>> csv_grid(grid_of([["a", "b,c"]]))
    ['a,"b,c"']
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([cell.text for cell in row] for row in grid)
    return text.getvalue().removesuffix("\n").split("\n")


def _is_heading(row: Sequence[Cell], grid: Grid) -> bool:
    return len(row) == 1 < len(grid[0])


def html_grid(grid: Grid, names: int = 1) -> list[str]:
    """An HTML table.

    >>> html_grid([[Cell(""), Cell("F")], [Cell("a<b"), Cell("50.00", "b")]])[2]
    '<tr><th style="text-align:left">a&lt;b</th><td style="text-align:right">50.00<sup>b</sup></td></tr>'
    """
    heading, *body = [
        "".join(_html_cell(cell, place, number == 0, names) for place, cell in enumerate(row))
        for number, row in enumerate(grid)
    ]
    return [
        "<table>",
        f"<thead><tr>{heading}</tr></thead>",
        *(f"<tr>{row}</tr>" for row in body),
        "</table>",
    ]


def _aligned(columns: Iterable[Sequence[str]], names: int, between: str) -> list[str]:
    padded = []
    for place, column in enumerate(columns):
        width = max(map(len, column))
        padded.append([cell.ljust(width) if place < names else cell.rjust(width) for cell in column])
    return [between.join(row) for row in zip(*padded, strict=True)]


def _with_spaced_marks(column: Sequence[Cell]) -> list[str]:
    """Figures stay below each other: marks fill a column of their own."""
    width = max(len(cell.mark) for cell in column)
    return [cell.text + (f" {cell.mark.ljust(width)}" if width else "") for cell in column]


def _markdown_cell(cell: Cell) -> str:
    text = cell.text.replace("|", r"\|").replace("<", r"\<")
    text = f"**{text}**" if cell.best else text
    return text + (f"<sup>{cell.mark}</sup>" if cell.mark else "")


def _latex_cell(cell: Cell) -> str:
    if cell.text == DASH:
        return "--"
    # A full stop inside a heading ends no sentence.
    escaped = latex(cell.text).replace(". ", ".\\ ")
    escaped = rf"\textbf{{{escaped}}}" if cell.best else escaped
    return escaped + (rf"$^{{\mathrm{{{cell.mark}}}}}$" if cell.mark else "")


def _html_cell(cell: Cell, place: int, heading: bool, names: int) -> str:
    # Notebooks set all cells right.
    side = "left" if place < names else "right"
    kind = "th" if heading or place == 0 else "td"
    raised = f"<sup>{escape(cell.mark)}</sup>" if cell.mark else ""
    text = f"<b>{escape(cell.text)}</b>" if cell.best else escape(cell.text)
    return f'<{kind} style="text-align:{side}">{text}{raised}</{kind}>'


def typeset(text: str) -> str:
    """A figure as people write it, with minus signs, and an en dash in an interval.

    >>> typeset("-0.16..1.46"), typeset("1.00..2.00"), typeset("a-1")
    ('−0.16 – 1.46', '1.00–2.00', 'a-1')
    """
    dash = " \N{EN DASH} " if "-" in text else "\N{EN DASH}"
    return _MINUS.sub("\N{MINUS SIGN}", _INTERVAL.sub(rf"{dash}\1", text))


def _for_people(lay_out: Callable[[Grid, int], list[str]]) -> Callable[[Grid, int], list[str]]:
    """A layout for people: names and labels may hold characters that would steer a terminal."""
    return lambda grid, names: lay_out(
        [
            [
                cell._replace(text=typeset(visible(cell.text)) if place >= names else visible(cell.text))
                for place, cell in enumerate(row)
            ]
            for row in grid
        ],
        names,
    )


LAYOUTS = {
    "text": _for_people(text_grid),
    "markdown": _for_people(markdown_grid),
    "latex": _for_people(latex_grid),
    "html": _for_people(html_grid),
}


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
