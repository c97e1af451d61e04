"""The table of counts and its rates, worked out by hand.

Sentence 1: gold S(0,5) A(0,2) S_Cont(2,5) B(3,5), guess S(0,5) S_Cont(0,3) A(0,2) A(3,5): L counts S and
A, B counts (3,5) too, and (0,3) crosses (2,5) alone, which is a continuation. Sentence 2: gold S(0,3)
S_Cont(1,3), guess S(0,3) B(0,2), which crosses the continuation alone. Sentence 3 has no parse.

L, B and C against a naive twin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
import pytest
from evaluation_cases import GOLD, PARSE, nary_trees, trees, write
from hypothesis import given
from hypothesis import strategies as st
from naive_tables import crosses

from mbrparse.evaluate.align import Place, gold_file, parse_files
from mbrparse.evaluate.counts import (
    Brackets,
    Comparison,
    GoldSentence,
    Matches,
    SentenceCounts,
    count_matches,
    counts_table,
)
from mbrparse.evaluate.criteria import COVERAGE, MORE, PAPER, Average, Criterion, rates, totals
from mbrparse.treebank.binarize import debinarize
from mbrparse.treebank.labels import project
from mbrparse.treebank.outlines import outline
from mbrparse.treebank.tree import Tree

CRITERIA = PAPER + MORE


def table(gold: str, parse: str, how: Comparison | None = None) -> pd.DataFrame:
    paths = write(gold=gold, parse=parse)
    return counts_table(count_matches(gold_file(paths[0]), parse_files([paths[1]]), how or Comparison()))


def columns(counts: pd.DataFrame, *names: str) -> list[list[int]]:
    found: list[list[int]] = counts[list(names)].to_numpy().tolist()
    return found


def rate(
    counts: pd.DataFrame, criteria: Sequence[Criterion] = PAPER, average: Average = "pooled"
) -> pd.Series:
    """The rates of the one parser, by criterion."""
    return rates(counts, criteria, average).set_index("name").T["parse"]


def test_counts() -> None:
    counts = table(GOLD, PARSE)
    assert tuple(counts) == SentenceCounts._fields
    assert counts.to_numpy().tolist() == [
        ["parse", 1, 1, 1, 5, 1, 4, 4, 2, 3, 4],
        ["parse", 2, 2, 2, 3, 1, 2, 2, 1, 1, 2],
        ["parse", 3, 3, 3, 2, 0, 1, 0, 0, 0, 0],
    ]


def test_pooled_rates() -> None:
    counts = table(GOLD, PARSE)
    assert rate(counts, CRITERIA).tolist() == pytest.approx(
        [0, 3 / 7, 4 / 7, 1, 2 / 3, 0, 3 / 6, 6 / 13, 4 / 6, 8 / 13]
    )
    assert rate(counts, [COVERAGE])["coverage"] == 2 / 3
    names = ["sentences", "terminals", "parsed", "gold", "guess", "labelled", "bracketed", "consistent"]
    sums = totals(counts).set_index("name").loc["parse"]
    assert sums.to_dict() == dict(zip(names, (3, 10, 2, 7, 6, 3, 4, 6), strict=True))


def test_sentence_average_leaves_out_what_has_no_rate() -> None:
    found = rate(table(GOLD, PARSE), CRITERIA, "sentence")
    assert found["labelled_recall"] == pytest.approx((2 / 4 + 1 / 2 + 0) / 3)
    assert found["labelled_precision"] == pytest.approx((2 / 4 + 1 / 2) / 2)  # no guess, no precision
    assert found["consistent_brackets_recall"] == 1
    assert found["consistent_brackets_tree"] == pytest.approx(2 / 3)


INDENTED = "( (S a\n   (S_Cont b c)) )\n\n(S p q)\n"


@pytest.mark.parametrize(
    ("gold", "parse", "names", "expected"),
    [
        ("(S^TOP a (S_Cont>B>C b c))\n", "(S a (S b c))\n", "labelled bracketed", [[1, 2]]),
        ("(S a (S_Cont b c))\n" * 2, "(S a b c)\n(S a (S_Cont b c))\n", "labelled", [[1], [2]]),
        (INDENTED, "(S a (S_Cont b c))\n(S p q)\n", "gold_line parse_line", [[1, 1], [4, 2]]),
    ],
)
def test_counts_of_some_columns(gold: str, parse: str, names: str, expected: list[list[int]]) -> None:
    assert columns(table(gold, parse), *names.split()) == expected


LENGTHS = st.integers(2, 9)


def in_common(gold: Sequence[object], guess: Sequence[object]) -> int:
    left = list(gold)
    count = 0
    for item in guess:
        if item in left:
            left.remove(item)
            count += 1
    return count


def constituents(tree: Tree, start: int = 0) -> list[tuple[int, int, str]]:
    found, end = [], start
    for child in tree.children:
        found += constituents(child, end)
        end += len(child.leaves())
    return [] if tree.is_leaf else [(start, end, tree.label), *found]


def naive_matches(gold: Tree, guess: Tree, reference: Tree, label: Callable[[str], str]) -> Matches:
    of_gold = [(start, end, label(name)) for start, end, name in constituents(gold)]
    of_guess = [(start, end, label(name)) for start, end, name in constituents(guess)]
    right = constituents(reference)
    return Matches(
        in_common(of_gold, of_guess),
        in_common([c[:2] for c in of_gold], [c[:2] for c in of_guess]),
        sum(not any(crosses(one, other) for other in right) for one in of_guess),
    )


def matches(gold: Tree, guess: Tree, how: Comparison) -> Matches:
    read = outline(guess)
    labels = read.labels if how.form == "original" else [project(label) for label in read.labels]
    return GoldSentence(gold, how, Place("gold", 1)).matches(Brackets(read.spans, labels))


@given(LENGTHS.flatmap(lambda n: st.tuples(trees(n), trees(n))))
def test_binarized(pair: tuple[Tree, Tree]) -> None:
    gold, guess = pair
    expected = naive_matches(gold, guess, debinarize(gold), project)
    assert matches(gold, guess, Comparison()) == expected
    expected = naive_matches(gold, guess, gold, project)
    assert matches(gold, guess, Comparison(crossing_reference="binarized")) == expected


@given(LENGTHS.flatmap(lambda n: st.tuples(nary_trees(n), nary_trees(n))))
def test_original(pair: tuple[Tree, Tree]) -> None:
    gold, guess = pair
    assert matches(gold, guess, Comparison("original")) == naive_matches(gold, guess, gold, str)
