"""Charts of grammars with unary rules, in closed forms; tests/fuzz compares them with the naive twin.

Cycles that are hardly ever left, and probabilities that sum to one only nearly.
"""

import math
from fractions import Fraction

import naive
import naive_objectives
import naive_unary
import pytest
from commandline import grammar_text
from conversion import derivation_of, posteriors_of, rules_of, to_naive, to_pcfg
from hypothesis import given
from hypothesis import strategies as st
from naive_objectives import projection_of
from unary_strategies import FEW_LABELS, unary_cases

import mbrparse as mp
from mbrparse.charts.chart import Chart
from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.charts.rule_tables import unary_closure
from mbrparse.charts.spans import cell_of
from mbrparse.decode.parser.parser import Parser
from mbrparse.errors import GrammarError
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import Rule, RuleSet, Weight


def chart_of(rules: RuleSet, sentence: str) -> tuple[PCFG, Chart]:
    pcfg = PCFG.from_rules(rules)
    return pcfg, ChartFactory(pcfg).chart(pcfg.encode(sentence.split()))


# --- closed forms ------------------------------------------------------------------------


@pytest.mark.parametrize("loops", [1, 3, 999_999])
def test_a_geometric_series(loops: int) -> None:
    """S -> S comes any number of times: S's expected number is one more; it is surely there."""
    pcfg, chart = chart_of(rules_of({"S -> S": loops, "S -> X X": 1, "X -> 'x'": 1}), "x x")
    rel = 1e-9
    assert chart.log_prob == pytest.approx(0.0, abs=rel)
    assert posteriors_of(chart.span_posteriors(), pcfg.labels) == pytest.approx(
        {(0, 1, "X"): 1, (0, 2, "S"): 1, (1, 2, "X"): 1}, rel=1e-15
    )
    assert chart.span_summary().best[cell_of(2, 0, 2)] == pytest.approx(1, rel=1e-15)
    occurrences = chart.occurrences()
    assert occurrences is not None
    assert occurrences.expected(nary=True) == pytest.approx(loops + 1, rel=rel)
    share = loops / (loops + 1)
    over = occurrences.brackets(3, 3, nary=True)[:, cell_of(2, 0, 2)]
    assert over == pytest.approx([1, share, share**2], rel=rel)
    derivation = chart.viterbi()
    assert derivation_of(chart, pcfg.symbols) == ([(0, 2, "S")], ["X", "X"])
    assert derivation.log_prob == pytest.approx(-math.log(loops + 1), rel=rel)


# --- the closure -------------------------------------------------------------------------


@given(st.data())
def test_the_closure_is_exact(data: st.DataObject) -> None:
    """(I - U) U* = I in rationals, near one too: what is off is off by rounding."""
    size = data.draw(st.integers(1, 5))
    counts: dict[str, float] = {}
    for parent in range(size):
        for child in data.draw(st.lists(st.integers(0, size - 1), max_size=3, unique=True)):
            counts[f"N{parent} -> N{child}"] = data.draw(st.sampled_from([1, 5, 1e-3, 1e3]))
        counts[f"N{parent} -> 'x'"] = data.draw(st.sampled_from([1, 1e-4]))
    pcfg = PCFG.from_rules(rules_of(counts, "N0"))
    closure = unary_closure(pcfg)
    grammar = to_naive(pcfg)
    unary = {rule: Fraction(p) for rule, p in grammar.unary.items()}
    # A symbol's rules are taken to sum to one, whatever rounding made of them.
    for (symbol, _), p in grammar.lexical.items():
        others = sum(q for (parent, child), q in unary.items() if parent == symbol != child)
        unary[symbol, symbol] = 1 - others - Fraction(p)
    exact = naive_unary.closure(naive.Grammar({}, {}, grammar.lexical, dict(unary)))
    names = pcfg.symbols
    for bottom, name in enumerate(names):
        entries = range(closure.start[bottom], closure.start[bottom + 1])
        tops = [names[closure.top[entry]] for entry in entries]
        assert tops == [top for top in names if exact.get((top, name))]
        for entry, top in zip(entries, tops, strict=True):
            assert closure.value[entry] == pytest.approx(float(exact[top, name]), rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("counts", "cycle"),
    [
        ({"S -> S": 1}, "S -> S"),
        ({"S -> A": 1, "A -> B": 1, "B -> A": 1}, "A -> B -> A"),
        ({"S -> A": 7, "S -> B": 3, "A -> S": 1, "B -> S": 1}, "A -> S -> A"),
        ({"S -> S": 1e17, "S -> 'x'": 1}, "S -> S"),  # as good as
    ],
)
def test_a_cycle_of_probability_one_is_refused(counts: dict[str, float], cycle: str) -> None:
    rules = rules_of(counts)
    with pytest.raises(GrammarError) as caught:
        rules.check("g.txt")
    assert str(caught.value).startswith(f"g.txt: the unary rules {cycle} are a cycle of probability one")
    pcfg = PCFG.from_rules(rules)
    with pytest.raises(GrammarError, match="cycle of probability one"):
        unary_closure(pcfg)


# --- kernels, ties --------------------------------------------------------------


def test_ties_go_to_the_shorter_chain_then_to_the_first_in_text() -> None:
    counts = {
        "S -> A": 2.0, "S -> D": 1.0, "S -> X X": 1.0, "A -> X X": 1.0, "A -> B": 1.0,
        "B -> X X": 1.0, "C -> X X": 1.0, "D -> B": 1.0, "X -> 'x'": 1.0,
    }  # fmt: skip
    pcfg, chart = chart_of(rules_of(counts), "x x")
    assert derivation_of(chart, pcfg.symbols)[0] == [(0, 2, "S")]  # four trees have 1/4 each
    del counts["S -> X X"], counts["A -> X X"]
    counts["S -> A"] = 1.0
    pcfg, chart = chart_of(rules_of(counts), "x x")
    assert derivation_of(chart, pcfg.symbols)[0] == [(0, 2, "S"), (0, 2, "A"), (0, 2, "B")]


@given(unary_cases(nonterminals=FEW_LABELS), st.integers(1, 4))
def test_copies_of_a_label_are_counted(case: tuple[naive.Grammar, list[str]], k: int) -> None:
    """The probabilities of k at least, of each label and of any constituents, by following the chains."""
    grammar, words = case
    pcfg = to_pcfg(grammar)
    if not set(words) <= set(pcfg.terminals) or not naive_unary.sentence_probability(grammar, words):
        return
    [parse] = Parser(pcfg, "labelled-recall").parse([words])
    n, projection = len(words), projection_of(grammar)
    known = parse.posteriors
    assert known is not None
    by_k = [
        naive_unary.at_least(
            grammar, words, one, lambda a: None if a in grammar.terminals() else projection[a]
        )
        for one in range(1, k + 1)
    ]
    for start, end in ((i, j) for i in range(n) for j in range(i + 1, n + 1)):
        for label in {label for _, _, label in by_k[0]}:
            labelled, _ = known.expected_matches([(start, end, label)] * k)
            assert labelled == pytest.approx(
                float(sum(one.get((start, end, label), 0) for one in by_k)), abs=1e-12
            )
            assert known.labelled(start, end, label) <= 1 + 1e-12
    brackets = naive_objectives.brackets(grammar, words, projection)
    for (i, j), wanted in brackets.items():
        found = known.brackets(k, nary=True)[:, cell_of(n, i, j)]
        assert found == pytest.approx((wanted + [0.0] * k)[:k], abs=1e-12)
    expected = naive_objectives.expected_constituents(grammar, words, projection)
    assert known.expected_constituents() == pytest.approx(float(sum(expected.values())))
    nary = sum(p for (_, _, x), p in expected.items() if not x.endswith("_Cont"))
    assert known.expected_constituents(nary=True) == pytest.approx(float(nary), abs=1e-12)


def log_prob(rules: str) -> float:
    """The sentence x's, under rules of which S is the start."""
    [parse] = mp.Parser(mp.grammar(grammar_text(rules, terminals="words")), "labelled-tree").parse("x")
    assert parse.reason is None
    return parse.log_prob


@pytest.mark.parametrize("leaves", [1e-6, 1e-9, 1e-12, 1e-14])
def test_cycles_of_one_rule_and_of_two(leaves: float) -> None:
    one = f"{1 - leaves!r} - S -> S; {leaves!r} - S -> 'x'"
    two = f"{1 - leaves!r} - S -> T; {leaves!r} - S -> 'x'; {1 - leaves!r} - T -> S; {leaves!r} - T -> 'x'"
    for rules in (one, two):
        assert log_prob(rules) == pytest.approx(0, abs=1e-12)


def test_sums_within_the_tolerance_are_made_one() -> None:
    for excess in (9e-7, 4e-7, -4e-7, -9e-7):
        stays = 1 - 1e-6
        for rules in (
            f"{stays!r} - S -> S; {1e-6 + excess!r} - S -> 'x'",
            f"{stays + excess!r} - S -> S; 1e-6 - S -> 'x'",
            f"{1 + excess!r} - S -> T; {1 + excess!r} - T -> 'x'",
        ):
            assert log_prob(rules) == pytest.approx(0, abs=1e-9)


def test_what_is_never_left_is_refused() -> None:
    for rules in ("1 - S -> S", "0.9999995 - S -> S", "1 - S -> T; 1 - T -> S"):
        with pytest.raises(GrammarError, match="never left"):
            log_prob(rules)


def test_sums_of_one_are_left_to_the_last_bit() -> None:
    thirds = {Rule("S", (f"'{x}'",)): Weight(1 / 3) for x in "xyz"}
    tenths = {Rule("T", (f"'{x}'",)): Weight(0.1) for x in "abcdefghij"}
    built = PCFG.from_rules(RuleSet("words", {"S": Weight(0.7), "T": Weight(0.3)}, thirds | tenths))
    assert set(built.lexical_log_prob.tolist()) == {math.log(1 / 3), math.log(0.1)}
    assert {math.log(0.7), math.log(0.3)} == set(built.root_log_prob.tolist())
