"""Each merit against its formula, computed naively from dictionaries of counts."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbrparse.decode.best_first.best_first import MERITS
from mbrparse.decode.best_first.best_first_chart import StatisticsTables
from mbrparse.decode.best_first.search_kernels import figure_of_merit
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import quote
from mbrparse.training.count import induce
from mbrparse.training.tag_statistics import BOUNDARY, count_statistics
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.corpora.reading import SourceTree

TEXT = ["(S (NP D N) (VP V (NP D N)))", "(S (NP D N) V)", "(S (NP D (NP N N)) (VP V N))", "(S N (VP V N))"]
TREES = [SourceTree("here", line, read_tree(text)) for line, text in enumerate(TEXT, start=1)]
GRAMMAR = PCFG.from_rules(induce(TREES, "tags"))
STATISTICS = count_statistics(TREES, "tags")
TABLES = StatisticsTables(STATISTICS, GRAMMAR)
TAGS = [*map(quote, GRAMMAR.terminals), BOUNDARY]


class Naive:
    """Probabilities from counts by Witten and Bell's formula, one event at a time."""

    def __init__(self) -> None:
        self.trigrams = STATISTICS.ngrams

    def grams(self, order: int) -> Counter[tuple[str, ...]]:
        counts: Counter[tuple[str, ...]] = Counter()
        for trigram, count in self.trigrams.items():
            counts[trigram[3 - order :]] += count  # type: ignore[assignment]
        return counts

    def tag(self, *gram: str) -> float:
        """p(last | those before it)."""
        if not gram:
            return 1 / len(TAGS)
        grams = self.grams(len(gram))
        events = [count for key, count in grams.items() if key[:-1] == gram[:-1]]
        shorter = self.tag(*gram[1:])
        if not events:
            return shorter
        return float((grams[gram] + len(events) * shorter) / (sum(events) + len(events)))

    def occurrences(self, tag: str) -> float:
        return sum(count for (_, second, _), count in self.trigrams.items() if second == tag)

    def prior(self, symbol: str) -> float:
        totals: Counter[str] = Counter()
        for (name, _), count in STATISTICS.left.items():
            totals[name] += count  # type: ignore[assignment]
        kinds = len(totals)
        return float((totals[symbol] + kinds / len(GRAMMAR.symbols)) / (totals.total() + kinds))

    def left(self, symbol: str, tag: str) -> float:
        """p(N | t)."""
        places = sum(self.occurrences(other) for other in TAGS)
        per_tag = self.prior(symbol) * sum(STATISTICS.left.values()) / places
        kinds = max(sum(t == tag for _, t in STATISTICS.left), 1)
        return float(
            (STATISTICS.left.get((symbol, tag), 0) + kinds * per_tag) / (self.occurrences(tag) + kinds)
        )

    def right(self, symbol: str, tag: str) -> float:
        """p(t | N)."""
        events = [count for (name, _), count in STATISTICS.right.items() if name == symbol]
        kinds = len(events)
        return float((STATISTICS.right.get((symbol, tag), 0) + kinds * self.tag(tag)) / (sum(events) + kinds))


def naive_merit(name: str, beta: float, tags: list[str], j: int, k: int, symbol: str, alpha: float) -> float:  # noqa: PLR0911
    """The figure itself, from the formulas."""
    p = Naive()
    t = {m: quote(tag) for m, tag in enumerate(tags)} | {-2: BOUNDARY, -1: BOUNDARY, len(tags): BOUNDARY}
    bigrams = math.prod(p.tag(t[m - 1], t[m]) for m in range(j, k))
    trigrams = math.prod(p.tag(t[m - 2], t[m - 1], t[m]) for m in range(j, k))
    right = p.right(symbol, t[k]) / p.tag(t[k - 1], t[k])
    match name:
        case "beta":
            return beta
        case "normalized-beta":
            return float(beta ** (1 / (k - j)))
        case "trigram":
            below = p.tag(t[j])
            if k > j + 1:
                below *= p.tag(t[j], t[j + 1])
            below *= math.prod(p.tag(t[m - 2], t[m - 1], t[m]) for m in range(j + 2, k))
            return p.prior(symbol) * beta / below
        case "prefix":
            return alpha * beta
        case "prefix-normalized":
            return float((alpha * beta) ** (1 / k))
        case "prefix-estimate":
            return alpha * beta / math.prod(p.tag(t[m - 2], t[m - 1], t[m]) for m in range(k))
        case "left-boundary":
            return p.left(symbol, t[j - 1]) * beta / trigrams
        case "boundary-bigram":
            return p.left(symbol, t[j - 1]) * beta * right / bigrams
        case "boundary-trigram":
            return p.left(symbol, t[j - 1]) * beta * right / trigrams
    raise NotImplementedError(f"{name} needs its formula here")


@given(
    st.sampled_from([name for name in MERITS if name != "stack"]),
    st.lists(st.sampled_from(GRAMMAR.terminals), min_size=1, max_size=6),
    st.data(),
)
def test_merit_is_its_formula(name: str, tags: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(tags) - 1))
    end = data.draw(st.integers(start + 1, len(tags)))
    symbol = data.draw(st.integers(0, len(GRAMMAR.symbols) - 1))
    beta = data.draw(st.floats(1e-12, 1))
    alpha = data.draw(st.floats(1e-12, 1))
    statistics = TABLES.of_sentence(GRAMMAR.encode(tags))
    table = np.full((len(tags), len(GRAMMAR.symbols)), math.log(alpha))
    factors = MERITS[name]
    found = figure_of_merit(factors, math.log(beta), statistics, start, end, symbol, 0, table)
    expected = naive_merit(name, beta, tags, start, end, GRAMMAR.symbols[symbol], alpha)
    assert found == pytest.approx(math.log(expected), rel=1e-9, abs=1e-9)
