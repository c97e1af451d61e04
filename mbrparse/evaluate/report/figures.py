"""Figures of a page, each with the address of the sentences behind it; a template lays them out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode


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


def address(**state: object) -> str:
    """The address of a view of the page.

    >>> address(view="sentences", label="<x>")
    '#view=sentences&label=%3Cx%3E'
    """
    return "#" + urlencode({key: str(value) for key, value in state.items()}, quote_via=quote)


def percent(rate: float) -> str:
    """A rate as people see it; a dash where there is none."""
    return "-" if math.isnan(rate) else f"{100 * rate:.2f}"


def bar(text: str, share: float, **state: object) -> Figure:
    """A figure with a bar of this share (0 to 1), and where its sentences are listed."""
    width = None if math.isnan(share) else 100 * min(max(share, 0.0), 1.0)
    return Figure(text, address(**state), share=width)
