"""The state of a best-first search: its arrays, the agenda, and the table of constituents.

All logs are natural; inside probabilities are kept as logs, so that no length underflows. Chains are
linked lists in arrays: a head per position (or constituent), a ``next`` per entry, -1 at the end. What
belongs to one constituent, or to one edge, stands in one row.

The agenda is a binary heap of constituent ids with the best constituent on top: the column HEAP of ``items``,
whose other columns belong to the row's constituent. PLACE is each constituent's position in the heap (-1: not
there), so that one whose merit has changed is moved and never listed twice. Of equal merits the constituent
that was proposed first (the smaller id) is taken first: the popping order is always the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.kernel import kernel

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import FloatArray, IntArray


NONE = -1
NOT_WAITING = -2
# The side of a child in an edge. What is said of sides below takes two columns or rows, LEFT first.
LEFT, RIGHT = range(2)

# Columns of Search.items (int32), one row a constituent: its span and symbol; its position in the agenda
# (-1: in the chart); the agenda; chains of those whose increment is to be passed on, and of all by start; by
# side, chains of the chart's constituents that begin or end at one position, and of the edges above a child.
START, END, SYMBOL, PLACE, HEAP, NEXT_WAITING, NEXT_PROPOSED = range(7)
NEXT_NEIGHBOURS, EDGES_ABOVE, ITEM_COLUMNS = 7, 9, 11
# Columns of Search.logs (float64): the inside estimate; as much of it as was passed to the edges above (-inf:
# not in the chart); the increment since; the figure of merit.
INSIDE, PASSED, PENDING, MERIT = range(4)
# Columns of Search.edges (int32): the rule, the parent; by side, the children and chains of their edges.
RULE, PARENT, CHILDREN, NEXT_ABOVE = 0, 1, 2, 4
EDGE_COLUMNS = 6
# Rows of Search.heads (int32): heads of the chains, by side and position, by width, and by start of all.
# The last row is not -1 where there are increments of alpha_L.
NEIGHBOURS, WAITING, PROPOSED_AT, PREFIX_GREW = 0, 2, 3, 4
# Rows of Search.rules (int32): parents by rule; by side, lists of rules and of their other children.
RULE_PARENT, RULES_WITH, PARTNERS = 0, 1, 3
# Entries of Search.counts.
CONSTITUENTS, EDGES, AGENDA, POPPED, PARSES, NEXT_DRAIN, DRAINING = range(7)
# Layers of Search.prefix: log alpha_L, as much of it as was passed on, the increment since.
TOTAL, PREFIX_PASSED, PREFIX_PENDING = range(3)
# Rows of MeritTables.tag_logs.
UNIGRAM, BIGRAM, BIGRAM_SUM, TRIGRAM_SUM = range(4)


class Control(NamedTuple):
    """How to search and when to stop.

    factors         of the figure of merit (merit_kernels)
    log_threshold   log of the share that an increment must exceed to be passed on
    max_edges       stop before there are more
    first_parse     stop when a root over the whole sentence is popped
    log_mass        stop when the sentence probability found reaches this (inf: never)
    """

    factors: int
    log_threshold: float
    max_edges: int
    first_parse: bool
    log_mass: float


class MeritTables(NamedTuple):
    """What figures of merit of one sentence t_0..t_{n-1} are made of; all logs are natural.

    log_prior      float64 [symbols]            p(N): the share of N among all constituents, tags included
    log_left       float64 [tags + 1, symbols]  p(N | t); the last row is the boundary's
    log_right      float64 [tags + 1, symbols]  p(t | N), by tag first
    corner_first   int32 [symbols + 1]          the rows of the left-corner closure (merit_kernels), with
    corner_symbol  int32 [entries]              symbols
    corner_weight  float64 [entries]            and weights
    tags           int32 [n + 2]                t_{-1}, t_0, ..., t_n
    tag_logs       float64 [4, n + 2]           p(t_m), and p(t_m | t_{m-1}), for m = 0..n; then for
                                                m = 0..n+1 the sums of the latter up to m, and of
                                                p(t_m | t_{m-2}, t_{m-1})
    """

    log_prior: FloatArray
    log_left: FloatArray
    log_right: FloatArray
    corner_first: IntArray
    corner_symbol: IntArray
    corner_weight: FloatArray
    tags: IntArray
    tag_logs: FloatArray


class Search(NamedTuple):
    """The binary rules of a grammar, and all that changes while a sentence of n terminals is searched.

    root                 float64 [symbols]: log probability of being the root
    log_prob             float64 [rules]
    first                int32 [2, symbols + 1]: by side, the rules with B as this child are listed in
                         first[side, B]:first[side, B + 1], in the order of partners, then of parents
    rules                int32 [5, rules], as above
    items, logs, edges   as above, rows in the order in which constituents were proposed, edges made
    heads                int32 [5, n + 1]
    slots                int32: open-addressing table of constituents, -1 where free
    counts               int64 [7]: constituents, edges, agenda, popped, roots popped, the number of edges at
                         which withheld increments are passed on to judge the mass, and whether they are now
    log_mass             float64 [1]: log of the sentence probability that has been found
    prefix               float64 [3, n, symbols], or [3, 0, 0] where alpha_L is not needed
    """

    control: Control
    root: FloatArray
    log_prob: FloatArray
    first: IntArray
    rules: IntArray
    items: IntArray
    logs: FloatArray
    edges: IntArray
    heads: IntArray
    slots: IntArray
    counts: npt.NDArray[np.int64]
    log_mass: FloatArray
    prefix: FloatArray


@kernel
def settle(items: IntArray, logs: FloatArray, size: int, spot: int) -> None:
    """Move the entry at ``spot`` of an agenda of ``size`` entries up or down to where it belongs."""
    item = items[spot, HEAP]
    merit = logs[item, MERIT]
    while spot > 0:
        above = (spot - 1) >> 1
        other = items[above, HEAP]
        if logs[other, MERIT] > merit or (logs[other, MERIT] == merit and other < item):
            break
        items[spot, HEAP] = other
        items[other, PLACE] = spot
        spot = above
    while 2 * spot + 1 < size:
        below = 2 * spot + 1
        other = items[below, HEAP]
        if below + 1 < size:
            second = items[below + 1, HEAP]
            one, two = logs[other, MERIT], logs[second, MERIT]
            if two > one or (two == one and second < other):
                below += 1
                other = second
        if merit > logs[other, MERIT] or (merit == logs[other, MERIT] and item < other):
            break
        items[spot, HEAP] = other
        items[other, PLACE] = spot
        spot = below
    items[spot, HEAP] = item
    items[item, PLACE] = spot


@kernel
def propose(search: Search, start: int, end: int, symbol: int) -> int:
    """The constituent, which is put on the agenda if it is new; there must be room for it."""
    slot = find_slot(search.slots, search.items, start, end, symbol)
    if search.slots[slot] != NONE:
        return search.slots[slot]  # type: ignore[no-any-return]
    item = search.counts[CONSTITUENTS]
    search.counts[CONSTITUENTS] += 1
    search.slots[slot] = item
    search.items[item, START], search.items[item, END], search.items[item, SYMBOL] = start, end, symbol
    search.items[item, NEXT_PROPOSED] = search.heads[PROPOSED_AT, start]
    search.heads[PROPOSED_AT, start] = item
    # The last on the agenda, of merit -inf, until its first edge is added.
    search.items[search.counts[AGENDA], HEAP] = item
    search.items[item, PLACE] = search.counts[AGENDA]
    search.counts[AGENDA] += 1
    return item  # type: ignore[no-any-return]


@kernel
def find_slot(slots: IntArray, items: IntArray, start: int, end: int, symbol: int) -> int:
    """The slot of a constituent in the table, or the free slot for it; their number is a power of two."""
    mask = len(slots) - 1
    key = np.uint64((np.int64(start) * 10_007 + end) * 10_007 + symbol)
    slot = np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & mask
    while slots[slot] != NONE:
        item = slots[slot]
        if items[item, START] == start and items[item, END] == end and items[item, SYMBOL] == symbol:
            break
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def index_all(slots: IntArray, items: IntArray, count: int) -> None:
    """Fill a new, empty table of so many constituents."""
    for item in range(count):
        slots[find_slot(slots, items, items[item, START], items[item, END], items[item, SYMBOL])] = item
