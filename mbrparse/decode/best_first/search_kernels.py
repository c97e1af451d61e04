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

from mbrparse.charts.kernel import kernel
from mbrparse.decode.best_first.merit_kernels import PREFIX, extend_prefix, pass_prefix, update_merit
from mbrparse.decode.best_first.search_state import (
    AGENDA,
    CHILDREN,
    CONSTITUENTS,
    DRAINING,
    EDGES,
    EDGES_ABOVE,
    END,
    HEAP,
    INSIDE,
    LEFT,
    NEIGHBOURS,
    NEXT_ABOVE,
    NEXT_DRAIN,
    NEXT_NEIGHBOURS,
    NEXT_WAITING,
    NONE,
    NOT_WAITING,
    PARENT,
    PARSES,
    PARTNERS,
    PASSED,
    PENDING,
    PLACE,
    POPPED,
    PREFIX_PASSED,
    RIGHT,
    RULE,
    RULE_PARENT,
    RULES_WITH,
    START,
    SYMBOL,
    WAITING,
    MeritTables,
    Search,
    propose,
    settle,
)

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray, IntArray


# Why the kernel returned.
SLICE_OVER, FOUND, EXHAUSTED, LIMIT, FULL_EDGES, FULL_CONSTITUENTS = range(6)
# When the log mass found is this close to the target, the increments that are still pending may reach it:
# they are all passed on, again whenever the number of edges has grown by a twentieth.
WITHHELD = 0.1


@kernel
def propose_terminals(
    search: Search,
    tables: MeritTables,
    terminal_ids: IntArray,
    first: IntArray,
    symbol: IntArray,
    log_prob: FloatArray,
) -> None:
    """Put the symbols over each terminal on the agenda, left to right; there must be room for them.

    The lexical rules of terminal t are first[t]:first[t + 1].
    """
    for start in range(len(terminal_ids)):
        for entry in range(first[terminal_ids[start]], first[terminal_ids[start] + 1]):
            item = propose(search, start, start + 1, symbol[entry])
            add_inside(search, tables, item, log_prob[entry])


@kernel
def run_slice(search: Search, tables: MeritTables, steps: int) -> int:
    """Search on, for about ``steps`` pops and edges.

    Returns why it stopped.
    """
    control, counts = search.control, search.counts
    last = counts[POPPED] + counts[EDGES] + steps
    while counts[POPPED] + counts[EDGES] < last:
        if control.first_parse and counts[PARSES] > 0:
            return FOUND
        if search.log_mass[0] >= control.log_mass:
            return FOUND
        if search.log_mass[0] >= control.log_mass - WITHHELD and counts[EDGES] >= counts[NEXT_DRAIN]:
            counts[NEXT_DRAIN] = counts[EDGES] + counts[EDGES] // 20 + 1
            drain(search, tables)
            continue
        if counts[AGENDA] == 0:
            return EXHAUSTED
        item = search.items[0, HEAP]
        old = counts[EDGES]
        new = list_edges(search, item, min(len(search.edges), control.max_edges))
        if new == NONE:
            return LIMIT if len(search.edges) >= control.max_edges else FULL_EDGES
        if counts[CONSTITUENTS] + new - old > len(search.items):
            return FULL_CONSTITUENTS
        enter_chart(search, item)
        counts[EDGES] = new
        link(search, tables, old, new)
        pass_increments(search, tables)
        if control.factors & PREFIX:
            above = search.prefix[PREFIX_PASSED, search.items[item, START]]
            extend_prefix(search, tables, item, search.logs[item, INSIDE], above)
            pass_prefix(search, tables)
    return SLICE_OVER


@kernel
def list_edges(search: Search, item: int, room: int) -> int:
    """Write the edges of a constituent and its neighbours in the chart behind the others.

    Returns where they end, or NONE if they would not fit into ``room``. Nothing else changes, so that the
    step can be taken again; PARENT is the parent's symbol until the edge is linked.
    """
    items, edges, rules = search.items, search.edges, search.rules
    symbol, size = items[item, SYMBOL], search.counts[EDGES]
    for side in range(2):
        begin, end = search.first[side, symbol], search.first[side, symbol + 1]
        if begin == end:
            continue
        # As a left child it is followed by the other one, as a right child it follows it.
        place = items[item, END] if side == LEFT else items[item, START]
        partners = rules[PARTNERS + side]
        other = search.heads[NEIGHBOURS + side, place]
        while other != NONE:
            wanted = items[other, SYMBOL]
            first, last = begin, end
            while first < last:
                middle = (first + last) >> 1
                if partners[middle] < wanted:
                    first = middle + 1
                else:
                    last = middle
            while first < end and partners[first] == wanted:
                if size >= room:
                    return NONE
                rule = rules[RULES_WITH + side, first]
                edges[size, RULE], edges[size, PARENT] = rule, rules[RULE_PARENT, rule]
                edges[size, CHILDREN + side], edges[size, CHILDREN + 1 - side] = item, other
                size += 1
                first += 1
            other = items[other, NEXT_NEIGHBOURS + side]
    return size  # type: ignore[no-any-return]


@kernel
def enter_chart(search: Search, item: int) -> None:
    """Move the best constituent from the agenda to the chart; all of its inside estimate counts as passed."""
    search.counts[AGENDA] -= 1
    size = search.counts[AGENDA]
    if size:
        search.items[0, HEAP] = search.items[size, HEAP]
        settle(search.items, search.logs, size, 0)
    search.items[item, PLACE] = NONE
    search.counts[POPPED] += 1
    start, end = search.items[item, START], search.items[item, END]
    if end - start == search.heads.shape[1] - 1 and search.root[search.items[item, SYMBOL]] > -np.inf:
        search.counts[PARSES] += 1
    search.logs[item, PASSED] = search.logs[item, INSIDE]
    search.items[item, NEXT_NEIGHBOURS + LEFT] = search.heads[NEIGHBOURS + LEFT, start]
    search.heads[NEIGHBOURS + LEFT, start] = item
    search.items[item, NEXT_NEIGHBOURS + RIGHT] = search.heads[NEIGHBOURS + RIGHT, end]
    search.heads[NEIGHBOURS + RIGHT, end] = item


@kernel
def link(search: Search, tables: MeritTables, first: int, last: int) -> None:
    """Propose the parents of edges, list the edges with their children, and add their inside probability."""
    items, logs, edges = search.items, search.logs, search.edges
    for edge in range(first, last):
        left, right = edges[edge, CHILDREN + LEFT], edges[edge, CHILDREN + RIGHT]
        parent = propose(search, items[left, START], items[right, END], edges[edge, PARENT])
        edges[edge, PARENT] = parent
        edges[edge, NEXT_ABOVE + LEFT] = items[left, EDGES_ABOVE + LEFT]
        items[left, EDGES_ABOVE + LEFT] = edge
        edges[edge, NEXT_ABOVE + RIGHT] = items[right, EDGES_ABOVE + RIGHT]
        items[right, EDGES_ABOVE + RIGHT] = edge
        log_rule = search.log_prob[edges[edge, RULE]]
        add_inside(search, tables, parent, log_rule + logs[left, PASSED] + logs[right, PASSED])


@kernel
def add_inside(search: Search, tables: MeritTables, item: int, gain: float) -> None:
    """Add exp(gain) to an inside estimate: move it on the agenda, or note the increment."""
    search.logs[item, INSIDE] = np.logaddexp(search.logs[item, INSIDE], gain)
    width = search.items[item, END] - search.items[item, START]
    if width == search.heads.shape[1] - 1:
        mass = search.root[search.items[item, SYMBOL]] + gain
        search.log_mass[0] = np.logaddexp(search.log_mass[0], mass)
    if search.items[item, PLACE] != NONE:
        update_merit(search, tables, item)
        return
    search.logs[item, PENDING] = np.logaddexp(search.logs[item, PENDING], gain)
    least = search.control.log_threshold + search.logs[item, PASSED]
    if search.counts[DRAINING]:
        least = -np.inf
    if search.logs[item, PENDING] > least and search.items[item, NEXT_WAITING] == NOT_WAITING:
        search.items[item, NEXT_WAITING] = search.heads[WAITING, width]
        search.heads[WAITING, width] = item


@kernel
def pass_increments(search: Search, tables: MeritTables) -> None:
    """Pass the increments that wait up through the edges, narrow constituents first."""
    items, logs, edges, heads = search.items, search.logs, search.edges, search.heads
    for width in range(1, heads.shape[1]):
        item = heads[WAITING, width]
        heads[WAITING, width] = NONE
        while item != NONE:
            following = items[item, NEXT_WAITING]
            items[item, NEXT_WAITING] = NOT_WAITING
            gain = logs[item, PENDING]
            logs[item, PENDING] = -np.inf
            logs[item, PASSED] = np.logaddexp(logs[item, PASSED], gain)
            for side in range(2):
                edge = items[item, EDGES_ABOVE + side]
                while edge != NONE:
                    log_rule = search.log_prob[edges[edge, RULE]]
                    other = logs[edges[edge, CHILDREN + 1 - side], PASSED]
                    add_inside(search, tables, edges[edge, PARENT], log_rule + gain + other)
                    edge = edges[edge, NEXT_ABOVE + side]
            if search.control.factors & PREFIX:
                extend_prefix(search, tables, item, gain, search.prefix[PREFIX_PASSED, items[item, START]])
            item = following


@kernel
def drain(search: Search, tables: MeritTables) -> None:
    """Pass all increments on, however small."""
    items, heads = search.items, search.heads
    for item in range(search.counts[CONSTITUENTS]):
        if items[item, PLACE] == NONE and search.logs[item, PENDING] > -np.inf:
            width = items[item, END] - items[item, START]
            items[item, NEXT_WAITING] = heads[WAITING, width]
            heads[WAITING, width] = item
    search.counts[DRAINING] = 1
    pass_increments(search, tables)
    search.counts[DRAINING] = 0
