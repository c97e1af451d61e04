"""The naive twin against hand-computed cases, published numbers and identities."""

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import (
    HOLE,
    Grammar,
    ItemKind,
    LabelledSpan,
    Node,
    P,
    bracketings,
    consistent_brackets,
    constituents,
    crosses,
    derivations,
    expected_counts,
    expected_matches,
    free_optimum,
    free_value,
    grammar_optimum,
    inside,
    item_optimum,
    item_posteriors,
    item_value,
    labelled_spans,
    matches,
    nodes,
    outside,
    posteriors,
    sentence_probability,
    subtrees,
    tree_items,
    tree_probability,
    viterbi,
)
from published_grammars import GOODMAN, SIMAAN, X4, X8
from strategies import UNKNOWN, grammars, sentences

F = Fraction
# One symbol, phrase and lexical at once: each bracketing of a^n has probability 2^(1-2n).
HALVES = Grammar({"S": F(1)}, {("S", "S", "S"): F(1, 2)}, {("S", "a"): F(1, 2)})

# Two symbols N1, N2 that share the label N, by hand for "a b": 1/2*3/4 and 1/2*1/4.
SPLIT = Grammar(
    {"N1": F(1, 2), "N2": F(1, 2), "Z": F(0)},
    {("N1", "a", "b"): F(3, 4), ("N2", "a", "b"): F(1, 4), ("Z", "a", "b"): F(1)},
    {("a", "a"): F(1), ("b", "b"): F(1), ("N1", "a"): F(1, 4), ("N2", "a"): F(3, 4)},
)
TO_N = {"N1": "N", "N2": "N"}


# --- hand-made cases -------------------------------------------------------------------


def leaf(symbol: str, start: int) -> Node:
    return Node(symbol, start, start + 1)


def test_halves() -> None:
    assert len(derivations(HALVES, ["a"] * 5)) == 14
    assert sentence_probability(HALVES, ["a"] * 3) == 2 * F(1, 32)
    assert sentence_probability(HALVES, ["a", "b"]) == 0
    assert sentence_probability(HALVES, []) == 0
    assert inside(HALVES, ["a", "a"]) == {
        (0, 1, "S"): F(1, 2),
        (1, 2, "S"): F(1, 2),
        (0, 2, "S"): F(1, 8),
    }
    assert outside(HALVES, ["a", "a"]) == {
        (0, 1, "S"): F(1, 4),
        (1, 2, "S"): F(1, 4),
        (0, 2, "S"): F(1),
    }
    # What lies inside a span plays no part in the outside probability around it.
    assert outside(HALVES, ["b", "a"]) == {(0, 1, "S"): F(1, 4), (0, 2, "S"): F(1)}
    assert posteriors(HALVES, ["a"] * 3) == {
        (0, 1, "S"): 1,
        (1, 2, "S"): 1,
        (2, 3, "S"): 1,
        (0, 2, "S"): F(1, 2),
        (1, 3, "S"): F(1, 2),
        (0, 3, "S"): 1,
    }
    assert posteriors(HALVES, ["b"]) == {}
    with pytest.raises(ValueError, match="hole"):
        outside(HALVES, [HOLE])


def test_trees() -> None:
    left = Node("S", 0, 3, (Node("S", 0, 2, (leaf("S", 0), leaf("S", 1))), leaf("S", 2)))
    right = Node("S", 0, 3, (leaf("S", 0), Node("S", 1, 3, (leaf("S", 1), leaf("S", 2)))))
    assert dict(derivations(HALVES, ["a"] * 3)) == {left: F(1, 32), right: F(1, 32)}
    assert [(c.start, c.end) for c in constituents(left)] == [(0, 3), (0, 2)]
    assert len(nodes(left)) == 5
    assert labelled_spans(left) == {(0, 3, "S"), (0, 2, "S")}
    probability, best = viterbi(HALVES, ["a"] * 3)
    assert probability == F(1, 32)
    assert set(best) == {left, right}
    assert viterbi(HALVES, ["b"]) == (0, [])
    assert subtrees(HALVES, ["a", "b"]) == {(0, 1, "S"): [(leaf("S", 0), F(1, 2))]}


def test_zero_probability_derives_nothing() -> None:
    zero = Grammar({"S": F(1), "Z": F(0)}, {("S", "a", "a"): F(0)}, {("a", "a"): F(1)})
    assert derivations(zero, ["a", "a"]) == []
    assert inside(zero, ["a", "a"]) == {(0, 1, "a"): 1, (1, 2, "a"): 1}
    assert outside(zero, ["a", "a"]) == {(0, 2, "S"): 1}
    assert zero.symbols() == ["S", "Z", "a"]


def test_projection() -> None:
    words = ["a", "b"]
    assert sentence_probability(SPLIT, words) == F(1, 2)
    unprojected = posteriors(SPLIT, words)
    assert unprojected[0, 2, "N1"] == F(3, 4)
    assert unprojected[0, 2, "N2"] == F(1, 4)
    assert posteriors(SPLIT, words, TO_N) == {(0, 1, "a"): 1, (1, 2, "b"): 1, (0, 2, "N"): 1}
    assert tree_probability(SPLIT, words, {(0, 2, "N")}, TO_N) == F(1, 2)
    assert tree_probability(SPLIT, words, {(0, 2, "N1")}) == F(3, 8)
    assert tree_probability(SPLIT, words, {(0, 2, "N")}) == 0
    assert tree_probability(SPLIT, words, set(), TO_N) == 0
    # A sentence of one word has no constituents: its derivations are summed.
    assert tree_probability(SPLIT, ["a"], set()) == F(1, 2)
    assert posteriors(SPLIT, ["a"], TO_N) == {(0, 1, "N"): 1}


def test_expected_matches() -> None:
    spans = {(0, 2, "N1"), (0, 2, "Q"), (0, 1, "a"), (1, 3, "N1")}
    assert expected_matches(SPLIT, ["a", "b"], spans) == (F(3, 4), 2)
    assert expected_matches(SPLIT, ["a", "b"], {(0, 2, "N")}, TO_N) == (1, 1)
    assert expected_matches(HALVES, ["a"] * 3, {(0, 3, "X"), (1, 3, "S")}) == (F(1, 2), F(3, 2))
    assert expected_matches(HALVES, ["b"], {(0, 1, "S")}) == (0, 0)


def test_bracketings() -> None:
    assert [len(bracketings(n)) for n in range(1, 9)] == [1, 1, 2, 5, 14, 42, 132, 429]
    assert bracketings(1) == [frozenset()]
    assert set(bracketings(3)) == {frozenset({(0, 3), (0, 2)}), frozenset({(0, 3), (1, 3)})}
    for spans in bracketings(6):
        assert len(spans) == 5
        assert not any(crosses(a, b) for a, b in itertools.combinations(spans, 2))
    assert len(set(bracketings(6))) == 42


def test_free_optimum() -> None:
    g: dict[LabelledSpan, P] = {
        (0, 3, "S"): 1,
        (0, 2, "A"): F(3, 8),
        (0, 2, "B"): F(1, 8),
        (1, 3, "A"): F(1, 4),
        (1, 3, "B"): F(1, 4),
        (0, 1, "w"): 1,
    }
    assert free_optimum(g, 3) == 1 + F(3, 8)
    assert free_optimum(g, 3, labelled_weight=0, span_weight=1) == 1 + F(1, 2)
    value = free_optimum(g, 3, labelled_weight=2, span_weight=-1, node_constant=F(1, 10))
    assert value == 2 * (1 + F(3, 8)) - F(3, 2) + F(1, 5)
    assert free_optimum(g, 1) == 0
    # Each span has a label of mass zero ("w"), so a label need never cost anything.
    assert free_optimum(g, 3, labelled_weight=-1) == 0
    assert free_optimum(g, 3, labelled_weight=-1, allow_unlabelled=False) == 0
    only_s: dict[LabelledSpan, P] = {(0, 2, "S"): 1}
    assert free_optimum(only_s, 2, labelled_weight=-1) == 0
    assert free_optimum(only_s, 2, labelled_weight=-1, allow_unlabelled=False) == -1
    assert free_optimum({}, 4, node_constant=F(-1, 3)) == -1
    tree = {(0, 3): "S", (0, 2): None}
    assert free_value(tree, g, span_weight=2, node_constant=5) == (1 + 2 + 5) + (0 + 1 + 5)


def test_items() -> None:
    tree = Node("S", 0, 3, (Node("N1", 0, 2, (leaf("a", 0), leaf("b", 1))), leaf("N2", 2)))
    assert tree_items(tree, "children", TO_N) == [(0, 3, "S", "N", "left")]
    assert tree_items(tree, "children", lexical_children=True) == [
        (0, 3, "S", "N1", "left"),
        (0, 3, "S", "N2", "right"),
        (0, 2, "N1", "a", "left"),
        (0, 2, "N1", "b", "right"),
    ]
    assert tree_items(tree, "production", TO_N) == [(0, 3, "S", "N", "N"), (0, 2, "N", "a", "b")]
    assert tree_items(tree, "split_production") == [
        (0, 2, 3, "S", "N1", "N2"),
        (0, 1, 2, "N1", "a", "b"),
    ]


def test_item_posteriors() -> None:
    words = ["a"] * 3
    assert item_posteriors(HALVES, words, "production") == {
        (0, 3, "S", "S", "S"): 1,
        (0, 2, "S", "S", "S"): F(1, 2),
        (1, 3, "S", "S", "S"): F(1, 2),
    }
    assert item_posteriors(HALVES, words, "split_production")[0, 1, 3, "S", "S", "S"] == F(1, 2)
    assert item_posteriors(HALVES, words, "children") == {
        (0, 3, "S", "S", "left"): F(1, 2),
        (0, 3, "S", "S", "right"): F(1, 2),
    }
    assert item_posteriors(HALVES, words, "children", None, True)[0, 3, "S", "S", "left"] == 1
    value, best = item_optimum(HALVES, words, "production")
    assert (value, len(best)) == (F(3, 2), 2)
    assert item_optimum(HALVES, ["b"], "production") == (0, [])


def test_expected_counts() -> None:
    corpus = [["a"] * 3, ["b"], ["a"]]
    counts = expected_counts(HALVES, corpus)
    assert counts.start == {"S": 2}
    assert counts.binary == {("S", "S", "S"): 2}
    assert counts.lexical == {("S", "a"): 4}
    assert counts.log_likelihood == pytest.approx(math.log(1 / 16) + math.log(1 / 2))
    assert counts.unparsed == [1]
    bracketed = expected_counts(HALVES, corpus, [{(0, 2), (0, 1)}, None, ()])
    assert bracketed[:3] == counts[:3]
    assert bracketed.log_likelihood == pytest.approx(math.log(1 / 32) + math.log(1 / 2))
    assert expected_counts(HALVES, corpus[:1], [{(0, 2), (1, 3)}]).unparsed == [0]
    # The two derivations of "a b" weigh 3 : 1.
    uneven = expected_counts(SPLIT, [["a", "b"]])
    assert uneven.start == {"N1": F(3, 4), "N2": F(1, 4)}
    assert uneven.lexical == {("a", "a"): 1, ("b", "b"): 1}


def test_evaluation() -> None:
    assert crosses((0, 2), (1, 3))
    assert crosses((1, 3), (0, 2))
    for b in [(0, 2), (0, 1), (2, 4), (0, 5), (3, 4)]:
        assert not crosses((0, 2), b)
    assert consistent_brackets([(0, 4), (0, 2), (0, 2), (1, 3)], [(0, 4), (0, 3), (2, 4)]) == 3
    assert consistent_brackets([(0, 2)], []) == 1
    gold = [(0, 3, "S"), (0, 2, "A"), (0, 2, "A"), (1, 3, "B")]
    guess = [(0, 2, "A"), (0, 3, "S"), (0, 3, "S"), (1, 3, "A")]
    assert matches(gold, guess) == matches(guess, gold) == 2


# --- published numbers (PAPERS.md, sections 1 and 3) -----------------------------------


def test_goodman_grammar_3() -> None:
    g = posteriors(GOODMAN, X4)
    listed = derivations(GOODMAN, X4)
    assert sorted(p for _, p in listed) == [F(1, 4)] * 4
    assert len(viterbi(GOODMAN, X4)[1]) == 4
    for tree, _ in listed:
        spans = labelled_spans(tree)
        assert sum(g[span] for span in spans) == F(7, 4)
        assert expected_matches(GOODMAN, X4, spans) == (F(7, 4), 3)
    assert free_optimum(g, 4) == 2
    best = {(0, 4): "S", (0, 2): "A", (2, 4): "B"}
    assert free_value(best, g) == 2
    spans = frozenset((i, j, label) for (i, j), label in best.items())
    assert expected_matches(GOODMAN, X4, spans) == (2, 3)
    assert tree_probability(GOODMAN, X4, spans) == 0
    value, ties = grammar_optimum(GOODMAN, X4, lambda i, j, x: g[i, j, x])
    assert (value, len(ties)) == (F(7, 4), 4)


def near(value: P, printed: str) -> bool:
    """Whether a value rounds to the printed decimal."""
    return f"{float(value):.{len(printed.split('.')[1])}f}" == printed


def test_simaan_probabilities() -> None:
    assert len(derivations(SIMAAN, X8)) == 500
    assert sentence_probability(SIMAAN, X8) == F(453981, 10**7)
    probability, best = viterbi(SIMAAN, X8)
    assert (probability, len(best)) == (F(1, 250), 1)
    balanced = {(0, 8, "S"), (0, 4, "S"), (4, 8, "S")} | {(i, i + 2, "A") for i in (0, 2, 4, 6)}
    assert labelled_spans(best[0]) == balanced
    g = posteriors(SIMAAN, X8)
    printed = {
        ".19942": [(0, 4, "S"), (4, 8, "S")],
        ".16829": [(0, 2, "A"), (6, 8, "A")],
        ".40707": [(2, 4, "A"), (4, 6, "A")],
        ".36477": [(3, 5, "A")],
        ".39911": [(1, 8, "S"), (0, 7, "S")],
        ".36136": [(1, 7, "S")],
        ".28295": [(2, 6, "S")],
    }
    for figure, spans in printed.items():
        assert all(near(g[span], "0" + figure) for span in spans)


def test_simaan_recalls() -> None:
    g = posteriors(SIMAAN, X8)
    balanced = viterbi(SIMAAN, X8)[1][0]
    value, best = grammar_optimum(SIMAAN, X8, lambda i, j, x: g[i, j, x])
    assert near(value, "3.13236")
    assert free_optimum(g, 8) == value
    assert len(best) == 4
    chain = {(1, 8, "S"), (1, 7, "S"), (1, 6, "S"), (2, 6, "S"), (2, 4, "A"), (4, 6, "A")}
    assert {(0, 8, "S"), *chain} in [labelled_spans(tree) for tree in best]
    for tree in best:
        assert tree_probability(SIMAAN, X8, labelled_spans(tree)) == F(81, 50000)
    assert near(sum(g[span] for span in labelled_spans(balanced)), "2.54955")
    assert near(free_optimum(g, 8, labelled_weight=0, span_weight=1), "3.23307")


@pytest.mark.parametrize(
    ("kind", "lexical", "values", "ties"),
    [
        ("production", False, ("1.68907", "1.93952", "1.93952"), 4),
        ("split_production", False, ("1.61101", "1.93952", "1.93952"), 4),
        ("children", False, ("1.87494", "1.62622", "1.92388"), 2),
        ("children", True, ("4.17636", "4.14110", "4.17636"), 1),
    ],
)
def test_simaan_items(kind: ItemKind, lexical: bool, values: tuple[str, str, str], ties: int) -> None:
    """The values: of the MPP, of each of the four MLR trees, and the optimum."""
    of_balanced, of_recall, optimum = values
    g = posteriors(SIMAAN, X8)
    items = item_posteriors(SIMAAN, X8, kind, lexical_children=lexical)
    [balanced] = viterbi(SIMAAN, X8)[1]
    assert near(item_value(balanced, items, kind, lexical_children=lexical), of_balanced)
    for tree in grammar_optimum(SIMAAN, X8, lambda i, j, x: g[i, j, x])[1]:
        assert near(item_value(tree, items, kind, lexical_children=lexical), of_recall)
    value, best = item_optimum(SIMAAN, X8, kind, lexical_children=lexical)
    assert near(value, optimum)
    assert len(best) == ties
    assert (balanced in best) == (lexical and kind == "children")


# --- identities on random grammars -----------------------------------------------------


@given(st.data())
def test_identities(data: st.DataObject) -> None:
    grammar = data.draw(grammars())
    words = data.draw(sentences(grammar, 5))
    n = len(words)
    total = sentence_probability(grammar, words)
    g = posteriors(grammar, words)
    assert UNKNOWN not in words or (total == 0 and not g)
    e, f = inside(grammar, words), outside(grammar, words)
    products = {key: e[key] * f[key] / total for key in e if key in f} if total else {}
    assert products == pytest.approx(g)
    if not total:
        return
    spans = [{(c.start, c.end) for c in constituents(t)} for t, _ in derivations(grammar, words)]
    assert all(one in bracketings(n) for one in spans)
    assert sum(p for (i, j, _), p in g.items() if j - i >= 2) == pytest.approx(n - 1)
    trees = {labelled_spans(tree) for tree, _ in derivations(grammar, words)}
    parts = [tree_probability(grammar, words, tree) for tree in trees]
    assert sum(parts) == pytest.approx(total)
    labelled, _ = expected_matches(grammar, words, min(trees, key=sorted))
    free, (best, _) = free_optimum(g, n), grammar_optimum(grammar, words, lambda *s: g[s])
    assert labelled <= best + 1e-9 <= free + 2e-9
    counts = expected_counts(grammar, [words])
    assert sum(counts.start.values()) == pytest.approx(1)
    assert sum(counts.binary.values()) == pytest.approx(n - 1)
    assert sum(counts.lexical.values()) == pytest.approx(n)


@given(grammars())
def test_random_grammars_are_proper(grammar: Grammar) -> None:
    sums: dict[str, float] = defaultdict(float)
    for rule, p in [*grammar.binary.items(), *grammar.lexical.items()]:
        sums[rule[0]] += float(p)
    assert sum(grammar.start.values()) == pytest.approx(1)
    assert dict(sums) == pytest.approx(dict.fromkeys(grammar.symbols(), 1.0))
