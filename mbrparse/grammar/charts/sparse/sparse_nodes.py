"""The nodes of a sparse chart that occur in some parse."""

from __future__ import annotations

import math

import numpy as np

from mbrparse.grammar.charts.live_nodes import LiveNodes, live_nodes
from mbrparse.grammar.charts.sparse.sparse_state import SparseChart


def sparse_nodes(chart: SparseChart, n: int) -> LiveNodes:
    """Copied out of the chart, which the next sentence overwrites."""
    count = int(chart.column_start[n + 1])
    starts, symbols = chart.start[:count].copy(), chart.symbol[:count].copy()
    ends = np.repeat(np.arange(n + 2, dtype=np.int32)[:-1], np.diff(chart.column_start[: n + 2]))
    inside = chart.inside[:count].astype(np.float64)
    with np.errstate(divide="ignore"):
        log_inside = np.log(inside) + chart.exponent[starts, ends] * math.log(2.0)
    return live_nodes(starts, ends, symbols, log_inside, inside * chart.outside[:count])
