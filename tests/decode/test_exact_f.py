"""Exact expected F, against all derivations and all n-ary trees of sentences up to six words."""

from collections import defaultdict
from itertools import combinations

import naive
import naive_nary
import pytest
from conversion import to_pcfg
from hypothesis import given
from hypothesis import strategies as st
from strategies import grammars, sentences

from mbrparse.decode.objectives import OBJECTIVES
from mbrparse.decode.parser.parser import Parser
from mbrparse.errors import ObjectiveError
from mbrparse.training.count import train
from mbrparse.treebank.brackets import read_tree

ROWS = [OBJECTIVES[name].with_f("exact") for name in ("labelled-f", "bracketed-f")]
# B is the continuation of S, and C an annotated A.
NAMES = {"S": "S", "A": "A", "B": "S_Cont", "C": "A^S"}
LABELS = {"S": "S", "A": "A", "C": "A"}


def truths(grammar: naive.Grammar, words: list[str]) -> dict[naive_nary.Labelled, float]:
    """Every n-ary tree of the sentence with its probability."""
    found: dict[naive_nary.Labelled, float] = defaultdict(float)
    for tree, p in naive.derivations(grammar, words):
        nodes = [node for node in naive.constituents(tree) if node.symbol in LABELS]
        found[frozenset((node.start, node.end, LABELS[node.symbol]) for node in nodes)] += float(p)
    total = sum(found.values())
    return {tree: p / total for tree, p in found.items()}


@given(grammars(), st.data())
def test_trees_reach_the_enumerated_optimum(grammar: naive.Grammar, data: st.DataObject) -> None:
    words = data.draw(sentences(grammar, 6))
    [parse] = Parser(to_pcfg(grammar, NAMES), *ROWS).parse([words])
    if parse.reason is not None:
        return
    distribution = truths(grammar, words)
    for row, decoded in zip(ROWS, parse.decoded, strict=True):
        assert decoded is not None
        labels = row.name == "labelled-f"
        optimum = naive_nary.expected_f_optimum(distribution, len(words), labels)
        reached = naive_nary.expected_f(distribution, frozenset(decoded.spans), labels)
        assert decoded.score == pytest.approx(optimum, abs=1e-9)
        assert reached == pytest.approx(optimum, abs=1e-9)
        assert len(set(decoded.spans)) == len(decoded.spans)
        spans = [(start, end) for start, end, _ in decoded.spans]
        assert not any(naive.crosses(*pair) for pair in combinations(spans, 2))
        sizes = sum(len(tree) * p for tree, p in distribution.items())
        assert decoded.constituents == pytest.approx(sizes)


def test_long_sentences() -> None:
    """As many roots of unity as words: an expected F stays one between those of its two bounds."""
    texts = ["(S (A x x) (S_Cont x (A x x)))", "(S (S x x) (A x x))", "(A (S x x) x)", "(A x (S x x))"]
    parser = Parser(train([read_tree(text) for text in texts]), *ROWS)
    for length in (21, 64):
        [parse] = parser.parse([["x"] * length])
        labelled, bracketed = (parse.expected_scores[row.name] for row in ROWS)
        assert labelled is not None
        assert bracketed is not None
        assert 0 < labelled <= bracketed <= 1


def test_one_word_and_a_fall_back() -> None:
    parser = Parser(train([read_tree("(S (A a b) (S_Cont c d))"), read_tree("(S a b)")]), *ROWS)
    assert [str(tree) for tree in parser.parse(["a b c d"])[0].trees] == ["(S (A a b) c d)"] * 2
    [lost] = parser.parse(["a b c"])
    assert (lost.reason, str(lost.trees[0])) == ("no parse", "(S a b c)")


def test_unary_rules_are_refused_with_a_remedy() -> None:
    grammar = to_pcfg(
        naive.Grammar({"S": 1.0}, {("S", "A", "A"): 0.5}, {("A", "x"): 1.0}, {("S", "A"): 0.5}),
    )
    with pytest.raises(ObjectiveError, match=r"needs a grammar without unary rules.*--unary top") as caught:
        Parser(grammar, ROWS[0])
    assert "labelled-f" in str(caught.value)
