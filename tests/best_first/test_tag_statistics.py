"""Statistics: direct counts on hand-made trees, expectations, files, and what is refused."""

from pathlib import Path

import naive
import numpy as np
import pytest
from best_first_cases import pcfg_of, sentences_of
from hypothesis import given
from hypothesis import strategies as st
from strategies import grammars, sentences

from mbrparse.decode.best_first.best_first_chart import StatisticsTables
from mbrparse.errors import GrammarError
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import quote
from mbrparse.training.count import induce
from mbrparse.training.tag_statistics import (
    BOUNDARY,
    Statistics,
    count_statistics,
    expect_statistics,
    read_statistics,
    write_statistics,
)
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.corpora.reading import SourceTree

D, N, V = "'D'", "'N'", "'V'"


def trees_of(*texts: str) -> list[SourceTree]:
    return [SourceTree("here", line, read_tree(text)) for line, text in enumerate(texts, start=1)]


TWO = trees_of("(S (NP D N) V)", "(S (NP (D the) (N dog)) (VP (V eats) (N fish)))")


def test_counts_by_hand() -> None:
    found = count_statistics(TWO, "tags")
    assert sentences_of(found) == 2
    assert found.ngrams == {
        (BOUNDARY, BOUNDARY, D): 2, (BOUNDARY, D, N): 2, (D, N, V): 2,
        (N, V, BOUNDARY): 1, (N, V, N): 1, (V, N, BOUNDARY): 1,
    }  # fmt: skip
    assert found.left == {
        ("S", BOUNDARY): 2, ("NP", BOUNDARY): 2, ("VP", N): 1,
        (D, BOUNDARY): 2, (N, D): 2, (V, N): 2, (N, V): 1,
    }  # fmt: skip
    assert found.right == {
        ("S", BOUNDARY): 2, ("NP", V): 2, ("VP", BOUNDARY): 1,
        (D, N): 2, (N, V): 2, (V, BOUNDARY): 1, (V, N): 1, (N, BOUNDARY): 1,
    }  # fmt: skip


@given(grammars(), st.data())
def test_expectation_is_the_naive_one(grammar: naive.Grammar, data: st.DataObject) -> None:
    corpus = [data.draw(sentences(grammar, 5)) for _ in range(2)]
    left: dict[tuple[str, str], float] = {}
    right: dict[tuple[str, str], float] = {}
    for sentence in corpus:
        padded = [BOUNDARY, *map(quote, sentence), BOUNDARY]
        for (start, end, symbol), p in naive.posteriors(grammar, sentence).items():
            left[symbol, padded[start]] = left.get((symbol, padded[start]), 0) + float(p)
            right[symbol, padded[end + 1]] = right.get((symbol, padded[end + 1]), 0) + float(p)
    if not left:
        with pytest.raises(GrammarError, match="parses none of the sentences"):
            expect_statistics(pcfg_of(grammar), corpus)
        return
    found = expect_statistics(pcfg_of(grammar), corpus)
    assert found.left == pytest.approx(left, rel=1e-8, abs=1e-12)
    assert found.right == pytest.approx(right, rel=1e-8, abs=1e-12)
    assert sentences_of(found) == 2


def test_file_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "statistics.txt"
    found = count_statistics(TWO, "tags")
    odd = Statistics("tags", found.ngrams, {**found.left, ("NP", V): 1 / 3}, found.right)
    write_statistics(odd, path)
    assert read_statistics(path) == odd
    text = path.read_text().splitlines()
    assert text[0] == "mbrparse-statistics 1"
    assert text[-1] == "end"


GOOD = [
    "mbrparse-statistics 1",
    "terminals tags",
    "counts 2",
    "1 ngram boundary boundary 'D'",
    "2.5 left NP 'D'",
    "end",
]


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (1, "mbrparse-statistics 2", ":1: not a file of statistics (its first line is not "),
        (4, "1 ngram boundary D 'D'", ":4: D is neither a tag in quotes nor boundary"),
        (6, "", ":6: the file ends before its line 'end'; it was cut off"),
    ],
)
def test_bad_files(tmp_path: Path, line: int, text: str, message: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_text("\n".join([*GOOD[: line - 1], text, *GOOD[line:]]) + "\n")
    with pytest.raises(GrammarError) as error:
        read_statistics(path)
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_smoothed_probabilities_sum_to_one() -> None:
    grammar = PCFG.from_rules(induce(TWO, "tags"))
    tables = StatisticsTables(count_statistics(TWO, "tags"), grammar)
    assert np.exp(tables.log_prior).sum() == pytest.approx(1)
    # p(t | N) is a distribution over tags for every symbol.
    assert np.exp(tables.log_right).sum(axis=0) == pytest.approx(np.ones(len(grammar.symbols)))
    tags = range(len(grammar.terminals) + 1)
    for first in tags:
        for second in tags:
            assert sum(tables.tags.prob(first, second, third) for third in tags) == pytest.approx(1)
