"""How often the symbols of a set stand over the spans of a sentence: once at least, twice, and so on.

With unary rules inside * outside is an expected number, which copies of a label bring above a probability.
Let C = (I - U)^-1 be the closure over unary rules (rule_tables), and C_LL its part for a set L of symbols.
R = I - C_LL^-1 is the probability, by symbol of L, that this or that one is the next of L down the chain.
With the inside and outside values of L over a span, and Z the sentence's probability,

    P(k symbols of L at least) = outside_L (I - R) R^(k-1) inside_L / Z.

Preterminals are no constituents: over a word inside values are those of symbols that are not rewritten as it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbrparse.charts.rule_tables import Floats, Ints, UnaryTables, other_rules, ranges, unary_closure
from mbrparse.charts.spans import NO_LABEL
from mbrparse.treebank.labels import is_continuation_label

if TYPE_CHECKING:
    from mbrparse.grammar.pcfg import PCFG


class Returns(NamedTuple):
    """The matrix R of the sets of symbols that share a label.

    ``stays`` [symbol] is 1 - R[A, A]. What R has beside its diagonal is listed by bottom symbol.
    """

    stays: NDArray[np.float64]
    start: Ints
    top: Ints
    value: NDArray[np.float64]

    @property
    def are_none(self) -> bool:
        """Whether no chain of unary rules comes to a set twice."""
        return not len(self.top) and bool((self.stays == 1.0).all())


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
    bottom = np.repeat(np.arange(count), np.diff(closure.closure_start))
    own = top == bottom
    stays, members = 1.0 / closure.closure_value[own], label != NO_LABEL
    stays[~members] = 1.0
    probs, final = np.exp(grammar.unary_log_prob), np.array(list(other_rules(grammar, None).values()))
    tops, bottoms, values = [top[:0]], [np.zeros(0, np.int64)], [np.zeros(0)]
    for one in np.unique(label[top[~own & members[top] & (label[top] == label[bottom])]]):
        # Chains up to where they come to the set again, and the rules that bring them there.
        into = label[grammar.unary_child] == one
        between = unary_closure(grammar, ~into)
        which, entry = ranges(between.start, grammar.unary_parent[into])
        above, below = between.top[entry], grammar.unary_child[into][which]
        value = between.value[entry] * probs[into][which]
        chosen = (label[above] == one) & (above != below)
        pairs = above[chosen].astype(np.int64) * count + below[chosen]
        key, place = np.unique(pairs, return_inverse=True)
        tops.append((key // count).astype(np.int32))
        bottoms.append(key % count)
        values.append(np.bincount(place, value[chosen], len(key)).astype(np.float64))
        symbol = np.repeat(np.arange(count), np.diff(between.start))
        leaves = np.bincount(between.top, between.value * final[symbol], count)
        leaves += np.bincount(tops[-1], values[-1], count)
        cyclic = (label == one) & (stays < 1.0)
        stays[cyclic] = leaves[cyclic]
    order = np.argsort(np.concatenate(bottoms), kind="stable")
    start = np.searchsorted(np.concatenate(bottoms)[order], np.arange(count + 1)).astype(np.int32)
    return Returns(stays, start, np.concatenate(tops)[order], np.concatenate(values)[order])


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

    ``inside`` [node] values are those of constituents, ``outside`` those of nodes, divided by the sentence's
    probability; both may be scaled, cell by cell. Cells are those of ``spans.cell_of``.
    """

    def __init__(self, sets: LabelSets, cell: Ints, symbol: Ints, inside: Floats, outside: Floats) -> None:
        self._sets, self._cell, self._symbol = sets, cell, symbol
        self._inside, self._outside = inside, outside

    def by_label(self) -> NDArray[np.float64]:
        """By node its part of the probability that its label is there."""
        return next(self._parts(self._sets.by_label))

    def by_span(self) -> NDArray[np.float64]:
        """By node its part of the probability that a constituent of the binary tree is over its span."""
        return next(self._parts(self._sets.of_all(nary=False)))

    def matches(self, cell: int, label: str, k: int) -> float:
        """How many of ``k`` constituents of a projected label over a span are expected to be right."""
        over = np.flatnonzero(self._cell == cell)
        here = over[self._sets.projected[self._symbol[over]] == self._sets.ids.get(label, NO_LABEL)]
        if not len(here):
            return 0.0
        parts = self._of(here)._parts(self._sets.by_projected)
        return float(sum(part.sum() for part in islice(parts, k)))

    def brackets(self, n_cells: int, most: int, nary: bool) -> NDArray[np.float64]:
        """[most, cell]: the probabilities of one constituent at least over each span, of two, and so on."""
        chosen = self._of(np.flatnonzero(self._sets.counted[self._symbol])) if nary else self
        parts = islice(chosen._parts(self._sets.of_all(nary)), most)
        return np.array([np.bincount(chosen._cell, part, n_cells) for part in parts]).reshape(most, n_cells)

    def expected(self, nary: bool) -> float:
        """The expected number of constituents."""
        g = self._inside * self._outside
        return float(g[self._sets.counted[self._symbol]].sum() if nary else g.sum())

    def _of(self, nodes: NDArray[np.int64]) -> Occurrences:
        columns = self._cell, self._symbol, self._inside, self._outside
        return Occurrences(self._sets, *(column[nodes] for column in columns))

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The nodes by cell and symbol, and the key of each: cell * symbols + symbol."""
        key = self._cell.astype(np.int64) * len(self._sets.label) + self._symbol
        order = np.argsort(key)
        return order, key[order]

    def _parts(self, chains: Returns) -> Iterator[NDArray[np.float64]]:
        """Yield by node its part of the probability of one of its set over its span, of two, and so on.

        That is what trees have in which it is the last one, the last but one, and so on.
        """
        stays, size = chains.stays[self._symbol], len(self._symbol)
        bottom, entry = ranges(chains.start, self._symbol)
        order, keys = self._sorted
        key = self._cell[bottom].astype(np.int64) * len(chains.stays) + chains.top[entry]
        place = np.minimum(np.searchsorted(keys, key), size - 1)
        there = keys[place] == key
        top, bottom, value = order[place[there]], bottom[there], chains.value[entry[there]]

        def above(values: Floats) -> NDArray[np.float64]:
            return np.bincount(top, value * values[bottom], size).astype(np.float64)

        found = np.maximum(stays * self._inside - above(self._inside), 0.0)
        while True:
            yield self._outside * found
            found = (1.0 - stays) * found + above(found)
