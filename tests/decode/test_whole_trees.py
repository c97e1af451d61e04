"""Trees that are right as a whole: masses and bounds against enumeration, certificates never wrong."""

import json
import math
from collections import defaultdict
from pathlib import Path

import naive
import naive_crossing
import numpy as np
import pytest
from commandline import run
from conversion import to_pcfg
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from strategies import derived, grammars, sentences
from unary_strategies import unary_cases

from mbrparse.charts.exhaustive.factory import ForestCharts
from mbrparse.charts.forest.consistency import Consistency
from mbrparse.decode.bracketing import best_bracketing
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.tree_probability import TreeProbability
from mbrparse.decode.whole_trees.whole_tree_decoder import Bracket, SameTree, Uncrossed, best_tree
from mbrparse.errors import GrammarError

NAMES = {"A": "S_Cont", "B": "S_Cont>NP", "C": "NP"}


def is_continuation(symbol: str) -> bool:
    return symbol in "AB"


def nothing(_symbol: str) -> bool:
    return False


@settings(suppress_health_check=list(HealthCheck))
@given(st.data())
def test_certificates_are_never_wrong(data: st.DataObject) -> None:
    grammar = data.draw(grammars())
    if data.draw(st.booleans()):
        kept = {rule: p for rule, p in grammar.binary.items() if not is_continuation(rule[1])}
        grammar = naive.Grammar(grammar.start, kept, grammar.lexical)
    words = data.draw(sentences(grammar, 7))
    assume(float(naive.sentence_probability(grammar, words)) > 0)
    n = len(words)
    pcfg = to_pcfg(grammar, NAMES)
    charts, ids = ForestCharts(pcfg), pcfg.encode(words)
    for taken_out in (is_continuation, nothing):
        trees = naive_crossing.n_ary_trees(grammar, words, taken_out)
        masses = {t: naive_crossing.mass(trees, t) for t in naive.bracketings(n)}
        optimum = max(masses.values())
        flags = None if taken_out is is_continuation else Consistency(pcfg).continuation & False
        consistency = Consistency(pcfg, flags)
        agreement = Uncrossed(consistency, consistency.forest(charts, ids))
        first = best_bracketing(agreement.start().joint, n)
        candidate: list[Bracket] = list(zip(first.starts.tolist(), first.ends.tolist(), strict=True))
        work = data.draw(st.sampled_from([0.0, 50.0, 1e9]))
        found = best_tree(agreement, [candidate], work)
        spans = frozenset((start, end) for start, end in found.tree)
        assert found.mass == pytest.approx(masses[spans], abs=1e-9)
        assert found.bound >= optimum - 1e-9
        if found.certified:
            assert found.mass == pytest.approx(optimum, abs=1e-9)
        else:
            assert work < 1e9
        labels = st.sampled_from(["of brackets", "of the tree"])
        if taken_out is nothing:
            label = np.zeros(len(pcfg.symbols), np.int32)
            if data.draw(labels) == "of the tree":
                label = pcfg.label_ids
                optimum = most_probable(grammar, words)
            same_tree = SameTree(consistency.forest(charts, ids), label)
            trees_of = same_tree.brackets(same_tree.start(), candidate, frozenset())
            best = best_tree(same_tree, [trees_of], work)
            assert best.bound >= optimum - 1e-9
            assert best.mass <= optimum + 1e-9
            if best.certified:
                assert best.mass == pytest.approx(optimum, abs=1e-9)
            else:
                assert work < 1e9


def most_probable(grammar: naive.Grammar, words: list[str]) -> float:
    """The largest sum over derivations that have the same labelled spans, continuations too."""
    projection = {"A": "S_Cont", "B": "S_Cont", "C": "NP"}
    sums: dict[frozenset[naive.LabelledSpan], float] = defaultdict(float)
    total = 0.0
    for tree, p in naive.derivations(grammar, words):
        sums[naive.labelled_spans(tree, projection)] += float(p)
        total += float(p)
    return max(sums.values()) / total


@given(unary_cases(cyclic=False))
def test_whole_trees_with_unary_rules(case: tuple[naive.Grammar, list[str]]) -> None:
    grammar, words = case
    assume(float(naive.sentence_probability(grammar, words)) > 0)
    parse = Parser(to_pcfg(grammar), "consistent-brackets-tree", "bracketed-tree").parse([words])[0]

    def cont(symbol: str) -> bool:
        return symbol.startswith("X_Cont")

    for found, taken_out in zip(parse.decoded, (cont, nothing), strict=True):
        trees = naive_crossing.n_ary_trees(grammar, words, taken_out)
        optimum = max(naive_crossing.mass(trees, t) for t in naive.bracketings(len(words)))
        assert found is not None
        assert found.certificate is not None
        assert found.certificate.certified
        assert found.score == pytest.approx(optimum, abs=1e-9)


@given(derived())
def test_the_most_probable_tree_is_as_probable_as_told(case: tuple[naive.Grammar, list[str]]) -> None:
    grammar, words = case
    pcfg = to_pcfg(grammar, NAMES)
    parse = Parser(pcfg, "most-probable-tree").parse([words])[0]
    [found] = parse.decoded
    assert found is not None
    assert found.score == pytest.approx(most_probable(grammar, words), abs=1e-9)
    log_prob = TreeProbability(pcfg).log_prob(found.spans, pcfg.encode(words))
    if len(words) > 1:
        assert found.score == pytest.approx(math.exp(log_prob - parse.log_prob), abs=1e-9)


def test_the_most_probable_tree_needs_a_grammar_without_unary_rules() -> None:
    grammar = naive.Grammar({"S": 1.0}, {("S", "S", "S"): 0.4}, {("A", "x"): 1.0}, {("S", "A"): 0.6})
    with pytest.raises(GrammarError, match="unary"):
        Parser(to_pcfg(grammar), "most-probable-tree")


WHOLE = ("--objective", "consistent-brackets-tree", "--objective", "bracketed-tree", "-o", "{objective}.mrg")


def test_details_and_the_count_of_the_certified(toy_folder: Path) -> None:
    result = run("parse", "-g", "grammar.txt", "tags.txt", *WHOLE, "--details", "d.jsonl")
    assert result.code == 0, result.err
    assert "certified: consistent-brackets-tree 2 of 2, bracketed-tree 2 of 2" in result.err
    rows = [json.loads(line)["trees"] for line in (toy_folder / "d.jsonl").read_text().splitlines()]
    for tree in rows[0].values():
        assert tree["certified"] is True
        assert tree["bound"] == pytest.approx(tree["expected_score"])
    # Of the binary tree more has to be right than of the n-ary one.
    assert rows[0]["bracketed-tree"]["bound"] <= rows[0]["consistent-brackets-tree"]["bound"] + 1e-9


@pytest.mark.usefixtures("toy_folder")
def test_other_engines_and_sources() -> None:
    plain = run("parse", "-g", "grammar.txt", "tags.txt", "--objective", "bracketed-tree")
    for options in (("--jobs", "2"),):
        result = run("parse", "-g", "grammar.txt", "tags.txt", "--objective", "bracketed-tree", *options)
        assert result.code == 0, result.err
        assert result.out == plain.out
    for options in (("--engine", "best-first"), ("--space", "grammar"), ("--node-cost", "0.1")):
        result = run("parse", "-g", "grammar.txt", "tags.txt", "--objective", "bracketed-tree", *options)
        assert result.code == 2, result.err
    run("parse", "-g", "grammar.txt", "tags.txt", "--write-posteriors", "p.npz", "-o", "out.mrg")
    result = run("parse", "--posteriors", "p.npz", "tags.txt", "--objective", "bracketed-tree")
    assert result.code == 2
    assert "not given posteriors" in result.err
