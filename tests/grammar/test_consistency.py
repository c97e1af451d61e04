"""c(i, j), the probability that no constituent of the n-ary tree crosses a span, against all derivations."""

import naive
import naive_crossing
import numpy as np
import pytest
from conversion import rules_of, to_pcfg
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import grammars, sentences

from mbrparse.charts.exhaustive.consistency import Consistency
from mbrparse.charts.exhaustive.factory import ForestCharts
from mbrparse.charts.spans import cell_of
from mbrparse.grammar.pcfg import PCFG

# Two continuations of one label, and one of another.
NAMES = {"A": "S_Cont", "B": "S_Cont>NP", "C": "NP"}


def is_continuation(symbol: str) -> bool:
    return symbol in "AB"


@st.composite
def cases(draw: st.DrawFn) -> tuple[naive.Grammar, list[str]]:
    """Grammars with continuations on the right or left side only, as those of treebanks, or on any."""
    grammar = draw(grammars())
    side = draw(st.sampled_from([None, 1, 2]))
    kept = {rule: p for rule, p in grammar.binary.items() if not side or not is_continuation(rule[side])}
    grammar = naive.Grammar(grammar.start, kept, grammar.lexical)
    words = draw(sentences(grammar, 6))
    assume(float(naive.sentence_probability(grammar, words)) > 0)
    return grammar, words


def cyclic_continuations() -> PCFG:
    """X_Cont turns into Y_Cont and back, and each of them into NP: words in threes, however bracketed."""
    counts = {
        "S -> x X_Cont": 1.0, "NP -> x x": 1.0,
        "X_Cont -> Y_Cont": 1.0, "X_Cont -> NP": 1.0, "X_Cont -> x x": 1.0,
        "Y_Cont -> X_Cont": 2.0, "Y_Cont -> NP": 1.0, "Y_Cont -> x x": 1.0,
    }  # fmt: skip
    return PCFG.from_rules(rules_of(counts))


def test_cycles_of_continuations_are_left_as_often_as_they_should_be() -> None:
    """What leaves the cycle for a constituent is no part of what is closed, and stays what it is."""
    pcfg = cyclic_continuations()
    found = Consistency(pcfg).of_sentence(ForestCharts(pcfg), pcfg.encode(["x"] * 3))
    assert found[cell_of(3, 1, 3)] == pytest.approx(1.0, abs=1e-12)
    # By hand: X ends in x x, over it NP or not; (0, 2) is crossed by NP alone. X: 1/3 Y, 1/3 NP, 1/3 x x;
    # Y: 1/2 X, 1/4 NP, 1/4 x x. Without NP: v(X) = 1/3 + 1/3 v(Y), v(Y) = 1/4 + 1/2 v(X).
    without = (1 / 3 + 1 / 12) / (1 - 1 / 6)
    assert found[cell_of(3, 0, 2)] == pytest.approx(without, abs=1e-12)
    assert found.max() <= 1 + 1e-12


@given(cases(), st.data())
def test_masses_and_consistency_given_brackets(
    case: tuple[naive.Grammar, list[str]], data: st.DataObject
) -> None:
    grammar, words = case
    n = len(words)
    trees = naive_crossing.n_ary_trees(grammar, words, is_continuation)
    pcfg = to_pcfg(grammar, NAMES)
    consistency = Consistency(pcfg)
    forest = consistency.forest(ForestCharts(pcfg), pcfg.encode(words))
    bracketing = data.draw(st.sampled_from(naive.bracketings(n)))
    kept = data.draw(st.sets(st.sampled_from(sorted(bracketing)))) if bracketing else set()
    closed = forest.cells_across(sorted(kept))
    mass = naive_crossing.mass(trees, kept)
    assert forest.mass(closed) == pytest.approx(mass, abs=1e-9)
    alone = consistency.of_sentence(ForestCharts(pcfg), pcfg.encode(words))
    found = consistency.joint(forest, closed)
    for start in range(n):
        for end in range(start + 2, n + 1):
            joint = naive_crossing.mass(trees, {*kept, (start, end)})
            assert found[cell_of(n, start, end)] == pytest.approx(joint, abs=1e-9)
            wanted = naive_crossing.consistent(trees, (start, end))
            assert alone[cell_of(n, start, end)] == pytest.approx(wanted, abs=1e-9)


def test_long_sentences_neither_underflow_nor_overflow() -> None:
    """Right-linear spines of one rule: nothing crosses what begins anywhere and ends last."""
    counts = {"S -> x S_Cont": 1, "S_Cont -> x S_Cont": 1, "S_Cont -> S x": 1e-6, "S_Cont -> x x": 1e-3}
    pcfg = PCFG.from_rules(rules_of(counts))
    n = 300
    charts, ids = ForestCharts(pcfg), pcfg.encode(["x"] * n)
    consistency = Consistency(pcfg)
    found = consistency.of_sentence(charts, ids)
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert found.max() <= 1 + 1e-9
    assert found[cell_of(n, 0, n)] == pytest.approx(1.0, abs=1e-9)
    forest = consistency.forest(charts, ids)
    for span in ((0, 2), (10, 200), (150, 299)):
        mass = forest.mass(forest.cells_across([span]))
        assert found[cell_of(n, *span)] == pytest.approx(mass, abs=1e-9)
