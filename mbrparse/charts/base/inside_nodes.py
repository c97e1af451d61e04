"""The inside values of a sentence as a list, whoever filled its chart: what prefixes are computed from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.charts.rule_tables import Floats, Ints


class InsideNodes(NamedTuple):
    """The symbols that derive each span, and their inside values.

    The nodes of a cell (``packed_forest.forest_cell``) are cell_first[c] .. cell_first[c + 1]. Those of the
    span (i, j) are multiplied by 2^(power[j] - power[i]).
    """

    cell_first: Ints  # [cells + 1]
    symbol: Ints
    inside: Floats
    power: Ints  # [words + 1]


def powers(by_word: Ints) -> Ints:
    """``InsideNodes.power`` of the powers of two of the words."""
    return np.concatenate(([0], np.cumsum(by_word))).astype(np.int32)
