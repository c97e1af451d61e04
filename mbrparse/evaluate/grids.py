"""Grids of cells, laid out as text, Markdown, LaTeX or HTML: the heading first, names left, figures right.

A cell may carry a mark (the letters of the files that it beats), which is set as a superscript where
the format has such.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Literal, NamedTuple

from mbrparse.evaluate.criteria import DASH

PrintFormat = Literal["text", "markdown", "latex", "html"]

_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX["<"], _LATEX[">"] = r"\textless{}", r"\textgreater{}"
_LATEX_SPECIAL = re.compile(r"[\\~^&%$#_{}<>]")


class Cell(NamedTuple):
    """What stands in a cell."""

    text: str
    mark: str = ""


Grid = Sequence[Sequence[Cell]]


def text_grid(grid: Grid, names: int = 1) -> list[str]:
    """Lines of a grid whose first ``names`` columns are names; marks stand behind the figures.

    >>> text_grid([[Cell(""), Cell("F")], [Cell("a one"), Cell("50.00", "b")], [Cell("b two"), Cell("1.00")]])
    ['           F', 'a one  50.00 b', 'b two   1.00']
    """
    return [
        line.rstrip()
        for line in _aligned([_with_spaced_marks(column) for column in zip(*grid, strict=True)], names, "  ")
    ]


def markdown_grid(grid: Grid, names: int = 1) -> list[str]:
    """A Markdown table."""
    rows = [[_markdown_cell(cell) for cell in row] for row in grid]
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
    """A LaTeX tabular."""
    heading, *body = [" & ".join(map(_latex_cell, row)) + r" \\" for row in grid]
    return [
        rf"\begin{{tabular}}{{{'l' * names}{'r' * (len(grid[0]) - names)}}}",
        r"\hline",
        heading,
        r"\hline",
        *body,
        r"\hline",
        r"\end{tabular}",
    ]


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


def _aligned(columns: Sequence[Sequence[str]], names: int, between: str) -> list[str]:
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
    return text + (f"<sup>{cell.mark}</sup>" if cell.mark else "")


def _latex_cell(cell: Cell) -> str:
    if cell.text == DASH:
        return "--"
    escaped = _LATEX_SPECIAL.sub(lambda match: _LATEX.get(match.group(), "\\" + match.group()), cell.text)
    # A full stop inside a heading ends no sentence.
    return escaped.replace(". ", ".\\ ") + (rf"$^{{\mathrm{{{cell.mark}}}}}$" if cell.mark else "")


def _html_cell(cell: Cell, place: int, heading: bool, names: int) -> str:
    # Notebooks set all cells right.
    side = "left" if place < names else "right"
    kind = "th" if heading or place == 0 else "td"
    raised = f"<sup>{escape(cell.mark)}</sup>" if cell.mark else ""
    return f'<{kind} style="text-align:{side}">{escape(cell.text)}{raised}</{kind}>'


LAYOUTS = {"text": text_grid, "markdown": markdown_grid, "latex": latex_grid, "html": html_grid}
