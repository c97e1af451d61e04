"""Grids of cells, laid out as text, Markdown, LaTeX, HTML or CSV: heading first, names left, figures right.

A cell may carry a mark (the letters of the files that it beats), which is set as a superscript where
the format has such; the best of a column is bold in Markdown, LaTeX and HTML. A row of one cell is a heading
over the rows below it. For people (not in CSV) figures have minus signs, and intervals en dashes.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import Literal, NamedTuple

from mbrparse.errors import visible
from mbrparse.evaluate.tables.criteria import DASH
from mbrparse.latex import latex

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


def _printed(lay_out: Callable[[Grid, int], list[str]]) -> Callable[[Grid, int], list[str]]:
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
    "text": _printed(text_grid),
    "markdown": _printed(markdown_grid),
    "latex": _printed(latex_grid),
    "html": _printed(html_grid),
}
