"""The table of ``evaluate`` on a page: each rate leads to the sentences that lower it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mbrparse.errors import visible
from mbrparse.evaluate.criteria import Criterion
from mbrparse.evaluate.report.figures import Figure, Row, Table, address
from mbrparse.evaluate.tables import cells

if TYPE_CHECKING:
    from mbrparse.evaluate.tables import Summary


def results(summary: Summary) -> Table:
    """The table of ``evaluate``, each rate leading to the sentences that lower it."""
    heading, *rows = cells(summary)
    tested = summary.significance is not None
    found = []
    for rates, row in zip(summary.rates.records(), rows, strict=True):
        name = rates["name"]
        figures = []
        for criterion, cell in zip(summary.criteria, row[1 + tested :], strict=True):
            rate = rates[criterion.name]
            where = address(view="sentences", system=name, criterion=criterion.name)
            best = len(rows) > 1 and _is_best(summary, criterion, rate)
            value = None if math.isnan(rate) else rate
            figures.append(Figure(cell.text, where, cell.mark, best=best, value=value))
        found.append(Row([visible(cell.text) for cell in row[: 1 + tested]], figures))
    return Table([cell.text for cell in heading], found)


def _is_best(summary: Summary, criterion: Criterion, rate: float) -> bool:
    column = summary.rates[criterion.name]
    best = np.fmin.reduce(column) if criterion.lower_is_better else np.fmax.reduce(column)
    return not criterion.context and criterion.show(rate) == criterion.show(float(best))
