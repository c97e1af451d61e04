"""Reading the best parse off a search of items."""

from __future__ import annotations

import numpy as np

from mbrparse.decode.best_first.viterbi.item_state import (
    END,
    GOAL,
    LEFT,
    NONE,
    RIGHT,
    START,
    SYMBOL,
    ItemSearch,
)
from mbrparse.decode.best_first.viterbi.pair_rules import PairRules
from mbrparse.grammar.kernel import array_kernel, kernel
from mbrparse.grammar.pcfg import IntArray


@array_kernel
def read_items(
    rules: PairRules, search: ItemSearch, length: int
) -> tuple[float, IntArray, IntArray, IntArray]:
    """The best parse: its log probability, and starts, ends and symbols of its nodes in preorder.

    The probability is summed up anew: where items were reopened, those above may not have heard of it yet.
    """
    items = search.items
    size = 2 * length - 1 if search.counts[GOAL] != NONE else 0
    starts, ends, symbols = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    if size == 0:
        return -np.inf, starts, ends, symbols
    stack = np.empty(length + 1, np.int32)
    stack[0] = search.counts[GOAL]
    log_prob, depth, count = rules.root[items[stack[0], SYMBOL]], 1, 0
    while depth > 0:
        depth -= 1
        item = stack[depth]
        starts[count], ends[count], symbols[count] = items[item, START], items[item, END], items[item, SYMBOL]
        count += 1
        left, right = items[item, LEFT], items[item, RIGHT]
        if left == NONE:
            log_prob += search.log_inside[item]
            continue
        log_prob += _rule_log_prob(rules, items[item, SYMBOL], items[left, SYMBOL], items[right, SYMBOL])
        stack[depth], stack[depth + 1] = right, left
        depth += 2
    return log_prob, starts, ends, symbols


@kernel
def _rule_log_prob(rules: PairRules, parent: int, left: int, right: int) -> float:
    """That of a rule of the grammar."""
    for pair in range(rules.first_of_left[left], rules.first_of_left[left + 1]):
        if rules.right[pair] == right:
            for rule in range(rules.first_rule[pair], rules.first_rule[pair + 1]):
                if rules.parent[rule] == parent:
                    return rules.log_prob[rule]  # type: ignore[no-any-return]
    return -np.inf
