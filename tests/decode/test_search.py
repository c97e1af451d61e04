"""The free-space search against all bracketings."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.charts.spans import cell_of, entries_without_unaries
from mbrparse.decode.bracketing import best_bracketing
from mbrparse.decode.span_posteriors import Posteriors


@given(st.integers(2, 7), st.integers(0, 2**32 - 1), st.booleans())
def test_search_reaches_the_best_bracketing(n: int, seed: int, negative: bool) -> None:
    gains = np.random.default_rng(seed).random(n * (n + 1) // 2) - (0.7 if negative else 0.0)
    found = best_bracketing(gains, n)
    spans = frozenset(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
    assert spans in naive.bracketings(n)
    best = max(sum(gains[cell_of(n, i, j)] for i, j in bracketing) for bracketing in naive.bracketings(n))
    assert found.score == pytest.approx(best)
    assert sum(gains[cell_of(n, i, j)] for i, j in spans) == pytest.approx(best)


def test_equal_gains_split_first() -> None:
    found = best_bracketing(np.ones(10), 4)
    assert list(zip(found.starts, found.ends, strict=True)) == [(0, 4), (1, 4), (2, 4)]
    assert found.parents.tolist() == [-1, 0, 1]


def test_a_single_terminal_has_no_bracketing() -> None:
    assert best_bracketing(np.zeros(1), 1).score == 0.0
    assert len(best_bracketing(np.zeros(1), 1).starts) == 0


def test_posteriors_from_elsewhere_sum_over_labels() -> None:
    """Spans may come from any model: two labels on one span, the larger one wins, ties the first."""
    starts, ends = np.array([0, 0, 0], np.int32), np.array([2, 2, 2], np.int32)
    label_ids, g = np.array([0, 1, 2], np.int32), np.array([0.3, 0.4, 0.4 + 1e-12])
    entries = entries_without_unaries(starts, ends, label_ids, g)
    posteriors = Posteriors.of_entries(2, ("A", "B", "C"), entries)
    assert posteriors.bracketed(0, 2) == pytest.approx(1.1)
    assert posteriors.spans.label[cell_of(2, 0, 2)] == 1
    assert posteriors.labelled(0, 2, "C") == 0.4 + 1e-12
    assert posteriors.labelled(0, 1, "C") == 0.0
