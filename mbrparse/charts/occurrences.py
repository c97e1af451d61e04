"""How often the symbols of a set stand over the spans of a sentence: once at least, twice, and so on.

With unary rules inside * outside is an expected number, which copies of a label bring above a probability.
Let C = (I - U)^-1 be the closure over unary rules (rule_tables), and C_LL its part for a set L of symbols.
R = I - C_LL^-1 is the probability, by symbol of L, that this or that one is the next of L down the chain.
With the inside and outside values of L over a span, and Z the sentence's probability,

    P(k symbols of L at least) = outside_L (I - R) R^(k-1) inside_L / Z.

Values are kept as inside * outside / Z, which no number is too small for, and R[A, B] takes with it what is
outside of A in place of B. Preterminals are no constituents: over a word inside values are those of symbols
that are not rewritten as it.

Uses of unary rules are counted in the same way: L are then the children of a set of rules, R[A, B] is the
probability that the next use of one of the set below A is one that leads to B, and inside values are whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats, Ints, UnaryTables, other_rules, ranges, unary_closure
from mbrparse.charts.spans import NO_LABEL
from mbrparse.treebank.labels import is_continuation_label

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import PCFG


class Links(NamedTuple):
    """A sparse matrix by bottom row: entries start[row] .. start[row + 1], and their logarithms."""

    start: Ints
    top: Ints
    log: NDArray[np.float64]


class Returns(NamedTuple):
    """The matrix R of the sets of symbols that share a label.

    ``stays`` [symbol] is 1 - R[A, A], and ``links`` are what R has beside its diagonal. For symbols of a set
    of several ``ends`` are the chains that do not come to the set again, by the symbol where they end.
    """

    stays: NDArray[np.float64]
    links: Links
    ends: Links


def returns(grammar: PCFG, closure: UnaryTables, label: Ints) -> Returns:
    """Those of the sets of symbols that have the same ``label`` (NO_LABEL: of none).

    1 - R[A, A] is 1 / C[A, A] of a symbol alone, and else the sum of all that leaves A but does not return:
    nothing is subtracted, so that every digit holds however near to one a cycle's probability is.

    >>> from mbrparse.charts.rule_tables import unary_tables
    >>> from mbrparse.grammar.grammar_files import grammar
    >>> pcfg = grammar("S -> S [0.75] | A [0.25]\\nA -> 'x' [1.0]").pcfg
    >>> returns(pcfg, unary_tables(pcfg), pcfg.label_ids).stays.tolist()
    [1.0, 0.25]
    """
    count, top = len(label), closure.closure_top
    symbol = np.arange(count)
    bottom = np.repeat(symbol, np.diff(closure.closure_start))
    own = top == bottom
    stays, members = 1.0 / closure.closure_value[own], label != NO_LABEL
    stays[~members] = 1.0
    several = np.unique(label[top[~own & members[top] & (label[top] == label[bottom])]])
    sets = ((label[grammar.unary_child] == one, np.where(label == one, symbol, -1)) for one in several)
    return _returns(grammar, stays, sets)


class RuleSets(NamedTuple):
    """The matrix R of sets of unary rules; a rule's set and its child have a row, ``place`` [rule]."""

    place: Ints
    returns: Returns


def rule_sets(grammar: PCFG, closure: UnaryTables, item: Ints) -> RuleSets:
    """Those of the sets of rules that share an ``item`` [rule], in the order of the closure's rules.

    Where all rules of a set have one child, 1 - R is 1 / (1 + N), with N the expected number of further uses.
    """
    symbols, parent = len(grammar.symbols), closure.rule_parent
    child = np.repeat(np.arange(symbols), np.diff(closure.rule_start))
    keys, place = np.unique(item.astype(np.int64) * symbols + child, return_inverse=True)
    # How often rules are expected to be used below the children of rules of their set.
    rule, entry = ranges(closure.closure_start, parent)
    above = item[rule].astype(np.int64) * symbols + closure.closure_top[entry]
    top = np.minimum(np.searchsorted(keys, above), len(keys) - 1)
    there = keys[top] == above
    uses = (closure.closure_value[entry] * closure.rule_prob[rule])[there]
    top, bottom = top[there], place[rule[there]]
    own = top == bottom
    again: NDArray[np.float64] = np.bincount(top[own], uses[own], len(keys)).astype(np.float64)
    stays = 1.0 / (1.0 + again)
    item_of, symbol_of = np.divmod(keys, symbols)
    given = np.empty_like(item)
    given[np.lexsort((grammar.unary_parent, grammar.unary_child))] = item  # in the order of the grammar's

    def sets() -> Iterator[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
        for one in np.unique(item_of[top[~own]]):
            places = np.full(symbols, -1)
            places[symbol_of[item_of == one]] = np.flatnonzero(item_of == one)
            yield given == one, places

    return RuleSets(place.astype(np.int32), _returns(grammar, stays, sets()))


def _returns(
    grammar: PCFG, stays: NDArray[np.float64], sets: Iterable[tuple[NDArray[np.bool_], NDArray[np.int64]]]
) -> Returns:
    """The rest of R, of ``sets`` of several rows: the rules that lead to it, and the row [symbol] or -1."""
    count = len(grammar.symbols)
    probs, final = np.exp(grammar.unary_log_prob), np.array(list(other_rules(grammar, None).values()))
    none = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    links, last = [none], [none]
    for into, row in sets:
        # Chains up to where they come to the set again, and the rules that bring them there.
        between = unary_closure(grammar, ~into)
        which, entry = ranges(between.start, grammar.unary_parent[into])
        above, below = between.top[entry].astype(np.int64), grammar.unary_child[into][which]
        value = between.value[entry] * probs[into][which]
        chosen = (row[above] >= 0) & (above != below)
        key, place = np.unique(above[chosen] * count + below[chosen], return_inverse=True)
        above, below = np.divmod(key, count)
        links.append((row[above], row[below], np.bincount(place, value[chosen], len(key)).astype(np.float64)))
        bottom, held = np.repeat(np.arange(count), np.diff(between.start)), row[between.top] >= 0
        last.append((row[between.top[held]], bottom[held], between.value[held]))
        leaves = np.bincount(between.top, between.value * final[bottom], count)
        leaves += np.bincount(above, links[-1][2], count)
        cyclic = np.flatnonzero(row >= 0)
        cyclic = cyclic[stays[row[cyclic]] < 1.0]
        stays[row[cyclic]] = leaves[cyclic]
    return Returns(stays, _linked(links, len(stays)), _linked(last, count))


def _linked(parts: Sequence[tuple[Any, ...]], count: int) -> Links:
    """The entries of all parts: tops, bottoms and values."""
    tops, bottoms, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(bottoms, kind="stable")
    start = np.searchsorted(bottoms[order], np.arange(count + 1)).astype(np.int32)
    with np.errstate(divide="ignore"):
        return Links(start, tops[order].astype(np.int32), np.log(values[order]))


class LabelSets:
    """The sets of symbols of a grammar that are counted, and how chains return to them, when it is asked for.

    They are those of each ``label`` [symbol], of each projected label, all symbols, and those that are no
    continuations.
    """

    def __init__(self, grammar: PCFG, closure: UnaryTables, label: Ints) -> None:
        self._grammar, self._closure = grammar, closure
        self.label = label

    @cached_property
    def by_label(self) -> Returns:
        """Of each label."""
        return returns(self._grammar, self._closure, self.label)

    @cached_property
    def projected(self) -> Ints:
        """The projected label of each symbol."""
        return self._grammar.label_ids

    @cached_property
    def ids(self) -> dict[str, int]:
        """The ids of projected labels."""
        return {label: place for place, label in enumerate(self._grammar.labels)}

    @cached_property
    def by_projected(self) -> Returns:
        """Of each projected label."""
        if self.label is self.projected:
            return self.by_label
        return returns(self._grammar, self._closure, self.projected)

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """By symbol whether it is a constituent of n-ary trees: no continuation."""
        labels = self._grammar.labels
        whole = np.array([not is_continuation_label(label) for label in labels], np.bool_)
        return whole[self._grammar.label_ids]

    def of_all(self, nary: bool) -> Returns:
        """Of all symbols that are constituents, of binary or n-ary trees."""
        return self._nary if nary else self._binary

    @cached_property
    def _binary(self) -> Returns:
        return returns(self._grammar, self._closure, np.zeros_like(self.label))

    @cached_property
    def _nary(self) -> Returns:
        label = np.where(self.counted, 0, NO_LABEL).astype(np.int32)
        return returns(self._grammar, self._closure, label)


class Occurrences:
    """The nodes of a sentence's forest, of which constituents are counted.

    ``whole`` [node] is the expected number of constituents, ``own`` of those over no other;
    ``log_outside`` is known up to a term of the cell's. Cells are those of ``spans.cell_of``.
    """

    def __init__(
        self, sets: LabelSets, cell: Ints, symbol: Ints, whole: Floats, own: Floats, log_outside: Floats
    ) -> None:
        self._sets, self._cell, self._symbol = sets, cell, symbol
        self._whole, self._own, self._log_outside = whole, own, log_outside

    def by_label(self) -> NDArray[np.float64]:
        """By node its part of the probability that its label is there."""
        return next(self._parts(self._sets.by_label))

    def by_span(self) -> NDArray[np.float64]:
        """By node its part of the probability that a constituent of the binary tree is over its span."""
        return next(self._parts(self._sets.of_all(nary=False)))

    def matches(self, cell: int, label: str, k: int) -> float:
        """How many of ``k`` constituents of a projected label over a span are expected to be right."""
        over = self._of(np.flatnonzero(self._cell == cell))
        here = self._sets.projected[over._symbol] == self._sets.ids.get(label, NO_LABEL)
        parts = over._parts(self._sets.by_projected)
        return float(sum(part[here].sum() for part in islice(parts, k))) if here.any() else 0.0

    def brackets(self, n_cells: int, most: int, nary: bool) -> NDArray[np.float64]:
        """[most, cell]: the probabilities of one constituent at least over each span, of two, and so on."""
        counted = self._sets.counted[self._symbol] | (not nary)
        parts = islice(self._parts(self._sets.of_all(nary)), most)
        found = [np.bincount(self._cell, part * counted, n_cells) for part in parts]
        return np.array(found, np.float64).reshape(most, n_cells)

    def expected(self, nary: bool) -> float:
        """The expected number of constituents."""
        return float(self._whole[self._sets.counted[self._symbol]].sum() if nary else self._whole.sum())

    def _of(self, nodes: NDArray[np.int64]) -> Occurrences:
        columns = self._cell, self._symbol, self._whole, self._own, self._log_outside
        return Occurrences(self._sets, *(column[nodes] for column in columns))

    def _parts(self, chains: Returns) -> Iterator[NDArray[np.float64]]:
        """Yield by node its part of the probability of one of its set over its span, of two, and so on."""
        return last_ones(chains, self._cell, self._symbol, self._log_outside, self._whole, self._own)


def last_ones(
    chains: Returns, cell: Ints, row: Ints, log_outside: Floats, whole: Floats, own: Floats | None = None
) -> Iterator[NDArray[np.float64]]:
    """Yield of the ``whole`` value of each row in a cell what has it as the last one of its set.

    Then what has it as the last but one, and so on. The rows of a cell follow each other; ``log_outside`` are
    the logarithms of what values were multiplied with, up to a term of the cell's. With the ``own`` values of
    all rows nothing is subtracted for the first.
    """
    stays, slot = chains.stays[row], np.full(len(chains.stays), -1, np.int32)

    def above(values: Floats, links: Links = chains.links) -> Floats:
        total = np.zeros(len(values))
        if len(links.top):
            pass_on(links, cell, row, log_outside, values, slot, total)
        return total

    if own is None:
        found = np.maximum(stays * whole - above(whole), 0.0)
    else:
        several = np.zeros(len(chains.stays), np.bool_)
        several[chains.ends.top] = True
        found = np.where(several[row], above(own, chains.ends), stays * whole)
    while True:
        yield found
        found = (1.0 - stays) * found + above(found)


@kernel
def pass_on(
    links: Links, cell: Ints, row: Ints, log_outside: Floats, values: Floats, slot: Ints, total: Floats
) -> None:
    """Add to ``total`` what the links take there of the values of rows of the same cell.

    ``log_outside`` is as in ``last_ones``; ``slot`` [row] is -1 before and after.
    """
    first = 0
    while first < len(cell):
        last = first
        while last < len(cell) and cell[last] == cell[first]:
            slot[row[last]] = last
            last += 1
        for place in range(first, last):
            for entry in range(links.start[row[place]], links.start[row[place] + 1]):
                top = slot[links.top[entry]]
                if top >= 0 and values[place] > 0:
                    log_share = links.log[entry] + log_outside[top] - log_outside[place]
                    total[top] += np.exp(log_share) * values[place]
        for place in range(first, last):
            slot[row[place]] = -1
        first = last
