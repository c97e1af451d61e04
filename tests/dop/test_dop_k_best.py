"""The k best derivations of DOP grammars against the list of all, sorted.

Of short sentences: of eight words there are too many derivations to list.
"""

import math
from collections import Counter

import pytest
from conversion import dop_treebank
from hypothesis import given
from hypothesis import strategies as st
from naive_dop import NaiveDop, Node, words_of
from test_dop_charts import WEIGHTINGS, cases
from test_dop_samples import drawn, listed

from mbrparse.charts.dop.dop_charts import DopCharts
from mbrparse.decode.parser.dop_source import dop_k_best
from mbrparse.grammar.dop_grammar import DopGrammar
from mbrparse.grammar.dop_treebank import Weighting
from mbrparse.grammar.rules import TerminalKind

COUNT = 1_000
short = cases.filter(lambda case: max(len(words_of(tree)) for tree in case[1]) <= 5)


@given(short, st.sampled_from(WEIGHTINGS), st.none() | st.integers(1, 3), st.integers(1, 60))
def test_derivations_come_in_order(
    case: tuple[TerminalKind, list[Node]], weighting: Weighting, depth: int | None, k: int
) -> None:
    kind, nodes = case
    grammar = DopGrammar.of_treebank(dop_treebank(nodes, kind, weighting, depth))
    naive = NaiveDop(nodes, weighting, depth)
    for words in {words_of(nodes[0]), words_of(nodes[-2])}:
        ids = grammar.pcfg.encode(words)
        every = naive.derivations(words)
        found = dop_k_best(DopCharts(grammar), ids, k)
        log_probs = found.log_probs.tolist()
        best = sorted((float(p) for _, p in every), reverse=True)[:k]
        assert log_probs == pytest.approx([math.log(p) for p in best], abs=1e-9)
        # As many of each tree as are better than the last; of those as good as it, no more than there are.
        derived = [
            (nodes, log_prob)
            for nodes, log_prob in zip(drawn(grammar, found.derivations), log_probs, strict=True)
        ]
        last = log_probs[-1]
        mine = Counter((nodes, round(p, 6)) for nodes, p in derived)
        theirs = Counter((listed(tree), round(math.log(p), 6)) for tree, p in every)
        for key, count in mine.items():
            assert count <= theirs[key]
            if key[1] > last + 1e-5:
                assert count == theirs[key]
