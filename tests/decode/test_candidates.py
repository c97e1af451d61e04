"""Candidates of a parse; tests/fuzz compares their probabilities, and least risk, with all trees."""

import math
import pickle

from conversion import rules_of, to_pcfg
from test_sampler_of_derivations import AMBIGUOUS

import mbrparse as mp
from mbrparse.decode.parser.parser import Parser
from mbrparse.grammar.pcfg import PCFG


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


def test_samples_of_nearly_endless_chains_are_refused_at_once() -> None:
    """Each constituent is expected to be below some 33,000 copies of its label."""
    rules = {"S -> S S": 1e-5, "S -> x": 2e-5, "S -> S": 0.99997}
    parser = Parser(PCFG.from_rules(rules_of(rules, "S")), "consistent-brackets-tree")
    [parse] = parser.parse(["x x x x"])
    assert parse.reason == "chart too large for memory"
