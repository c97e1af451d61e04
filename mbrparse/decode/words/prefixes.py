"""The prefixes of a sentence: how probable they are, what may come next, and what any word may be.

Prefixes are exact for a grammar whose derivations end with probability one (``prefix_passes``).
What a word may be, given all others, follows from its outside values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mbrparse.charts import chart, packed_forest, rule_tables
from mbrparse.charts.exhaustive import factory
from mbrparse.charts.exhaustive.prefix_passes import (
    DONE,
    NODES,
    OUT_OF_RANGE,
    PARTNERS,
    TINY,
    inside_pass,
    prefix_pass,
)
from mbrparse.charts.exhaustive.prefix_tables import (
    InsideNodes,
    PassMemory,
    PrefixRoom,
    PrefixTables,
    PrefixWords,
    paired_rules,
)
from mbrparse.charts.kernel import inner_kernel, kernel
from mbrparse.charts.left_corner import Logs, best_units, left_corners, plus, times, zero_of
from mbrparse.charts.rule_tables import Closure, Floats, RulesByChild
from mbrparse.charts.vector import LANES
from mbrparse.errors import ChartOverflowError, NumberRangeError
from mbrparse.grammar import pcfg, tree_statistics

# What is next to impossible beside those that were likely may depend on what was lost.
LEAST_STEP = 1e-150
_MOST_BYTES = 2 << 30
# Nodes, or partners, that a sentence may have.
_MOST = 1 << 25
_COSTS = "cost", "partner_cost", "place_cost"
Found = TypeVar("Found")


@kernel
def gap_pass(
    by_left: RulesByChild,
    by_right: RulesByChild,
    closure: Closure,
    root: Floats,
    nodes: InsideNodes,
    outside: Floats,
    logs: Logs,
) -> bool:
    """Fill ``outside`` [cell, symbol], nothing before: of all symbols, whether they derive the span or not.

    Unary rules are given as their closure. Returns whether some value may have been lost to the range of
    numbers.
    """
    n, above, lost = len(nodes.power) - 1, np.empty(len(root)), False
    zero, tiny = zero_of(logs), TINY if logs is None else -np.inf
    for one in range(len(root)):
        outside[packed_forest.forest_cell(0, n), one] = root[one]
    for end in range(n, 0, -1):
        for start in range(end):
            here = outside[packed_forest.forest_cell(start, end)]
            largest = zero
            for one in range(len(above)):
                above[one] = here[one]
                largest = max(largest, here[one])
            if largest == zero:
                continue
            for bottom in range(len(above)):
                here[bottom] = zero
                for entry in range(closure.start[bottom], closure.start[bottom + 1]):
                    passed = times(above[closure.top[entry]], closure.value[entry], logs)
                    lost |= (passed < tiny) & (above[closure.top[entry]] > zero)
                    here[bottom] = plus(here[bottom], passed, logs)
            for split in range(start + 1, end):
                left, right = packed_forest.forest_cell(start, split), packed_forest.forest_cell(split, end)
                lost |= _pass_on(by_right, nodes, right, here, outside[left], logs)
                lost |= _pass_on(by_left, nodes, left, here, outside[right], logs)
    return lost


@inner_kernel
def _pass_on(
    rules: RulesByChild, nodes: InsideNodes, sibling: int, above: Floats, outside: Floats, logs: Logs
) -> bool:
    """Add to a cell what it has beside a sibling, whose rules are given, below the cell with ``above``."""
    first, parent, other, prob = rules
    lost, zero, tiny = False, zero_of(logs), TINY if logs is None else -np.inf
    for node in range(nodes.cell_first[sibling], nodes.cell_first[sibling + 1]):
        symbol, inside = nodes.symbol[node], nodes.inside[node]
        for rule in range(first[symbol], first[symbol + 1]):
            passed = times(times(above[parent[rule]], prob[rule], logs), inside, logs)
            lost |= (passed < tiny) & (above[parent[rule]] > zero)
            outside[other[rule]] = plus(outside[other[rule]], passed, logs)
    return lost


class Vocabulary:
    """A grammar's lexical rules: matrices [symbols, ..] of what words have in common."""

    def __init__(self, grammar: pcfg.PCFG, rules: rule_tables.Rules) -> None:
        shape = len(grammar.symbols), len(grammar.terminals)
        places = rules.lexical_symbol, rules.lexical_terminal
        self._grammar = grammar
        #: p(A -> t).
        self.lexical: Any = csr_array((rules.lexical_prob, places), shape)

    @cached_property
    def _columns(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Of terminals with the same rules and as many words the first, which those are, and how many."""
        columns, sizes = self.lexical.tocsc(), self._grammar.class_sizes
        bounds = zip(columns.indptr[:-1].tolist(), columns.indptr[1:].tolist(), strict=True)
        keys = [
            (columns.indices[slice(*bound)].tobytes(), columns.data[slice(*bound)].tobytes(), *size)
            for bound, size in zip(bounds, sizes.T.tolist(), strict=True)
        ]
        ids = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        column = np.array([ids[key] for key in keys], np.int32)
        return np.unique(column, return_index=True)[1], column, np.bincount(column)

    @property
    def column(self) -> NDArray[Any]:
        """By terminal its column of ``distinct``."""
        return self._columns[1]

    @property
    def alike(self) -> NDArray[Any]:
        """How many terminals each column of ``distinct`` stands for."""
        return self._columns[2]

    @cached_property
    def sizes(self) -> pcfg.IntArray:
        """How many words share the terminals of each column (``class_sizes``)."""
        return self._grammar.class_sizes[:, self._columns[0]]

    @cached_property
    def distinct(self) -> Any:
        """p(A -> t), of one terminal for all that have the same rules."""
        return self.lexical[:, self._columns[0]]

    @cached_property
    def over(self) -> Any:
        """The sum of A's lexical rules where A is rewritten as the terminal; columns as ``distinct``."""
        some = self.distinct.tocoo()
        return csr_array(
            (tree_statistics.lexical_mass(self._grammar)[some.coords[0]], some.coords), some.shape
        )

    @cached_property
    def class_bits(self) -> pcfg.FloatArray:
        """[symbols, 2]: the entropy of the choice of a word of a terminal, first in a sentence, and later."""
        return tree_statistics.class_entropies(self._grammar) / math.log(2.0)


class FilledPass(NamedTuple):
    """What a pass over prefixes reads and fills."""

    tables: PrefixTables
    words: PrefixWords
    memory: PassMemory
    room: PrefixRoom


@dataclass(frozen=True, eq=False)
class PrefixValues:
    """The prefixes of a sentence of n words, arrays by their lengths k, from 0 to n.

    A prefix that the grammar has no sentence for has the log probability -inf, and NaN for all that is
    conditioned on it. ``reason`` says why there is nothing at all but NaN, if so. What is above one by
    rounding is one.
    """

    #: Natural logarithms of the probabilities that a sentence begins with the first k words, [n + 1].
    log_prefix: pcfg.FloatArray
    #: That of the probability of the sentence: of all its words, and the end.
    log_prob: float
    #: -log2 P(word k | the words before it), in bits, [n + 1]; the last is the end's (Hale 2001).
    surprisal: pcfg.FloatArray
    #: The part of the surprisal that a preterminal of the word accounts for (Roark et al. 2009): -log2 of the
    #: probability that the next word is of some symbol that has the word. The rest is lexical: this word and
    #: no other of these symbols. The end has no lexical part.
    syntactic: pcfg.FloatArray
    #: The entropy in bits of the derivations of all sentences that begin with the first k words (Hale 2006),
    #: and at last that of those of the sentence itself, [n + 2]; empty where it is not asked for.
    derivation_entropy: pcfg.FloatArray
    expected: pcfg.FloatArray  # by symbol (``PrefixRoom``), in the units of ``prefix``, and so is ``end``
    prefix: pcfg.FloatArray
    end: pcfg.FloatArray
    vocabulary: Vocabulary
    reason: str | None = None

    def next_words(self) -> pcfg.FloatArray:
        """The distributions of the next word, [n + 1, terminals + 1]; the last column is the end's."""
        return self._shares(self.vocabulary.lexical)

    @cached_property
    def distinct_words(self) -> pcfg.FloatArray:
        """The same, of one word for all that have the same rules (``Vocabulary``)."""
        return self._shares(self.vocabulary.distinct)

    def _shares(self, matrix: Any) -> pcfg.FloatArray:
        """Probabilities of sums of lexical rules, and of the end."""
        joint = np.hstack([self.expected @ matrix, self.end[:, None]])
        with np.errstate(invalid="ignore"):
            return np.minimum(joint / self.prefix[:, None], 1.0)

    def entropy(self) -> pcfg.FloatArray:
        """The entropy of the next word in bits: the expectation of its surprisal, [n + 1].

        It is that of words, some of which share a terminal equally (``class_sizes``).
        """
        p, known = self.distinct_words, self.vocabulary
        entropy = _cost(p) @ np.append(known.alike, 1.0) / math.log(2.0)
        if known.class_bits.any():  # which are no probabilities: more than one bit, too
            with np.errstate(invalid="ignore"):
                of_class = self.expected @ known.class_bits / self.prefix[:, None]
            entropy += np.append(of_class[:1, 0], of_class[1:, 1])
        return np.asarray(entropy)

    def syntactic_entropy(self) -> pcfg.FloatArray:
        """The expectation of the syntactic part of the next word's surprisal, [n + 1]."""
        p, over = self.distinct_words, self._shares(self.vocabulary.over)
        with np.errstate(divide="ignore", invalid="ignore"):
            bits = np.where(p > 0, -p * np.log2(over), p)
        return np.asarray(bits @ np.append(self.vocabulary.alike, 1))


class Prefixes:
    """Computes prefixes and gaps of sentences, which are arrays of terminal ids (``PCFG.encode``).

    A sentence without a chart says so (``reason``): it is too long, or too large. Where values leave the
    range of numbers they are computed once more, in logarithms. With ``entropies`` prefixes have those of
    their derivations: NaN where some derivation of the grammar never ends.
    """

    def __init__(self, grammar: pcfg.PCFG, max_length: int | None = None, entropies: bool = False) -> None:
        self.grammar, self._entropies = grammar, entropies
        self._max_length = max_length or factory.default_max_length(grammar)
        self._rules = rules = rule_tables.chart_rules(grammar)
        self.lexicon = rule_tables.lexicon(rules, len(grammar.terminals))
        self._shift, _ = rule_tables.scaled_entries(self.lexicon)
        self._vocabulary = Vocabulary(grammar, rules)
        self._unary = rule_tables.unary_tables(grammar)
        self._tables, self._gap_tables = cache(self._new_tables), cache(self._new_gap_tables)
        self.corners = cache(lambda logs: left_corners(grammar, logs))
        self._sizes = {NODES: 1 << 14, PARTNERS: 1 << 16}
        self._memory: PassMemory | None = None

    def _new_tables(self, logs: Logs) -> PrefixTables:
        """The rules by pairs of their symbols."""
        rules, unary, grammar = self._rules, self._unary, self.grammar
        pairs = []
        for by_right in (True, False):
            made = paired_rules(rules, by_right)
            prob, cost = _numbers(logs, made.prob, _cost(made.prob))
            pairs.append(made._replace(prob=prob, cost=cost))
        beside = np.zeros(rules.n_symbols)
        if self._entropies and np.isfinite(self._entropy_of_all):
            beside = tree_statistics.derivation_entropies(self.grammar)
        parents = np.concatenate((rules.parent, grammar.unary_parent))
        children = np.concatenate((rules.left, grammar.unary_child))
        of_chains = _cost(np.exp(grammar.unary_log_prob))
        costs = np.concatenate((_cost(rules.prob) + rules.prob * beside[rules.right], of_chains))
        first = csr_array((costs, (parents, children)), (rules.n_symbols, rules.n_symbols))
        given = unary.rule_prob, unary.closure_value, _cost(unary.rule_prob), rules.root_prob
        chain, closure, *others, following = _numbers(
            logs, *given, _cost(rules.root_prob), tree_statistics.lexical_mass(grammar), first.data
        )
        chains = unary._replace(rule_prob=chain, closure_value=closure)
        if logs is False:
            closure = np.log(rule_tables.best_chains(grammar, unary, 0.0).prob)
            chains = chains._replace(closure_value=closure)
        tables: list[Any] = [*pairs, chains, *others, first.indptr, first.indices, following]
        return PrefixTables(*tables)

    def _new_gap_tables(self, logs: Logs) -> tuple[RulesByChild, RulesByChild, Closure, Floats]:
        tables = [rule_tables.rules_by_child(self._rules, left) for left in (True, False)]
        closure = rule_tables.unary_closure(self.grammar)
        values = _numbers(logs, *(one.prob for one in tables), closure.value, self._rules.root_prob)
        by_left, by_right = (one._replace(prob=prob) for one, prob in zip(tables, values[:2], strict=True))
        return by_left, by_right, closure._replace(value=values[2]), values[3]

    def read(self, tokens: pcfg.IntArray) -> PrefixValues:
        """The prefixes of a sentence; raises GrammarError where left recursion is never left.

        What comes after a terminal that the grammar lacks has probability zero.
        """
        unknown = np.flatnonzero(tokens == pcfg.UNKNOWN_TERMINAL)
        known = tokens[: unknown[0]] if len(unknown) else tokens
        found, reason = _in_range(lambda logs: self._read(known, len(tokens), logs))
        if found is None:
            nothing = np.full((len(tokens) + 1, len(self.grammar.symbols)), np.nan)
            row = np.full(len(tokens) + 1, np.nan)
            entropies = np.full(int(self._entropies) * (len(row) + 1), np.nan)
            return PrefixValues(
                *(row, math.nan, row, row, entropies, nothing, row, row, self._vocabulary, reason)
            )
        return found

    def filled(self, tokens: pcfg.IntArray, n: int, logs: Logs) -> FilledPass:
        """What the pass over a sentence of n words that begins with these fills; raises as ``_pass`` does.

        The memory holds until the next pass.
        """
        corners, zero = self.corners(logs), zero_of(logs)
        if logs is None and corners.least < TINY:
            raise NumberRangeError(chart.TOO_IMPROBABLE)
        size = n + 1, len(self.grammar.symbols)
        costly = size if self._entropies and logs is not False else (0, 0)
        found: list[FilledPass] = []

        def fill(tables: PrefixTables, words: PrefixWords, memory: PassMemory) -> int:
            arrays = np.full(size, zero), np.full(costly, zero), np.zeros(n + 1, np.int32)
            room = PrefixRoom(*arrays, *np.full((6, n + 1), zero))
            if not costly[0]:
                memory = memory._replace(**{name: getattr(memory, name)[:0] for name in _COSTS})
            found[:] = [FilledPass(tables, words, memory, room)]
            return int(prefix_pass(tables, corners, words, memory, room, logs))

        self._pass(tokens, fill, logs)
        return found[0]

    def _read(self, tokens: pcfg.IntArray, n: int, logs: Logs) -> PrefixValues:
        """Those of a sentence of n words that begins with these; raises as ``_pass`` does."""
        room = self.filled(tokens, n, logs).room
        bit = math.log(2.0)
        prefix, end, expected = room.prefix, room.end, room.expected
        joint = [np.append(one[:-1], end[-1]) for one in (room.word, room.tag)]
        with np.errstate(divide="ignore", invalid="ignore"):
            if logs is None:
                log_prefix = np.log(prefix) + room.exponent * bit
                log_prob = np.log(end[-1]) + room.exponent[-1] * bit
                bits = [np.log2(prefix) - np.log2(one) for one in joint]
                costs = np.append(room.prefix_cost / prefix, room.end_cost[-1] / end[-1])
            else:
                log_prefix, log_prob = prefix, end[-1]
                bits = [(prefix - one) / bit for one in joint]
                costs = np.exp(np.append(room.prefix_cost - prefix, room.end_cost[-1] - log_prob))
                expected, end = np.exp(expected - prefix[:, None]), np.exp(end - prefix)
                prefix = np.ones(n + 1)
            entropy = np.maximum(costs + np.append(log_prefix, log_prob), 0) / bit
        log_prefix = np.minimum(log_prefix, 0.0)
        surprisal, syntactic = np.maximum(bits, 0.0)
        total = float(np.minimum(log_prob, log_prefix[-1]))
        rows = expected, prefix, end
        if not self._entropies:
            entropy = entropy[:0]
        else:
            entropy[0] = self._entropy_of_all
            entropy[:-1] += 0.0 * self._entropy_of_all
        return PrefixValues(log_prefix, total, surprisal, syntactic, entropy, *rows, self._vocabulary)

    @cached_property
    def _entropy_of_all(self) -> float:
        """That of all derivations, in bits."""
        return tree_statistics.tree_statistics(self.grammar).get("entropy in bits", math.nan)

    def masked(self, tokens: pcfg.IntArray) -> tuple[pcfg.FloatArray, str | None]:
        """P(word | all other words) for each word of a sentence, [n, terminals], from outside values.

        NaN where the others have no sentence, or where there is a reason.
        """
        n, gaps = len(tokens), np.flatnonzero(tokens == pcfg.UNKNOWN_TERMINAL)
        found = np.full((n, len(self.grammar.terminals)), np.nan)
        if len(gaps) > 1 or n == 0:
            return found, None
        rows = gaps if len(gaps) else np.arange(n)
        # Any word will do in the place of an unknown one, which is not looked at.
        probs, reason = _in_range(lambda logs: self._masked(np.maximum(tokens, 0), rows, logs))
        if probs is not None:
            found[rows] = probs
        return found, reason

    def _masked(self, tokens: pcfg.IntArray, places: NDArray[Any], logs: Logs) -> pcfg.FloatArray:
        """Those of some places; raises as ``_pass`` does."""
        n, rules = len(tokens), self._rules
        everything = np.ones((n, rules.n_symbols))

        def fill(tables: PrefixTables, words: PrefixWords, memory: PassMemory) -> int:
            return int(inside_pass(tables, words, memory, everything, logs))

        memory = self._pass(tokens, fill, logs)
        nodes = InsideNodes(memory.cell_first, memory.symbol, memory.inside, memory.power[: n + 1])
        shape = n * (n + 1) // 2, len(self.grammar.symbols)
        if 8 * math.prod(shape) > _MOST_BYTES:
            raise ChartOverflowError(chart.TOO_LARGE)
        outside = np.full(shape, zero_of(logs))
        lost = gap_pass(*self._gap_tables(logs), nodes, outside, logs)
        outside = outside[places * (places + 1) // 2]
        if logs is not None:
            joint = np.full((len(places), len(self.grammar.terminals)), -np.inf)
            values = outside[:, rules.lexical_symbol] + _numbers(logs, rules.lexical_prob)[0]
            np.logaddexp.at(joint.T, rules.lexical_terminal, values.T)
            with np.errstate(invalid="ignore"):
                probs = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
        else:
            joint = outside @ self._vocabulary.lexical
            totals = joint.sum(axis=1, keepdims=True)
            lost |= outside.min(initial=1, where=outside > 0) * rules.lexical_prob.min() < TINY
            if not np.isfinite(totals).all() or (lost and totals.min() < LEAST_STEP):
                raise NumberRangeError(chart.TOO_IMPROBABLE)
            with np.errstate(invalid="ignore"):
                probs = joint / totals
        return np.asarray(np.minimum(probs, 1.0))

    def _pass(
        self, tokens: pcfg.IntArray, fill: Callable[[PrefixTables, PrefixWords, PassMemory], int], logs: Logs
    ) -> PassMemory:
        """Let a pass fill the memory; raises ChartOverflowError, or NumberRangeError."""
        n = len(tokens)
        if n > self._max_length:
            raise ChartOverflowError(f"longer than {self._max_length} terminals")
        tables, probs = self._tables(logs), self.lexicon.prob
        prob, cost = _numbers(logs, probs, _cost(probs))
        entries, start = rule_tables.lexical_entries(self.lexicon.start, tokens)
        words = PrefixWords(
            start, self.lexicon.symbol[entries], prob[entries], cost[entries], self._shift[tokens]
        )
        memory = self._memory
        if memory is None or n > len(memory.predictions):
            memory = self._allocate(max(n, 32 if memory is None else 3 * len(memory.predictions) // 2))
        while (status := fill(tables, words, memory)) not in (DONE, OUT_OF_RANGE):
            if self._sizes[status] >= _MOST:
                raise ChartOverflowError(chart.TOO_LARGE)
            self._sizes[status] *= 2
            memory = self._allocate(len(memory.predictions))
        if status == OUT_OF_RANGE:
            raise NumberRangeError(chart.TOO_IMPROBABLE)
        return memory

    def _allocate(self, length: int) -> PassMemory:
        """New memory, for sentences of so many words."""
        self._memory = None  # first, so that both are never there
        symbols, nodes, partners = len(self.grammar.symbols), self._sizes[NODES], self._sizes[PARTNERS]
        pairs, costly = len(self._tables(None).by_right.other), int(self._entropies)
        ints, floats = packed_forest.new_ints, packed_forest.new_floats
        self._memory = PassMemory(
            *(ints(length * (length + 1) // 2 + 1), ints(nodes), floats(nodes), floats(costly * nodes)),
            *(ints(nodes), ints(nodes), ints(length + 1), ints(length + 1, symbols)),
            *(ints(length, symbols), ints(length), ints(length, symbols), ints(length, symbols)),
            *(ints(partners), floats(partners), floats(costly * partners), ints(pairs * length)),
            *(ints(partners), ints(partners), ints(partners), ints(partners)),
            *(floats(partners), floats(costly * partners), ints(length), ints(2), floats(4, symbols + LANES)),
        )
        return self._memory


def _in_range(compute: Callable[[Logs], Found]) -> tuple[Found | None, str | None]:
    """What is computed, in logarithms where numbers lack the range, or why it is not."""
    try:
        with suppress(NumberRangeError):
            return compute(None), None
        return compute(True), None
    except ChartOverflowError as error:
        return None, error.message


def _numbers(logs: Logs, *values: Floats) -> list[Floats]:
    """Values as they are, or their logarithms."""
    with np.errstate(divide="ignore"):
        found = [value if logs is None else np.log(value) for value in values]
    return list(map(best_units, found)) if logs is False else found


def _cost(probs: Floats) -> Floats:
    """-p log p, of each p."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(probs == 0, 0.0, np.maximum(-probs * np.log(probs), 0.0))
