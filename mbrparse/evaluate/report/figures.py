"""The tables and bars of a page: figures, each with the address of the sentences behind it.

Calibration, and differences between parsers with their intervals, drawn on a page.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
import pandas as pd

from mbrparse import log
from mbrparse.errors import visible
from mbrparse.evaluate import criteria
from mbrparse.evaluate.report import marked_trees, records
from mbrparse.evaluate.significance import LEVEL
from mbrparse.evaluate.tables import Summary, cells


@dataclass(frozen=True)
class Figure:
    """A figure, where its sentences are listed, and its share of a bar (in per cent)."""

    text: str
    address: str = ""
    mark: str = ""
    share: float | None = None
    best: bool = False
    value: float | None = None  #: in full


@dataclass(frozen=True)
class Row:
    """A row of figures, with the names before them."""

    names: list[str]
    figures: list[Figure]


@dataclass(frozen=True)
class Table:
    """Rows of figures below their headings, of which the first ``names`` are those of names."""

    headings: list[str]
    rows: list[Row]
    more: list[Row] = field(default_factory=list)  #: shown on request
    title: str = ""


def address(**state: object) -> str:
    """The address of a view of the page.

    >>> address(view="sentences", label="<x>")
    '#view=sentences&label=%3Cx%3E'
    """
    return "#" + urlencode({key: str(value) for key, value in state.items()}, quote_via=quote)


def percent(rate: float) -> str:
    """A rate in per cent; a dash where there is none."""
    return "-" if math.isnan(rate) else f"{100 * rate:.2f}"


def bar(text: str, share: float, **state: object) -> Figure:
    """A figure with a bar of this share (0 to 1), and where its sentences are listed."""
    width = None if math.isnan(share) else 100 * min(max(share, 0.0), 1.0)
    return Figure(text, address(**state), share=width)


def _bar_of(rate: float | None, **state: object) -> Figure:
    """The bar of a rate; a dash where a parser has no row for it."""
    return Figure("-") if rate is None else bar(percent(rate), rate, **state)


def results(summary: Summary) -> Table:
    """The table of ``evaluate``, each rate leading to the sentences that lower it."""
    heading, *rows = cells(summary)
    tested = summary.significance is not None
    found = []
    for rates, row in zip(summary.rates.to_dict("records"), rows, strict=True):
        name = rates["name"]
        figures = []
        for criterion, cell in zip(summary.criteria, row[1 + tested :], strict=True):
            rate = rates[criterion.name]
            where = address(view="sentences", system=name, criterion=criterion.name)
            value = None if math.isnan(rate) else rate
            figures.append(Figure(cell.text, where, cell.mark, best=cell.best, value=value))
        found.append(Row([visible(cell.text) for cell in row[: 1 + tested]], figures))
    return Table([cell.text for cell in heading], found)


def by_length(table: pd.DataFrame, criterion: criteria.Criterion, names: Sequence[str]) -> Table:
    """A criterion for sentences of some lengths: a row for each bucket."""
    most = 1.0 if criterion.percent else float(table[criterion.name].max() or 1.0)
    rows = []
    for bucket, of_bucket in table.groupby("length", sort=False):
        rates = _by_name(of_bucket, criterion.name)
        least, _, longest = str(bucket).rstrip("+").partition("-")
        lengths = {"min": least if least != "1" else "0", **({"max": longest} if longest else {})}
        figures = []
        for name in names:
            rate, state = rates[name], {"system": name, "criterion": criterion.name, **lengths}
            known = not math.isnan(rate)
            text = criterion.show(rate)
            figures.append(bar(text, rate / most, view="sentences", **state) if known else Figure("-"))
        rows.append(Row([_range(bucket), f"{int(of_bucket['sentences'].iloc[0]):,}"], figures))
    return Table(["words", "sentences", *map(visible, names)], rows)


def by_group(table: pd.DataFrame, by: str, names: Sequence[str], shown: int | None = None) -> Table:
    """F of the constituents of each label, depth or width; labels by their frequency in the gold."""
    of_group = {str(group): rows for group, rows in table.groupby(by, sort=False)}
    gold = {group: int(rows["gold"].max()) for group, rows in of_group.items()}
    order = sorted(gold, key=lambda group: -gold[group]) if by == "label" else list(gold)
    rows = []
    for group in order:
        f_scores = _by_name(of_group[group], "f")
        figures = [
            _bar_of(f_scores.get(name), view="sentences", system=name, **{by: group}) for name in names
        ]
        rows.append(Row([visible(group) if by == "label" else _range(group), f"{gold[group]:,}"], figures))
    headings = [{"width": "words"}.get(by, by), "in gold", *map(visible, names)]
    return Table(headings, rows[:shown], [] if shown is None else rows[shown:])


def by_attachment(table: pd.DataFrame, names: Sequence[str], shown: int = 10) -> Table:
    """The share of PPs that are attached right, and of coordinations whose parts are, the frequent first."""
    rows = []
    groups = table.groupby(["attachment", "label"], sort=False)
    for (kind, label), of_group in sorted(groups, key=lambda group: -int(group[1]["gold"].iloc[0])):
        shares = _by_name(of_group, "right_share")
        what = marked_trees.attachment_name((str(kind), str(label)))
        where = {"view": "sentences", "attachment": what}
        figures = [_bar_of(shares.get(name), system=name, **where) for name in names]
        rows.append(Row([visible(what), f"{int(of_group['gold'].iloc[0]):,}"], figures))
    return Table(["", "in gold", *map(visible, names)], rows[:shown], rows[shown:])


def confusions(table: pd.DataFrame, name: str, shown: int = 8) -> Table:
    """One parser's, the most frequent first."""
    table = table[table["name"] == name]
    most = float(table["count"].max()) if len(table) else 1.0
    rows = []
    for gold, guess, count in table[["gold", "guess", "count"]].head(4 * shown).itertuples(index=False):
        state = {"view": "sentences", "system": name, "confusion": f"{gold} {guess}"}
        rows.append(Row([visible(str(gold)), visible(str(guess))], [bar(str(count), count / most, **state)]))
    return Table(["gold", "parse", "times"], rows[:shown], rows[shown:], visible(name))


def _by_name(table: pd.DataFrame, column: str) -> Mapping[str, float]:
    return {str(name): float(rate) for name, rate in zip(table["name"], table[column], strict=True)}


def _range(text: object) -> str:
    return str(text).replace("-", "\u2013")


_MINUS = "\u2212"


def calibration(name: str, found: records.Calibration) -> dict[str, Any]:
    """Tables of the bins that hold something, and lines of means and of what is left out."""
    lines = [
        f"{kind}: "
        + ", ".join(f"{what} {percent(rate)}" for what, rate in zip(records.RATES, one.means(), strict=True))
        for kind, one in found.kinds.items()
    ]
    lines += [
        f"left out, {why}: {log.counted(len(which), 'sentence')}, first {which[0]}"
        for why, which in found.left_out.items()
    ]
    constituents, sentences = (found.kinds[kind] for kind in records.KINDS[:2])
    tables = {
        "sentences": _bins(sentences, "sentences", name),
        "constituents": _bins(constituents, "constituents"),
    }
    return {"name": visible(name), **tables, "lines": lines}


def _bins(bins: records.Reliability, of: str, name: str | None = None) -> Table:
    rows = []
    for place, number, expected, found in bins.rows():
        where = "" if name is None else address(view="sentences", system=name, bin=place)
        figures = [
            Figure(percent(expected), share=100 * expected),
            Figure(percent(found), where, share=100 * found),
        ]
        rows.append(Row([records.BOUNDS[place].replace("-", "\u2013"), f"{number:,}"], figures))
    return Table(["expected, %", of, "mean", "found"], rows)


def differences(summary: Summary) -> list[dict[str, Any]]:
    """The differences from the baseline: rates on one axis, other figures each on an axis of its own.

    Of each axis its unit, where zero is, its ticks and its rows; places are in per cent of the axis.
    """
    found = summary.significance
    if found is None:
        return []
    bounds = np.stack([found.difference_low, found.difference, found.difference_high])
    others = [file for file, name in enumerate(found.names) if name != found.baseline]
    groups: dict[str, list[int]] = {}
    for place, criterion in enumerate(found.criteria):
        groups.setdefault("" if criterion.percent else criterion.name, []).append(place)
    axes = []
    for places in groups.values():
        percent = found.criteria[places[0]].percent
        scale = 100.0 if percent else 1.0
        ends = scale * bounds[::2, others][:, :, places]
        low, high, ticks = _axis(ends[~np.isnan(ends)].tolist())
        rows = []
        for place, file in itertools.product(places, others):
            criterion, name = found.criteria[place], found.names[file]
            shown = bounds[:, file, place].tolist()
            if any(map(math.isnan, shown)):
                continue
            p = float(found.p_randomization[file, place])
            # With a plus, or a minus that is as wide as a plus.
            left, text, right = (f"+{criterion.show(value)}".replace("+-", _MINUS) for value in shown)
            start, middle, end = (100 * (scale * value - low) / (high - low) for value in shown)
            where = address(view="sentences", system=name, versus=found.baseline, criterion=criterion.name)
            rows.append(
                {"criterion": criterion.heading, "name": visible(name), "address": where}
                | {"text": text, "interval": f"{left} to {right}", "p": f"{p:.4f}", "certain": p < LEVEL}
                | {"low": start, "at": middle, "high": end}
            )
        placed = [(text, 100 * (tick - low) / (high - low)) for text, tick in ticks]
        unit, zero = "points" if percent else "", -100 * low / (high - low)
        axes.append({"unit": unit, "zero": zero, "ticks": placed, "rows": rows})
    return axes


def _axis(ends: Sequence[float]) -> tuple[float, float, list[tuple[str, float]]]:
    """Bounds that hold zero and all ends, and round ticks between."""
    low, high = min(0.0, *ends, 0.0), max(0.0, *ends, 0.0)
    width = (high - low) or 1.0
    low, high = low - 0.06 * width, high + 0.06 * width
    step = 10.0 ** math.floor(math.log10(width / 2))
    step = next(step * factor for factor in (1, 2, 5, 10) if width / (step * factor) <= 6)
    first = math.ceil(low / step)
    ticks = [step * place for place in range(first, math.floor(high / step) + 1)]
    return low, high, [(f"{tick:g}".replace("-", _MINUS), tick) for tick in ticks]
