"""A grammar's rules, arranged as the chart kernels read them: binary ones by symbol, lexical ones by word,
and all chains of unary rules at once.

With U[A, B] the probability of A -> B, U* = I + U + U^2 + .. = (I - U)^-1 sums over the chains from A
down to B, any number of times around any cycle: U*[A, B] is the expected number of B's in the chain
that begins with A (Stolcke 1995, section 4.5). A cell's inside values are then e = U* b, where b comes
from its binary and lexical rules alone, and its outside values f = t U*, where t comes from wider cells
and the root.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbrparse.errors import GrammarError
from mbrparse.grammar.rules import SUM_TOLERANCE
from mbrparse.grammar.unaries import UnaryRules, component_closure, components

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import PCFG, IntArray


Ints = NDArray[np.int32]
Indices = NDArray[np.uint32]
Offsets = NDArray[np.int64]
Floats = NDArray[Any]


class Rules(NamedTuple):
    """What the tables are built from; symbol ids are in order of their text."""

    n_symbols: int
    parent: Ints
    left: Ints
    right: Ints
    prob: NDArray[np.float64]
    lexical_symbol: Ints  # one entry a lexical rule, sorted by terminal
    lexical_terminal: Ints
    lexical_prob: NDArray[np.float64]
    root_prob: NDArray[np.float64]  # by symbol
    label: Ints  # the projected label of each symbol
    n_labels: int


class SparseTables(NamedTuple):
    """Rules for the kernels that hold lists of the symbols that are there."""

    left_index: Ints  # position of a symbol among the left children, or -1
    pair_start: Indices  # by right child: its pairs pair_start[C]..
    pair_left: Indices  # the pair's left child, as left_index
    rule_start: Indices  # by pair: its rules
    rule_parent: Indices
    rule_prob: Floats
    root: Floats  # by symbol
    n_left: int


def chart_rules(grammar: PCFG) -> Rules:
    """A grammar's rules in linear space."""
    return Rules(
        len(grammar.symbols),
        grammar.parent,
        grammar.left,
        grammar.right,
        np.exp(grammar.log_prob),
        grammar.lexical_symbol,
        grammar.lexical_terminal,
        np.exp(grammar.lexical_log_prob),
        np.exp(grammar.root_log_prob),
        grammar.label_ids,
        len(grammar.labels),
    )


def starts(keys: NDArray[Any], count: int) -> Indices:
    """Where each key from 0 up to ``count`` begins among sorted ones."""
    return np.searchsorted(keys, np.arange(count + 1)).astype(np.uint32)


class RulesByChild(NamedTuple):
    """Binary rules by one child: those of symbol id s are start[s] .. start[s + 1]."""

    start: Indices
    parent: Indices
    other: Indices
    prob: Floats


def rules_by_child(rules: Rules, left: bool) -> RulesByChild:
    """Arrange the rules by their left or right children."""
    child, other = (rules.left, rules.right) if left else (rules.right, rules.left)
    # Neighbouring rules have different parents where possible: their sums can overlap in time.
    order = np.lexsort((rules.parent, other, child))
    columns = rules.parent[order].astype(np.uint32), other[order].astype(np.uint32), rules.prob[order]
    return RulesByChild(starts(child[order], rules.n_symbols), *columns)


def wide_symbols(rules: Rules) -> Ints:
    """The symbols that are parents of binary rules, in order.

    The others, *narrow* ones, only have lexical rules (in a treebank grammar: the tags).
    """
    return np.unique(rules.parent).astype(np.int32)


def sparse_tables(rules: Rules) -> SparseTables:
    """Arrange the rules for lists of active symbols."""
    left_symbols = np.unique(rules.left)
    left_index = np.full(rules.n_symbols, -1, np.int32)
    left_index[left_symbols] = np.arange(len(left_symbols))
    left = left_index[rules.left].astype(np.int64)
    order = np.lexsort((rules.parent, left, rules.right))
    key = rules.right[order].astype(np.int64) * max(len(left_symbols), 1) + left[order]
    _, first = np.unique(key, return_index=True)
    return SparseTables(
        left_index=left_index,
        pair_start=starts(rules.right[order][first], rules.n_symbols),
        pair_left=left[order][first].astype(np.uint32),
        rule_start=np.append(first, len(order)).astype(np.uint32),
        rule_parent=rules.parent[order].astype(np.uint32),
        rule_prob=rules.prob[order],
        root=rules.root_prob,
        n_left=len(left_symbols),
    )


class Lexicon(NamedTuple):
    """Lexical rules by terminal: entries start[t] .. start[t + 1]."""

    start: Ints
    symbol: Ints
    prob: NDArray[np.float64]
    shift: Ints  # power of two that brings the terminal's best entry near 1
    token_shift: int  # and the mean price of a token's binary rule


class Words(NamedTuple):
    """The lexical entries of a sentence: those of position i are entry_start[i] .. entry_start[i + 1]."""

    entry_start: Ints
    entry_symbol: Ints
    entry_prob: Floats


def lexicon(rules: Rules, n_terminals: int) -> Lexicon:
    """Arrange the lexical rules by terminal."""
    start = starts(rules.lexical_terminal, n_terminals).astype(np.int32)
    best = np.zeros(n_terminals)
    np.maximum.at(best, rules.lexical_terminal, rules.lexical_prob)
    shift = np.zeros(n_terminals, np.int32)
    shift[best > 0] = -np.rint(np.log2(best[best > 0])).astype(np.int32)
    return Lexicon(start, rules.lexical_symbol, rules.lexical_prob, shift, token_shift(rules))


def token_shift(rules: Rules) -> int:
    """Bits that the binary rules of a sentence cost per token, in the mean.

    Chart values are multiplied by this power of two for each token, so that
    they stay near one; powers of two leave every digit as it is, thus the
    exact figure does not matter.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        surprise = np.where(rules.prob > 0, -rules.prob * np.log2(rules.prob), 0.0)
    expected: Floats = rules.root_prob.copy()
    cost, count = 0.0, 0.0
    for _ in range(100):
        weight = expected[rules.parent]
        cost += float(weight @ surprise)
        uses = weight * rules.prob
        count += float(uses.sum())
        expected = np.bincount(rules.left, uses, rules.n_symbols) + np.bincount(
            rules.right, uses, rules.n_symbols
        )
        total = expected.sum()
        if total < 1e-3:
            break
        if total > 1.0:  # a supercritical grammar: only the proportions matter
            expected = expected / total
    return int(np.rint(cost / count)) if count else 0


def scaled_entries(words: Lexicon) -> tuple[Ints, NDArray[np.float64]]:
    """By terminal the power of two that a token's value is multiplied by, and so the entries' values.

    It brings the values of a sentence near one.
    """
    shift: Ints = words.shift + words.token_shift
    terminal = np.repeat(np.arange(len(shift)), np.diff(words.start))
    with np.errstate(over="ignore"):  # charts see what left the range
        return shift, np.ldexp(words.prob, shift[terminal])


def lexical_entries(start: Ints, tokens: IntArray) -> tuple[Ints, Ints]:
    """The lexicon's entries of all tokens, and where each token's begin."""
    first = start[tokens]
    count = start[tokens + 1] - first
    begin = np.zeros(len(tokens) + 1, np.int32)
    count.cumsum(out=begin[1:])
    entries: Ints = np.arange(begin[-1], dtype=np.int32) + (first - begin[:-1]).repeat(count)
    return entries, begin


def words_of(words: Lexicon, entry_prob: Floats, tokens: IntArray) -> Words:
    """The lexical entries of a sentence, with the values given for the lexicon's."""
    entries, begin = lexical_entries(words.start, tokens)
    return Words(begin, words.symbol[entries], entry_prob[entries])


class Closure(NamedTuple):
    """U* by its bottom symbol: B's entries are start[B] .. start[B + 1], tops in the order of ids.

    The diagonal is there for every symbol; other entries are those above zero.
    """

    start: Ints  # [symbols + 1]
    top: Ints  # [entries]
    value: NDArray[np.float64]  # [entries]


def unary_rules(grammar: PCFG, kept: NDArray[np.bool_] | None = None) -> dict[int, dict[int, float]]:
    """The probabilities by parent and child of the unary rules, or of those that are ``kept``."""
    rules: dict[int, dict[int, float]] = {}
    chosen = slice(None) if kept is None else kept
    rows = zip(
        grammar.unary_parent[chosen].tolist(),
        grammar.unary_child[chosen].tolist(),
        np.exp(grammar.unary_log_prob[chosen]).tolist(),
        strict=True,
    )
    for parent, child, prob in rows:
        rules.setdefault(parent, {})[child] = prob
    return rules


def unary_closure(grammar: PCFG, kept: NDArray[np.bool_] | None = None) -> Closure:
    """U* of a grammar.

    With ``kept`` [unary rules] it sums over the chains of these alone. Symbols without unary rules cost their
    diagonal entry and no more. Raises GrammarError for a cycle of probability one, and for a chain less
    probable than any number, which counts nothing where rules are left out.

    >>> from mbrparse.grammar.pcfg import PCFG
    >>> from mbrparse.grammar.rules import Rule, relative_frequencies
    >>> counts = {Rule("S", ("S",)): 1.0, Rule("S", ("NP",)): 2.0, Rule("NP", ("'x'",)): 1.0}
    >>> closure = unary_closure(PCFG.from_rules(relative_frequencies("words", {"S": 1.0}, counts)))
    >>> closure.start.tolist(), closure.top.tolist(), closure.value.round(9).tolist()
    ([0, 2, 3], [0, 1, 1], [1.0, 1.0, 1.5])
    """
    rules = unary_rules(grammar, kept)
    count = len(grammar.symbols)
    rows = _rows(rules, other_rules(grammar, kept), grammar.symbols, refuses=kept is None)
    plain = np.setdiff1d(np.arange(count), np.fromiter(rows, np.int64, len(rows)))
    sizes = [len(row) for row in rows.values()]
    bottom = np.concatenate([plain, np.array([b for row in rows.values() for b in row], np.int64)])
    top = np.concatenate([plain, np.repeat(np.fromiter(rows, np.int64, len(rows)), sizes)])
    value = np.concatenate([np.ones(len(plain)), [v for row in rows.values() for v in row.values()]])
    order = np.lexsort((top, bottom))
    start = np.searchsorted(bottom[order], np.arange(count + 1))
    return Closure(start.astype(np.int32), top[order].astype(np.int32), value[order])


def other_rules(grammar: PCFG, kept: NDArray[np.bool_] | None) -> dict[int, float]:
    """What each symbol's binary and lexical rules have together, and the unary ones that are not ``kept``.

    Where a symbol's rules do not sum to one (``grammar.demands``) it is what is left to that by the others.
    """
    parents = np.concatenate([grammar.parent, grammar.lexical_symbol, grammar.unary_parent])
    probs = np.exp(np.concatenate([grammar.log_prob, grammar.lexical_log_prob, grammar.unary_log_prob]))
    left = np.ones(len(probs), np.bool_)
    left[-len(grammar.unary_parent) or len(left) :] = False if kept is None else ~kept
    missing = 1.0 - np.bincount(parents, probs, len(grammar.symbols))
    missing[np.abs(missing) <= SUM_TOLERANCE] = 0.0
    found = np.bincount(parents[left], probs[left], len(grammar.symbols)) + missing
    return dict(enumerate(found.tolist()))


def _rows(
    rules: UnaryRules[int], others: dict[int, float], names: tuple[str, ...], refuses: bool
) -> dict[int, dict[int, float]]:
    """U* of the symbols that unary rules speak of, by top symbol."""
    rows: dict[int, dict[int, float]] = {}
    for members in components(rules):
        # What leaves the component first, then all ways to come there from within.
        leaving: list[dict[int, float]] = []
        for symbol in members:
            row = {symbol: 1.0}
            for child, prob in rules.get(symbol, {}).items():
                for bottom, below in rows.get(child, {}).items():
                    if refuses and min(prob, below) > 0.0 and prob * below < sys.float_info.min:
                        raise GrammarError(
                            f"a chain of unary rules from {names[symbol]} down to {names[bottom]} is less "
                            "probable than any number",
                            remedy="leave its least probable rules out",
                        )
                    row[bottom] = row.get(bottom, 0.0) + prob * below
            leaving.append(row)
        inner = component_closure(members, rules, others, names.__getitem__)
        # Into ``rows`` only now: a member's child within the component is not one that leaves it.
        for position, symbol in enumerate(members):
            total: dict[int, float] = {}
            for weight, row in zip(inner[position].tolist(), leaving, strict=True):
                for bottom, value in row.items():
                    total[bottom] = total.get(bottom, 0.0) + weight * value
            rows[symbol] = total
    return rows


class UnaryTables(NamedTuple):
    """What the kernels read of unary rules: the rules by child, and the entries of ``Closure``."""

    rule_start: Ints  # B's rules are rule_start[B] .. rule_start[B + 1]
    rule_parent: Ints
    rule_prob: Floats
    closure_start: Ints  # by bottom symbol
    closure_top: Ints
    closure_value: Floats  # U*: how often the bottom symbol is expected in the top's chain


class BestChains(NamedTuple):
    """The most probable chain of each entry of the closure.

    ``below`` is the entry of the next symbol down the chain (under the same bottom; on the diagonal the
    entry itself), ``length`` the number of its rules.
    """

    prob: Floats
    below: Ints
    length: Ints


def unary_tables(grammar: PCFG) -> UnaryTables:
    """Arrange a grammar's unary rules for its cells; raises GrammarError as ``unary_closure`` does."""
    order = np.lexsort((grammar.unary_parent, grammar.unary_child))
    closure = unary_closure(grammar)
    return UnaryTables(
        np.searchsorted(grammar.unary_child[order], np.arange(len(grammar.symbols) + 1)).astype(np.int32),
        grammar.unary_parent[order],
        np.exp(grammar.unary_log_prob[order]),
        closure.start,
        closure.top,
        closure.value,
    )


def best_chains(grammar: PCFG, closure: UnaryTables, tie: float) -> BestChains:
    """The best chain from each top to each bottom.

    Of chains within ``tie`` (relative) of each other the shortest is best, then the first in the order
    of its symbols from the top.
    """
    count = len(closure.closure_top)
    best, below, length = np.ones(count), np.arange(count, dtype=np.int32), np.zeros(count, np.int32)
    above: dict[int, dict[int, float]] = {}
    for parent, children in unary_rules(grammar).items():
        for child, prob in children.items():
            above.setdefault(child, {})[parent] = prob
    for bottom in above:
        first = int(closure.closure_start[bottom])
        tops = closure.closure_top[first : closure.closure_start[bottom + 1]].tolist()
        entry_of = {symbol: first + place for place, symbol in enumerate(tops)}
        for symbol, (prob, child, rules) in _best_chains(bottom, above, tie).items():
            entry = entry_of[symbol]
            best[entry], below[entry], length[entry] = prob, entry_of[child], rules
    return BestChains(best, below, length)


def _best_chains(
    bottom: int, above: Mapping[int, Mapping[int, float]], tie: float
) -> dict[int, tuple[float, int, int]]:
    """For each symbol over ``bottom``: its best chain's probability, next symbol and number of rules.

    No rule's probability exceeds one, so that going around a cycle never helps.
    """
    best: dict[int, float] = {}
    agenda = [(-1.0, bottom)]
    while agenda:  # Dijkstra's algorithm on products
        negative, symbol = heapq.heappop(agenda)
        if symbol in best:
            continue
        best[symbol] = -negative
        for parent, prob in above.get(symbol, {}).items():
            if parent not in best:
                heapq.heappush(agenda, (negative * prob, parent))
    chains = {bottom: (1.0, bottom, 0)}
    level = [bottom]
    while level:
        found: dict[int, tuple[float, int, int]] = {}
        for symbol in level:
            for parent, prob in above.get(symbol, {}).items():
                if parent not in chains and prob * best[symbol] >= best[parent] * (1 - tie):
                    found.setdefault(parent, (best[parent], symbol, chains[symbol][2] + 1))
        chains |= found
        level = sorted(found)
    return chains


def ranges(first: IntArray, ids: IntArray) -> tuple[IntArray, IntArray]:
    """The numbers from ``first[i]`` up to ``first[i + 1]`` for each of the ids, and whose they are.

    >>> [part.tolist() for part in ranges(np.array([0, 2, 5]), np.array([1, 0]))]
    [[0, 0, 0, 1, 1], [2, 3, 4, 0, 1]]
    """
    begin = first[ids].astype(np.int64)
    counts = first[ids + 1].astype(np.int64) - begin
    owner: IntArray = np.repeat(np.arange(len(ids)), counts)
    places: IntArray = np.arange(len(owner)) + np.repeat(begin - np.cumsum(counts) + counts, counts)
    return owner, places
