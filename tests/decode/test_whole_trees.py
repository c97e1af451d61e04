"""Trees that are right as a whole: masses and bounds against enumeration, certificates never wrong."""

import json
import math
from collections import defaultdict
from pathlib import Path

import naive
import naive_crossing
import pytest
from commandline import run
from conversion import to_pcfg
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import derived
from unary_strategies import unary_cases

from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.tree_probability import TreeProbability
from mbrparse.errors import GrammarError

NAMES = {"A": "S_Cont", "B": "S_Cont>NP", "C": "NP"}


def nothing(_symbol: str) -> bool:
    return False


def most_probable(grammar: naive.Grammar, words: list[str]) -> float:
    """The largest sum over derivations that have the same labelled spans, continuations too."""
    projection = {"A": "S_Cont", "B": "S_Cont", "C": "NP"}
    sums: dict[frozenset[naive.LabelledSpan], float] = defaultdict(float)
    total = 0.0
    for tree, p in naive.derivations(grammar, words):
        sums[naive.labelled_spans(tree, projection)] += float(p)
        total += float(p)
    return max(sums.values()) / total


@given(st.data())
def test_certificates_are_never_wrong(data: st.DataObject) -> None:
    unary = data.draw(st.booleans())
    grammar, words = data.draw(unary_cases(cyclic=False) if unary else derived(7))
    assume(float(naive.sentence_probability(grammar, words)) > 0)
    pcfg = to_pcfg(grammar, None if unary else NAMES)
    parse = Parser(pcfg, "consistent-brackets-tree", "bracketed-tree").parse([words])[0]

    def continuation(symbol: str) -> bool:
        return symbol.startswith("X_Cont") if unary else symbol in "AB"

    for found, taken_out in zip(parse.decoded, (continuation, nothing), strict=True):
        trees = naive_crossing.n_ary_trees(grammar, words, taken_out)
        masses = {tree: naive_crossing.mass(trees, tree) for tree in naive.bracketings(len(words))}
        assert found is not None
        assert found.certificate is not None
        assert found.certificate.bound >= max(masses.values()) - 1e-9
        if found.certificate.certified:
            assert found.score == pytest.approx(max(masses.values()), abs=1e-9)
        assert masses[frozenset((i, j) for i, j, _ in found.spans if j - i > 1)] == pytest.approx(found.score)


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
