"""The nodes of a chart that occur in some parse, as every kind of chart can list them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.grammar.charts.rule_tables import Floats, Ints

# Nodes that are less probable are left out: together they are far below the last digit that anyone asks for.
NEGLIGIBLE = 1e-18


class LiveNodes(NamedTuple):
    """Symbols over spans, in any order; parallel arrays. Over terminals there may be some of no parse."""

    start: Ints
    end: Ints
    symbol: Ints
    log_inside: npt.NDArray[np.float64]  # up to a constant for each position that a span covers
    g: npt.NDArray[np.float64]  # how often it is expected


def live_nodes(start: Ints, end: Ints, symbol: Ints, log_inside: Floats, g: Floats) -> LiveNodes:
    """Those of a list that are not negligible."""
    kept = g > NEGLIGIBLE
    return LiveNodes(
        start[kept], end[kept], symbol[kept], log_inside[kept].astype(np.float64), g[kept].astype(np.float64)
    )


def no_nodes() -> LiveNodes:
    """Those of a sentence without a parse."""
    none = np.zeros(0, np.int32)
    return LiveNodes(none, none, none, np.zeros(0), np.zeros(0))
