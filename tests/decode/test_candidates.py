"""Candidates: the different trees with their exact probabilities, and the choice of least risk among them."""

import math
import pickle
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import naive
import numpy as np
import pytest
from conversion import rules_of, to_pcfg
from hypothesis import assume, given
from hypothesis import strategies as st
from naive_objectives import projection_of
from strategies import derived
from test_sampler_of_derivations import AMBIGUOUS
from unary_strategies import unary_cases

import mbrparse as mp
from mbrparse.charts.exhaustive.factory import ForestCharts
from mbrparse.decode.answers import ParserOptions
from mbrparse.decode.candidates.candidate_trees import Candidate, CandidateTrees
from mbrparse.decode.objectives import OBJECTIVES
from mbrparse.decode.parser.parser import Parser
from mbrparse.grammar.pcfg import PCFG, FloatArray
from mbrparse.treebank.outlines import constituents
from mbrparse.treebank.tree import Tree

Spans = tuple[tuple[int, int, str], ...]

NAMES = {"S": "S", "A": "S~1", "B": "S_Cont", "C": "C^S"}
LABELS = {"S": "S", "A": "S", "B": "S_Cont", "C": "C"}
ALL = 100_000


def options(debinarized: bool, **settings: Any) -> ParserOptions:
    return ParserOptions((OBJECTIVES["labelled-recall"],), debinarized=debinarized, **settings)


def masses(
    twin: naive.Grammar, words: list[str], projection: naive.Projection, nary: bool
) -> dict[Spans, float]:
    """The trees' probabilities, each a sum over all derivations that look like it."""
    found: dict[Spans, float] = defaultdict(float)
    for tree, p in naive.derivations(twin, words):
        nodes = [(n.start, n.end, naive.project(n.symbol, projection)) for n in naive.constituents(tree)]
        shown = [
            node for place, node in enumerate(nodes) if not (nary and place and node[2].endswith("_Cont"))
        ]
        if nary and shown:
            shown[0] = (*shown[0][:2], shown[0][2].removesuffix("_Cont"))
        found[tuple(shown)] += float(p)
    return found


def check(listed: Sequence[Candidate], expected: dict[Spans, float]) -> None:
    assert len({tuple(one.spans) for one in listed}) == len(listed)
    assert [one.log_prob for one in listed] == pytest.approx(
        sorted((one.log_prob for one in listed), reverse=True), abs=1e-8
    )
    for one in listed:
        assert math.exp(one.log_prob) == pytest.approx(expected[tuple(one.spans)], rel=1e-9)


@given(derived(5), st.booleans())
def test_all_trees_with_their_probabilities(case: tuple[naive.Grammar, list[str]], nary: bool) -> None:
    twin, words = case
    expected = masses(twin, words, LABELS, nary)
    grammar = to_pcfg(twin, NAMES)
    ids = grammar.encode(words)
    best = CandidateTrees.of_forests(ForestCharts(grammar), options(nary, k_best=ALL)).of_sentence(ids)
    assert {tuple(one.spans) for one in best} == expected.keys()
    check(best, expected)
    drawn = CandidateTrees.of_forests(ForestCharts(grammar), options(nary, samples=50, seed=1)).of_sentence(
        ids
    )
    assert 0 < len(drawn) <= 50
    check(drawn, expected)


@given(unary_cases(cyclic=False), st.booleans())
def test_unary_rules(case: tuple[naive.Grammar, list[str]], nary: bool) -> None:
    """Continuations by unary rules too: all are found, so that their sum is exact."""
    expected = masses(*case, projection_of(case[0]), nary)
    assume(expected)
    grammar = to_pcfg(case[0])
    best = CandidateTrees.of_forests(ForestCharts(grammar), options(nary, k_best=ALL))
    listed = best.of_sentence(grammar.encode(case[1]))
    assert {tuple(one.spans) for one in listed} == expected.keys()
    check(listed, expected)


def test_a_root_that_may_be_a_continuation_is_one_candidate() -> None:
    """S over S and S_Cont over S_Cont are written as one tree, which has both probabilities."""
    rules = {"S -> x S_Cont": 0.5, "S -> x x": 0.5}
    rules |= {"S_Cont -> x S_Cont": 0.5, "S_Cont -> x S": 0.3, "S_Cont -> x x": 0.2}
    parser = Parser(PCFG.from_rules(rules_of(rules, "S S_Cont")), k_best=9, debinarized=True)
    [parse] = parser.parse(["x x x"])
    assert [(str(one.tree), round(math.exp(one.log_prob), 9)) for one in parse.candidates] == [
        ("(S x x x)", 0.1),
        ("(S x (S x x))", 0.075),
    ]


def shared(trees: Sequence[Tree]) -> FloatArray:
    """How many brackets trees share: nothing that evaluation counts so."""
    brackets = [{(node.start, node.end) for node in constituents(tree)} for tree in trees]
    return np.array([[float(len(one & other)) for other in brackets] for one in brackets])


@given(derived(5).filter(lambda case: len(case[1]) > 1), st.booleans())
def test_minimum_risk(case: tuple[naive.Grammar, list[str]], nary: bool) -> None:
    """The best of all trees, where all are candidates."""
    twin, words = case
    expected = masses(twin, words, LABELS, nary)
    total = sum(expected.values())
    spans = {tree: {(start, end) for start, end, _ in tree} for tree in expected}
    scores = {
        one: sum(p / total * len(spans[one] & spans[other]) for other, p in expected.items())
        for one in expected
    }
    parser = Parser(to_pcfg(twin, NAMES), "minimum-risk", k_best=ALL, risk=shared, debinarized=nary)
    [parse] = parser.parse([words])
    assert parse.expected_scores["minimum-risk"] == pytest.approx(max(scores.values()))
    assert scores[tuple(parse.spans[0])] == pytest.approx(max(scores.values()))


def test_candidates_of_a_parse() -> None:
    grammar = to_pcfg(AMBIGUOUS)
    # The rates of trees go to other processes.
    rates = pickle.loads(pickle.dumps(mp.TreeRates("labelled_f", "original")))
    assert str(rates) == "TreeRates('labelled_f', 'original')"
    [parse, lost] = Parser(grammar, k_best=5).parse(["x x x", "x y"])
    assert len({str(one.tree) for one in parse.candidates}) == len(parse.candidates) > 1
    assert all(one.log_prob < parse.log_prob for one in parse.candidates)
    assert [(one.log_prob, one.tree) for one in lost.candidates] == [(-math.inf, lost.tree)]
    assert Parser(grammar).parse(["x x x"])[0].candidates == ()


def test_samples_depend_on_nothing_but_the_seed() -> None:
    grammar = to_pcfg(AMBIGUOUS)
    texts = ["x x x x x x", "x x x", "x x x x x x"]
    together = Parser(grammar, samples=5, seed=2).parse(texts)
    for parse, text in zip(together, texts, strict=True):
        assert Parser(grammar, samples=5, seed=2).parse([text])[0].candidates == parse.candidates
    assert Parser(grammar, samples=5, seed=3).parse(texts[:1])[0].candidates != together[0].candidates
