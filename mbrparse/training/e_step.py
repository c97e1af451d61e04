"""The E step and the M step of split-merge training: rounds of EM for states on observed trees."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mbrparse.charts.rule_tables import Floats
from mbrparse.errors import GrammarError
from mbrparse.grammar.rules import Rule, TerminalKind, quote
from mbrparse.jobs import Inline, share
from mbrparse.training.count import checked_children, rule_name
from mbrparse.training.iterations import alternate
from mbrparse.training.state_kernels import Pairs, StateTables, TreeArrays, expect_trees
from mbrparse.training.states import ROOT, Layout
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.labels import escape
from mbrparse.treebank.tree import Tree

# The number of parts of the trees. Their sums are added in order, whatever the number of jobs.
_PARTS = 8
#: Probabilities below this become zero, as they would in a few rounds more.
SMALLEST = 1e-30
#: A change of probabilities by their layout, in place, after each round: smoothing.
Change = Callable[[Layout, Floats], None]
_NO_PAIRS = Pairs(np.zeros(1, np.int32), np.zeros(0), np.zeros(0))


class ObservedTrees(NamedTuple):
    """Trees and their rules, in ascending order, without states."""

    rules: tuple[Rule, ...]
    arrays: TreeArrays


def observe(trees: Iterable[SourceTree], terminals: TerminalKind) -> ObservedTrees:
    """The arrays of binarized trees; raises GrammarError as ``induce`` does.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> trees = observe([SourceTree("", 1, read_tree("(S (NP (PRP he)) (VBZ is))"))], "words")
    >>> [(str(trees.rules[rule]), left) for rule, left in zip(trees.arrays.rule, trees.arrays.left.tolist())]
    [("PRP -> 'he'", -1), ('NP -> PRP', 0), ("VBZ -> 'is'", -1), ('S -> NP VBZ', 1), (' -> S', 3)]
    """
    words = terminals == "words"
    ids: dict[tuple[str, ...], int] = {}
    first, rule, left, right = array("i", [0]), array("i"), array("i"), array("i")

    def add(names: tuple[str, ...], children: Sequence[int]) -> int:
        rule.append(ids.setdefault(names, len(ids)))
        left.append(children[0] if children else -1)
        right.append(children[1] if len(children) > 1 else -1)
        return len(rule) - 1 - first[-1]

    def leaf(node: Tree) -> int:
        return add((escape(node.label), quote(node.word)), ()) if words and node.word is not None else -1

    def inner(node: Tree, places: Sequence[int]) -> int:
        children = checked_children(node, source)
        if len(children) == 1 and places[0] < 0:
            tag = children[0].label
            places = [add((escape(tag), quote(tag)), ())]
        return add((node.label, *(rule_name(child, words, len(children)) for child in children)), places)

    for source in trees:
        add((ROOT, source.tree.label), (source.tree.fold(leaf, inner),))
        first.append(len(rule))
    if not rule:
        raise GrammarError("no trees to train on", remedy="give binarized trees: mbrparse binarize")
    names = sorted(ids)
    place = np.empty(len(ids), np.int32)
    place[[ids[name] for name in names]] = np.arange(len(ids))
    columns = (np.array(values, np.int32) for values in (first, rule, left, right))
    firsts, numbers, lefts, rights = columns
    rules = tuple(Rule(parent, tuple(children)) for parent, *children in names)
    return ObservedTrees(rules, TreeArrays(firsts, place[numbers], lefts, rights))


class StateSums(NamedTuple):
    """Sums over all trees."""

    counts: Floats  # by number of the layout, expected counts divided by the probability
    loss: Floats  # as ``Pairs`` has them
    log_likelihood: float
    left_out: int  # trees without a derivation


class ObservedEStep:
    """The E step on observed trees; an executor's workers share its parts."""

    def __init__(self, trees: TreeArrays, executor: Executor | None = None) -> None:
        self._executor = executor or Inline()
        ends = np.searchsorted(trees.first, np.linspace(0, trees.first[-1], _PARTS + 1)).tolist()
        self._parts = [(begin, end) for begin, end in pairwise(ends) if end > begin]
        self._trees = share(self._executor, trees)

    def expect(self, layout: Layout, values: Floats, pairs: Pairs = _NO_PAIRS) -> StateSums:
        """The sums for these probabilities; raises WorkersError if workers die."""
        tables = share(self._executor, layout.tables._replace(value=values))
        futures = [self._executor.submit(_sums, self._trees, tables, pairs, part) for part in self._parts]
        total, *others = (future.result() for future in futures)
        for more in others:
            np.add(total.counts, more.counts, out=total.counts)
            np.add(total.loss, more.loss, out=total.loss)
        log_likelihood = sum((more.log_likelihood for more in others), total.log_likelihood)
        return total._replace(
            log_likelihood=log_likelihood, left_out=total.left_out + sum(more.left_out for more in others)
        )

    def rounds(self, layout: Layout, change: Change | None = None) -> Iterator[tuple[Floats, StateSums]]:
        """Yield probabilities by the layout, at first its own, and what is expected under them."""
        return alternate(
            layout.tables.value,
            lambda values: self.expect(layout, values),
            lambda values, sums: maximized(layout, values * sums.counts, change),
        )


def _sums(trees: TreeArrays, tables: StateTables, pairs: Pairs, part: tuple[int, int]) -> StateSums:
    sums = np.zeros(len(tables.value))
    mine = pairs._replace(loss=np.zeros_like(pairs.loss))
    log_probs = expect_trees(trees, tables, mine, *part, sums)
    derived = np.isfinite(log_probs)
    return StateSums(sums, mine.loss, float(log_probs[derived].sum()), int((~derived).sum()))


def maximized(layout: Layout, counts: Floats, change: Change | None = None) -> Floats:
    """The M step, in place: each parent's state has a sum of one, or of zero if it was never used."""
    for block in layout.of_parents(counts):
        total = block.sum(axis=0)
        np.multiply(block, np.divide(1.0, total, out=np.zeros_like(total), where=total > 0), out=block)
        block[block < SMALLEST] = 0.0
    if change is not None:
        change(layout, counts)
    return counts
