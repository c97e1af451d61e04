"""The most probable derivation where sums are known, against that of a chart of maxima alone."""

import naive
import pytest
from conversion import to_pcfg
from hypothesis import given
from hypothesis import strategies as st
from strategies import grammars, sentences

from mbrparse.grammar.charts.base.chart import Wanted
from mbrparse.grammar.charts.factory import ChartFactory, Precision
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import Rule, relative_frequencies

SUMS_TOO, ALONE = Wanted(summaries=True, derivations=True), Wanted(summaries=False, derivations=True)


def check(pcfg: PCFG, words: list[str], precision: Precision) -> None:
    ids = pcfg.encode(words)
    [beside], [alone] = (
        ChartFactory(pcfg, precision, wanted, "forest").charts([ids]) for wanted in (SUMS_TOO, ALONE)
    )
    found, expected = beside.viterbi(), alone.viterbi()
    assert found.nodes == expected.nodes
    assert found.preterminals == expected.preterminals
    assert found.log_prob == pytest.approx(expected.log_prob, rel=1e-9 if precision == "double" else 1e-5)


@given(grammars().flatmap(lambda grammar: st.tuples(st.just(grammar), sentences(grammar, 7))))
def test_sums_lead_to_the_same_derivation(case: tuple[naive.Grammar, list[str]]) -> None:
    grammar, words = case
    pcfg = to_pcfg(grammar)
    if set(pcfg.terminals).issuperset(words):
        check(pcfg, words, "double")
        check(pcfg, words, "single")


@pytest.mark.parametrize("n", [*range(1, 16), 40])
def test_equally_good_ones_and_improbable_ones(n: int) -> None:
    """The best has a share of 1 / Catalan(n - 1), or a little more: every bound is the last one of some n."""
    counts = {Rule("S", ("S", "S")): 2.0, Rule("S", ("'x'",)): 1.5, Rule("S", ("'x'", "S")): 0.5}
    for skewed in (dict(counts), {**counts, Rule("S", ("S", "'x'")): 0.6}):
        check(PCFG.from_rules(relative_frequencies("tags", {"S": 1}, skewed)), ["x"] * n, "double")
