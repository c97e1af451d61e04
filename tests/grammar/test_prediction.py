"""What is predicted: the left corners of what may follow, found by a walk through the rules."""

from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.charts.forest import prediction
from mbrparse.charts.forest.inside_outside import predict
from mbrparse.charts.rule_tables import Ints, Rules

NONE = np.zeros(0, np.int32)
SYMBOLS = 200  # some words of bits, and more than twice as many as the rules speak of
symbols = st.integers(0, SYMBOLS - 1)
binary_rules = st.lists(st.tuples(symbols, symbols, symbols), min_size=1, max_size=60)
unary_rules = st.lists(st.tuples(symbols, symbols), max_size=10)


def left_corners(symbol: int, binary: list[tuple[int, int, int]], unary: list[tuple[int, int]]) -> set[int]:
    found, waiting = {symbol}, [symbol]
    while waiting:
        parent = waiting.pop()
        below = [left for above, left, _ in binary if above == parent]
        below += [child for above, child in unary if above == parent]
        waiting += set(below) - found
        found |= set(below)
    return found


def columns(rows: list[tuple[int, ...]], width: int) -> list[Ints]:
    return list(np.array(rows, np.int32).reshape(-1, width).T)


def said(
    binary: list[tuple[int, int, int]],
    unary: list[tuple[int, int]],
    roots: set[int],
    before: set[int],
    position: int,
) -> set[int]:
    """What ``predict`` says where nodes of some left children end."""
    parent, left, right = columns(list(binary), 3)
    chosen = np.isin(np.arange(SYMBOLS), list(roots)).astype(float)
    rules = Rules(SYMBOLS, parent, left, right, np.ones(len(binary)), NONE, NONE, np.ones(0), chosen, NONE, 0)
    lefts = np.unique(left)
    left_index = np.full(SYMBOLS, -1, np.int32)
    left_index[lefts] = np.arange(len(lefts))
    above, below = columns(list(unary), 2)
    made = prediction.prediction(rules, above, below, left_index, len(lefts))
    ending = np.cumsum([0, *(int(symbol in before) for symbol in lefts.tolist())]).astype(np.int32)
    flags = np.full((2, SYMBOLS), 7, np.uint8)
    row = np.full_like(made.first, 7)
    predict(flags, made, row, ending, position)
    assert (flags[1 - position] == 7).all()
    assert set(np.unique(flags[position])) <= {0, 1}
    return set(np.flatnonzero(flags[position]).tolist())


@given(binary_rules, unary_rules, st.sets(symbols, min_size=1, max_size=3), st.data())
def test_left_corners_are_predicted_and_nothing_else(
    binary: list[tuple[int, int, int]], unary: list[tuple[int, int]], roots: set[int], data: st.DataObject
) -> None:
    before = data.draw(st.sets(st.sampled_from([left for _, left, _ in binary])))
    following = {right for _, left, right in binary if left in before}
    after = set().union(*(left_corners(symbol, binary, unary) for symbol in following))
    first = set().union(*(left_corners(symbol, binary, unary) for symbol in roots))
    assert said(binary, unary, roots, before, 1) == after
    assert said(binary, unary, roots, set(), 0) == first
    # Where symbols share bits, and left children their sets, nothing is lost.
    with mock.patch.multiple(prediction, _MOST_SYMBOLS=64, _MOST_LEFTS=4):
        assert said(binary, unary, roots, before, 1) >= after
        assert said(binary, unary, roots, set(), 0) >= first


def test_of_a_whole_word_of_bits_none_is_lost() -> None:
    roots = {0, 1, 30, 62, 63, 127}
    assert said([(symbol, symbol, symbol) for symbol in roots], [], roots, set(), 0) == roots


def test_where_nearly_everything_is_predicted_everything_is() -> None:
    children = [(0, left, right) for left in range(SYMBOLS) for right in range(0, SYMBOLS, 2)]
    assert said(children, [], {0}, {3}, 1) == set(range(SYMBOLS))
    assert said(children, [], {7}, set(), 0) == set(range(SYMBOLS))
    assert said([(0, 1, 2)], [], {7}, set(), 0) == {7}
