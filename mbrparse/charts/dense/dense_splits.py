"""The sums over splits of dense cells, for any way of laying out a chart.

All products of a pair of children are summed over the splits first, TILE pairs with the same left child
side by side; then each rule is applied once a cell. What the lanes stand for is the caller's: a vector has
the same cell of several sentences, or neighbouring cells of one.

One text serves both semirings: where ``maximize`` is None, products are added up, else their maximum is
taken. numba compiles it once for each and drops the branches that are not its own: two texts were no
faster (1.02 to 1.04 of their rates).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mbrparse.charts.dense.dense_state import Tiles, WideRules
from mbrparse.charts.kernel import kernel
from mbrparse.charts.rule_tables import Floats
from mbrparse.charts.vector import (
    add,
    any_positive,
    load,
    load_from,
    maximum,
    multiply,
    multiply_add,
    spread,
    store,
    store_to,
    zeros,
)


class Splits(NamedTuple):
    """Where the children of a cell are, from the first split to the last; all count in numbers.

    A symbol's values are ``pitch`` times its wide id further on.
    """

    number: int
    left: int
    left_step: int
    left_pitch: int
    right: int
    right_step: int
    right_bend: int  # so much smaller is each step than the one before
    right_pitch: int


@kernel
def plus_product(first: Any, second: Any, total: Any, maximize: bool | None) -> Any:
    """``total`` plus a product, of vectors."""
    if maximize is None:
        return multiply_add(first, second, total)
    return maximum(total, multiply(first, second))


@kernel
def plus(total: float, value: float, maximize: bool | None) -> float:
    """``total`` plus a number."""
    if maximize is None:
        return total + value
    return max(total, value)


@kernel
def sum_splits(
    tiles: Tiles, scratch: Floats, lefts: Floats, rights: Floats, splits: Splits, maximize: bool | None
) -> None:
    """Sum the products of each pair of children over the splits, into ``scratch``."""
    tile_left, tile_right = tiles
    for tile in range(len(tile_left)):
        slot = 4 * tile
        left = splits.left + tile_left[tile] * splits.left_pitch
        right0 = tile_right[slot] * splits.right_pitch
        right1 = tile_right[slot + 1] * splits.right_pitch
        right2 = tile_right[slot + 2] * splits.right_pitch
        right3 = tile_right[slot + 3] * splits.right_pitch
        sum0 = zeros(scratch)
        sum1 = sum0
        sum2 = sum0
        sum3 = sum0
        here, there, step = 0, splits.right, splits.right_step
        for _ in range(splits.number):
            value = load_from(lefts, here, left)
            sum0 = plus_product(value, load_from(rights, there, right0), sum0, maximize)
            sum1 = plus_product(value, load_from(rights, there, right1), sum1, maximize)
            sum2 = plus_product(value, load_from(rights, there, right2), sum2, maximize)
            sum3 = plus_product(value, load_from(rights, there, right3), sum3, maximize)
            here += splits.left_step
            there += step
            step -= splits.right_bend
        store(scratch, slot, 0, sum0)
        store(scratch, slot, 1, sum1)
        store(scratch, slot, 2, sum2)
        store(scratch, slot, 3, sum3)


@kernel
def apply_rules(rules: WideRules, scratch: Floats, parent: int, total: Any, maximize: bool | None) -> Any:
    """``total`` plus what the pairs in ``scratch`` give to a parent."""
    start, pairs, prob = rules
    for rule in range(start[parent], start[parent + 1]):
        total = plus_product(spread(prob, rule), load(scratch, 0, pairs[rule]), total, maximize)
    return total


class Families(NamedTuple):
    """The inside values of left and right children, and where their outside values are summed up.

    The latter lie at the same places as the former, or ``left_shift`` further on.
    """

    lefts: Floats
    rights: Floats
    to_lefts: Floats
    to_rights: Floats
    left_shift: int


@kernel
def pass_splits(
    tiles: Tiles,
    rules: WideRules,
    family: Families,
    outside: Floats,
    base: int,
    pitch: int,
    splits: Splits,
) -> None:
    """Pass to all pairs of wide children what a cell's nodes have.

    Those are in ``outside``, from ``base`` on, ``pitch`` apart.
    """
    lefts, rights, to_lefts, to_rights, left_shift = family
    tile_left, tile_right = tiles
    for tile in range(len(tile_left)):
        slot = 4 * tile
        weight0 = _receive(rules, outside, base, pitch, slot)
        weight1 = _receive(rules, outside, base, pitch, slot + 1)
        weight2 = _receive(rules, outside, base, pitch, slot + 2)
        weight3 = _receive(rules, outside, base, pitch, slot + 3)
        if not any_positive(add(add(weight0, weight1), add(weight2, weight3))):
            continue
        left = splits.left + tile_left[tile] * splits.left_pitch
        to_left = left + left_shift
        right0 = tile_right[slot] * splits.right_pitch
        right1 = tile_right[slot + 1] * splits.right_pitch
        right2 = tile_right[slot + 2] * splits.right_pitch
        right3 = tile_right[slot + 3] * splits.right_pitch
        here, there, step = 0, splits.right, splits.right_step
        for _ in range(splits.number):
            value = load_from(lefts, here, left)
            total = load_from(to_lefts, here, to_left)
            total = multiply_add(weight0, load_from(rights, there, right0), total)
            total = multiply_add(weight1, load_from(rights, there, right1), total)
            total = multiply_add(weight2, load_from(rights, there, right2), total)
            total = multiply_add(weight3, load_from(rights, there, right3), total)
            store_to(to_lefts, here, to_left, total)
            _add_product(to_rights, there, right0, weight0, value)
            _add_product(to_rights, there, right1, weight1, value)
            _add_product(to_rights, there, right2, weight2, value)
            _add_product(to_rights, there, right3, weight3, value)
            here += splits.left_step
            there += step
            step -= splits.right_bend


@kernel
def _add_product(array: Floats, place: int, offset: int, weight: Any, value: Any) -> None:
    store_to(array, place, offset, multiply_add(weight, value, load_from(array, place, offset)))


@kernel
def _receive(rules: WideRules, outside: Floats, base: int, pitch: int, pair: int) -> Any:
    """What a pair of children receives from its parents in this cell."""
    start, parents, prob = rules
    total = zeros(outside)
    for rule in range(start[pair], start[pair + 1]):
        parent = load_from(outside, base, parents[rule] * pitch)
        total = multiply_add(spread(prob, rule), parent, total)
    return total
