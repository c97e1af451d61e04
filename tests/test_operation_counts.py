"""A guard of the kernels' speed that knows no clock: how many operations a chart takes.

A grammar counted from the embedded flights, sentences of ten tags. What is stated here are bounds: a
change that makes the kernels do more work breaks them, one that makes them do less is welcome to lower
them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from counting import CountedReads, counted, uncompiled

from mbrparse.charts.base.chart import Wanted
from mbrparse.charts.base.packed_forest import Partners
from mbrparse.charts.base.rule_tables import SparseTables, chart_rules, sparse_tables
from mbrparse.charts.dense import dense_charts, dense_readings, diagonal_charts
from mbrparse.charts.dense.dense_state import TILE, DenseTables, dense_tables
from mbrparse.charts.factory import ChartFactory
from mbrparse.charts.forest import forests
from mbrparse.grammar.pcfg import PCFG, IntArray
from mbrparse.training.count import induce
from mbrparse.treebank.binarize import Binarization
from mbrparse.treebank.corpora.prepare import Preparation, PreparationStatistics, prepare
from mbrparse.treebank.corpora.reading import read_corpus

LENGTH = 10
EVERYTHING = Wanted(summaries=True, derivations=True)


@cache
def flights(vmarkov: int = 1, hmarkov: float = 0) -> tuple[PCFG, tuple[IntArray, ...]]:
    """A grammar of the embedded treebank and its sentences of ten tags."""
    how = Preparation(binarization=Binarization("right", hmarkov, vmarkov))
    trees = list(prepare(read_corpus("embedded:flights"), how, PreparationStatistics()))
    grammar = PCFG.from_rules(induce(trees, "tags"))
    tags = [[leaf.label for leaf in one.tree.leaves()] for one in trees]
    return grammar, tuple(grammar.encode(sentence) for sentence in tags if len(sentence) == LENGTH)


class Counted:
    """What each kernel did: ``work[kernel][operation]``."""

    def __init__(self) -> None:
        self.work: dict[str, Counter[str]] = {}
        self.operations: Counter[str] = Counter()
        self.arrays: dict[str, CountedReads] = {}

    def now(self) -> Counter[str]:
        reads = {name: array.reads for name, array in self.arrays.items()}
        return Counter({**self.operations, **reads})

    def count(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel that books what it does under its name."""

        def booked(*arguments: Any) -> Any:
            before = self.now()
            result = kernel(*arguments)
            self.work[name] = self.work.get(name, Counter()) + (self.now() - before)
            return result

        return booked

    def watch(self, **arrays: Any) -> dict[str, Any]:
        """Copies of arrays whose reads are counted."""
        self.arrays.update({name: counted(array) for name, array in arrays.items()})
        return {name: self.arrays[name] for name in arrays}


@pytest.fixture
def dense(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Counts of the dense kernels."""
    counts = Counted()

    def tables(rules: Any, dtype: Any) -> DenseTables:
        real = dense_tables(rules, dtype)
        left, right = real.narrow_left, real.narrow_right
        watched = counts.watch(left_prob=left.prob, right_prob=right.prob)
        return real._replace(
            narrow_left=left._replace(prob=watched["left_prob"]),
            narrow_right=right._replace(prob=watched["right_prob"]),
        )

    monkeypatch.setattr(dense_charts, "dense_tables", tables)
    for module in (dense_charts, dense_readings, diagonal_charts):
        for name, plain in uncompiled(module, counts.operations).items():
            monkeypatch.setattr(module, name, counts.count(name, plain))
    return counts


@pytest.fixture
def forest(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Counts of the forest's kernels."""
    counts = Counted()
    kernels = uncompiled(forests, counts.operations)

    def tables(rules: Any) -> SparseTables:
        real = sparse_tables(rules)
        return real._replace(**counts.watch(rule_prob=real.rule_prob))

    def partners(value: Any, **arrays: Any) -> Partners:
        return Partners(**arrays, **counts.watch(value=value))

    monkeypatch.setattr(forests, "sparse_tables", tables)
    monkeypatch.setattr(forests, "Partners", partners)
    for name, plain in kernels.items():
        monkeypatch.setattr(forests, name, counts.count(name, plain))
    return counts


def tag_symbols(grammar: PCFG, sentence: IntArray) -> list[int]:
    """The symbols that stand for the tags of a sentence."""
    return [grammar.symbols.index(f"'{grammar.terminals[terminal]}'") for terminal in sentence.tolist()]


def splits_between_wide() -> int:
    """Over all spans, the splits that leave two parts of two or more tags."""
    return sum((width - 3) * (LENGTH - width + 1) for width in range(4, LENGTH + 1))


def wide_cells() -> int:
    """The spans that have such a split."""
    return sum(LENGTH - width + 1 for width in range(4, LENGTH + 1))


def test_dense_tables_are_as_small_as_they_can_be() -> None:
    tables = dense_tables(chart_rules(flights()[0]))
    pairs = {
        (int(tables.tiles.left[slot // TILE]), int(tables.tiles.right[slot]))
        for slot in tables.by_parent.other.tolist()
    }
    lefts = Counter(left for left, _ in pairs)
    # Each pair of children has one place, and only the last tile of a left child has idle ones.
    assert len(set(tables.by_parent.other.tolist())) == len(pairs)
    assert len(tables.tiles.left) == sum(math.ceil(count / TILE) for count in lefts.values())
    # Tags are no wide symbols, and rules with a tag stay out of the tables of wide ones.
    assert len(tables.symbol) == len(set(flights()[0].parent.tolist()))
    kinds = tables.by_parent, tables.narrow_left, tables.narrow_right, tables.narrow_both
    assert sum(len(rules.prob) for rules in kinds) == len(flights()[0].parent)


def test_dense_kernels_multiply_once_a_split_and_apply_each_rule_once_a_cell(dense: Counted) -> None:
    grammar, sentences = flights()
    tables = dense_tables(chart_rules(grammar))
    pairs, rules = TILE * len(tables.tiles.left), len(tables.by_parent.prob)
    ChartFactory(grammar, wanted=EVERYTHING, kernel="dense").charts(sentences[:8])
    products, applications = pairs * splits_between_wide(), rules * wide_cells()
    posteriors, best = dense.work["dense_posteriors"], dense.work["dense_derivations"]
    # A posterior takes one product an item.
    summary = len(tables.symbol) * LENGTH * (LENGTH - 1) // 2
    assert 0 < posteriors["multiply_add"] <= 3 * products + 2 * applications + summary
    assert 0 < best["multiply"] <= products + applications
    # Five loads feed four products.
    assert best["load"] <= products * (TILE + 1) // TILE + applications + len(tables.symbol) * wide_cells()
    # In figures, for this grammar:
    assert pairs <= 64
    assert rules <= 58
    assert best["multiply"] <= 7000


def test_rules_with_a_tag_are_read_once_a_word_or_once_a_cell(dense: Counted) -> None:
    grammar, sentences = flights()
    tables = dense_tables(chart_rules(grammar))
    ChartFactory(grammar, kernel="dense").charts(sentences[:8])
    symbols = [symbol for sentence in sentences[:8] for symbol in tag_symbols(grammar, sentence)]
    on_the_left = np.diff(tables.narrow_left.start.astype(np.int64))[symbols]
    on_the_right = np.diff(tables.narrow_right.start.astype(np.int64))[symbols]
    # Twice by the posteriors: on the way up and on the way down.
    assert dense.work["dense_posteriors"]["left_prob"] <= 2 * on_the_left.sum()
    ends = np.tile(np.arange(1, LENGTH + 1), 8)
    starts_before = np.maximum(ends - 2, 0)  # those that leave two tags before the last
    assert dense.work["dense_posteriors"]["right_prob"] <= 2 * (on_the_right * starts_before).sum()


def test_eight_sentences_take_the_operations_of_five(dense: Counted) -> None:
    grammar, sentences = flights()
    work = []
    for count in (5, 8):
        dense.work.clear()
        ChartFactory(grammar, wanted=EVERYTHING, kernel="dense").charts(sentences[:count])
        work.append(dense.work["dense_derivations"]["multiply"])
    assert work[0] == work[1] > 0


def test_a_sentence_alone_takes_one_operation_for_eight_cells_of_a_diagonal(dense: Counted) -> None:
    grammar, sentences = flights()
    tables = dense_tables(chart_rules(grammar))
    pairs, rules = TILE * len(tables.tiles.left), len(tables.by_parent.prob)
    ChartFactory(grammar, wanted=EVERYTHING, kernel="dense").charts(sentences[:1])
    vectors = {width: math.ceil((LENGTH - width + 1) / 8) for width in range(2, LENGTH + 1)}
    products = pairs * sum((width - 3) * count for width, count in vectors.items() if width > 3)
    applications = rules * sum(count for width, count in vectors.items() if width > 3)
    posteriors, best = dense.work["diagonal_posteriors"], dense.work["diagonal_derivation"]
    assert 0 < best["multiply"] <= products + applications
    summary = len(tables.symbol) * sum(vectors.values())
    assert 0 < posteriors["multiply_add"] <= 3 * products + 2 * applications + summary


@pytest.mark.parametrize(("vmarkov", "hmarkov"), [(1, 0), (2, math.inf)])
def test_forests_compute_the_products_that_are_not_zero(
    forest: Counted, vmarkov: int, hmarkov: float
) -> None:
    grammar, sentences = flights(vmarkov, hmarkov)
    products, items = nonzero_products(grammar, sentences[0])
    forest.work.clear()
    for wanted in (Wanted(), Wanted(summaries=False, derivations=True)):
        ChartFactory(grammar, wanted=wanted, kernel="forest").charts(sentences[:1])
    inside, outside = forest.work["forest_inside"], forest.work["forest_outside"]
    # The two ways up, with sums and with maxima: each product of two children takes one value of a left one.
    assert 0 < inside["value"] <= 2 * products
    assert inside["rule_prob"] <= 2 * products
    assert outside["rule_prob"] <= products
    assert outside["value"] <= products
    # In figures, for this sentence:
    assert products <= {1: 229, 2: 178}[vmarkov]
    assert items <= {1: 142, 2: 178}[vmarkov]
    # What the sums tell of a derivation is not searched for.
    forest.work.clear()
    [chart] = ChartFactory(grammar, wanted=EVERYTHING, kernel="forest").charts(sentences[:1])
    assert chart.viterbi().nodes
    assert forest.work["best_of_forest"]["rule_prob"] < forest.work["forest_inside"]["rule_prob"]


def predicted(grammar: PCFG, before: set[int] | None) -> set[int]:
    """Left corners of what follows some symbols, or of the roots: what may begin there."""
    rules = list(zip(grammar.parent.tolist(), grammar.left.tolist(), grammar.right.tolist(), strict=True))
    found = set(np.flatnonzero(np.isfinite(grammar.root_log_prob)).tolist())
    if before is not None:
        found = {right for _, left, right in rules if left in before}
    while new := {left for parent, left, _ in rules if parent in found} - found:
        found |= new
    return found


def nonzero_products(grammar: PCFG, sentence: IntArray) -> tuple[int, int]:
    """Rules times splits whose two children are both there and predicted, by the finished chart; items."""
    [chart] = ChartFactory(grammar, kernel="dense").charts([sentence])
    tags = tag_symbols(grammar, sentence)
    alive = {(position, position + 1): {tag} for position, tag in enumerate(tags)}
    for start in range(LENGTH):
        ending = set().union(*(alive[before, start] for before in range(start)))
        here = predicted(grammar, ending if start else None)
        for end in range(start + 2, LENGTH + 1):
            alive[start, end] = here & set(chart.inside(start, end)[0].tolist())
    children = list(zip(grammar.left.tolist(), grammar.right.tolist(), strict=True))
    products = sum(
        left in alive[start, split] and right in alive[split, end]
        for start in range(LENGTH)
        for end in range(start + 2, LENGTH + 1)
        for split in range(start + 1, end)
        for left, right in children
    )
    return products, sum(len(symbols) for symbols in alive.values())
