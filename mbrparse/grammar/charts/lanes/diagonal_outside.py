"""The way down in the chart of one sentence, by diagonals (see ``diagonal_state``)."""

from __future__ import annotations

from mbrparse.grammar.charts.base.rule_tables import Floats, Ints
from mbrparse.grammar.charts.base.vector import (
    add,
    any_positive,
    load,
    load_from,
    maximum,
    multiply,
    store,
    store_to,
    zeros,
)
from mbrparse.grammar.charts.lanes.dense_splits import Families, pass_splits
from mbrparse.grammar.charts.lanes.dense_state import DenseState
from mbrparse.grammar.charts.lanes.diagonal_state import Diagonals, clear, diagonal_splits
from mbrparse.grammar.kernel import kernel


@kernel
def diagonal_outside(
    state: DenseState,
    layout: Diagonals,
    inside: Floats,
    outside: Floats,
    figures: Floats,
    stop: Ints,
) -> None:
    """Fill ``outside`` with outside / probability of the sentence, until ``stop``.

    As ``dense_outside`` does; the sentence's probability is the first of ``figures`` [2, lanes], whose second
    row takes the largest outside value of each lane. What nodes have as left
    children is summed up in the chart, what they have as right ones in a column.
    """
    tables, column, above, n = state.tables, layout.inside, layout.outside, state.longest
    lanes, height = state.scratch.shape[1], n + 1
    family = Families(inside, column, outside, above, 0)
    nothing = zeros(state.scratch)
    clear(state, layout, outside)
    for block in range((layout.pad + n) // lanes, -1, -1):
        first = block * lanes - layout.pad
        for symbol in range(state.n_wide):
            for width in range(1, first + lanes):
                place = symbol * layout.plane + width * layout.pitch
                store(column, symbol * height, width, load_from(inside, place, block * lanes))
                store(above, symbol * height, width, nothing)
        if first + lanes - 1 == n:
            for symbol in range(state.n_wide):
                above[symbol * height + n, lanes - 1] = tables.root[symbol] / figures[0, 0]
        for width in range(first + lanes - 1, state.least - 1, -1):
            if stop[0]:
                return
            live = _complete(state, layout, outside, figures, block, width)
            if width == 1:
                continue
            if live and width >= 2 * state.least:
                splits = diagonal_splits(state, layout, block, width)
                pass_splits(tables, family, above, width * lanes, height * lanes, splits)
            _pass_narrow(state, layout, outside, first, width)


@kernel
def _complete(
    state: DenseState, layout: Diagonals, outside: Floats, figures: Floats, block: int, width: int
) -> bool:
    """Add what nodes have as left children; returns whether some node is part of a parse."""
    column, above, height = layout.inside, layout.outside, state.longest + 1
    live = False
    largest = load(figures, 0, 1)
    place = width * layout.pitch + block * above.shape[1]
    for symbol in range(state.n_wide):
        value = add(load(above, symbol * height, width), load_from(outside, symbol * layout.plane, place))
        store(above, symbol * height, width, value)
        store_to(outside, symbol * layout.plane, place, value)
        largest = maximum(largest, value)
        if any_positive(multiply(value, load(column, symbol * height, width))):
            live = True
    store(figures, 0, 1, largest)
    return live


@kernel
def _pass_narrow(state: DenseState, layout: Diagonals, outside: Floats, first: int, width: int) -> None:
    """Pass to the children beside a last word, and beside a first one, what the cells' nodes have."""
    narrow, group, above = state.tables.narrow, state.group, layout.outside
    if width <= state.least:
        return
    height = state.longest + 1
    for lane in range(above.shape[1]):
        end = first + lane
        start = end - width
        if start < 0:
            continue
        front = (width - 1) * layout.pitch + layout.pad + end - 1
        for entry in range(group.entry_start[0, end - 1], group.entry_start[0, end]):
            if group.entry_wide[entry] >= 0:
                continue
            symbol = group.entry_symbol[entry]
            for rule in range(narrow.right_start[symbol], narrow.right_start[symbol + 1]):
                outside[narrow.right_other[rule] * layout.plane + front] += (
                    group.entry_prob[entry]
                    * narrow.right_prob[rule]
                    * above[narrow.right_parent[rule] * height + width, lane]
                )
        for entry in range(group.entry_start[0, start], group.entry_start[0, start + 1]):
            if group.entry_wide[entry] >= 0:
                continue
            symbol = group.entry_symbol[entry]
            for rule in range(narrow.left_start[symbol], narrow.left_start[symbol + 1]):
                weight = group.entry_prob[entry] * narrow.left_prob[rule]
                there = narrow.left_other[rule] * height + width - 1
                above[there, lane] += weight * above[narrow.left_parent[rule] * height + width, lane]
