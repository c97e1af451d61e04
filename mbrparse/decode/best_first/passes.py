"""Inside and outside over the edges that a best-first search has made.

All values are natural logs by constituent; ``order`` lists edges by the width of their parent. The first so
many edges are the chart at an earlier point of the search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbrparse.charts.kernel import kernel
from mbrparse.decode.best_first.search_state import CHILDREN, LEFT, PARENT, RIGHT

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray, IntArray


@kernel
def inside_pass(
    terminal: FloatArray, order: IntArray, edges: IntArray, log_prob: FloatArray, maximize: bool
) -> FloatArray:
    """Exact inside probabilities within the chart or, to ``maximize``, those of the best derivations.

    ``terminal`` [constituents] holds the lexical probabilities (-inf above terminals), ``log_prob`` the
    edges' rules'.
    """
    inside = terminal.copy()
    for edge in order:
        left, right = edges[edge, CHILDREN + LEFT], edges[edge, CHILDREN + RIGHT]
        gain, parent = log_prob[edge] + inside[left] + inside[right], edges[edge, PARENT]
        inside[parent] = max(inside[parent], gain) if maximize else np.logaddexp(inside[parent], gain)
    return inside


@kernel
def outside_pass(
    inside: FloatArray, root: FloatArray, order: IntArray, edges: IntArray, log_prob: FloatArray
) -> FloatArray:
    """Exact outside probabilities within the chart; ``root`` [constituents] is where they start."""
    outside = root.copy()
    for edge in order[::-1]:
        above = outside[edges[edge, PARENT]] + log_prob[edge]
        if above > -np.inf:
            left, right = edges[edge, CHILDREN + LEFT], edges[edge, CHILDREN + RIGHT]
            outside[left] = np.logaddexp(outside[left], above + inside[right])
            outside[right] = np.logaddexp(outside[right], above + inside[left])
    return outside
