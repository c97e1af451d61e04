"""Tables for people and programs, made by pandas: text, Markdown, LaTeX, HTML, CSV and JSON.

For people (text, Markdown, LaTeX, HTML) rates are per cent with two decimals, a rate that is not a number a
dash; where significance was tested, letters behind a figure name the files that it beats, and the
differences by one criterion, or all intervals and p-values, follow below. For programs (CSV, JSON) rates are
0 to 1 in full, the summed counts beside them.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import pandas as pd

from mbrparse.errors import MbrparseError, visible
from mbrparse.evaluate.criteria import DASH, Average, Criterion, rates, totals
from mbrparse.evaluate.significance import LEVEL, Correction, Differences, Significance, correction_text
from mbrparse.latex import latex
from mbrparse.program import signature as signed

PrintFormat = Literal["text", "markdown", "latex", "html"]
Format = Literal["text", "markdown", "latex", "html", "csv", "json"]
Column = TypeVar("Column")

#: The longest row of a text.
WIDTH = 120

# Of figures only: "1-10" and "a-1" keep their hyphens.
_MINUS = re.compile(r"(?<![^\s(])-(?=[\d.])")
_INTERVAL = re.compile(r"(?<=\d)\.\.(-?)(?=\d)")


class TableCell(NamedTuple):
    """The text of a cell, its mark (the letters of the files that it beats), and whether it is the best."""

    text: str
    mark: str = ""
    best: bool = False


#: Rows of cells, the heading first.
Grid = Sequence[Sequence[TableCell | str]]


def lay_out(grid: Grid, format: PrintFormat, names: int = 1) -> list[str]:
    """The lines of a table, of which the first ``names`` columns are names.

    Figures have minus signs, and intervals en dashes. A mark is a superscript where the format has such; the
    best are bold, but in text. Rows of text that are longer than ``WIDTH`` go on in a second table below.

    >>> print("\\n".join(lay_out([["", "F"], ["one", TableCell("50.00", "b")], ["two", "1.00"]], "text")))
             F
    one  50.00 b
    two   1.00
    """
    cells = []
    for row in grid:
        texts = (cell if isinstance(cell, TableCell) else TableCell(cell) for cell in row)
        shown = [cell._replace(text=visible(cell.text)) for cell in texts]
        figures = [cell._replace(text=typeset(cell.text)) for cell in shown[names:]]
        cells.append([*shown[:names], *figures])
    if format == "text":
        return _text(cells, names)
    cell_of = {"markdown": _markdown_cell, "latex": _latex_cell, "html": _html_cell}[format]
    heading, *rows = [list(map(cell_of, row)) for row in cells]
    sides = "l" * names + "r" * (len(heading) - names)
    if format == "markdown":
        rule = ["---" if side == "l" else "--:" for side in sides]
        return [f"| {' | '.join(row)} |" for row in (heading, rule, *rows)]
    table = pd.DataFrame(rows, columns=heading, dtype=object)
    if format == "html":
        return table.to_html(index=False, escape=False, border=0).split("\n")
    tabular: str = table.to_latex(index=False, escape=False, column_format=sides)
    return [r"% needs \usepackage{booktabs}", *tabular.rstrip("\n").split("\n")]


def _text(cells: Sequence[Sequence[TableCell]], names: int) -> list[str]:
    columns = []
    for column in zip(*cells, strict=True):
        # Figures stay below each other: marks fill a column of their own.
        width = max(len(cell.mark) for cell in column)
        columns.append([cell.text + (f" {cell.mark.ljust(width)}" if width else "") for cell in column])
    widths = [max(map(len, column)) + 2 for column in columns]
    if sum(widths[:names]) + max(widths[names:]) > WIDTH + 2:  # very long names
        most = WIDTH // (1 + names) - 2
        columns = [[_shortened(text, most) for text in column] for column in columns]
    # Pandas sets the index left, and figures right.
    padded = ([text.ljust(max(map(len, column))) for text in column] for column in columns[:names])
    corner, *index = map("  ".join, zip(*padded, strict=True))
    heading, *rows = zip(*columns[names:], strict=True)
    if not rows:
        return ["  ".join([corner, *heading])]
    table = pd.DataFrame(rows, index, pd.Index(heading, name=corner), dtype=object)
    spaces = [len(text) + 1 for text in heading]
    lines = table.to_string(col_space=spaces, line_width=WIDTH + 2).split("\n")
    return [line.rstrip().removesuffix(" \\").rstrip() for line in lines]


def frame(grid: Grid) -> pd.DataFrame:
    """The texts of a table, without marks."""
    heading, *rows = [[cell if isinstance(cell, str) else cell.text for cell in row] for row in grid]
    return pd.DataFrame(rows, columns=heading)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2 - 2]}...{text[most // 2 + 1 - most :]}"


def _markdown_cell(cell: TableCell) -> str:
    text = cell.text.replace("|", r"\|").replace("<", r"\<")
    text = f"**{text}**" if cell.best else text
    return text + (f"<sup>{cell.mark}</sup>" if cell.mark else "")


def _latex_cell(cell: TableCell) -> str:
    if cell.text == DASH:
        return "--"
    # A full stop inside a heading ends no sentence.
    escaped = latex(cell.text).replace(". ", ".\\ ")
    escaped = rf"\textbf{{{escaped}}}" if cell.best else escaped
    return escaped + (rf"$^{{\mathrm{{{cell.mark}}}}}$" if cell.mark else "")


def _html_cell(cell: TableCell) -> str:
    raised = f"<sup>{escape(cell.mark)}</sup>" if cell.mark else ""
    return (f"<b>{escape(cell.text)}</b>" if cell.best else escape(cell.text)) + raised


def typeset(text: str) -> str:
    """A figure as people write it, with minus signs, and an en dash in an interval.

    >>> typeset("-0.16..1.46"), typeset("1.00..2.00"), typeset("a-1")
    ('−0.16 – 1.46', '1.00–2.00', 'a-1')
    """
    dash = " \u2013 " if "-" in text else "\u2013"
    return _MINUS.sub("\u2212", _INTERVAL.sub(rf"{dash}\1", text))


def csv_of(table: pd.DataFrame) -> str:
    """Comma-separated values, numbers in full."""
    text: str = table.to_csv(index=False, lineterminator="\n")
    return text


#: Of more files than these, marks tell only which beat the baseline.
PAIRED = 6


def legend(found: Significance) -> str:
    """What the marks mean among as many files."""
    by = "each pair by itself" if found.correction == "none" else "by Holm's correction for all pairs"
    how = f"(approximate randomization, p < {LEVEL}, two-sided, {by})."
    if len(found.names) <= PAIRED:
        return f"Letters behind a figure: the files that it beats {how}"
    letter = letters(found, len(found.names))[found.names.index(found.baseline)]
    return f"{letter} behind a figure: it beats the baseline {how}"


def letters(found: Significance | None, files: int) -> list[str]:
    """The name of each file in marks: a, b, ... z, then numbers in brackets; empty without tests.

    >>> letters(None, 2)
    ['', '']
    """
    if found is None:
        return [""] * files
    return [chr(ord("a") + place) if place < 26 else f"({place + 1})" for place in range(files)]


def mark(found: Significance | None, file: int, criterion: Criterion) -> str:
    """The letters of the files that a file beats by a criterion, by more than chance.

    Of more than ``PAIRED`` files that is the baseline alone.
    """
    if found is None or criterion not in found.criteria:
        return ""
    beats = found.beats[file, :, found.criteria.index(criterion)]
    return "".join(
        letter
        for letter, name, beaten in zip(letters(found, len(beats)), found.names, beats, strict=True)
        if beaten and (len(beats) <= PAIRED or name == found.baseline)
    )


def difference_lines(found: Significance, criterion: Criterion) -> Grid:
    """By one criterion, a line for each file but the baseline: its difference, interval and p-value."""
    place = found.criteria.index(criterion)
    grid = [
        [
            criterion.heading,
            f"difference to {found.baseline}",
            "95% interval",
            p_heading("p", found.correction),
        ]
    ]
    for file, name in enumerate(found.names):
        if name != found.baseline:
            p_value = p_value_text(found.p_randomization[file, place])
            grid.append([name, *difference_texts(found, (file, place), criterion), p_value])
    return grid


def pairs(found: Significance) -> Grid:
    """The p-values by randomization of every two files: a line for each pair, a column for each criterion."""
    grid = [
        [
            p_heading("p (randomization)", found.correction),
            "",
            *(criterion.heading for criterion in found.criteria),
        ]
    ]
    for one, other in itertools.combinations(range(len(found.names)), 2):
        grid.append([found.names[one], found.names[other], *map(p_value_text, found.pairs[one, other])])
    return grid


def details(found: Significance, rates: pd.DataFrame) -> Grid:
    """A line for each file and criterion: the rate, the difference from the baseline, their intervals."""
    heading = ["", "criterion", "rate", "95% interval", f"difference to {found.baseline}", "95% interval"]
    p_values = (p_heading(f"p ({test})", found.correction) for test in ("bootstrap", "randomization"))
    grid = [[*heading, *p_values]]
    for file, name in enumerate(found.names):
        for place, criterion in enumerate(found.criteria):
            at = file, place
            rate = criterion.show(rates[criterion.name][file])
            compared = [DASH] * 4
            if name != found.baseline:
                tests = map(p_value_text, (found.p_bootstrap[at], found.p_randomization[at]))
                compared = [*difference_texts(found, at, criterion), *tests]
            interval = interval_text(criterion, found.low[at], found.high[at])
            grid.append([name, criterion.heading, rate, interval, *compared])
    return grid


def difference_texts(found: Differences, at: tuple[int, int], criterion: Criterion) -> list[str]:
    """The difference of a file by a criterion, and its interval."""
    interval = interval_text(criterion, found.difference_low[at], found.difference_high[at])
    return [criterion.show(float(found.difference[at])), interval]


def interval_text(criterion: Criterion, low: float, high: float) -> str:
    """An interval of rates; a dash where there is none."""
    return DASH if math.isnan(low) else f"{criterion.show(float(low))}..{criterion.show(float(high))}"


def p_heading(text: str, correction: Correction) -> str:
    """The heading of p-values.

    >>> p_heading("p", "holm"), p_heading("p (bootstrap)", "holm"), p_heading("p", "none")
    ('p (Holm)', 'p (bootstrap, Holm)', 'p')
    """
    if correction == "none":
        return text
    return f"{text.removesuffix(')')}, Holm)" if text.endswith(")") else f"{text} (Holm)"


def p_value_text(value: float) -> str:
    """A p-value with four decimals; a dash where there is none.

    >>> p_value_text(0.00001), p_value_text(0.25), p_value_text(float("nan"))
    ('<0.0001', '0.2500', '-')
    """
    if value < 0.00005:
        return "<0.0001"
    return DASH if math.isnan(value) else f"{value:.4f}"


def as_data(found: Significance) -> dict[str, Any]:
    """All of it for JSON; what is not a number is null."""
    arrays = [*(field.name for field in fields(Differences)), "p_randomization"]
    rows = []
    for file, name in enumerate(found.names):
        others = [(rival, other) for rival, other in enumerate(found.names) if rival != file]
        by_criterion = {}
        for place, criterion in enumerate(found.criteria):
            entry: dict[str, Any] = {array: number(getattr(found, array)[file, place]) for array in arrays}
            entry["p_against"] = {other: number(found.pairs[file, rival, place]) for rival, other in others}
            entry["beats"] = [other for rival, other in others if found.beats[file, rival, place]]
            by_criterion[criterion.name] = entry
        rows.append({"name": name, "criteria": by_criterion})
    settings = {name: getattr(found, name) for name in ("baseline", "resamples", "seed", "correction")}
    return {**settings, "level": LEVEL, "rows": rows}


def number(value: Any) -> float | None:
    """A number for JSON, which has no not-a-number."""
    return None if math.isnan(float(value)) else float(value)


@dataclass(frozen=True)
class Summary:
    """The content of a table; all parts have the same rows in the same order."""

    criteria: tuple[Criterion, ...]
    rates: pd.DataFrame  #: 0 to 1 (or a number), a column for each criterion
    totals: pd.DataFrame  #: the summed counts
    signature: str
    significance: Significance | None = None
    #: the criterion of the differences below the table; None: all, and all pairs
    shown: Criterion | None = None


def summarize(
    counts: pd.DataFrame,
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
    }
    parts.setdefault("average", average)
    parts["sentences"] = str(sums["sentences"].max())
    for criterion in (one for one in criteria if one.context):
        column = found[criterion.name].to_numpy()
        parts[criterion.name] = "..".join(dict.fromkeys(map(criterion.show, (column.min(), column.max()))))
    if significance is not None:
        of_tests = f"resamples={significance.resamples},seed={significance.seed},level={LEVEL}"
        of_tests += correction_text(significance.correction)
        parts["significance"] = f"bootstrap+randomization,{of_tests}"
    return Summary(tuple(criteria), found, sums, signed(parts), significance, shown)


def render(
    summary: Summary, format: Format = "text", columns: Sequence[str] = (), below: Sequence[str] = ()
) -> str:
    """The table in one of the formats, with its last line end; people are shown these columns, if any.

    People are shown the lines ``below``, too. All but CSV, which has no place for it, carry the signature.
    Raises MbrparseError for an unknown column.
    """
    if format == "csv":
        return _csv(summary)
    return _json(summary) if format == "json" else _printed(summary, format, columns, below)


def cells(summary: Summary, columns: Sequence[str] = ()) -> list[list[TableCell]]:
    """The printed table, heading first: names (and letters for marks), then rates, the best marked."""
    found, table = summary.significance, summary.rates
    names = letters(found, len(table))
    criteria = chosen(columns, {criterion.name: criterion for criterion in summary.criteria})
    heading = ["", *[""] * bool(found), *(criterion.heading for criterion in criteria)]
    grid = [list(map(TableCell, heading))]
    for file, row in enumerate(table.to_dict("records")):
        who = [TableCell(row["name"]), TableCell(names[file])]
        grid.append(who if found else who[:1])
        for criterion in criteria:
            rate = row[criterion.name]
            best = criterion.is_best(rate, table[criterion.name].to_numpy())
            grid[-1].append(TableCell(criterion.show(rate), mark(found, file, criterion), best))
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
    if format == "html":
        return f"<p><code>{escape(text)}</code></p>"
    return f"`{text}`" if format == "markdown" else prose(text, format)


def _printed(summary: Summary, format: PrintFormat, columns: Sequence[str], below: Sequence[str]) -> str:
    tested = summary.significance
    lines = [*lay_out(cells(summary, columns), format, 1 if tested is None else 2), *below]
    if tested is not None:
        lines += ["", prose(legend(tested), format)]
        if summary.shown is not None:
            lines += ["", *lay_out(difference_lines(tested, summary.shown), format)]
        else:
            for more in (details(tested, summary.rates), pairs(tested)):
                lines += ["", *lay_out(more, format, 2)]
    if format != "latex":
        lines.append("")
    return "\n".join([*lines, signature_line(summary.signature, format), ""])


def _csv(summary: Summary) -> str:
    # A share of the sentences may be called as their number is: "fell_back".
    sums = summary.totals.drop(columns="name").rename(
        columns={name: f"{name}_count" for name in summary.totals if name in summary.rates}
    )
    table, tested = summary.rates.join(sums), summary.significance
    for place, criterion in enumerate(tested.criteria if tested else ()):
        for name in ("low", "high", "p_bootstrap", "p_randomization"):
            table[f"{criterion.name}_{name}"] = getattr(tested, name)[:, place]
    return csv_of(table)


def _json(summary: Summary) -> str:
    rows = []
    tables = (table.to_dict("records") for table in (summary.rates, summary.totals))
    for found, counts in zip(*tables, strict=True):
        name = counts.pop("name")
        sums = {column: int(count) if count == int(count) else count for column, count in counts.items()}
        shares, context = (
            {one.name: number(found[one.name]) for one in summary.criteria if one.context == is_context}
            for is_context in (False, True)
        )
        rows.append({"name": name, "rates": shares, "counts": sums, **context})
    report: dict[str, Any] = {"rows": rows, "signature": summary.signature}
    if summary.significance is not None:
        report["significance"] = as_data(summary.significance)
    return json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
