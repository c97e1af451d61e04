"""Splits: exact, and the same again for the same seed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.errors import CorpusError
from mbrparse.treebank.splits import split_fraction, split_number


@given(st.integers(0, 10_000), st.integers(1, 999))
def test_fraction_is_exact(count: int, thousandths: int) -> None:
    parts = split_fraction(count, f"0.{thousandths:03}")
    assert len(parts.test) == count * thousandths // 1000
    assert [*parts.train, *parts.test] == list(range(count))


@pytest.mark.parametrize(
    ("count", "fraction", "test"), [(100, "0.57", 57), (3, "1/3", 1), (9, "0.1", 0), (10, "1e-1", 1)]
)
def test_fraction_as_people_write_it(count: int, fraction: str, test: int) -> None:
    assert len(split_fraction(count, fraction).test) == test


@given(st.integers(0, 60), st.data(), st.integers())
def test_random_is_a_partition_in_order_and_reproducible(count: int, data: st.DataObject, seed: int) -> None:
    test = data.draw(st.integers(0, count))
    parts = split_number(count, test, seed)
    assert len(parts.test) == test
    assert sorted([*parts.train, *parts.test]) == list(range(count))
    assert list(parts.train) == sorted(parts.train)
    assert list(parts.test) == sorted(parts.test)
    assert split_number(count, test, seed) == parts


def test_random_stays_the_same_from_release_to_release() -> None:
    assert split_number(20, 5, seed=7).test == [1, 2, 4, 10, 12]


@pytest.mark.parametrize("test", [-1, 11])
def test_more_than_there_is(test: int) -> None:
    with pytest.raises(CorpusError, match=f"{test} trees asked for, but there are 10"):
        split_number(10, test)
    with pytest.raises(CorpusError, match=f"{test} trees asked for, but there are 10"):
        split_number(10, test, seed=1)
