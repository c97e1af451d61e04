"""The passes of prefixes: left to right, a column of inside values, then what is expected after it.

Exact for a grammar whose derivations end with probability one (``tree_statistics``): what is still to come
of an unfinished constituent then has probability one.

u_k[C] is the expected number of C's whose first word is word k, without those at the left edge of another
such symbol, in derivations that begin with the first k words; y_k = u_k (I - P_L)^-1 adds these
(``left_corner``). u_0 are the roots, and

    u_k[C] = sum over i < k and rules A -> B C of y_i[A] p(A -> B C) inside(i, k)[B].

This is the prediction of Earley's parser (Stolcke 1995), without its items: O(n^2) once inside values are
there. The sum over i comes first, for each pair of A and B. The first k words and word w have the probability
sum over A of y_k[A] p(A -> w). Nothing has an inside value that is not expected where it begins.

Beside each of these masses stands its *cost*: the sum of p (-log p) over the same parts of derivations, where
each constituent that is predicted and not begun adds the entropy of its derivations. A rule has p (-log p), a
product of two masses the cost of each times the other, so costs follow through the same sums, closures
included: the entropy of the derivations of a prefix is cost / probability + log probability.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mbrparse.charts.exhaustive.prefix_tables import (
    PairedRules,
    PassMemory,
    PrefixRoom,
    PrefixTables,
    PrefixWords,
)
from mbrparse.charts.kernel import inner_kernel, kernel
from mbrparse.charts.left_corner import LeftCorners, Logs, close_left, plus, times, zero_of
from mbrparse.charts.packed_forest import LEAST_VALUE, MOST_VALUE, ONE, Index, forest_cell
from mbrparse.charts.rule_tables import Floats
from mbrparse.charts.vector import LANES, load_from, multiply_add, repeated, store_to

# A product below may have lost digits, or all of them, to the range of numbers.
TINY = 1e-290
# What all such products of a step have lost is below this.
LOST = 1e-280
_DIGITS = 1e20
# What a pass returns: it is done, numbers lack the range, or which part of the memory is too small.
DONE, OUT_OF_RANGE, NODES, PARTNERS = range(4)
_DEAD = -2


@inner_kernel
def _add_block(into: Floats, at: int, values: Floats, block: int, factor: float, logs: Logs) -> None:
    """Add a block's values, times a factor."""
    place = LANES * block
    if logs is None:
        added = multiply_add(load_from(values, place, 0), repeated(into, factor), load_from(into, at, 0))
        store_to(into, at, 0, added)
    elif logs:
        for one in range(LANES):
            into[at + one] = plus(into[at + one], times(values[place + one], factor, logs), logs)
    else:  # the same, without a branch on ``logs``
        for one in range(LANES):
            into[at + one] = max(into[at + one], values[place + one] + factor)


@inner_kernel
def _fill_column(
    tables: PrefixTables, words: PrefixWords, memory: PassMemory, expected: Floats, end: int, logs: Logs
) -> int:
    """Fill the cells that end somewhere, from the last start to the first; returns as passes do."""
    symbol: Any
    pair: Any
    by_right, unary, zero = tables.by_right, tables.unary, zero_of(logs)
    block_start, third, prob, cost = by_right.block_start, by_right.third, by_right.prob, by_right.cost
    pair_start, pair_left = by_right.start, by_right.other
    base, base_cost, closed, closed_cost = memory.sums[0], memory.sums[1], memory.sums[2], memory.sums[3]
    node_symbol, inside, node_cost, older = memory.symbol, memory.inside, memory.cost, memory.older
    partner_place, partner_inside = memory.partner_place, memory.partner_inside
    partner_cost, place_cost = memory.partner_cost, memory.place_cost
    place_sum, place_column, place_next = memory.place_sum, memory.place_column, memory.place_next
    place_at, place_pair, place_start = memory.place_at, memory.place_pair, memory.place_start
    cell_place, cell_first, newest = memory.cell_place, memory.cell_first, memory.newest[end]
    costly, has_unaries = len(node_cost) > 0, len(unary.rule_parent) > 0
    length, counts, node_begin = Index(len(memory.predictions)), memory.counts, memory.begin
    first = count = cell_first[forest_cell(end - 1, end)]
    longest, partners, places = count, Index(counts[0]), Index(counts[1])
    for symbol in range(len(newest)):
        newest[symbol] = -1
    for start in range(end):
        cell_place[start] = -1
    for start in range(end - 1, -1, -1):
        begin = count
        base[:] = zero
        if costly:
            base_cost[:] = zero
        if end - start == 1:
            for entry in range(words.start[start], words.start[end]):
                scale = words.shift[start]
                value, valued = words.prob[entry], words.cost[entry]
                if logs is None:
                    value, valued = math.ldexp(value, scale), math.ldexp(valued, scale)
                base[words.symbol[entry]] = value
                if costly:
                    base_cost[words.symbol[entry]] = valued
        place = cell_place[start]
        while place >= 0:
            total, pair = place_sum[Index(place)], Index(place_pair[Index(place)])
            for block in range(block_start[pair], block_start[pair + ONE]):
                _add_block(base, third[block], prob, block, total, logs)
            if costly:
                total_cost = place_cost[place]
                for block in range(block_start[pair], block_start[pair + ONE]):
                    _add_block(base_cost, third[block], prob, block, total_cost, logs)
                    _add_block(base_cost, third[block], cost, block, total, logs)
            place = place_next[place]
        made, made_cost = base, base_cost
        if has_unaries:
            _close_cell(tables, base, closed, logs)
            made = closed
            if costly:
                for bottom in range(len(newest)):
                    if closed[bottom] > zero:
                        for rule in range(unary.rule_start[bottom], unary.rule_start[bottom + 1]):
                            passed = times(tables.unary_cost[rule], closed[bottom], logs)
                            parent = unary.rule_parent[rule]
                            base_cost[parent] = plus(base_cost[parent], passed, logs)
                _close_cell(tables, base_cost, closed_cost, logs)
                made_cost = closed_cost
        if count + len(newest) > len(node_symbol):
            return NODES
        predicted = memory.predicted[start]
        for choice in range(Index(memory.predictions[start])):
            symbol = Index(predicted[choice])
            # A branch on whether it is there would be guessed wrongly too often.
            there, node = made[symbol] > zero, Index(count)
            node_symbol[node], inside[node], node_begin[node] = symbol, made[symbol], start
            older[node] = newest[symbol]
            if costly:
                node_cost[node] = made_cost[symbol]
            newest[symbol] = count if there else newest[symbol]
            count += there
        cell_first[forest_cell(start, end) + 1] = count
        if count > begin:
            longest = begin
        if start == 0:
            break
        before = memory.newest[start]
        partner_first, partner_last = memory.partner_first[start], memory.partner_last[start]
        for right in range(Index(begin), Index(count)):
            symbol = Index(node_symbol[right])
            if partner_first[symbol] < 0:
                partner_first[symbol] = partners
                for pair in range(pair_start[symbol], pair_start[symbol + ONE]):
                    older_left = before[Index(pair_left[pair])]
                    while older_left >= 0:
                        left = Index(older_left)
                        at, older_left = Index(node_begin[left]), older[left]
                        key = Index(pair * length + at)
                        place = Index(place_at[key])
                        if place >= places or place_pair[place] != pair or place_start[place] != at:
                            place = places
                            if place == Index(len(place_pair)):
                                return PARTNERS
                            place_at[key], place_pair[place], place_start[place] = place, pair, at
                            place_column[place] = _DEAD
                            if _is_expected(by_right, pair, expected[at], zero):
                                place_column[place] = -1
                            places = Index(places + ONE)
                        if place_column[place] != _DEAD:
                            if partners == Index(len(partner_place)):
                                return PARTNERS
                            partner_place[partners], partner_inside[partners] = place, inside[left]
                            if costly:
                                partner_cost[partners] = node_cost[left]
                            partners = Index(partners + ONE)
                partner_last[symbol] = partners
            value = inside[right]
            for partner in range(Index(partner_first[symbol]), Index(partner_last[symbol])):
                place = Index(partner_place[partner])
                if place_column[place] != end:
                    place_column[place], place_sum[place] = end, zero
                    at = Index(place_start[place])
                    place_next[place], cell_place[at] = cell_place[at], place
                    if costly:
                        place_cost[place] = zero
                place_sum[place] = plus(place_sum[place], times(value, partner_inside[partner], logs), logs)
            if costly:
                valued = node_cost[right]
                for partner in range(Index(partner_first[symbol]), Index(partner_last[symbol])):
                    place = Index(partner_place[partner])
                    passed = plus(
                        times(valued, partner_inside[partner], logs),
                        times(value, partner_cost[partner], logs),
                        logs,
                    )
                    place_cost[place] = plus(place_cost[place], passed, logs)
    counts[0], counts[1] = partners, places
    memory.power[end] = memory.power[end - 1]
    if logs is None:
        return _rescale_column(memory, first, longest, count, end, words.shift[end - 1])
    return DONE


@inner_kernel
def _is_expected(rules: PairedRules, pair: int, expected: Floats, zero: float) -> bool:
    """Whether some third symbol of a pair is."""
    for block in range(rules.block_start[pair], rules.block_start[pair + ONE]):
        for one in range(LANES):
            if rules.prob[LANES * block + one] > zero and expected[rules.third[block] + one] > zero:
                return True
    return False


@inner_kernel
def _close_cell(tables: PrefixTables, base: Floats, closed: Floats, logs: Logs) -> None:
    """What is made by chains of unary rules, too."""
    unary, zero = tables.unary, zero_of(logs)
    closed[:] = zero
    for bottom in range(len(unary.closure_start) - 1):
        if base[bottom] > zero:
            for entry in range(unary.closure_start[bottom], unary.closure_start[bottom + 1]):
                top = unary.closure_top[entry]
                closed[top] = plus(closed[top], times(unary.closure_value[entry], base[bottom], logs), logs)


@inner_kernel
def _rescale_column(memory: PassMemory, first: int, longest: int, last: int, end: int, shift: int) -> int:
    """Divide a column by a power of two where its longest nodes stray from one; returns as passes do."""
    largest, power, factor = 0.0, 0, 1.0
    for node in range(longest, last):
        largest = max(largest, memory.inside[node])
    if 0.0 < largest < np.inf and not 1e-3 < largest < 1e3:
        power = min(max(int(np.floor(np.log2(largest))), -1000), 1000)
        factor = 2.0**-power
    least, most = np.inf, 0.0
    for node in range(first, last):
        value = memory.inside[node]
        least, most = min(least, value), max(most, value)
        memory.inside[node] = value * factor
    for node in range(first, last if len(memory.cost) else first):
        memory.cost[node] *= factor
    memory.power[end] += shift - power
    kept = min(least, least * factor) >= LEAST_VALUE and max(most, most * factor) <= MOST_VALUE
    return DONE if first == last or kept else OUT_OF_RANGE


@inner_kernel
def _begin_pass(memory: PassMemory, n: int) -> None:
    memory.cell_first[0], memory.power[0], memory.counts[0], memory.counts[1] = 0, 0, 0, 0
    memory.partner_first[:n] = -1


@kernel
def inside_pass(
    tables: PrefixTables, words: PrefixWords, memory: PassMemory, expected: Floats, logs: Logs
) -> int:
    """Fill the memory with the inside values of a sentence, where anything is expected; none has a cost."""
    n = len(words.start) - 1
    _begin_pass(memory, n)
    for end in range(1, n + 1):
        memory.predictions[end - 1] = expected.shape[1]
        for symbol in range(expected.shape[1]):
            memory.predicted[end - 1, symbol] = symbol
        status = _fill_column(tables, words, memory, expected, end, logs)
        if status != DONE:
            return status
    return DONE


@kernel
def prefix_pass(
    tables: PrefixTables,
    corners: LeftCorners,
    words: PrefixWords,
    memory: PassMemory,
    room: PrefixRoom,
    logs: Logs,
) -> int:
    """Fill the room (of nothing before) and the memory."""
    root, lexical, expected, exponent = tables.root, tables.lexical, room.expected, room.exponent
    cell_first, symbol, inside, power = memory.cell_first, memory.symbol, memory.inside, memory.power
    zero, tiny = zero_of(logs), TINY if logs is None else -np.inf
    # Of what comes from the words before so much may be missing, in units of 2^exponent.
    n, count, missing = len(words.start) - 1, len(root), 0.0
    costly = len(room.expected_cost) > 0
    arriving, arriving_cost, work = np.empty(count + LANES), np.empty(count + LANES), np.empty(count)
    sums, sums_cost = np.empty(len(tables.by_left.other)), np.empty(len(tables.by_left.other))
    _begin_pass(memory, n)
    for k in range(n + 1):
        unit, lost, end_lost = 0, False, False
        if k == 0:
            for one in range(count):  # to assign arrays takes numba seconds to compile
                arriving[one], arriving_cost[one] = root[one], tables.root_cost[one]
            room.prefix[0] = 1.0 if logs is None else 0.0
        else:
            unit = exponent[k - 1]
            room.prefix[k] = room.word[k - 1]
            if room.prefix[k] == zero:
                return DONE
            status = _fill_column(tables, words, memory, expected, k, logs)
            if status != DONE:
                return status
            lost = _arrive(tables, memory, room, k, sums, arriving, False, logs)
            if costly:
                _arrive(tables, memory, room, k, sums_cost, arriving_cost, True, logs)
                _add_costs(tables.by_left, sums, arriving_cost, logs)
            cell = forest_cell(0, k)
            for node in range(cell_first[cell], cell_first[cell + 1]):
                if root[symbol[node]] > zero:
                    value, scale = inside[node], -unit - power[k]
                    if logs is None:
                        value *= math.ldexp(1.0, scale)
                    passed = times(root[symbol[node]], value, logs)
                    end_lost |= passed < tiny
                    room.end[k] = plus(room.end[k], passed, logs)
                    if costly:
                        cost = (
                            memory.cost[node] * math.ldexp(1.0, scale) if logs is None else memory.cost[node]
                        )
                        passed = times(tables.root_cost[symbol[node]], value, logs)
                        passed = plus(passed, times(root[symbol[node]], cost, logs), logs)
                        room.end_cost[k] = plus(room.end_cost[k], passed, logs)
        lost |= close_left(corners, arriving[:count], work, expected[k], logs) < tiny
        if costly:
            for one in range(count):
                if expected[k, one] > zero:
                    for place in range(tables.first_start[one], tables.first_start[one + 1]):
                        passed = times(expected[k, one], tables.first_cost[place], logs)
                        child = tables.first_child[place]
                        arriving_cost[child] = plus(arriving_cost[child], passed, logs)
            close_left(corners, arriving_cost[:count], work, room.expected_cost[k], logs)
        exponent[k], scale = unit, 1.0
        if logs is None:
            shift = max(math.frexp(expected[k].max())[1], -1000)
            scale = math.ldexp(1.0, -shift)
            missing = (missing + (LOST if lost else 0.0)) * scale
            expected[k] *= scale
            room.end[k], room.prefix[k] = room.end[k] * scale, room.prefix[k] * scale
            exponent[k] = unit + shift
            if costly:
                room.expected_cost[k] *= scale
                room.end_cost[k] *= scale
                room.prefix_cost[k] *= scale
        if k < n:
            memory.predictions[k] = 0
            for one in range(count):
                if expected[k, one] > zero:
                    memory.predicted[k, memory.predictions[k]] = one
                    memory.predictions[k] += 1
            for entry in range(words.start[k], words.start[k + 1]):
                expectation = expected[k, words.symbol[entry]]
                if words.prob[entry] > zero and expectation > zero:
                    passed = times(expectation, words.prob[entry], logs)
                    missing = max(missing, LOST if passed < tiny else 0.0)
                    room.word[k] = plus(room.word[k], passed, logs)
                    of_symbol = times(expectation, lexical[words.symbol[entry]], logs)
                    room.tag[k] = plus(room.tag[k], of_symbol, logs)
                    if costly:
                        cost = times(room.expected_cost[k, words.symbol[entry]], words.prob[entry], logs)
                        cost = plus(cost, times(expectation, words.cost[entry], logs), logs)
                        room.prefix_cost[k + 1] = plus(room.prefix_cost[k + 1], cost, logs)
            if logs is None and room.word[k] < missing * _DIGITS:
                return OUT_OF_RANGE
        elif logs is None and room.end[k] < (missing + (LOST * scale if end_lost else 0.0)) * _DIGITS:
            return OUT_OF_RANGE
    return DONE


@inner_kernel
def _arrive(
    tables: PrefixTables,
    memory: PassMemory,
    room: PrefixRoom,
    k: int,
    sums: Floats,
    arriving: Floats,
    costs: bool,
    logs: Logs,
) -> bool:
    """Fill u_k (``arriving``), or most of its cost; ``sums`` become those over i.

    Returns whether some value may have been lost.
    """
    pair_start, pair_parent, block_start, right, prob, _, least_rule = tables.by_left
    cell_first, symbol, inside = memory.cell_first, memory.symbol, memory.inside
    lost, zero, tiny = False, zero_of(logs), TINY if logs is None else -np.inf
    arriving[:] = zero
    sums[:] = zero
    for start in range(k):
        before, cell, factor = room.expected[start], forest_cell(start, k), 0.0
        first, last = cell_first[cell], cell_first[cell + 1]
        if logs is None:
            scale = room.exponent[start] - room.exponent[k - 1] - (memory.power[k] - memory.power[start])
            factor = math.ldexp(1.0, scale)
            least = 1.0
            for choice in range(memory.predictions[start]):
                least = min(least, before[memory.predicted[start, choice]])
            for node in range(first, last):
                lost |= inside[node] * factor * least < tiny
        for node in range(Index(first), Index(last)):
            value, left = times(inside[node], factor, logs), Index(symbol[node])
            if costs:
                valued, costly = times(memory.cost[node], factor, logs), room.expected_cost[start]
                for pair in range(pair_start[left], pair_start[left + ONE]):
                    parent = Index(pair_parent[pair])
                    passed = times(before[parent], valued, logs)
                    passed = plus(passed, times(costly[parent], value, logs), logs)
                    sums[pair] = plus(sums[pair], passed, logs)
            else:
                for pair in range(pair_start[left], pair_start[left + ONE]):
                    expectation = before[Index(pair_parent[pair])]
                    sums[pair] = plus(sums[pair], times(expectation, value, logs), logs)
    for pair in range(Index(len(sums))):
        if sums[pair] > zero:
            lost |= times(sums[pair], least_rule, logs) < tiny
            for block in range(block_start[pair], block_start[pair + ONE]):
                _add_block(arriving, right[block], prob, block, sums[pair], logs)
    return lost


@inner_kernel
def _add_costs(rules: PairedRules, sums: Floats, arriving: Floats, logs: Logs) -> None:
    """Add the costs of the rules themselves."""
    for pair in range(Index(len(sums))):
        if sums[pair] > zero_of(logs):
            for block in range(rules.block_start[pair], rules.block_start[pair + ONE]):
                _add_block(arriving, rules.third[block], rules.cost, block, sums[pair], logs)
