"""The posteriors of a DOP chart's nodes, summed by projected label."""

from __future__ import annotations

import numpy as np

from mbrparse.grammar.charts.dop.dop_forest import DopForest
from mbrparse.grammar.charts.dop.dop_inside import DopValues
from mbrparse.grammar.charts.rule_tables import Ints
from mbrparse.grammar.charts.span_summary import SpanEntries
from mbrparse.grammar.kernel import kernel
from mbrparse.grammar.pcfg import FloatArray


def dop_entries(forest: DopForest, values: DopValues, label_of_group: Ints) -> SpanEntries:
    """Posteriors above zero by projected label, in the order of start, end, label."""
    starts, ends, label_ids = np.empty((3, len(forest.group)), np.int32)
    g, lexical = np.zeros((2, len(forest.group)))
    entries = SpanEntries(starts, ends, label_ids, g, lexical)
    count = _list_entries(forest, values.posterior, label_of_group, entries)
    return SpanEntries(*(column[:count] for column in entries))


@kernel
def _list_entries(
    forest: DopForest, posterior: FloatArray, label_of_group: Ints, entries: SpanEntries
) -> int:
    starts, ends, label_ids, g, lexical = entries
    start, end, group = forest.start, forest.end, forest.group
    count = 0
    after = len(group)
    while after > 0:
        # Nodes come in descending order of start, those with one start in ascending order of end and group.
        first = after - 1
        while first > 0 and start[first - 1] == start[after - 1]:
            first -= 1
        cell = count  # where the entries of the span begin
        for node in range(first, after):
            if node > first and end[node] != end[node - 1]:
                cell = count
            if posterior[node] <= 0:
                continue
            label = label_of_group[group[node]]
            place = count
            while place > cell and label_ids[place - 1] > label:
                place -= 1
            if place == cell or label_ids[place - 1] != label:
                for later in range(count, place, -1):
                    label_ids[later], g[later] = label_ids[later - 1], g[later - 1]
                starts[count], ends[count] = start[node], end[node]
                label_ids[place], g[place] = label, 0
                count += 1
                place += 1
            g[place - 1] += posterior[node]
        after = first
    for entry in range(count):
        if ends[entry] - starts[entry] == 1:
            lexical[entry] = g[entry]
    return count
