"""A table of text cells, as text, Markdown, LaTeX or CSV: the first column left, the others right.

A row of one cell is a heading over those below it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable

Grid = list[list[str]]

_LATEX_SPECIAL = re.compile(r"[&%$#_{}]")


def as_text(grid: Grid) -> str:
    """Columns padded with blanks.

    >>> print(as_text([["", "mean"], ["Tree"], ["recall", "90.13"]]))
             mean
    Tree
    recall  90.13
    """
    widths = _widths(grid)
    lines = [_aligned(row, widths, "  ") for row in grid]
    return "\n".join(line.rstrip() for line in lines)


def as_markdown(grid: Grid) -> str:
    """A pipe table; headings are bold."""
    heading, *rows = [[cell.replace("|", r"\|") for cell in row] for row in grid]
    columns = len(heading)
    rows = [row if len(row) > 1 else [f"**{row[0]}**", *[""] * (columns - 1)] for row in rows]
    widths = [max(3, width) for width in _widths([heading, *rows])]
    rule = "|".join(["-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])])
    lines = [f"| {_aligned(row, widths, ' | ')} |" for row in [heading, *rows]]
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])


def as_latex(grid: Grid) -> str:
    """A tabular environment."""
    heading, *rows = [[_LATEX_SPECIAL.sub(r"\\\g<0>", cell) for cell in row] for row in grid]
    columns = len(heading)
    body = [
        " & ".join(row) if len(row) > 1 else rf"\multicolumn{{{columns}}}{{l}}{{\emph{{{row[0]}}}}}"
        for row in rows
    ]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{l{'r' * (columns - 1)}}}",
            r"\hline",
            " & ".join(heading) + r" \\",
            r"\hline",
            *(line + r" \\" for line in body),
            r"\hline",
            r"\end{tabular}",
        ]
    )


def as_csv(grid: Grid) -> str:
    """Comma-separated values."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(grid)
    return text.getvalue().rstrip("\n")


#: By the suffix of the file that each is written to.
FORMATS: dict[str, Callable[[Grid], str]] = {"txt": as_text, "md": as_markdown, "tex": as_latex}


def _widths(grid: Grid) -> list[int]:
    columns = max(len(row) for row in grid)
    return [max(len(row[c]) for row in grid if len(row) == columns) for c in range(columns)]


def _aligned(row: list[str], widths: list[int], between: str) -> str:
    if len(row) == 1:
        return row[0]
    padded = [row[0].ljust(widths[0])]
    padded += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
    return between.join(padded)
