"""The search for the most probable derivation, as one kernel: items on an agenda, one derivation an item.

The item of highest merit is popped, enters the chart and is combined with its neighbours there. Each edge
that gives its parent a better derivation than it had is kept, any other forgotten; the parent goes onto the
agenda, or up in it, and once more where it was popped before. The sentence's first parse is there when a root
over all of it is popped and nothing on the agenda has a higher merit than the parse itself, its root's
probability included.

**With an admissible merit that parse is the most probable one.** Let in(X) be the probability of X's best
derivation, out(X) that of its best outside, h(X) >= out(X) a bound, and in'(X) h(X) the merit, in'(X) that
of the best derivation found. (``beta`` has h = 1; for A* see outside_bounds.)
Say the search is over and its parse less probable than the best one, p. Not all items of the best parse were
popped with in' = in, for then the parse would have been found. Take one that was not, but whose children
were, or that has none: it has been proposed with in' = in, and so it is on the agenda. Its merit is
in(X) h(X) >= in(X) out(X) = p, above that of the parse, and the search is not over.

**With a consistent one no item is opened twice.** Let in(Y) h(Y) >= in(X) h(X) wherever X is best made of Y.
Say X is popped with in' < in. By the same step an item Y of its best derivation is on the agenda with
in' = in, and in(Y) h(Y) >= in(X) h(X) > in'(X) h(X): Y would have been popped before.

(Knuth 1977 for h = 1; Klein & Manning 2003.) Rounding is the reason for ``TIE``, within which derivations are
equally good: the search goes on through all merits that are as high as the parse's but for rounding, so that
all best parses are in the chart, and of equal derivations an item takes the one with the first split, then
left and right child, as exhaustive charts do. Other merits are not admissible: their first parse is a guess.

The kernel runs in slices and looks at a flag, as that of the paper's agenda does; an array that is full it
leaves for Python to enlarge before anything has changed, and goes on where it was.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.decode.best_first.merits import MERIT_IDS, Span, figure_of_merit
from mbrparse.decode.best_first.viterbi.item_heap import lift, take_top
from mbrparse.decode.best_first.viterbi.item_state import (
    EDGES,
    END,
    GOAL,
    ITEMS,
    LEFT,
    LEFT_CHILD,
    LISTED,
    NEXT_END,
    NEXT_START,
    NONE,
    NOT_IN_CHART,
    PARENT,
    POPPED,
    PUSHED,
    QUEUED,
    REOPENED,
    RIGHT,
    RIGHT_CHILD,
    START,
    SYMBOL,
    ItemSearch,
)
from mbrparse.decode.best_first.viterbi.item_table import clear_items, key_of, new_item, slot_of
from mbrparse.decode.best_first.viterbi.outside_bounds import outside_bound
from mbrparse.decode.best_first.viterbi.pair_rules import PairRules
from mbrparse.grammar.kernel import array_kernel, kernel
from mbrparse.grammar.pcfg import FloatArray, IntArray
from mbrparse.grammar.statistics.smoothed import SentenceStatistics

# Logs that differ by no more are equal: what exhaustive charts say of probabilities (charts.factory).
TIE = 1e-9
# Why the kernel returned.
SLICE_OVER, FOUND, EXHAUSTED, LIMIT, FULL_ITEMS, FULL_EDGES, TIME_UP = range(7)
A_STAR_ID = len(MERIT_IDS)
STACK_ID, MEAN_ID = MERIT_IDS["stack"], MERIT_IDS["normalized-beta"]


class ItemControl(NamedTuple):
    """How to search and when to stop.

    merit_id        a row of MERITS, or A_STAR_ID
    max_edges       stop before there are more
    first_parse     stop at the first parse
    length          of the sentence
    slack           how much lower a merit may be than another and still count as equal
    """

    merit_id: int
    max_edges: int
    first_parse: bool
    length: int
    slack: float


class Lexicon(NamedTuple):
    """Lexical rules: those of terminal t are first[t]:first[t + 1] of symbol and log_prob."""

    first: IntArray
    symbol: IntArray
    log_prob: FloatArray


@kernel
def begin_items(
    terminal_ids: IntArray,
    lexicon: Lexicon,
    rules: PairRules,
    search: ItemSearch,
    statistics: SentenceStatistics,
    control: ItemControl,
    bounds: FloatArray,
) -> None:
    """Forget the sentence before, and propose the symbols over each terminal; there must be room for them."""
    clear_items(search)
    items, counts = search.items, search.counts
    for start in range(len(terminal_ids)):
        for entry in range(lexicon.first[terminal_ids[start]], lexicon.first[terminal_ids[start] + 1]):
            symbol = lexicon.symbol[entry]
            key = key_of(start, start + 1, symbol, len(rules.root))
            item = new_item(search, slot_of(search.slots, search.keys, key), key)
            items[item, START], items[item, END], items[item, SYMBOL] = start, start + 1, symbol
            items[item, LEFT], items[item, RIGHT] = NONE, NONE
            search.log_inside[item] = lexicon.log_prob[entry]
    counts[LISTED] = 0
    _weigh(search, 0, statistics, control, bounds)
    _queue(search, 0)


@kernel
def run_items(
    rules: PairRules,
    search: ItemSearch,
    statistics: SentenceStatistics,
    control: ItemControl,
    bounds: FloatArray,
    steps: int,
    stop: IntArray,
) -> int:
    """Search on, for so many pops, but not after ``stop`` (``Clock.stop``); returns why it stopped.

    What is done for each pop is done in a few calls: handing so many arrays over takes as long as an edge
    does.
    """
    counts = search.counts
    last = counts[POPPED] + steps
    while counts[POPPED] < last:
        if stop[0]:
            return TIME_UP
        if counts[QUEUED] == 0:
            return EXHAUSTED
        found = control.first_parse and counts[GOAL] != NONE
        if found and search.merits[0] < _goal_merit(search, control) - control.slack:
            return FOUND
        item, edges = search.heap[0], counts[EDGES]
        outcome = _list_edges(rules, search, item, control.max_edges - edges)
        if outcome != SLICE_OVER:
            return outcome
        if counts[ITEMS] + counts[LISTED] > len(search.items):
            counts[EDGES] = edges
            return FULL_ITEMS
        take_top(search.heap, search.merits, search.place, counts[QUEUED])
        counts[QUEUED] -= 1
        counts[POPPED] += 1
        _enter_chart(search, item, rules.root, control.length)
        first = counts[ITEMS]
        _take_edges(search, len(rules.root))
        _weigh(search, first, statistics, control, bounds)
        _queue(search, first)
    return SLICE_OVER


@kernel
def _goal_merit(search: ItemSearch, control: ItemControl) -> float:
    """What the best parse would have as an item above its root."""
    if control.merit_id == A_STAR_ID:
        return search.goal[0]  # type: ignore[no-any-return]
    root = search.counts[GOAL]
    return search.slope[root] * search.goal[0] + search.offset[root]  # type: ignore[no-any-return]


@kernel
def _list_edges(rules: PairRules, search: ItemSearch, item: int, room: int) -> int:
    """List the edges of an item and its neighbours in the chart that are no worse than what their parents
    have.

    Nothing else changes unless all of them fit, and ``room`` more edges may be looked at; else it says what
    is too small.
    """
    items, first_rule = search.items, rules.first_rule
    start, end, symbol = items[item, START], items[item, END], items[item, SYMBOL]
    made = listed = 0
    for pair in range(rules.first_of_left[symbol], rules.first_of_left[symbol + 1]):
        other = search.by_start[end, rules.right[pair]]
        while other != NONE:
            made += first_rule[pair + 1] - first_rule[pair]
            listed = _list_parents(rules, search, pair, item, other, listed)
            if listed < 0:
                return FULL_EDGES
            other = items[other, NEXT_START]
    for place in range(rules.first_of_right[symbol], rules.first_of_right[symbol + 1]):
        other, pair = search.by_end[start, rules.left[place]], rules.by_right[place]
        while other != NONE:
            made += first_rule[pair + 1] - first_rule[pair]
            listed = _list_parents(rules, search, pair, other, item, listed)
            if listed < 0:
                return FULL_EDGES
            other = items[other, NEXT_END]
    if made > room:
        return LIMIT
    search.counts[EDGES] += made
    search.counts[LISTED] = listed
    return SLICE_OVER


@kernel
def _list_parents(rules: PairRules, search: ItemSearch, pair: int, left: int, right: int, listed: int) -> int:
    """List the edges from two items, after ``listed`` others; returns how many there are, -1 if too many."""
    items, log_inside, edges = search.items, search.log_inside, search.edges
    both = log_inside[left] + log_inside[right]
    row = key_of(items[left, START], items[right, END], 0, len(rules.root))
    for rule in range(rules.first_rule[pair], rules.first_rule[pair + 1]):
        parent, log_prob = rules.parent[rule], both + rules.log_prob[rule]
        known = search.slots[slot_of(search.slots, search.keys, row + parent)] - 1
        if known >= 0 and log_prob < log_inside[known] - TIE:
            continue
        if listed == len(edges):
            return -1
        edges[listed, PARENT], edges[listed, LEFT_CHILD], edges[listed, RIGHT_CHILD] = parent, left, right
        search.edge_log_prob[listed] = log_prob
        listed += 1
    return listed


@kernel
def _enter_chart(search: ItemSearch, item: int, root: FloatArray, length: int) -> None:
    """List a popped item by its start and its end, and see whether it is the best root over the sentence."""
    items, counts = search.items, search.counts
    start, end, symbol = items[item, START], items[item, END], items[item, SYMBOL]
    if items[item, NEXT_START] == NOT_IN_CHART:
        items[item, NEXT_START] = search.by_start[start, symbol]
        search.by_start[start, symbol] = item
        items[item, NEXT_END] = search.by_end[end, symbol]
        search.by_end[end, symbol] = item
    if end - start == length and root[symbol] > -np.inf:
        log_prob, best, old = search.log_inside[item] + root[symbol], search.goal[0], counts[GOAL]
        if old == NONE or log_prob > best + TIE or (log_prob >= best - TIE and symbol <= items[old, SYMBOL]):
            counts[GOAL] = item
            search.goal[0] = log_prob


@kernel
def _take_edges(search: ItemSearch, symbols: int) -> None:
    """Make of the listed edges their parents' derivations, and list the old items that are better for it."""
    items, log_inside, edges, counts = search.items, search.log_inside, search.edges, search.counts
    first, bettered = counts[ITEMS], 0
    for edge in range(counts[LISTED]):
        left, right = edges[edge, LEFT_CHILD], edges[edge, RIGHT_CHILD]
        log_prob = search.edge_log_prob[edge]
        start, end, symbol = items[left, START], items[right, END], edges[edge, PARENT]
        key = key_of(start, end, symbol, symbols)
        slot = slot_of(search.slots, search.keys, key)
        item = search.slots[slot] - 1
        if item < 0:
            item = new_item(search, slot, key)
            items[item, START], items[item, END], items[item, SYMBOL] = start, end, symbol
        elif log_prob > log_inside[item] + TIE:
            if item < first:
                search.bettered[bettered] = item
                bettered += 1
        elif log_prob < log_inside[item] - TIE or not _comes_first(items, left, right, item):
            continue
        else:
            # As good, and the better for the order: this moves nothing on the agenda.
            items[item, LEFT], items[item, RIGHT] = left, right
            continue
        log_inside[item] = log_prob
        items[item, LEFT], items[item, RIGHT] = left, right
    counts[LISTED] = bettered


@kernel
def _comes_first(items: IntArray, left: int, right: int, item: int) -> bool:
    """Whether these two come before those that the item is made of: by split, left symbol, right symbol."""
    one, two = items[item, LEFT], items[item, RIGHT]
    if items[left, END] != items[one, END]:
        return items[left, END] < items[one, END]  # type: ignore[no-any-return]
    if items[left, SYMBOL] != items[one, SYMBOL]:
        return items[left, SYMBOL] < items[one, SYMBOL]  # type: ignore[no-any-return]
    return items[right, SYMBOL] < items[two, SYMBOL]  # type: ignore[no-any-return]


@array_kernel
def _weigh(
    search: ItemSearch, first: int, statistics: SentenceStatistics, control: ItemControl, bounds: FloatArray
) -> None:
    """How the merits of new items depend on their inside: each is a line in its logarithm."""
    items, nothing = search.items, np.zeros((0, 0))
    for item in range(first, search.counts[ITEMS]):
        start, end, symbol = items[item, START], items[item, END], items[item, SYMBOL]
        search.slope[item] = 1.0
        if control.merit_id == A_STAR_ID:
            search.offset[item] = outside_bound(bounds, symbol, start, end, control.length)
            continue
        span = Span(start, end, symbol, item)
        search.offset[item] = figure_of_merit(control.merit_id, 0.0, statistics, span, nothing)
        if control.merit_id == STACK_ID:
            search.slope[item] = 0.0
        elif control.merit_id == MEAN_ID:
            search.slope[item] = 1.0 / (end - start)


@kernel
def _queue(search: ItemSearch, first: int) -> None:
    """Push the new items, but for those that can be in no parse, and let the bettered ones rise."""
    heap, merits, place, counts = search.heap, search.merits, search.place, search.counts
    log_inside, slope, offset = search.log_inside, search.slope, search.offset
    for item in range(first, counts[ITEMS]):
        if offset[item] > -np.inf:
            lift(heap, merits, place, counts[QUEUED], item, slope[item] * log_inside[item] + offset[item])
            counts[QUEUED] += 1
            counts[PUSHED] += 1
    for number in range(counts[LISTED]):
        item = search.bettered[number]
        if offset[item] > -np.inf:
            spot = place[item]
            if spot == NONE:
                spot = counts[QUEUED]
                counts[QUEUED] += 1
                counts[PUSHED] += 1
                counts[REOPENED] += 1
            lift(heap, merits, place, spot, item, slope[item] * log_inside[item] + offset[item])
