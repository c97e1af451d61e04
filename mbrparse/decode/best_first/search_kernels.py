"""The best-first search (Caraballo & Charniak 1998, appendix A): its arrays and its kernels.

The constituent of highest merit is popped from the agenda, enters the chart and is combined with its
neighbours there; each combination, an edge, proposes its parent or adds to the parent's inside estimate.
What a constituent in the chart gains is kept as an increment and passed on to the edges above once it
exceeds a share of what was passed before. Increments go up in order of width, so that each constituent
passes its own on once, after all below it have.

All logs are natural; inside probabilities are kept as logs, so that no length underflows. Chains are
linked lists in arrays: a head per position (or constituent), a ``next`` per entry, -1 at the end. What
belongs to one constituent, or to one edge, stands in one row.

The agenda is a binary heap of constituent ids with the best constituent on top: the column HEAP of ``items``,
whose other columns belong to the row's constituent. PLACE is each constituent's position in the heap (-1: not
there), so that one whose merit has changed is moved and never listed twice. Of equal merits the constituent
that was proposed first (the smaller id) is taken first: the popping order is always the same.

Figures of merit, and alpha_L, the prefix probability that some of them need.

A figure of merit is a product of factors, given as bits; ``figure_of_merit`` adds their logs. alpha_L is the
probability of a prefix and of the symbol after it, and is kept up while the chart grows:

    alpha_L(N, j) = p(t_0..t_{j-1}, N from j)

where the grammar derives the tags before j, then an N that begins at j, then anything. N begins at j as a
root (j = 0), as the right child of a P whose left child is a constituent L over i..j, or as the left child
of a P that begins at j itself:

    seed(N, j)    = [j = 0] root(N) + sum over L = (i, j) in the chart, P -> L N of
                    alpha_L(P, i) p(P -> L N) beta(L)
    alpha_L(N, j) = sum over M of seed(M, j) closure(M, N)

where closure = I + Q + Q^2 + ..., Q(P, N) = sum over R of p(P -> N R), is the left-corner closure
(Jelinek & Lafferty 1991; Stolcke 1995), computed once per grammar as sparse rows. With the chart exhausted
these are the exact prefix probabilities; before, they grow with the chart, from the left: what begins at
j has alpha_L = 0 until something ends there. Like inside estimates, increments are passed on when they
exceed a share of what was passed before, from left to right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse.charts.kernel import inner_kernel, kernel

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


@inner_kernel
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


@inner_kernel
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


@inner_kernel
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


# Factors of a figure of merit, for N over t_j..t_{k-1} and with beta its inside estimate.
SERIAL = 1  # how many constituents were proposed before (alone: last in, first out)
BETA = 2  # beta
PREFIX = 4  # alpha_L
PRIOR = 8  # p(N)
LEFT_BOUNDARY = 16  # p(N | t_{j-1})
TAGS = 32  # 1 / p(t_j..t_{k-1})
TAG_BIGRAMS = 64  # 1 / p(t_j..t_{k-1} | t_{j-1})
TAG_TRIGRAMS = 128  # 1 / p(t_j..t_{k-1} | t_{j-2}, t_{j-1})
PREFIX_TAGS = 256  # 1 / p(t_0..t_{k-1})
RIGHT_BOUNDARY = 512  # p(t_k | N) / p(t_k | t_{k-1})
MEAN_OF_SPAN = 1024  # the (k-j)th root of the product
MEAN_OF_PREFIX = 2048  # its kth root


@inner_kernel
def figure_of_merit(
    factors: int,
    log_inside: float,
    tables: MeritTables,
    j: int,
    k: int,
    symbol: int,
    serial: int,
    log_prefix: FloatArray,
) -> float:
    """The log of a product of ``factors`` for a symbol over t_j..t_{k-1}.

    So many constituents (``serial``) were proposed before it; ``log_prefix`` [n, symbols] holds alpha_L where
    it is needed.
    """
    log = 0.0
    if factors & SERIAL:
        log += serial
    if factors & PREFIX:
        log += log_prefix[j, symbol]
    if factors & PRIOR:
        log += tables.log_prior[symbol]
    if factors & LEFT_BOUNDARY:
        log += tables.log_left[tables.tags[j], symbol]
    if factors & BETA:
        log += log_inside
    if factors & TAGS:
        tags = tables.tag_logs[UNIGRAM, j]
        if k > j + 1:
            tags += tables.tag_logs[BIGRAM, j + 1]
            tags += tables.tag_logs[TRIGRAM_SUM, k] - tables.tag_logs[TRIGRAM_SUM, j + 2]
        log -= tags
    if factors & TAG_BIGRAMS:
        log -= tables.tag_logs[BIGRAM_SUM, k] - tables.tag_logs[BIGRAM_SUM, j]
    if factors & TAG_TRIGRAMS:
        log -= tables.tag_logs[TRIGRAM_SUM, k] - tables.tag_logs[TRIGRAM_SUM, j]
    if factors & PREFIX_TAGS:
        log -= tables.tag_logs[TRIGRAM_SUM, k]
    if factors & RIGHT_BOUNDARY:
        log += tables.log_right[tables.tags[k + 1], symbol] - tables.tag_logs[BIGRAM, k]
    if factors & MEAN_OF_SPAN:
        log /= k - j
    if factors & MEAN_OF_PREFIX:
        log /= k
    return log


@inner_kernel
def update_merit(search: Search, tables: MeritTables, item: int) -> None:
    """Compute the merit of a constituent on the agenda, and move it to its new place."""
    search.logs[item, MERIT] = figure_of_merit(
        search.control.factors,
        search.logs[item, INSIDE],
        tables,
        search.items[item, START],
        search.items[item, END],
        search.items[item, SYMBOL],
        item,
        search.prefix[TOTAL],
    )
    settle(search.items, search.logs, search.counts[AGENDA], search.items[item, PLACE])


@inner_kernel
def extend_prefix(search: Search, tables: MeritTables, item: int, gain: float, above: FloatArray) -> None:
    """Add, at the end of ``item``, the sum over P of exp(above[P] + gain) p(P -> item N), closed."""
    end, symbol = search.items[item, END], search.items[item, SYMBOL]
    first, last = search.first[LEFT, symbol], search.first[LEFT, symbol + 1]
    if end >= search.prefix.shape[1] or first == last:
        return
    rules, partners = search.rules[RULES_WITH + LEFT], search.rules[PARTNERS + LEFT]
    parents = search.rules[RULE_PARENT]
    top = -np.inf
    for place in range(first, last):
        top = max(top, above[parents[rules[place]]] + search.log_prob[rules[place]])
    if top == -np.inf:
        return
    seeds, sums = np.zeros(len(above)), np.zeros(len(above))
    for place in range(first, last):
        value = above[parents[rules[place]]] + search.log_prob[rules[place]]
        seeds[partners[place]] += np.exp(value - top)
    for seed in range(len(seeds)):
        if seeds[seed] > 0.0:
            for entry in range(tables.corner_first[seed], tables.corner_first[seed + 1]):
                sums[tables.corner_symbol[entry]] += seeds[seed] * tables.corner_weight[entry]
    total, pending = search.prefix[TOTAL, end], search.prefix[PREFIX_PENDING, end]
    for below in range(len(sums)):
        if sums[below] > 0.0:
            more = np.log(sums[below]) + top + gain
            total[below] = np.logaddexp(total[below], more)
            pending[below] = np.logaddexp(pending[below], more)
    search.heads[PREFIX_GREW, end] = 1


@inner_kernel
def pass_prefix(search: Search, tables: MeritTables) -> None:
    """Pass increments of alpha_L on to the right, and update the merits on the agenda."""
    items, heads = search.items, search.heads
    for start in range(search.prefix.shape[1]):
        if heads[PREFIX_GREW, start] == NONE:
            continue
        heads[PREFIX_GREW, start] = NONE
        pending, passed = search.prefix[PREFIX_PENDING, start], search.prefix[PREFIX_PASSED, start]
        gains, grew = np.empty_like(pending), False
        for symbol in range(len(pending)):
            gains[symbol] = pending[symbol]
            grew |= pending[symbol] > search.control.log_threshold + passed[symbol]
        if not grew:
            continue
        for symbol in range(len(pending)):  # to assign arrays takes numba seconds to compile
            pending[symbol] = -np.inf
            passed[symbol] = np.logaddexp(passed[symbol], gains[symbol])
        item = heads[NEIGHBOURS + LEFT, start]
        while item != NONE:
            extend_prefix(search, tables, item, search.logs[item, PASSED], gains)
            item = items[item, NEXT_NEIGHBOURS + LEFT]
        item = heads[PROPOSED_AT, start]
        while item != NONE:
            if items[item, PLACE] != NONE:
                update_merit(search, tables, item)
            item = items[item, NEXT_PROPOSED]


# Why the search returned: the last two for more room.
FOUND, EXHAUSTED, LIMIT, FULL_EDGES, FULL_CONSTITUENTS = range(5)
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
def run_search(search: Search, tables: MeritTables) -> int:
    """Search on until it is over or an array is full; returns why it stopped."""
    control, counts, items, heads = search.control, search.counts, search.items, search.heads
    while True:
        if control.first_parse and counts[PARSES] > 0:
            return FOUND
        if search.log_mass[0] >= control.log_mass:
            return FOUND
        if search.log_mass[0] >= control.log_mass - WITHHELD and counts[EDGES] >= counts[NEXT_DRAIN]:
            counts[NEXT_DRAIN] = counts[EDGES] + counts[EDGES] // 20 + 1
            pass_increments(search, tables, True)
            continue
        if counts[AGENDA] == 0:
            return EXHAUSTED
        item = items[0, HEAP]
        old = counts[EDGES]
        new = list_edges(search, item, min(len(search.edges), control.max_edges))
        if new == NONE:
            return LIMIT if len(search.edges) >= control.max_edges else FULL_EDGES
        if counts[CONSTITUENTS] + new - old > len(items):
            return FULL_CONSTITUENTS
        # The constituent leaves the agenda for the chart; all of its inside estimate counts as passed.
        counts[AGENDA] -= 1
        if counts[AGENDA]:
            items[0, HEAP] = items[counts[AGENDA], HEAP]
            settle(items, search.logs, counts[AGENDA], 0)
        items[item, PLACE] = NONE
        counts[POPPED] += 1
        start, end = items[item, START], items[item, END]
        if end - start == heads.shape[1] - 1 and search.root[items[item, SYMBOL]] > -np.inf:
            counts[PARSES] += 1
        search.logs[item, PASSED] = search.logs[item, INSIDE]
        items[item, NEXT_NEIGHBOURS + LEFT] = heads[NEIGHBOURS + LEFT, start]
        heads[NEIGHBOURS + LEFT, start] = item
        items[item, NEXT_NEIGHBOURS + RIGHT] = heads[NEIGHBOURS + RIGHT, end]
        heads[NEIGHBOURS + RIGHT, end] = item
        counts[EDGES] = new
        link(search, tables, old, new)
        pass_increments(search, tables, False)
        if control.factors & PREFIX:
            extend_prefix(
                search, tables, item, search.logs[item, INSIDE], search.prefix[PREFIX_PASSED, start]
            )
            pass_prefix(search, tables)


@inner_kernel
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


@inner_kernel
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


@inner_kernel
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


@inner_kernel
def pass_increments(search: Search, tables: MeritTables, everything: bool) -> None:
    """Pass the increments that wait (or all) up through the edges, narrow constituents first."""
    items, logs, edges, heads = search.items, search.logs, search.edges, search.heads
    search.counts[DRAINING] = everything
    if everything:
        for item in range(search.counts[CONSTITUENTS]):
            if items[item, PLACE] == NONE and logs[item, PENDING] > -np.inf:
                width = items[item, END] - items[item, START]
                items[item, NEXT_WAITING] = heads[WAITING, width]
                heads[WAITING, width] = item
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
    search.counts[DRAINING] = 0
