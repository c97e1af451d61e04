"""What the passes of prefixes read and fill: pairs of rules, nodes, left sisters, and what is found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbrparse.charts.rule_tables import Floats, Indices, Ints, Rules, UnaryTables, starts
from mbrparse.charts.spans import begins
from mbrparse.charts.vector import LANES


class PairedRules(NamedTuple):
    """Binary rules by two of their symbols, in blocks of third symbols with ids that follow each other."""

    start: Indices  # by the first symbol: its pairs
    other: Ints  # by pair: the second symbol
    block_start: Indices  # by pair
    third: Ints  # by block: the least id of its symbols
    prob: Floats  # [blocks * LANES]; nothing where there is no such rule
    cost: Floats
    least: float  # the least probability of a rule


class PrefixTables(NamedTuple):
    """What the passes read of a grammar."""

    by_right: PairedRules  # by right and left child: the parents
    by_left: PairedRules  # by left child and parent: the right children
    unary: UnaryTables
    unary_cost: Floats
    root: Floats
    root_cost: Floats
    lexical: Floats  # by symbol, the sum of its lexical rules
    first_start: Ints  # by symbol: its first children
    first_child: Ints
    first_cost: Floats  # with the entropy of what is to come beside it


class PrefixWords(NamedTuple):
    """The lexical entries of each word, and the power of two that its inside values are multiplied by."""

    start: Ints
    symbol: Ints
    prob: Floats
    cost: Floats
    shift: Ints


class InsideNodes(NamedTuple):
    """The symbols that derive each span, and their inside values.

    The nodes of a cell (``forest_cell``) are cell_first[c] .. cell_first[c + 1]. Those of the
    span (i, j) are multiplied by 2^(power[j] - power[i]).
    """

    cell_first: Ints  # [cells + 1]
    symbol: Ints
    inside: Floats
    power: Ints  # [words + 1]


class PassMemory(NamedTuple):
    """Nodes, and what finds the left sisters of a right one: nothing in it need be cleared.

    A *place* is a pair of children and where it begins; *partners* of a right child are the left ones that
    end where it begins, with their places.
    """

    cell_first: Ints
    symbol: Ints
    inside: Floats
    cost: Floats
    older: Ints  # by node: another with its symbol and end, or -1
    begin: Ints  # by node
    power: Ints
    newest: Ints  # [end, symbol]
    predicted: Ints  # [start, ..]: the symbols that are expected there
    predictions: Ints  # by start, how many
    partner_first: Ints  # [start, symbol], or -1
    partner_last: Ints
    partner_place: Ints
    partner_inside: Floats
    partner_cost: Floats
    place_at: Ints  # [pair * length + start]: its place, if it is this pair's and this start's
    place_pair: Ints
    place_start: Ints
    place_column: Ints  # the last one that it was met in
    place_next: Ints  # another of its cell, or -1
    place_sum: Floats
    place_cost: Floats
    cell_place: Ints  # by start, in the column at work
    counts: Ints  # of partners and places
    sums: Floats  # [4, symbols + LANES], scratch


class PrefixRoom(NamedTuple):
    """What is found for each k from 0 to the number of words, in units of 2^exponent[k]."""

    expected: Floats  # [n + 1, symbols]: y_k
    expected_cost: Floats  # empty where no costs are asked for
    exponent: Ints
    prefix: Floats  # the probability of the first k words
    word: Floats  # that of word k after them (nothing after the last)
    tag: Floats  # that of a word from some symbol which may be rewritten as it
    end: Floats  # that of the end
    prefix_cost: Floats
    end_cost: Floats  # of the last k alone


def paired_rules(rules: Rules, parents: bool) -> PairedRules:
    """By right and left child, or (without ``parents``) by left child and parent; cost is filled in later."""
    first, second = (rules.right, rules.left) if parents else (rules.left, rules.parent)
    third = rules.parent if parents else rules.right
    order = np.lexsort((third, second, first))
    first, second, third = first[order], second[order], third[order]
    pair = begins(first, second)
    run = pair | (np.diff(third, prepend=-2) != 1)
    place = np.arange(len(order))
    within = (place - np.maximum.accumulate(np.where(run, place, 0))) % LANES
    block = within == 0
    blocks = np.cumsum(block)
    prob = np.zeros(LANES * int(blocks[-1] if len(blocks) else 0))
    prob[LANES * (blocks - 1) + within] = rules.prob[order]
    return PairedRules(
        start=starts(first[pair], rules.n_symbols),
        other=second[pair].astype(np.int32),
        block_start=np.append(blocks[pair] - 1, blocks[-1:]).astype(np.uint32),
        third=third[block].astype(np.int32),
        prob=prob,
        cost=prob,
        least=float(prob.min(initial=1.0, where=prob > 0)),
    )
