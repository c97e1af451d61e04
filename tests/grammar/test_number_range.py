"""Rules as improbable as numbers can say: exact, whatever kind of chart it is."""

from __future__ import annotations

import math

import pytest
from conversion import rules_of
from test_number_range_at_random import Case, check_charts

import mbrparse as mp
from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.charts.rule_tables import unary_closure
from mbrparse.decode.best_first.best_first import BestFirst, Until
from mbrparse.decode.best_first.best_first_chart import BestFirstCharts
from mbrparse.decode.objectives import OBJECTIVES
from mbrparse.decode.parser.parser import Parser
from mbrparse.errors import GrammarError
from mbrparse.grammar.pcfg import PCFG

# Of the last two, sums and maxima are far from each other; S -> A, and a chain of single words, are unary.
GRAMMARS: dict[str, dict[str, float]] = {
    "two ways": {"S -> A": 1e-200, "S -> S S": 1, "S -> Y S": 1e-100}
    | {"Y -> y": 1, "A -> A A": 1, "A -> y": 1e-100},
    "75": {"S -> S S": 1e-75, "S -> y": 1},
    "left or right": {"S -> A S": 1e-150, "S -> S A": 1e-155, "S -> y": 1, "A -> y": 1},
    "low and high": {"S -> A B": 1, "A -> A A": 1e-160, "A -> y": 1, "B -> B B": 1, "B -> y": 1e-160},
    "chain": {"S -> A": 1e-120, "A -> B": 1e-120, "B -> B B": 1, "B -> y": 1e-120, "S -> y": 1},
}


def pcfg_of(counts: dict[str, float]) -> PCFG:
    return PCFG.from_rules(rules_of(counts))


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("length", [2, 9])
def test_improbable_sentences_are_exact(name: str, length: int) -> None:
    check_charts(Case(pcfg_of(GRAMMARS[name]), ["y"] * length))


RULES: dict[str, dict[str, float]] = {
    "binary": {"S -> S S": 0.5, "S -> A A": 0.2, "A -> S S": 1, "S -> A S": 0.7},
    "unary": {"S -> A": 0.5, "A -> S": 0.25, "A -> A A": 0.3, "S -> S A": 0.4},
    "annotated": {"S -> A^S S": 0.5, "A^S -> S S": 1, "A^B -> S A^S": 1, "S -> A_Cont>2 A^B": 0.4}
    | {"A_Cont>2 -> A^S A^B": 1, "A_Cont>2 -> A^S S": 0.5},
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("length", [2, 7])
def test_whole_forests_are_exact_however_improbable(name: str, length: int) -> None:
    """A tree of n words has n lexical rules: if these are less probable, posteriors stay."""
    rules = RULES[name]
    parents = sorted({rule.split()[0] for rule in rules})
    grammars = []
    for least in (1.0, 1e-180):
        words = {f"{parent} -> y": place * least for place, parent in enumerate(parents, 1)}
        rest = {f"{parent} -> z": place * (2 - least) for place, parent in enumerate(parents, 1)}
        grammars.append(pcfg_of(rules | words | rest))
    chosen = ["productions", "parent-child", "max-rule-product", "max-rule-sum", "consistent-brackets"]
    chosen += ["bracketed-tree", "labelled-tree", "labelled-f"]
    if name != "unary":
        chosen.append("most-probable-tree")
    likely, unlikely = (
        Parser(one, *(OBJECTIVES[each] for each in chosen), k_best=8, expectations=True).parse(
            [["y"] * length]
        )[0]
        for one in grammars
    )
    assert likely.reason is unlikely.reason is None
    apart = likely.log_prob - unlikely.log_prob
    assert apart == pytest.approx(180 * length * math.log(10), rel=1e-9)
    assert unlikely.expected_scores == pytest.approx(likely.expected_scores, rel=1e-9, abs=1e-9)
    pairs = zip(likely.candidates, unlikely.candidates, strict=True)
    assert all(one.log_prob - other.log_prob == pytest.approx(apart, rel=1e-9) for one, other in pairs)


@pytest.mark.parametrize("least", [1e-200, 1e-160])
def test_chains_less_probable_than_any_number_are_refused(least: float) -> None:
    """Or as improbable as numbers that lack digits."""
    counts = {"S -> A": least, "S -> y": 1.0, "A -> B": least, "A -> y": 1.0, "B -> y": 1.0}
    pcfg = pcfg_of(counts)
    with pytest.raises(GrammarError, match="a chain of unary rules from S down to B is less probable"):
        _ = ChartFactory(pcfg).chart(pcfg.encode(["y"])).log_prob


def test_the_best_first_chart_knows_ties_by_probabilities() -> None:
    """Logarithms that differ by 1e-8 are no tie, however large they are."""
    rules = {"S -> A S": 1e-100, "S -> S A": 1e-100 * (1 + 1e-8), "S -> y": 1e-100, "A -> y": 1, "S -> z": 1}
    pcfg = pcfg_of(rules)
    words = ["y"] * 6
    charts = BestFirstCharts(pcfg, BestFirst("beta", Until("exhausted")))
    best = charts.chart(pcfg.encode(words)).viterbi()
    assert [span[:2] for span in best.nodes] == [(0, 6), (0, 5), (0, 4), (0, 3), (0, 2)]


def test_derivations_next_to_impossible_are_no_candidates() -> None:
    """Beside the best, parts of such may have been lost: the list ends before them, or there is none."""
    pcfg = pcfg_of({"S -> A y": 1, "S -> y A": 1e-90, "S -> y B": 1e-110, "A -> y y": 1, "B -> y y": 1})
    [parse] = Parser(pcfg, k_best=9).parse([["y"] * 3])
    assert [round(one.log_prob / math.log(10), 6) for one in parse.candidates] == [0.0, -90.0]
    [parse] = Parser(pcfg_of(GRAMMARS["two ways"]), k_best=9).parse([["y"] * 9])
    assert parse.reason is None
    assert len(parse.candidates) == 9


@pytest.mark.parametrize("p", [1e-50, 1e-101, 1e-200, 1e-300])
def test_no_rate_of_an_improbable_sentence_is_above_one(p: float) -> None:
    """All trees have one bracket, S over it, and A B in 4 of 5."""
    rules = f"S -> A B [0.5] | C D [0.5]\nA -> 'a' [{p}] | 'z' [{1 - p}]\nB -> 'b' [{p}] | 'z' [{1 - p}]\n"
    rules += f"C -> 'a' [{p}] | 'z' [{1 - p}]\nD -> 'b' [{p / 4}] | 'z' [{1 - p / 4}]"
    ones = ["labelled-recall", "bracketed-f", "most-probable-tree", "bracketed-tree"]
    ones += ["consistent-brackets", "consistent-brackets-tree"]
    [parse] = mp.Parser(mp.grammar(rules), *ones, "consistent-brackets-product", "labelled-tree").parse("a b")
    *scores, product, best = parse.expected_scores.values()
    assert scores == [pytest.approx(1, rel=1e-12)] * len(ones)
    assert all(score is not None and score <= 1 for score in scores)
    assert product == 0
    assert best == pytest.approx(0.8, rel=1e-12)
    assert parse.log_prob == pytest.approx(2 * math.log(p) + math.log(0.625), rel=1e-14)


def test_a_tree_is_found_however_improbable_it_is_beside_others() -> None:
    """All others have a chain S over S~1 at the last word, and so the label S twice over it."""
    rules = "TOP -> S [0.5] | S~1 [0.5]\nS -> S~1 S [1e-5] | S~1 [0.99999]\n"
    rules += "S~1 -> S~1 S~1 [1e-170] | 'z' [1]"
    ones = [OBJECTIVES["labelled-recall"].within(mp.Space.GRAMMAR)]
    [parse] = mp.Parser(mp.grammar(rules), *ones).parse("z z z")
    assert [str(tree) for tree in parse.trees] == ["(TOP (S (S z) (S (S z) (S z))))"]


@pytest.mark.parametrize(("word", "chain"), [(1e-300, 1e-60), (1e-100, 1e-290), (1e-250, 1e-150)])
def test_constituents_over_what_is_next_to_impossible_beside_others_of_its_span(
    word: float, chain: float
) -> None:
    """The word is T's, but a sentence of it alone is S's, which chains of S are over."""
    rules = f"S -> S [{chain}] | 'x' [{word}] | 'z' [{1 - 1e-9}] | T T [1e-9]\nT -> 'x' [1]"
    [parse] = mp.Parser(mp.grammar(rules)).parse("x")
    assert parse.posteriors is not None
    assert parse.posteriors.labelled(0, 1, "S") == pytest.approx(chain, rel=1e-12, abs=0)
    assert parse.posteriors.expected_constituents() == pytest.approx(chain, rel=1e-12, abs=0)
    assert parse.posteriors.preterminal(0, "S") == 1


def test_chains_that_are_too_improbable_without_a_rule_count_nothing() -> None:
    """With A -> C all chains are probable enough."""
    rules = f"S -> A [1e-120] | 'x' [{1 - 1e-120}]\nA -> B [1e-120] | C [0.5] | 'x' [0.5]\n"
    pcfg = mp.grammar(f"{rules}B -> C [1e-120] | 'x' [1]\nC -> 'x' [1]").pcfg
    kept = pcfg.unary_log_prob < -1
    assert unary_closure(pcfg, kept).value.min() == 0
    assert unary_closure(pcfg).value.min() > 0
