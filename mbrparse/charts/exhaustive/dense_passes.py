"""Passes over the dense chart of a sentence: inside values or those of the best derivations; outside values.

All products of a pair of wide children are summed over the splits first, TILE pairs with the same left child
side by side; then each rule is applied once a cell. One text serves both semirings: products are added up,
or with ``maximize`` their maximum is taken.

Values are multiplied by a power of two for each word that they span (``rule_tables.token_shift``), so that
they stay near one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mbrparse.charts import kernel, vector
from mbrparse.charts.exhaustive.dense_tables import (
    TILE,
    DenseSentence,
    DenseTables,
    RulesOfPairs,
    RulesOfWords,
    Tiles,
)
from mbrparse.charts.rule_tables import Floats, Ints, Offsets


@kernel.inner_kernel
def plus_product(first: Any, second: Any, total: Any, maximize: bool) -> Any:
    """``total`` plus a product, of vectors."""
    if maximize:
        return vector.maximum(total, vector.multiply(first, second))
    return vector.multiply_add(first, second, total)


@kernel.inner_kernel
def dense_inside(
    tables: DenseTables, sentence: DenseSentence, chart: Floats, maximize: bool
) -> tuple[Ints, float, float]:
    """Fill a chart with inside values or, to ``maximize``, the probability of each node's best derivation.

    Returns the slots of the words, and the least and the largest value that is not zero.
    """
    n_wide, least, scratch = tables.n_wide, tables.least, sentence.scratch
    pad, pitch, plane, base = sentence.pad, sentence.pitch, sentence.plane, sentence.base
    tiles, (start, pairs, prob), words = tables.tiles, tables.by_parent, tables.words
    first_word, last_word, two_words = tables.first_word, tables.last_word, tables.two_words
    _clear(tables, sentence, chart)
    slots = _enter_words(tables, sentence, chart)
    for first in range((pad + 1) // vector.LANES * vector.LANES, pad + sentence.length + 1, vector.LANES):
        widest = first + vector.LANES - 1 - pad
        for width in range(2, widest + 1):
            here = width * pitch + first
            below = here - pitch  # the cells of the next smaller width
            if width == 2:
                _join_words(two_words, base, slots, chart, here, pitch + first - 1, below, maximize)
            if width > least:
                word = pitch + first - width + 1
                _join_words(first_word, base, slots, chart, here, word, below, maximize)
                _join_words(last_word, base, slots, chart, here, pitch + first, below - 1, maximize)
            if width >= 2 * least:
                _sum_splits(tiles, sentence, chart, first, width, least, maximize)
                for parent in range(n_wide):
                    if start[parent] == start[parent + 1]:
                        continue
                    total = vector.load_from(chart, parent * plane, here)
                    for rule in range(start[parent], start[parent + 1]):
                        value = vector.load_from(scratch, pairs[rule] * vector.LANES, 0)
                        total = plus_product(vector.spread(prob, rule), value, total, maximize)
                    vector.store_to(chart, parent * plane, here, total)
    smallest, largest = _least_and_largest(tables, sentence, chart)
    for position in range(sentence.length):
        place, token = pitch + pad + position + 1, sentence.tokens[position]
        for entry in range(words.start[token], words.start[token + 1]):
            if words.prob[entry] > 0:
                value = chart[base[words.slot[entry]] + place]
                smallest, largest = min(smallest, value), max(largest, value)
    return slots, smallest, largest


@kernel.inner_kernel
def _enter_words(tables: DenseTables, sentence: DenseSentence, chart: Floats) -> Ints:
    """Enter the values of the words' symbols; returns their slots."""
    start, slot, prob, _ = tables.words
    base, is_there, count = sentence.base, np.zeros(len(tables.symbol), np.bool_), 0
    for position in range(sentence.length):
        place, token = sentence.pitch + sentence.pad + position + 1, sentence.tokens[position]
        for entry in range(start[token], start[token + 1]):
            chart[base[slot[entry]] + place] = prob[entry] * sentence.factor
            count += 0 if is_there[slot[entry]] else 1
            is_there[slot[entry]] = True
    slots, count = np.empty(count, np.int32), 0
    for one in range(len(is_there)):
        if is_there[one]:
            slots[count] = one
            count += 1
    return slots


@kernel.inner_kernel
def _clear(tables: DenseTables, sentence: DenseSentence, chart: Floats) -> None:
    """Set all to zero that is read of a chart: its cells, and those before the sentence beside them."""
    pad, pitch, plane, nothing = sentence.pad, sentence.pitch, sentence.plane, vector.zeros(chart)
    for symbol in range(tables.n_wide):
        for width in range(sentence.length + 1):
            place = symbol * plane + width * pitch
            # The block before the first that has a cell of this width is read too.
            begin = max((pad + width) // vector.LANES - 1, 0) * vector.LANES
            for first in range(begin, pitch, vector.LANES):
                vector.store_to(chart, place, first, nothing)
    narrow = tables.n_wide * plane
    for place in range(narrow, narrow + (len(tables.symbol) - tables.n_wide) * pitch, vector.LANES):
        vector.store_to(chart, place, 0, nothing)


@kernel.inner_kernel
def _sum_splits(
    tiles: Tiles,
    sentence: DenseSentence,
    chart: Floats,
    first: int,
    width: int,
    least: int,
    maximize: bool,
) -> None:
    """Sum the products of each pair of children over the splits of a block's cells, into ``scratch``."""
    tile_left, tile_right = tiles
    pitch, plane, scratch = sentence.pitch, sentence.plane, sentence.scratch
    left_begin, right_begin = least * pitch + first - width + least, (width - least) * pitch + first
    for tile in range(len(tile_left)):
        slot = TILE * tile
        left = tile_left[tile] * plane
        right0 = tile_right[slot] * plane
        right1 = tile_right[slot + 1] * plane
        right2 = tile_right[slot + 2] * plane
        right3 = tile_right[slot + 3] * plane
        sum0 = vector.zeros(scratch)
        sum1 = sum0
        sum2 = sum0
        sum3 = sum0
        here, there = left_begin, right_begin
        for _ in range(width - 2 * least + 1):
            value = vector.load_from(chart, here, left)
            sum0 = plus_product(value, vector.load_from(chart, there, right0), sum0, maximize)
            sum1 = plus_product(value, vector.load_from(chart, there, right1), sum1, maximize)
            sum2 = plus_product(value, vector.load_from(chart, there, right2), sum2, maximize)
            sum3 = plus_product(value, vector.load_from(chart, there, right3), sum3, maximize)
            here += pitch + 1
            there -= pitch
        vector.store_to(scratch, slot * vector.LANES, 0, sum0)
        vector.store_to(scratch, slot * vector.LANES, vector.LANES, sum1)
        vector.store_to(scratch, slot * vector.LANES, 2 * vector.LANES, sum2)
        vector.store_to(scratch, slot * vector.LANES, 3 * vector.LANES, sum3)


@kernel.inner_kernel
def _join_words(
    rules: RulesOfWords,
    base: Offsets,
    slots: Ints,
    chart: Floats,
    here: int,
    word_place: int,
    other_place: int,
    maximize: bool,
) -> None:
    """Combine words with what stands beside them, in the cells at ``here``."""
    start, parents, others, prob = rules
    for slot in slots:
        if start[slot] == start[slot + 1]:
            continue
        word = vector.load_from(chart, base[slot], word_place)
        if not vector.any_positive(word):
            continue
        for rule in range(start[slot], start[slot + 1]):
            value = vector.load_from(chart, base[others[rule]], other_place)
            parent = base[parents[rule]]
            product = vector.multiply(vector.spread(prob, rule), word)
            total = vector.load_from(chart, parent, here)
            vector.store_to(chart, parent, here, plus_product(product, value, total, maximize))


@kernel.inner_kernel
def _least_and_largest(tables: DenseTables, sentence: DenseSentence, chart: Floats) -> tuple[float, float]:
    """The least value of wide symbols that is not zero, and the largest."""
    pad, pitch, nothing = sentence.pad, sentence.pitch, vector.zeros(chart)
    low, peak = vector.repeated(chart, math.inf), nothing
    for symbol in range(tables.n_wide):
        for width in range(tables.least, sentence.length + 1):
            place = symbol * sentence.plane + width * pitch
            for first in range((pad + width) // vector.LANES * vector.LANES, pitch, vector.LANES):
                value = vector.load_from(chart, place, first)
                peak = vector.maximum(peak, value)
                value = vector.choose_greater(value, nothing, value, low)
                low = vector.choose_greater(low, value, value, low)
    return vector.smallest_of(low), vector.largest_of(peak)


@kernel.inner_kernel
def dense_outside(
    tables: DenseTables,
    sentence: DenseSentence,
    slots: Ints,
    inside: Floats,
    outside: Floats,
    total: float,
) -> float:
    """Fill a chart with outside / probability of the sentence (``total``): inside * outside is a posterior.

    ``slots`` are those of the words. Returns the largest value: where it is far below the largest number,
    nothing of weight was lost to zero among inside values.
    """
    n_wide, least, pad = tables.n_wide, tables.least, sentence.pad
    pitch, plane, n = sentence.pitch, sentence.plane, sentence.length
    _clear(tables, sentence, outside)
    for symbol in range(n_wide):
        outside[symbol * plane + n * pitch + pad + n] = tables.root[symbol] / total
    peak = vector.zeros(outside)
    for first in range(
        (pad + n) // vector.LANES * vector.LANES, (pad + 1) // vector.LANES * vector.LANES - 1, -vector.LANES
    ):
        for width in range(first + vector.LANES - 1 - pad, least - 1, -1):
            here, live = width * pitch + first, False
            for symbol in range(n_wide):
                value = vector.load_from(outside, symbol * plane, here)
                peak = vector.maximum(peak, value)
                if vector.any_positive(
                    vector.multiply(value, vector.load_from(inside, symbol * plane, here))
                ):
                    live = True
            if not live or width == 1:
                continue
            below = here - pitch
            if width >= 2 * least:
                _pass_splits(tables.tiles, tables.by_pair, sentence, inside, outside, first, width, least)
            if width > least:
                places = here, pitch + first - width + 1, below
                _pass_words(tables.first_word, sentence.base, slots, inside, outside, places)
                places = here, pitch + first, below - 1
                _pass_words(tables.last_word, sentence.base, slots, inside, outside, places)
            if width == 2:
                places = here, pitch + first - 1, below
                _pass_words(tables.two_words, sentence.base, slots, inside, outside, places)
    highest: float = vector.largest_of(peak)
    return highest


@kernel.inner_kernel
def _pass_splits(
    tiles: Tiles,
    rules: RulesOfPairs,
    sentence: DenseSentence,
    inside: Floats,
    outside: Floats,
    first: int,
    width: int,
    least: int,
) -> None:
    """Pass to all pairs of wide children what the nodes of a block's cells have."""
    tile_left, tile_right = tiles
    pitch, plane, cell = sentence.pitch, sentence.plane, width * sentence.pitch + first
    left_begin, right_begin = least * pitch + first - width + least, (width - least) * pitch + first
    for tile in range(len(tile_left)):
        slot = TILE * tile
        weight0 = _receive(rules, outside, cell, plane, slot)
        weight1 = _receive(rules, outside, cell, plane, slot + 1)
        weight2 = _receive(rules, outside, cell, plane, slot + 2)
        weight3 = _receive(rules, outside, cell, plane, slot + 3)
        if not vector.any_positive(vector.add(vector.add(weight0, weight1), vector.add(weight2, weight3))):
            continue
        left = tile_left[tile] * plane
        right0 = tile_right[slot] * plane
        right1 = tile_right[slot + 1] * plane
        right2 = tile_right[slot + 2] * plane
        right3 = tile_right[slot + 3] * plane
        here, there = left_begin, right_begin
        for _ in range(width - 2 * least + 1):
            value = vector.load_from(inside, here, left)
            total = vector.load_from(outside, here, left)
            total = vector.multiply_add(weight0, vector.load_from(inside, there, right0), total)
            total = vector.multiply_add(weight1, vector.load_from(inside, there, right1), total)
            total = vector.multiply_add(weight2, vector.load_from(inside, there, right2), total)
            total = vector.multiply_add(weight3, vector.load_from(inside, there, right3), total)
            vector.store_to(outside, here, left, total)
            _add_product(outside, there, right0, weight0, value)
            _add_product(outside, there, right1, weight1, value)
            _add_product(outside, there, right2, weight2, value)
            _add_product(outside, there, right3, weight3, value)
            here += pitch + 1
            there -= pitch


@kernel.inner_kernel
def _add_product(array: Floats, place: int, offset: int, weight: Any, value: Any) -> None:
    vector.store_to(
        array, place, offset, vector.multiply_add(weight, value, vector.load_from(array, place, offset))
    )


@kernel.inner_kernel
def _receive(rules: RulesOfPairs, outside: Floats, cell: int, plane: int, pair: int) -> Any:
    """What a pair of children receives from its parents in a block's cells."""
    start, parents, prob = rules
    total = vector.zeros(outside)
    for rule in range(start[pair], start[pair + 1]):
        total = vector.multiply_add(
            vector.spread(prob, rule), vector.load_from(outside, cell, parents[rule] * plane), total
        )
    return total


@kernel.inner_kernel
def _pass_words(
    rules: RulesOfWords,
    base: Offsets,
    slots: Ints,
    inside: Floats,
    outside: Floats,
    places: tuple[int, int, int],
) -> None:
    """Pass to words, and to what stands beside them, what the nodes of a block's cells have.

    ``places`` are those of the cells, of the words, and of the others.
    """
    here, word_place, other_place = places
    start, parents, others, prob = rules
    for slot in slots:
        if start[slot] == start[slot + 1]:
            continue
        word = vector.load_from(inside, base[slot], word_place)
        if not vector.any_positive(word):
            continue
        to_word = vector.zeros(outside)
        for rule in range(start[slot], start[slot + 1]):
            other = base[others[rule]]
            weight = vector.multiply(
                vector.spread(prob, rule), vector.load_from(outside, base[parents[rule]], here)
            )
            to_word = vector.multiply_add(weight, vector.load_from(inside, other, other_place), to_word)
            _add_product(outside, other, other_place, weight, word)
        _add_product(outside, base[slot], word_place, to_word, vector.repeated(outside, 1.0))
