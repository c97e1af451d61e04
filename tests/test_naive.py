"""The naive twins against the papers' numbers, hand-computed cases, identities and each other."""

from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import get_args

import naive
import naive_unary
import pytest
from hypothesis import HealthCheck, given, settings
from naive import Grammar, ItemKind, Node, P, Projection
from naive_objectives import expected_constituents, gains, grammar_optimum, max_rule_optimum, projection_of
from published_grammars import GOODMAN, SIMAAN, X4, X8
from unary_strategies import unary_cases

F = Fraction
ITEM_KINDS: tuple[ItemKind, ...] = get_args(ItemKind)
# Drawing a case lists trees.
patient = settings(suppress_health_check=list(HealthCheck))


def near(value: P, printed: str) -> bool:
    """Whether a value rounds to the printed decimal."""
    return f"{float(value):.{len(printed.split('.')[1])}f}" == printed


# --- published numbers (PAPERS.md, sections 1 and 3) -----------------------------------


def test_goodman_grammar_3() -> None:
    g = naive.posteriors(GOODMAN, X4)
    listed = naive.derivations(GOODMAN, X4)
    assert sorted(p for _, p in listed) == [F(1, 4)] * 4
    assert len(naive.viterbi(GOODMAN, X4)[1]) == 4
    for tree, _ in listed:
        spans = naive.labelled_spans(tree)
        assert sum(g[span] for span in spans) == F(7, 4)
        assert naive.expected_matches(GOODMAN, X4, spans) == (F(7, 4), 3)
    assert naive.free_optimum(g, 4) == 2
    best = {(0, 4): "S", (0, 2): "A", (2, 4): "B"}
    assert naive.free_value(best, g) == 2
    spans = frozenset((i, j, label) for (i, j), label in best.items())
    assert naive.expected_matches(GOODMAN, X4, spans) == (2, 3)
    assert naive.tree_probability(GOODMAN, X4, spans) == 0
    value, ties = grammar_optimum(GOODMAN, X4, "labelled-recall")
    assert (value, len(ties)) == (F(7, 4), 4)


def test_simaan_probabilities() -> None:
    assert len(naive.derivations(SIMAAN, X8)) == 500
    assert naive.sentence_probability(SIMAAN, X8) == F(453981, 10**7)
    probability, [best] = naive.viterbi(SIMAAN, X8)
    assert probability == F(1, 250)
    balanced = {(0, 8, "S"), (0, 4, "S"), (4, 8, "S")} | {(i, i + 2, "A") for i in (0, 2, 4, 6)}
    assert naive.labelled_spans(best) == balanced
    g = naive.posteriors(SIMAAN, X8)
    printed = {
        "0.19942": [(0, 4, "S"), (4, 8, "S")],
        "0.16829": [(0, 2, "A"), (6, 8, "A")],
        "0.40707": [(2, 4, "A"), (4, 6, "A")],
        "0.36477": [(3, 5, "A")],
        "0.39911": [(1, 8, "S"), (0, 7, "S")],
        "0.36136": [(1, 7, "S")],
        "0.28295": [(2, 6, "S")],
    }
    for figure, spans in printed.items():
        assert all(near(g[span], figure) for span in spans)


def test_simaan_recalls() -> None:
    g = naive.posteriors(SIMAAN, X8)
    value, best = grammar_optimum(SIMAAN, X8, "labelled-recall")
    assert near(value, "3.13236")
    assert naive.free_optimum(g, 8) == value
    assert len(best) == 4
    chain = {(1, 8, "S"), (1, 7, "S"), (1, 6, "S"), (2, 6, "S"), (2, 4, "A"), (4, 6, "A")}
    assert {(0, 8, "S"), *chain} in [naive.labelled_spans(tree) for tree in best]
    for tree in best:
        assert naive.tree_probability(SIMAAN, X8, naive.labelled_spans(tree)) == F(81, 50000)
    _, [balanced] = naive.viterbi(SIMAAN, X8)
    assert near(sum(g[span] for span in naive.labelled_spans(balanced)), "2.54955")
    assert near(naive.free_optimum(g, 8, labelled_weight=0, span_weight=1), "3.23307")
    assert near(grammar_optimum(SIMAAN, X8, "bracketed-recall")[0], "3.23307")


# --- hand-computed cases ---------------------------------------------------------------


# Round trips A -> B -> A of probability 1/6 before "a" (from A) or "b" (from B).
ROUND = Grammar(
    {"A": F(1)}, {}, {("A", "a"): F(2, 3), ("B", "b"): F(1, 2)}, {("A", "B"): F(1, 3), ("B", "A"): F(1, 2)}
)


def leaf(symbol: str, start: int) -> Node:
    return Node(symbol, start, start + 1)


def over(symbol: str, child: Node) -> Node:
    return Node(symbol, child.start, child.end, (child,))


def test_round_trips() -> None:
    """Their number is geometric: 1/5 expected, before "a" and before "b"."""
    closure = {("A", "A"): F(6, 5), ("A", "B"): F(2, 5), ("B", "A"): F(3, 5), ("B", "B"): F(6, 5)}
    assert naive_unary.closure(ROUND) == closure
    assert naive_unary.sentence_probability(ROUND, ["b"]) == F(1, 5)
    assert naive_unary.posteriors(ROUND, ["a"]) == {(0, 1, "A"): F(6, 5), (0, 1, "B"): F(1, 5)}
    assert gains(ROUND, ["a"], "productions") == {(0, 1, "A", "B"): F(1, 6), (0, 1, "B", "A"): F(1, 6)}
    once = over("A", leaf("B", 0))
    assert grammar_optimum(ROUND, ["b"], "labelled-recall") == (F(1), [once])
    assert max_rule_optimum(ROUND, ["b"], "max-rule-sum") == (F(2), [once])
    assert naive.viterbi(ROUND, ["b"]) == (F(1, 6), [once])
    refusing: list[Callable[[], object]] = [
        lambda: naive.sentence_probability(ROUND, ["a"]),
        lambda: naive.inside(ROUND, ["a"]),
        lambda: naive.posteriors(ROUND, ["a"]),
        lambda: naive.tree_probability(ROUND, ["a"], ()),
        lambda: naive.expected_counts(ROUND, [["a"]]),
    ]
    for refuses in refusing:
        with pytest.raises(ValueError, match="cycle"):
            refuses()


# --- closed form and enumeration compared ----------------------------------------------


@patient
@given(unary_cases(cyclic=False, longest=4))
def test_closed_form_equals_enumeration(case: tuple[Grammar, list[str]]) -> None:
    grammar, words = case
    assert naive_unary.sentence_probability(grammar, words) == naive.sentence_probability(grammar, words)
    assert naive_unary.inside(grammar, words) == naive.inside(grammar, words)
    assert naive_unary.outside(grammar, words) == naive.outside(grammar, words)
    for projection in (None, projection_of(grammar)):
        g = naive.posteriors(grammar, words, projection)
        assert naive_unary.posteriors(grammar, words, projection) == g
        for kind in ITEM_KINDS:
            for k in (1, 2, 3):
                listed = naive.item_posteriors(grammar, words, kind, projection, True, grammar.terminals(), k)
                assert naive_unary.item_posteriors(grammar, words, kind, projection, k) == listed
    projection, trees = projection_of(grammar), naive.derivations(grammar, words)
    labelled = constituents_of(trees, projection)
    assert expected_constituents(grammar, words, projection) == labelled
    assert gains(grammar, words, "labelled-recall", projection) == constituents_of(trees, projection, 1)
    every = dict.fromkeys(projection, "any")
    assert gains(grammar, words, "bracketed-recall", projection) == {
        key[:2]: p for key, p in constituents_of(trees, every, 1).items()
    }
    for k in (2, 3):
        assert naive_unary.at_least(grammar, words, k, projection.get) == constituents_of(
            trees, projection, k
        )


def constituents_of(
    listed: list[tuple[Node, P]], projection: Projection, least: int = 0
) -> dict[tuple[int, int, str], P]:
    """By listed derivations, the expected number of constituents of labels, or the probability of some."""
    found: dict[tuple[int, int, str], P] = defaultdict(int)
    total = sum(p for _, p in listed)
    for tree, p in listed:
        nodes = Counter((node.start, node.end, projection[node.symbol]) for node in naive.constituents(tree))
        for key, k in nodes.items():
            if k >= least:
                found[key] += p / total * (1 if least else k)
    return dict(found)
