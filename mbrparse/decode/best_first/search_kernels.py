"""The best-first search itself (Caraballo & Charniak 1998, appendix A), as one kernel.

The constituent of highest merit is popped from the agenda, enters the chart and is combined with its
neighbours there; each combination, an edge, proposes its parent or adds to the parent's inside estimate.
What a constituent in the chart gains is kept as an increment and passed on to the edges above once it
exceeds a share of what was passed before. Increments go up in order of width, so that each constituent
passes its own on once, after all below it have.

The kernel runs in slices: it returns to Python when a slice is over (so that Python handles signals) or an
array is full, and the next call continues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbrparse.decode.best_first.merit_kernels import (
    PREFIX,
    LeftCorners,
    SentenceStatistics,
    pass_prefix,
    prefix_from,
    update_merit,
)
from mbrparse.decode.best_first.search_state import (
    AGENDA,
    BY_END,
    BY_START,
    CONSTITUENTS,
    EDGES,
    END,
    INSIDE,
    LEFT,
    LEFT_EDGES,
    NEXT_DRAIN,
    NEXT_END,
    NEXT_LEFT,
    NEXT_RIGHT,
    NEXT_START,
    NEXT_WAITING,
    NONE,
    NOT_WAITING,
    PARENT,
    PARSES,
    PASSED,
    PENDING,
    PLACE,
    POPPED,
    RIGHT,
    RIGHT_EDGES,
    RULE,
    START,
    SYMBOL,
    WAITING,
    Control,
    Rules,
    Search,
    log_add,
    propose,
    remove_top,
)
from mbrparse.grammar.kernel import kernel

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray, IntArray


# Why the kernel returned.
SLICE_OVER, FOUND, EXHAUSTED, LIMIT, FULL_EDGES, FULL_CONSTITUENTS, TIME_UP = range(7)
# When the log mass found is this close to the target, the increments that are still pending may reach it:
# they are all passed on, again whenever the number of edges has grown by a twentieth.
WITHHELD = 0.1


@kernel
def propose_terminals(
    terminal_ids: IntArray,
    lexical_first: IntArray,
    lexical_symbol: IntArray,
    lexical_log_prob: FloatArray,
    rules: Rules,
    search: Search,
    statistics: SentenceStatistics,
    control: Control,
) -> None:
    """Put the symbols over each terminal on the agenda, left to right; there must be room for them."""
    for start in range(len(terminal_ids)):
        terminal = terminal_ids[start]
        for entry in range(lexical_first[terminal], lexical_first[terminal + 1]):
            item = propose(search, start, start + 1, lexical_symbol[entry], len(rules.root))
            add_inside(search, item, lexical_log_prob[entry], rules, statistics, control)


@kernel
def run_slice(
    rules: Rules,
    search: Search,
    statistics: SentenceStatistics,
    control: Control,
    corners: LeftCorners,
    steps: int,
    stop: IntArray,
) -> int:
    """Search on, for about ``steps`` pops and edges, but not after ``stop`` (``Clock.stop``).

    Returns why it stopped.
    """
    counts = search.counts
    length = search.heads.shape[1] - 1
    last = counts[POPPED] + counts[EDGES] + steps
    while counts[POPPED] + counts[EDGES] < last:
        if control.first_parse and counts[PARSES] > 0:
            return FOUND
        if stop[0]:
            return TIME_UP
        if search.log_mass[0] >= control.log_mass:
            return FOUND
        if search.log_mass[0] >= control.log_mass - WITHHELD and counts[EDGES] >= counts[NEXT_DRAIN]:
            counts[NEXT_DRAIN] = counts[EDGES] + counts[EDGES] // 20 + 1
            drain(rules, search, statistics, control, corners, stop)
            continue
        if counts[AGENDA] == 0:
            return EXHAUSTED
        item = search.heap[0]
        old = counts[EDGES]
        new = list_edges(rules, search, item, min(len(search.edges), control.max_edges))
        if new == NONE:
            return LIMIT if len(search.edges) >= control.max_edges else FULL_EDGES
        if counts[CONSTITUENTS] + new - old > len(search.items):
            return FULL_CONSTITUENTS
        remove_top(search.heap, search.items, search.logs, counts[AGENDA])
        counts[AGENDA] -= 1
        counts[POPPED] += 1
        enter_chart(search, item)
        start, end = search.items[item, START], search.items[item, END]
        if end - start == length and rules.root[search.items[item, SYMBOL]] > -np.inf:
            counts[PARSES] += 1
        counts[EDGES] = new
        for edge in range(old, new):
            link(search, edge, rules, statistics, control)
        pass_increments(rules, search, statistics, control, corners, stop)
        if control.factors & PREFIX:
            prefix_from(rules, search, corners, item, search.logs[item, INSIDE])
            pass_prefix(rules, search, corners, statistics, control)
    return SLICE_OVER


@kernel
def list_edges(rules: Rules, search: Search, item: int, room: int) -> int:
    """Write the edges of a constituent and its neighbours in the chart behind the others.

    Returns where they end, or NONE if they would not fit into ``room``. Nothing else changes, so that the
    step can be taken again; ``parent`` holds the parent's symbol until the edge is linked.
    """
    symbol, start, end = search.items[item, SYMBOL], search.items[item, START], search.items[item, END]
    size = search.counts[EDGES]
    first, last = rules.first_of_left[symbol], rules.first_of_left[symbol + 1]
    if first < last:
        other = search.heads[BY_START, end]
        while other != NONE:
            rule = lower_bound(rules.right, first, last, search.items[other, SYMBOL])
            while rule < last and rules.right[rule] == search.items[other, SYMBOL]:
                if size >= room:
                    return NONE
                search.edges[size, RULE], search.edges[size, PARENT] = rule, rules.parent[rule]
                search.edges[size, LEFT], search.edges[size, RIGHT] = item, other
                size += 1
                rule += 1
            other = search.items[other, NEXT_START]
    first, last = rules.first_of_right[symbol], rules.first_of_right[symbol + 1]
    if first < last:
        other = search.heads[BY_END, start]
        while other != NONE:
            spot = lower_bound(rules.left_of, first, last, search.items[other, SYMBOL])
            while spot < last and rules.left_of[spot] == search.items[other, SYMBOL]:
                if size >= room:
                    return NONE
                rule = rules.by_right[spot]
                search.edges[size, RULE], search.edges[size, PARENT] = rule, rules.parent[rule]
                search.edges[size, LEFT], search.edges[size, RIGHT] = other, item
                size += 1
                spot += 1
            other = search.items[other, NEXT_END]
    return size  # type: ignore[no-any-return]


@kernel
def lower_bound(values: IntArray, first: int, last: int, wanted: int) -> int:
    """The first spot in the ascending values[first:last] that is not less than ``wanted``."""
    while first < last:
        middle = (first + last) >> 1
        if values[middle] < wanted:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def enter_chart(search: Search, item: int) -> None:
    """List a popped constituent by its start and its end; all of its inside estimate counts as passed."""
    start, end = search.items[item, START], search.items[item, END]
    search.logs[item, PASSED] = search.logs[item, INSIDE]
    search.items[item, NEXT_START] = search.heads[BY_START, start]
    search.heads[BY_START, start] = item
    search.items[item, NEXT_END] = search.heads[BY_END, end]
    search.heads[BY_END, end] = item


@kernel
def link(search: Search, edge: int, rules: Rules, statistics: SentenceStatistics, control: Control) -> None:
    """Propose an edge's parent, hang the edge under its children, and add its inside probability."""
    left, right = search.edges[edge, LEFT], search.edges[edge, RIGHT]
    parent = propose(
        search,
        search.items[left, START],
        search.items[right, END],
        search.edges[edge, PARENT],
        len(rules.root),
    )
    search.edges[edge, PARENT] = parent
    search.edges[edge, NEXT_LEFT] = search.items[left, LEFT_EDGES]
    search.items[left, LEFT_EDGES] = edge
    search.edges[edge, NEXT_RIGHT] = search.items[right, RIGHT_EDGES]
    search.items[right, RIGHT_EDGES] = edge
    gain = rules.log_prob[search.edges[edge, RULE]] + search.logs[left, PASSED] + search.logs[right, PASSED]
    add_inside(search, parent, gain, rules, statistics, control)


@kernel
def add_inside(
    search: Search,
    item: int,
    gain: float,
    rules: Rules,
    statistics: SentenceStatistics,
    control: Control,
) -> None:
    """Add exp(gain) to an inside estimate: move it on the agenda, or note the increment."""
    search.logs[item, INSIDE] = log_add(search.logs[item, INSIDE], gain)
    start, end, symbol = search.items[item, START], search.items[item, END], search.items[item, SYMBOL]
    width = end - start
    if width == search.heads.shape[1] - 1 and rules.root[symbol] > -np.inf:
        search.log_mass[0] = log_add(search.log_mass[0], rules.root[symbol] + gain)
    if search.items[item, PLACE] != NONE:
        update_merit(search, item, statistics, control)
        return
    search.logs[item, PENDING] = log_add(search.logs[item, PENDING], gain)
    if (
        search.logs[item, PENDING] > control.log_threshold + search.logs[item, PASSED]
        and search.items[item, NEXT_WAITING] == NOT_WAITING
    ):
        search.items[item, NEXT_WAITING] = search.heads[WAITING, width]
        search.heads[WAITING, width] = item


@kernel
def pass_increments(
    rules: Rules,
    search: Search,
    statistics: SentenceStatistics,
    control: Control,
    corners: LeftCorners,
    stop: IntArray,
) -> None:
    """Pass the increments that wait up through the edges, narrow constituents first."""
    for width in range(1, search.heads.shape[1]):
        item = search.heads[WAITING, width]
        search.heads[WAITING, width] = NONE
        while item != NONE and not stop[0]:
            following = search.items[item, NEXT_WAITING]
            search.items[item, NEXT_WAITING] = NOT_WAITING
            gain = search.logs[item, PENDING]
            search.logs[item, PENDING] = -np.inf
            search.logs[item, PASSED] = log_add(search.logs[item, PASSED], gain)
            edge = search.items[item, LEFT_EDGES]
            while edge != NONE:
                log_rule = rules.log_prob[search.edges[edge, RULE]]
                other = search.logs[search.edges[edge, RIGHT], PASSED]
                add_inside(
                    search, search.edges[edge, PARENT], log_rule + gain + other, rules, statistics, control
                )
                edge = search.edges[edge, NEXT_LEFT]
            edge = search.items[item, RIGHT_EDGES]
            while edge != NONE:
                log_rule = rules.log_prob[search.edges[edge, RULE]]
                other = search.logs[search.edges[edge, LEFT], PASSED]
                add_inside(
                    search, search.edges[edge, PARENT], log_rule + gain + other, rules, statistics, control
                )
                edge = search.edges[edge, NEXT_RIGHT]
            if control.factors & PREFIX:
                prefix_from(rules, search, corners, item, gain)
            item = following


@kernel
def drain(
    rules: Rules,
    search: Search,
    statistics: SentenceStatistics,
    control: Control,
    corners: LeftCorners,
    stop: IntArray,
) -> None:
    """Pass all increments on, however small."""
    unlimited = Control(
        control.factors,
        -np.inf,
        control.max_edges,
        control.first_parse,
        control.log_mass,
    )
    for item in range(search.counts[CONSTITUENTS]):
        if search.items[item, PLACE] == NONE and search.logs[item, PENDING] > -np.inf:
            width = search.items[item, END] - search.items[item, START]
            search.items[item, NEXT_WAITING] = search.heads[WAITING, width]
            search.heads[WAITING, width] = item
    pass_increments(rules, search, statistics, unlimited, corners, stop)
