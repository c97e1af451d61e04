"""Marginals from scores of spans: every tree listed, extreme scores, torch-struct's where it is installed."""

import math
from typing import Any

import naive_span_trees as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mbrparse as mp


@given(data=st.data())
def test_as_by_listing_all_trees(data: st.DataObject) -> None:
    """Sentences of several lengths in one padded array, with either kind of ends, with and without null."""
    labels = data.draw(st.integers(1, 3))
    most = 5 if labels < 3 else 3
    lengths = data.draw(st.lists(st.integers(0, most), min_size=1, max_size=3))
    ends = data.draw(st.sampled_from(["exclusive", "inclusive"]))
    null = data.draw(st.one_of(st.none(), st.integers(0, labels - 1))) if labels > 1 else None
    size = max(lengths) + 1
    spread = data.draw(st.sampled_from([0.0, 1.0, 10.0]))
    seed = data.draw(st.integers(0, 2**32 - 1))
    scores = np.random.default_rng(seed).normal(0, spread, (len(lengths), size, size, labels))
    found = mp.span_marginals(scores, lengths, ends, null)
    assert found.shape == scores.shape
    inclusive = ends == "inclusive"
    for index, length in enumerate(lengths):
        known = {
            (start, end, label): float(scores[index, start, end - inclusive, label])
            for start in range(length)
            for end in range(start + 1, length + 1)
            for label in range(labels)
        }
        expected = np.zeros(scores.shape[1:])
        if length:
            for (start, end, label), g in naive.marginals(known, length, labels, null).items():
                expected[start, end - inclusive, label] = g
        assert found[index] == pytest.approx(expected, abs=1e-9)


@given(
    length=st.integers(1, 4),
    null=st.sampled_from([None, 2]),
    large=st.sampled_from([-1e308, 1e308, 1e12]),
    seed=st.integers(0, 2**32 - 1),
)
def test_scores_of_any_size_over_what_all_trees_have(
    length: int, null: int | None, large: float, seed: int
) -> None:
    """The same as without what all trees have in common."""
    plain = np.random.default_rng(seed).choice([0.0, 1.0, -np.inf], (length, length, 3), p=[0.5, 0.3, 0.2])
    plain[..., 0] = 0
    plain[..., 2] = -np.inf if null is None else 0
    if null is None and seed % 2:
        plain[plain == 1] = 0
        scores = plain + large
    else:
        words = range(length) if null is None or length == 1 else ()
        scores = plain.copy()
        for start, end in {(0, length - 1), *((word, word) for word in words)}:
            plain[start, end, :2] = np.minimum(plain[start, end, :2], 0)
            scores[start, end, :2] = plain[start, end, :2] + large
    found = mp.span_marginals([scores], [length], "inclusive", null)[0]
    known = {(i, j + 1, a): float(p) for (i, j, a), p in np.ndenumerate(plain) if i <= j}
    expected = naive.marginals(known, length, 3, null)
    assert {(i, j + 1, a): p for (i, j, a), p in np.ndenumerate(found) if p} == pytest.approx(
        {item: p for item, p in expected.items() if p}, abs=1e-9
    )
    best = mp.span_scores([scores], [length], ["A", "B", "N"], "inclusive", null and "N")
    total = max(log for log, _ in naive.weighed(known, length, 3, null))
    logs = [log - total for log, _ in naive.weighed(known, length, 3, null)]
    [parse] = mp.Parser(best, "viterbi").parse([["w"] * length])
    assert parse.expected_scores["labelled-tree"] == pytest.approx(1 / sum(map(math.exp, logs)))


@pytest.mark.parametrize("large", [1e308, 1e11])
def test_differences_that_are_lost(large: float) -> None:
    """Each binary tree has a bracket of two words; n-ary trees have none that costs so much."""
    scores = np.zeros((1, 4, 4, 2))
    scores[0, [0, 1, 2], [1, 2, 3]] = -large
    with (
        pytest.raises(mp.MbrparseError, match="differences are lost"),
        np.errstate(all="raise", under="ignore"),
    ):
        mp.span_marginals(scores, [4], "inclusive")
    scores[..., 0] = 0
    assert mp.span_marginals(scores, [4], "inclusive", 0)[0, 0, 1].tolist() == [0, 0]
    with (
        pytest.raises(mp.MbrparseError, match="differences are lost"),
        np.errstate(all="raise", under="ignore"),
    ):
        mp.span_marginals(-scores, [4], "inclusive", 0)


@pytest.mark.parametrize("null", [None, 0])
@pytest.mark.parametrize("length", [2, 200])
def test_extreme_scores_and_long_sentences(length: int, null: int | None) -> None:
    scores = np.random.default_rng(0).uniform(-1e4, 1e4, (1, length, length, 3))
    found = mp.span_marginals(scores, [length], "inclusive", null)[0]
    assert np.isfinite(found).all()
    assert ((found >= 0) & (found <= 1)).all()
    assert found[0, -1].sum() == pytest.approx(1)
    wide = found[np.triu_indices(length, 1)].sum()
    if null is None:
        assert wide == pytest.approx(length - 1)
        assert found[np.diag_indices(length)].sum() == pytest.approx(length)
    else:
        assert not found[:, :, null].any()
        assert 1 <= wide <= length - 1 + 1e-6


def test_forbidden_labels() -> None:
    scores = np.zeros((1, 3, 4, 2))
    scores[0, 0, 2] = -np.inf
    scores[0, :, :, 1] = -np.inf
    found = mp.span_marginals(scores, [3])[0]
    assert found[1, 3].tolist() == [1, 0]
    assert found[0, 2].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("place", "value", "settings", "message"),
    [
        ((1, 0, 2, 0), np.nan, {}, "scores: sentence 2 has nan or an infinite score"),
        ((0, 0, 3), -np.inf, {}, "scores: -inf forbids all trees of a sentence of 3 words"),
        ((1, 1, 2), -np.inf, {}, "scores: -inf forbids all trees of a sentence of 3 words"),
        (
            (1, 0, 1, 1),
            -np.inf,
            {"lengths": [3, 1], "null": 0},
            "scores: -inf forbids all trees of a sentence of 1",
        ),
        ((), 0, {"null": "X"}, "null: is 'X', which none of the 2 labels is"),
        ((), 0, {"lengths": [3, -1]}, "lengths: is no list of integers from 0"),
    ],
)
def test_what_is_wrong_is_said(place: Any, value: float, settings: dict[str, Any], message: str) -> None:
    scores = np.zeros((2, 3, 4, 2))
    if place:
        scores[place] = value
    arguments: dict[str, Any] = {"scores": scores, "lengths": [3, 3], **settings}
    with pytest.raises(mp.MbrparseError) as raised, np.errstate(all="raise", under="ignore"):
        mp.span_marginals(**arguments)
    assert message in str(raised.value)
