"""Breakdowns of a page as bars: by length, label, depth, width, attachment, and the labels confused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mbrparse.errors import visible
from mbrparse.evaluate.criteria import Criterion
from mbrparse.evaluate.report.figures import Figure, Row, Table, bar, percent
from mbrparse.evaluate.report.judged_trees import attachment_name

if TYPE_CHECKING:
    import pandas as pd


def by_length(table: pd.DataFrame, criterion: Criterion, names: Sequence[str]) -> Table:
    """A criterion for sentences of some lengths: a row for each bucket."""
    most = 1.0 if criterion.percent else float(table[criterion.name].max() or 1.0)
    rows = []
    for bucket, of_bucket in table.groupby("length", sort=False):
        rates = _by_name(of_bucket, criterion.name)
        least, _, longest = str(bucket).rstrip("+").partition("-")
        ends = {"max": longest} if longest else {}
        figures = [
            bar(
                criterion.show(rates[name]),
                rates[name] / most,
                view="sentences",
                system=name,
                criterion=criterion.name,
                min=least if least != "1" else "0",
                **ends,
            )
            if not math.isnan(rates[name])
            else Figure("-")
            for name in names
        ]
        rows.append(Row([_range(bucket), f"{int(of_bucket['sentences'].iloc[0]):,}"], figures))
    return Table(["words", "sentences", *map(visible, names)], rows)


def by_group(table: pd.DataFrame, by: str, names: Sequence[str], shown: int | None = None) -> Table:
    """F of the constituents of each label, depth or width, labels by how frequent they are in the gold."""
    of_group = {str(group): rows for group, rows in table.groupby(by, sort=False)}
    gold = {group: int(rows["gold"].max()) for group, rows in of_group.items()}
    order = sorted(gold, key=lambda group: -gold[group]) if by == "label" else list(gold)
    rows = []
    for group in order:
        f_scores = _by_name(of_group[group], "f")
        figures = [
            bar(percent(f_scores[name]), f_scores[name], view="sentences", system=name, **{by: group})
            if name in f_scores
            else Figure("-")
            for name in names
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
        what = attachment_name((str(kind), str(label)))
        where = {"view": "sentences", "attachment": what}
        figures = [bar(percent(shares[name]), shares[name], system=name, **where) for name in names]
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
    return str(text).replace("-", "\N{EN DASH}")
