"""Each objective against the enumeration of all trees."""

import math

import naive
import pytest
from conversion import ANNOTATED, PROJECTION, to_pcfg
from hypothesis import given
from hypothesis import strategies as st
from strategies import UNKNOWN, grammars, sentences

from mbrparse.decode.objectives import OBJECTIVES, Item
from mbrparse.decode.parser.parser import Parse, Parser
from mbrparse.treebank.tree import Tree

# The others search forests: see test_grammar_objectives.
ALL = tuple(OBJECTIVES[name] for name in ("labelled-tree", "labelled-recall", "bracketed-recall"))


def parse(grammar: naive.Grammar, words: list[str], names: dict[str, str] | None = None) -> Parse:
    parser = Parser(to_pcfg(grammar, names), *ALL)
    return parser.parse([tuple(Tree(word) for word in words)])[0]


@st.composite
def cases(draw: st.DrawFn) -> tuple[naive.Grammar, list[str], bool]:
    grammar = draw(grammars())
    return grammar, draw(sentences(grammar, 6)), draw(st.booleans())


@given(cases())
def test_trees_reach_the_enumerated_optimum(case: tuple[naive.Grammar, list[str], bool]) -> None:
    grammar, words, annotated = case
    names = ANNOTATED if annotated else None
    projection = PROJECTION if annotated else None
    found = parse(grammar, words, names)
    probability = float(naive.sentence_probability(grammar, words))
    if probability == 0:
        expected = UNKNOWN if UNKNOWN in words else None
        assert found.reason is not None
        assert found.reason.startswith("unknown terminal") or found.reason == "no parse"
        assert expected is None or "unknown" in found.reason
        return
    assert found.reason is None
    assert found.log_prob == pytest.approx(math.log(probability), abs=1e-9)
    posteriors = naive.posteriors(grammar, words, projection)
    n = len(words)
    for objective, spans in zip(ALL, found.spans, strict=True):
        triples = {(start, end): label for start, end, label in spans}
        assert len(spans) == len(triples) == max(n - 1, 0)
        assert n == 1 or frozenset(triples) in naive.bracketings(n)
        labelled = sum(float(posteriors.get((i, j, x), 0)) for (i, j), x in triples.items())
        bracketed = sum(float(p) for (i, j, _), p in posteriors.items() if (i, j) in triples)
        assert found.posteriors is not None
        assert found.posteriors.expected_matches(spans) == pytest.approx((labelled, bracketed), abs=1e-9)
        if objective.weight(Item.RULE):
            best, _ = naive.viterbi(grammar, words)
            total = naive.tree_probability(grammar, words, set(spans), projection)
            assert n == 1 or float(total) >= float(best) * (1 - 1e-9)
        else:
            optimum = naive.free_optimum(
                posteriors,
                n,
                labelled_weight=objective.weight(Item.LABELLED_SPAN),
                span_weight=objective.weight(Item.SPAN),
            )
            score = objective.weight(Item.LABELLED_SPAN) * labelled + objective.weight(Item.SPAN) * bracketed
            assert score == pytest.approx(float(optimum), abs=1e-9)


def test_ties_go_to_the_earlier_split_and_label() -> None:
    # Both bracketings and both labels are equally probable.
    binary: dict[tuple[str, str, str], naive.P] = {("A", "x", "x"): 1.0, ("B", "x", "x"): 1.0}
    for pair in (("A", "x"), ("B", "x"), ("x", "A"), ("x", "B")):
        binary["S", *pair] = 0.25
    grammar = naive.Grammar({"S": 1.0}, binary, {("x", "x"): 1.0})
    found = parse(grammar, ["x", "x", "x"])
    assert all(str(tree) == "(S x (A x x))" for tree in found.trees)


def test_a_span_of_zero_mass_takes_the_continuation_of_its_parent() -> None:
    # Only x (x x) is derivable under S; the free search must label every span it uses.
    grammar = naive.Grammar({"S": 1.0}, {("S", "x", "S"): 0.5, ("S", "x", "x"): 0.5}, {("x", "x"): 1.0})
    found = parse(grammar, ["x"] * 5)
    assert [str(tree) for tree in found.trees] == ["(S x (S x (S x (S x x))))"] * 3
