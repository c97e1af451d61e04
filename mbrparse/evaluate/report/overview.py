"""The figures of a page, each with the address of the sentences behind it; a template lays them out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from mbrparse.errors import visible
from mbrparse.evaluate.criteria import Criterion
from mbrparse.evaluate.report.calibration_bins import BINS, CalibrationBins
from mbrparse.evaluate.significance import LEVEL
from mbrparse.evaluate.tables import cells

if TYPE_CHECKING:
    import pandas as pd

    from mbrparse.evaluate.breakdowns import Breakdown
    from mbrparse.evaluate.tables import Summary


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
    """A row of figures, with the names that stand before them."""

    names: list[str]
    figures: list[Figure]


@dataclass(frozen=True)
class Table:
    """Rows of figures below their headings, of which the first ``names`` are those of names."""

    headings: list[str]
    rows: list[Row]
    more: list[Row] = field(default_factory=list)  #: shown when asked for
    title: str = ""


@dataclass(frozen=True)
class Difference:
    """How a parser differs from the baseline by a criterion; places are in per cent of the axis."""

    criterion: str
    name: str
    text: str
    interval: str
    p: str
    clear: bool  #: more than chance
    low: float
    at: float
    high: float
    address: str


@dataclass(frozen=True)
class Axis:
    """Differences on one axis: its ticks and their places in per cent."""

    unit: str
    zero: float
    ticks: list[tuple[str, float]]
    rows: list[Difference]


def address(**state: object) -> str:
    """The address of a view of the page.

    >>> address(view="sentences", label="<x>")
    '#view=sentences&label=%3Cx%3E'
    """
    return "#" + urlencode({key: str(value) for key, value in state.items()}, quote_via=quote)


def results(summary: Summary) -> Table:
    """The table of ``evaluate``, each rate leading to the sentences that lower it."""
    heading, *rows = cells(summary)
    tested = summary.significance is not None
    found = []
    for name, row in zip(map(str, summary.rates.index), rows, strict=True):
        figures = []
        for criterion, cell in zip(summary.criteria, row[1 + tested :], strict=True):
            rate = float(summary.rates[criterion.name][name])
            where = address(view="sentences", system=name, criterion=criterion.name)
            best = len(rows) > 1 and _is_best(summary, criterion, rate)
            value = None if math.isnan(rate) else rate
            figures.append(Figure(cell.text, where, cell.mark, best=best, value=value))
        found.append(Row([visible(cell.text) for cell in row[: 1 + tested]], figures))
    return Table([cell.text for cell in heading], found)


def _is_best(summary: Summary, criterion: Criterion, rate: float) -> bool:
    column = summary.rates[criterion.name]
    best = column.min() if criterion.lower_is_better else column.max()
    return not criterion.context and criterion.show(rate) == criterion.show(float(best))


def differences(summary: Summary) -> list[Axis]:
    """How the other parsers differ from the baseline: rates on one axis, other figures each on its own."""
    found = summary.significance
    if found is None:
        return []
    groups: dict[str, list[int]] = {}
    for place, criterion in enumerate(found.criteria):
        groups.setdefault("" if criterion.percent else criterion.name, []).append(place)
    others = [file for file, name in enumerate(found.names) if name != found.baseline]
    axes = []
    for places in groups.values():
        percent = found.criteria[places[0]].percent
        scale = 100.0 if percent else 1.0
        ends = [
            scale * float(bound[file, place])
            for bound in (found.difference_low, found.difference_high)
            for file in others
            for place in places
        ]
        low, high, ticks = _axis([end for end in ends if not math.isnan(end)])
        rows = []
        for place in places:
            criterion = found.criteria[place]
            for file in others:
                at = file, place
                shown = [
                    float(bound[at])
                    for bound in (found.difference_low, found.difference, found.difference_high)
                ]
                if any(map(math.isnan, shown)):
                    continue
                name = found.names[file]
                p = float(found.p_randomization[at])
                left, middle, right = (100 * (scale * value - low) / (high - low) for value in shown)
                rows.append(
                    Difference(
                        criterion.heading,
                        visible(name),
                        _signed(criterion, shown[1]),
                        f"{_signed(criterion, shown[0])} to {_signed(criterion, shown[2])}",
                        f"{p:.4f}",
                        p < LEVEL,
                        left,
                        middle,
                        right,
                        address(
                            view="sentences", system=name, versus=found.baseline, criterion=criterion.name
                        ),
                    )
                )
        where = [(text, 100 * (tick - low) / (high - low)) for text, tick in ticks]
        axes.append(Axis("points" if percent else "", -100 * low / (high - low), where, rows))
    return axes


def _signed(criterion: Criterion, difference: float) -> str:
    """With a sign that is one, and a minus that is as wide as a plus."""
    text = criterion.show(difference)
    return text.replace("-", "\N{MINUS SIGN}") if text[0] == "-" else f"+{text}"


def _axis(ends: Sequence[float]) -> tuple[float, float, list[tuple[str, float]]]:
    """Bounds that hold zero and all ends, and round ticks between."""
    low, high = min(0.0, *ends, 0.0), max(0.0, *ends, 0.0)
    width = (high - low) or 1.0
    low, high = low - 0.06 * width, high + 0.06 * width
    step = 10.0 ** math.floor(math.log10(width / 2))
    step = next(step * factor for factor in (1, 2, 5, 10) if width / (step * factor) <= 6)
    first = math.ceil(low / step)
    ticks = [step * place for place in range(first, math.floor(high / step) + 1)]
    return low, high, [(f"{tick:g}".replace("-", "\N{MINUS SIGN}"), tick) for tick in ticks]


def by_length(part: Breakdown, criterion: Criterion, names: Sequence[str]) -> Table:
    """A criterion for sentences of some lengths: a row for each bucket."""
    table = part.table
    most = 1.0 if criterion.percent else float(table[criterion.name].max() or 1.0)
    rows = []
    for bucket, of_bucket in table.groupby("length", sort=False):
        rates = _by_name(of_bucket, criterion.name)
        least, _, longest = str(bucket).rstrip("+").partition("-")
        ends = {"max": longest} if longest else {}
        figures = [
            _bar(
                criterion.show(rates[name]),
                rates[name] / most,
                view="sentences",
                system=name,
                criterion=criterion.name,
                min=least if least != "1" else "0",
                **ends,
            )
            for name in names
            if name in rates
        ]
        shown = str(bucket).replace("-", "\N{EN DASH}")
        rows.append(Row([shown, str(int(of_bucket["sentences"].iloc[0]))], figures))
    return Table(["words", "sentences", *map(visible, names)], rows)


def by_label(part: Breakdown, names: Sequence[str], shown: int = 15) -> Table:
    """F of each label, the most frequent first."""
    table = part.table
    gold = table.groupby("label", sort=False)["gold"].max().sort_values(ascending=False, kind="stable")
    of_label = {str(label): rows for label, rows in table.groupby("label", sort=False)}
    rows = []
    for label in map(str, gold.index):
        of_names = of_label[label].set_index("name")
        figures = []
        for name in names:
            if name not in of_names.index:
                figures.append(Figure("-"))
                continue
            f, p, r = (float(of_names[column][name]) for column in ("f", "precision", "recall"))
            detail = f"precision {_percent(p)}, recall {_percent(r)}"
            figures.append(_bar(_percent(f), f, detail, view="sentences", system=name, label=label))
        rows.append(Row([visible(label), str(int(gold[label]))], figures))
    return Table(["label", "in gold", *map(visible, names)], rows[:shown], rows[shown:])


def confusions(part: Breakdown, name: str, shown: int = 8) -> Table:
    """One parser's, the most frequent first."""
    table = part.table[part.table["name"] == name]
    most = float(table["count"].max()) if len(table) else 1.0
    rows = [
        Row(
            [visible(str(gold)), visible(str(guess))],
            [_bar(str(count), count / most, view="sentences", system=name, confusion=f"{gold} {guess}")],
        )
        for gold, guess, count in table[["gold", "guess", "count"]].head(4 * shown).itertuples(index=False)
    ]
    return Table(["gold", "parse", "times"], rows[:shown], rows[shown:], visible(name))


def _by_name(table: pd.DataFrame, column: str) -> Mapping[str, float]:
    return {str(name): float(rate) for name, rate in zip(table["name"], table[column], strict=True)}


def _percent(rate: float) -> str:
    return "-" if math.isnan(rate) else f"{100 * rate:.2f}"


def _bar(text: str, share: float, detail: str = "", **state: object) -> Figure:
    width = None if math.isnan(share) else 100 * min(max(share, 0.0), 1.0)
    return Figure(text, address(**state), detail, width)


@dataclass(frozen=True)
class Calibration:
    """One parser's bins, of sentences and of constituents; ``left_out`` are of other trees."""

    name: str
    sentences: Table
    constituents: Table
    left_out: int


def calibration(
    name: str, by_sentence: CalibrationBins, by_constituent: CalibrationBins, left_out: int
) -> Calibration:
    """Expected and found rates of the bins that hold something."""
    return Calibration(
        visible(name),
        _bins(by_sentence, "sentences", name),
        _bins(by_constituent, "constituents"),
        left_out,
    )


def _bins(bins: CalibrationBins, of: str, name: str | None = None) -> Table:
    rows = []
    for row in bins.rows():
        place = round(row.low * BINS)
        where = "" if name is None else address(view="sentences", system=name, bin=place)
        bounds = f"{100 * row.low:.0f}\N{EN DASH}{100 * row.high:.0f}"
        figures = [
            Figure(_percent(row.expected), share=100 * row.expected),
            Figure(_percent(row.found), where, share=100 * row.found),
        ]
        rows.append(Row([bounds, f"{row.number:,}"], figures))
    return Table(["expected, %", of, "mean", "found"], rows)
