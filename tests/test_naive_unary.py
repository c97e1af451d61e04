"""The naive twin with unary rules: hand-computed cases, published numbers, both ways compared."""

import math
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import get_args

import naive
import naive_unary
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from naive import Grammar, Item, ItemKind, Node, P, Projection
from naive_objectives import (
    GRAMMAR_OBJECTIVES,
    KINDS,
    MAX_RULE_OBJECTIVES,
    SPAN_OBJECTIVES,
    Objective,
    SpanObjective,
    free_optimum,
    gains,
    grammar_optimum,
    grammar_trees,
    items,
    max_rule_optimum,
    max_rule_trees,
    projection_of,
    value,
)
from published_grammars import GOODMAN, SIMAAN, X4, X8
from strategies import grammars, sentences
from unary_strategies import MOST_TREES, tree_counts, unary_cases, unary_grammars

F = Fraction
ITEM_KINDS: tuple[ItemKind, ...] = get_args(ItemKind)
X: frozenset[str] = frozenset({"x"})
# Drawing a case lists trees, so examples are few and may be slow.
MODEST = settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)

# Over one word S - A or S - A - B, 1/8 each; over two S(A, A), either A over B or not.
CHAIN = Grammar(
    {"S": F(1)},
    {("S", "A", "A"): F(3, 4)},
    {("A", "a"): F(1, 2), ("B", "a"): F(1)},
    {("S", "A"): F(1, 4), ("A", "B"): F(1, 2)},
)

# k times S -> S with probability 2^-(k+1).
LOOP = Grammar({"S": F(1)}, {}, {("S", "a"): F(1, 2)}, {("S", "S"): F(1, 2)})

# Round trips A -> B -> A of probability 1/6 before "a" (from A) or "b" (from B).
ROUND = Grammar(
    {"A": F(1)},
    {},
    {("A", "a"): F(2, 3), ("B", "b"): F(1, 2)},
    {("A", "B"): F(1, 3), ("B", "A"): F(1, 2)},
)

# One derivation, whose chain has one label only.
SAME = Grammar({"NP~1": F(1)}, {}, {("NP~3", "a"): F(1)}, {("NP~1", "NP~2"): F(1), ("NP~2", "NP~3"): F(1)})

# Two derivations, 3/5 and 2/5; projected, X goes to "a" directly or by way of C.
MIXED = Grammar(
    {"S~1": F(3, 5), "S~2": F(2, 5)},
    {("S~1", "X~1", "Y~1"): F(1), ("S~2", "X~2", "Y~2"): F(1)},
    {("X~1", "a"): F(1), ("Y~1", "b"): F(1), ("C", "a"): F(1), ("Y~2", "b"): F(1)},
    {("X~2", "C"): F(1)},
)


def leaf(symbol: str, start: int) -> Node:
    return Node(symbol, start, start + 1)


def over(symbol: str, child: Node) -> Node:
    return Node(symbol, child.start, child.end, (child,))


# --- hand-made cases -------------------------------------------------------------------


def test_chain_of_one_word() -> None:
    short, long = over("S", leaf("A", 0)), over("S", over("A", leaf("B", 0)))
    assert dict(naive.derivations(CHAIN, ["a"])) == {short: F(1, 8), long: F(1, 8)}
    assert naive.chain(long) == ["S", "A", "B"]
    assert naive.labelled_spans(long) == {(0, 1, "S"), (0, 1, "A")}
    assert naive.tree_probability(CHAIN, ["a"], {(0, 1, "S")}) == F(1, 8)
    g = naive_unary.posteriors(CHAIN, ["a"])
    assert g == {(0, 1, "S"): 1, (0, 1, "A"): 1, (0, 1, "B"): F(1, 2)}
    # Of the A over "a", one half is the preterminal, which is no constituent.
    assert grammar_optimum(CHAIN, ["a"], "labelled-recall") == (F(3, 2), [long])
    assert grammar_optimum(CHAIN, ["a"], "bracketed-recall") == (F(3, 2), [short, long])
    assert gains(CHAIN, ["a"], "parent-child") == {
        (0, 1, "S", "A", "only"): 1,
        (0, 1, "A", "B", "only"): F(1, 2),
    }
    assert gains(CHAIN, ["a"], "productions") == {(0, 1, "S", "A"): 1, (0, 1, "A", "B"): F(1, 2)}
    assert gains(CHAIN, ["a"], "max-rule-sum") == {
        (0, 1, "S", "A"): 1,
        (0, 1, "A", "B"): F(1, 2),
        (0, 1, "A"): F(1, 2),
        (0, 1, "B"): F(1, 2),
    }
    assert max_rule_optimum(CHAIN, ["a"], "max-rule-sum") == (2, [long])
    assert max_rule_optimum(CHAIN, ["a"], "max-rule-product") == (F(1, 2), [short])
    assert free_optimum(CHAIN, ["a"], "labelled-recall") == (0, [frozenset()])


def test_chain_of_two_words() -> None:
    words = ["a", "a"]
    assert len(naive.derivations(CHAIN, words)) == 4
    assert naive_unary.sentence_probability(CHAIN, words) == F(3, 4)
    best = Node("S", 0, 2, (over("A", leaf("B", 0)), over("A", leaf("B", 1))))
    assert grammar_optimum(CHAIN, words, "labelled-recall") == (2, [best])
    assert grammar_optimum(CHAIN, words, "bracketed-recall") == (2, [best])
    # The preterminals A and B count as children.
    assert grammar_optimum(CHAIN, words, "parent-child") == (3, [best])
    assert grammar_optimum(CHAIN, words, "productions") == (2, [best])
    for objective in SPAN_OBJECTIVES:
        assert free_optimum(CHAIN, words, objective) == (1, [frozenset({(0, 2, "S")})])
    counts = naive.expected_counts(CHAIN, [words, ["a"]])
    assert counts.unary == {("S", "A"): 1, ("A", "B"): F(3, 2)}


def test_loop() -> None:
    assert naive_unary.closure(LOOP) == {("S", "S"): 2}
    assert naive_unary.sentence_probability(LOOP, ["a"]) == 1
    assert naive_unary.posteriors(LOOP, ["a"]) == {(0, 1, "S"): 2}
    assert gains(LOOP, ["a"], "max-rule-sum") == {(0, 1, "S", "S"): 1, (0, 1, "S"): 1}
    assert naive.sentence_probability(LOOP, ["a"], longest_chain=4) == F(31, 32)
    assert naive.derivations(LOOP, ["a"]) == [(leaf("S", 0), F(1, 2))]
    for objective in GRAMMAR_OBJECTIVES:
        assert grammar_optimum(LOOP, ["a"], objective) == (0, [leaf("S", 0)])
    for objective in MAX_RULE_OBJECTIVES:
        assert max_rule_optimum(LOOP, ["a"], objective) == (1, [leaf("S", 0)])


def test_round_trips() -> None:
    assert naive_unary.closure(ROUND) == {
        ("A", "A"): F(6, 5),
        ("A", "B"): F(2, 5),
        ("B", "A"): F(3, 5),
        ("B", "B"): F(6, 5),
    }
    assert naive_unary.sentence_probability(ROUND, ["a"]) == F(4, 5)
    assert naive_unary.sentence_probability(ROUND, ["b"]) == F(1, 5)
    assert naive_unary.inside(ROUND, ["a"]) == {(0, 1, "A"): F(4, 5), (0, 1, "B"): F(2, 5)}
    assert naive_unary.outside(ROUND, ["a"]) == {(0, 1, "A"): F(6, 5), (0, 1, "B"): F(2, 5)}
    assert naive_unary.posteriors(ROUND, ["a"]) == {(0, 1, "A"): F(6, 5), (0, 1, "B"): F(1, 5)}
    # The number of round trips is geometric: 1/5 expected, before "a" and before "b".
    assert gains(ROUND, ["a"], "productions") == {(0, 1, "A", "B"): F(1, 5), (0, 1, "B", "A"): F(1, 5)}
    assert gains(ROUND, ["b"], "max-rule-sum") == {
        (0, 1, "A", "B"): F(6, 5),
        (0, 1, "B", "A"): F(1, 5),
        (0, 1, "B"): 1,
    }
    once = over("A", leaf("B", 0))
    assert grammar_optimum(ROUND, ["b"], "labelled-recall") == (F(6, 5), [once])
    assert grammar_optimum(ROUND, ["b"], "bracketed-recall") == (F(7, 5), [once])
    assert max_rule_optimum(ROUND, ["b"], "max-rule-sum") == (F(11, 5), [once])
    assert max_rule_optimum(ROUND, ["b"], "max-rule-product") == (F(6, 5), [once])
    assert naive.viterbi(ROUND, ["b"]) == (F(1, 6), [once])


def test_cycles_are_refused_where_trees_are_listed() -> None:
    for refuses in (
        lambda: naive.sentence_probability(ROUND, ["a"]),
        lambda: naive.inside(ROUND, ["a"]),
        lambda: naive.outside(ROUND, ["a"]),
        lambda: naive.posteriors(ROUND, ["a"]),
        lambda: naive.item_posteriors(ROUND, ["a"], "rule"),
        lambda: naive.tree_probability(ROUND, ["a"], ()),
        lambda: naive.expected_counts(ROUND, [["a"]]),
    ):
        with pytest.raises(ValueError, match="cycle"):
            refuses()


@pytest.mark.parametrize(
    ("unary", "accepted"),
    [
        ({("A", "A"): 1}, False),
        ({("A", "A"): 2}, False),
        ({("A", "B"): 1, ("B", "A"): 1}, False),
        ({("A", "B"): 1, ("B", "C"): 1, ("C", "A"): 1}, False),
        ({("A", "B"): 1, ("B", "A"): F(1, 2), ("B", "B"): F(1, 2)}, False),
        ({("A", "A"): F(3, 5), ("A", "B"): 1, ("B", "A"): 1}, False),
        ({("A", "B"): 1, ("B", "A"): F(999, 1000)}, True),
        ({("A", "B"): 1, ("B", "C"): 1}, True),
        ({("A", "A"): F(1, 2), ("A", "B"): F(1, 2), ("B", "B"): F(1, 2)}, True),
        ({("A", "A"): 0, ("A", "B"): 1}, True),
    ],
)
def test_a_cycle_of_probability_one_is_refused(unary: dict[tuple[str, str], P], accepted: bool) -> None:
    grammar = Grammar({"S": F(1)}, {}, {("S", "a"): F(1)}, unary)
    if accepted:
        closed = naive_unary.closure(grammar)
        assert all(p >= 0 for p in closed.values())
    else:
        with pytest.raises(ValueError, match="probability one"):
            naive_unary.closure(grammar)


def test_a_chain_holds_no_label_twice() -> None:
    labels = projection_of(SAME)
    assert set(labels.values()) == {"NP"}
    assert naive_unary.posteriors(SAME, ["a"], labels) == {(0, 1, "NP"): 3}
    chain = over("NP~1", over("NP~2", leaf("NP~3", 0)))
    for objective in GRAMMAR_OBJECTIVES:
        assert grammar_optimum(SAME, ["a"], objective) == (2, [chain])
        assert grammar_optimum(SAME, ["a"], objective, labels) == (0, [])
    assert max_rule_optimum(SAME, ["a"], "max-rule-sum")[0] == 3
    # A tree of max-rule leaves NP over NP out.
    assert max_rule_optimum(SAME, ["a"], "max-rule-sum", labels) == (1, [leaf("NP", 0)])


def test_max_rule_takes_productions_of_labels() -> None:
    words, labels = ["a", "b"], projection_of(MIXED)
    direct = Node("S", 0, 2, (leaf("X", 0), leaf("Y", 1)))
    by_c = Node("S", 0, 2, (over("X", leaf("C", 0)), leaf("Y", 1)))
    assert set(max_rule_trees(MIXED, words, labels)) == {direct, by_c}
    assert max_rule_optimum(MIXED, words, "max-rule-sum", labels) == (F(14, 5), [by_c])
    assert max_rule_optimum(MIXED, words, "max-rule-product", labels) == (F(3, 5), [direct])
    # Of symbols: 3 items of 3/5, or 4 of 2/5.
    first = Node("S~1", 0, 2, (leaf("X~1", 0), leaf("Y~1", 1)))
    assert max_rule_optimum(MIXED, words, "max-rule-sum") == (F(9, 5), [first])
    assert max_rule_optimum(MIXED, words, "max-rule-product") == (F(27, 125), [first])
    assert max_rule_optimum(MIXED, ["b", "a"], "max-rule-sum") == (0, [])


def test_trees_of_max_rule_may_be_no_derivations() -> None:
    grammar = Grammar(
        {"T~1": F(1, 2), "T~2": F(1, 2)},
        {
            ("T~1", "L~1", "R~1"): F(1),
            ("T~2", "L~2", "R~2"): F(1),
            ("L~1", "x", "x"): F(1),
            ("R~2", "x", "x"): F(1),
        },
        {("x", "x"): F(1), ("R~1", "x"): F(1), ("L~2", "x"): F(1)},
    )
    labels, words = projection_of(grammar), ["x"] * 3
    assert len(naive.derivations(grammar, words)) == 2
    assert len(list(max_rule_trees(grammar, words, labels))) == 2
    # With the split nothing mixes: T -> L R, L -> x x, R -> x, 1/2 each. Terminals x have no item.
    assert max_rule_optimum(grammar, words, "max-rule-sum", labels)[0] == F(3, 2)
    # Where both halves have the same extent they mix freely.
    unary: dict[tuple[str, str], P] = {
        **{(a, b): F(1) for a, b in [("L~1", "D"), ("L~2", "E"), ("R~1", "E"), ("R~2", "D")]},
        ("E", "D"): F(1),
    }
    both = Grammar(
        {"T~1": F(1, 2), "T~2": F(1, 2)},
        {("T~1", "L~1", "R~1"): F(1), ("T~2", "L~2", "R~2"): F(1)},
        {("D", "x"): F(1)},
        unary,
    )
    trees = list(max_rule_trees(both, ["x", "x"], projection_of(both)))
    assert (len(naive.derivations(both, ["x", "x"])), len(trees)) == (2, 4)


def test_only_labels_of_root_symbols_are_roots_of_max_rule_trees() -> None:
    assert {tree.symbol for tree in max_rule_trees(CHAIN, ["a"])} == {"S"}
    start = Grammar(
        {"S": F(1, 2), "A": F(0), "B": F(1, 4), "Q": F(1, 4)}, CHAIN.binary, CHAIN.lexical, CHAIN.unary
    )
    assert {tree.symbol for tree in max_rule_trees(start, ["a"])} == {"S", "B"}


def test_preterminals_are_children_and_terminals_are_not() -> None:
    grammar = Grammar(
        {"S": F(1)}, {("S", "A", "x"): F(1)}, {("A", "x"): F(1, 2), ("x", "x"): F(1)}, {("A", "B"): F(1, 2)}
    )
    assert grammar.terminals() == {"x"}
    words = ["x", "x"]
    assert gains(grammar, words, "parent-child") == {(0, 2, "S", "A", "left"): 1}
    assert gains(grammar, words, "productions") == {(0, 2, "S", "A", "x"): 1}
    assert gains(grammar, words, "max-rule-sum") == {(0, 1, 2, "S", "A", "x"): 1, (0, 1, "A"): 1}
    # The terminal stands in g, but neither it nor the preterminal is a constituent.
    assert naive_unary.posteriors(grammar, words)[1, 2, "x"] == 1
    assert gains(grammar, words, "bracketed-recall") == {(0, 2): 1}
    [(tree, _)] = naive.derivations(grammar, words)
    assert items(tree, "parent-child", None, grammar.terminals()) == {(0, 2, "S", "A", "left")}
    assert items(tree, "max-rule-sum", None, grammar.terminals()) == {
        (0, 1, 2, "S", "A", "x"),
        (0, 1, "A"),
    }


def test_projection_of() -> None:
    symbols = ["NP^S", "NP~1", "X_Cont>NN", "X_Cont", "VP@2&c", "VP&c@2", "S"]
    grammar = Grammar(dict.fromkeys(symbols, F(1, 7)), {("S", "&", "S"): F(1)}, {("&", "&"): F(1)})
    assert projection_of(grammar) == dict(
        zip([*symbols, "&"], ["NP", "NP", "X_Cont", "X_Cont", "VP", "VP", "S", "&"], strict=True)
    )


def test_free_trees() -> None:
    best = frozenset({(0, 4, "S"), (0, 2, "A"), (2, 4, "B")})
    assert free_optimum(GOODMAN, X4, "labelled-recall") == (2, [best])
    # The one bracketing is worth 3; A and B are the likelier labels.
    assert free_optimum(GOODMAN, X4, "bracketed-recall") == (3, [best])
    assert free_optimum(GOODMAN, ["y"] * 4, "labelled-recall") == (0, [])
    right = Grammar({"S": F(1)}, {("S", "x", "S"): F(1, 2)}, {("x", "x"): F(1), ("S", "x"): F(1, 2)})
    only = frozenset({(0, 3, "S"), (1, 3, "S")})
    assert free_optimum(right, ["x"] * 3, "labelled-recall") == (2, [only])


# --- published numbers (Sima'an 2003, the counter-example) -----------------------------


def near(number: P, printed: str) -> bool:
    """Whether a value rounds to the printed decimal."""
    return f"{float(number):.{len(printed.split('.')[1])}f}" == printed


def test_simaan_posteriors() -> None:
    assert naive_unary.sentence_probability(SIMAAN, X8) == F(453981, 10**7)
    g = naive_unary.posteriors(SIMAAN, X8)
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
    assert sum(p for (start, end, _), p in g.items() if end - start >= 2) == 7


@pytest.mark.parametrize(
    ("objective", "of_balanced", "of_recall", "optimum", "ties"),
    [
        ("labelled-recall", "2.54955", "3.13236", "3.13236", 4),
        ("parent-child", "1.87494", "1.62622", "1.92388", 2),
        ("productions", "1.68907", "1.93952", "1.93952", 4),
    ],
)
def test_simaan_objectives(
    objective: Objective, of_balanced: str, of_recall: str, optimum: str, ties: int
) -> None:
    """The values: of the MPP, of each of the four MLR trees, and the optimum."""
    probability, [balanced] = naive.viterbi(SIMAAN, X8)
    assert probability == F(1, 250)
    earned = gains(SIMAAN, X8, objective)
    assert near(value(balanced, earned, objective, None, X), of_balanced)
    recall_trees = grammar_optimum(SIMAAN, X8, "labelled-recall")[1]
    for tree in recall_trees:
        assert near(value(tree, earned, objective, None, X), of_recall)
        assert naive.tree_probability(SIMAAN, X8, naive.labelled_spans(tree)) == F(81, 50000)
    best, trees = grammar_optimum(SIMAAN, X8, objective)
    assert near(best, optimum)
    assert len(trees) == ties
    assert balanced not in trees


def test_simaan_other_figures() -> None:
    _, [balanced] = naive.viterbi(SIMAAN, X8)
    # Productions with the split in the item, and children with the terminals among them.
    rules = naive_unary.item_posteriors(SIMAAN, X8, "rule")
    assert rules == naive_unary.item_posteriors(SIMAAN, X8, "split_production")
    assert near(value(balanced, rules, "max-rule-sum", None, X), "1.61101")
    total, trees = naive.item_optimum(SIMAAN, X8, "children", lexical_children=True)
    assert near(total, "4.17636")
    assert trees == [balanced]
    assert (
        naive.item_optimum(SIMAAN, X8, "children", None, True, X)[0]
        == grammar_optimum(SIMAAN, X8, "parent-child")[0]
    )
    assert near(free_optimum(SIMAAN, X8, "labelled-recall")[0], "3.13236")
    assert near(free_optimum(SIMAAN, X8, "bracketed-recall")[0], "3.23307")
    assert near(grammar_optimum(SIMAAN, X8, "bracketed-recall")[0], "3.23307")


# --- both ways compared on random grammars ---------------------------------------------


@MODEST
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
            listed = naive.item_posteriors(grammar, words, kind, projection, True, grammar.terminals())
            assert naive_unary.item_posteriors(grammar, words, kind, projection) == listed


@MODEST
@given(st.data())
def test_closed_form_equals_enumeration_without_unary_rules(data: st.DataObject) -> None:
    grammar = data.draw(grammars())
    words = data.draw(sentences(grammar, 5))
    assert naive_unary.posteriors(grammar, words) == pytest.approx(naive.posteriors(grammar, words))


@MODEST
@given(unary_grammars(cyclic=True), st.integers(1, 6))
def test_closure_is_the_limit_of_the_powers(grammar: Grammar, longest: int) -> None:
    closed = naive_unary.closure(grammar)
    fewer = naive_unary.truncated_closure(grammar, longest - 1)
    more = naive_unary.truncated_closure(grammar, longest)
    assert all(fewer.get(pair, 0) <= p <= closed[pair] for pair, p in more.items())
    # U* = I + U U*
    again: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for symbol in grammar.symbols():
        again[symbol, symbol] += 1
    for (a, b), p in grammar.unary.items():
        for (first, last), q in closed.items():
            if first == b:
                again[a, last] += Fraction(p) * q
    assert {pair: p for pair, p in again.items() if p} == closed


@MODEST
@given(unary_cases(cyclic=True, longest=2), st.integers(0, 2))
def test_truncated_chains_equal_enumeration(case: tuple[Grammar, list[str]], longest: int) -> None:
    grammar, words = case
    assert naive_unary.inside(grammar, words, longest) == naive.inside(grammar, words, longest)


@MODEST
@given(unary_cases(cyclic=True, longest=2))
def test_posteriors_of_cyclic_grammars(case: tuple[Grammar, list[str]]) -> None:
    """Unary rules made so rare that longer chains than are listed hardly weigh anything."""
    proper, words = case
    rare: dict[tuple[str, str], P] = {rule: Fraction(p) / 1000 for rule, p in proper.unary.items()}
    grammar = Grammar(proper.start, proper.binary, proper.lexical, rare)
    total = naive_unary.sentence_probability(grammar, words)
    listed = naive.derivations(grammar, words, longest_chain=4 if len(words) == 1 else 2)
    assume(total > 0 and total - sum(p for _, p in listed) < total / 10**8)
    projection = projection_of(grammar)
    occurrences: dict[Item, P] = defaultdict(int)
    for tree, p in listed:
        for node in naive.constituents(tree):
            occurrences[node.start, node.end, projection[node.symbol]] += p / total
    assert_close(gains(grammar, words, "labelled-recall", projection), occurrences)
    for kind in ITEM_KINDS:
        counts: dict[Item, P] = defaultdict(int)
        for tree, p in listed:
            for item in naive.tree_items(tree, kind, projection, True, grammar.terminals()):
                counts[item] += p / total
        assert_close(naive_unary.item_posteriors(grammar, words, kind, projection), counts)


def assert_close(closed: Mapping[Item, P], listed: Mapping[Item, P]) -> None:
    """Every listed item is in the closed form, which may have more, of long chains."""
    assert set(listed) <= set(closed)
    assert all(math.isclose(p, listed.get(item, 0), rel_tol=0, abs_tol=2e-7) for item, p in closed.items())


# --- objectives on random grammars -----------------------------------------------------


def labels_of(tree: Node, projection: Projection) -> Node:
    children = tuple(labels_of(child, projection) for child in tree.children)
    return Node(projection[tree.symbol], tree.start, tree.end, children)


def repeats(tree: Node) -> bool:
    """Whether some chain has a label twice."""
    return any(len(set(naive.chain(node))) < len(naive.chain(node)) for node in naive.nodes(tree))


@MODEST
@given(unary_cases())
def test_candidates_and_spaces(case: tuple[Grammar, list[str]]) -> None:
    grammar, words = case
    listed = [tree for tree, _ in naive.derivations(grammar, words)]
    assert len(set(listed)) == len(listed) <= MOST_TREES
    assert not any(repeats(tree) for tree in listed)
    identity = {symbol: symbol for symbol in grammar.symbols()}
    for projection in (identity, projection_of(grammar)):
        trees = list(max_rule_trees(grammar, words, projection))
        assert len(set(trees)) == len(trees) <= MOST_TREES
        assert bool(trees) == bool(listed)
        among_them = grammar_trees(grammar, words, projection)
        assert {labels_of(tree, projection) for tree in among_them} <= set(trees)
        assert not any(repeats(tree) for tree in trees)
    assert grammar_trees(grammar, words, identity) == listed


@MODEST
@given(unary_cases(), st.booleans())
def test_optima(case: tuple[Grammar, list[str]], projected: bool) -> None:
    grammar, words = case
    projection = projection_of(grammar) if projected else None
    listed = grammar_trees(grammar, words, projection)
    for objective in GRAMMAR_OBJECTIVES:
        best, trees = grammar_optimum(grammar, words, objective, projection)
        assert bool(trees) == bool(listed)
        assert set(trees) <= set(listed)
        earned = gains(grammar, words, objective, projection)
        for tree in listed:
            found = items(tree, objective, projection, grammar.terminals())
            assert found <= set(earned)  # every item of a candidate has a posterior
            assert sum(earned[item] for item in found) <= best
    sums, products = (max_rule_optimum(grammar, words, o, projection)[0] for o in MAX_RULE_OBJECTIVES)
    assert (sums > 0) == (products > 0) == bool(naive.derivations(grammar, words))
    g = naive_unary.posteriors(grammar, words, projection)
    wide = {(i, j, x): p for (i, j, x), p in g.items() if j - i >= 2}
    weights: dict[SpanObjective, tuple[int, int]] = {"labelled-recall": (1, 0), "bracketed-recall": (0, 1)}
    for span_objective, (labelled, span) in weights.items():
        best, spans = free_optimum(grammar, words, span_objective, projection)
        assert best == naive.free_optimum(wide, len(words), labelled_weight=labelled, span_weight=span)
        for tree_spans in spans:
            mapping = {(i, j): x for i, j, x in tree_spans}
            assert len(mapping) == len(words) - 1
            assert best == naive.free_value(mapping, wide, labelled_weight=labelled, span_weight=span)


@MODEST
@given(unary_cases(cyclic=False))
def test_gains_equal_enumeration(case: tuple[Grammar, list[str]]) -> None:
    grammar, words = case
    projection, terminals = projection_of(grammar), grammar.terminals()
    for objective, kind in KINDS.items():
        listed = naive.item_posteriors(grammar, words, kind, projection, True, terminals)
        assert gains(grammar, words, objective, projection) == listed
    labelled: dict[Item, P] = defaultdict(int)
    derivations = naive.derivations(grammar, words)
    total = sum(p for _, p in derivations)
    for tree, p in derivations:
        for node in naive.constituents(tree):
            labelled[node.start, node.end, projection[node.symbol]] += p / total
    assert gains(grammar, words, "labelled-recall", projection) == labelled
    bare: dict[Item, P] = defaultdict(int)
    for (start, end, _), p in labelled.items():
        bare[start, end] += p
    assert gains(grammar, words, "bracketed-recall", projection) == bare


# --- the strategies --------------------------------------------------------------------


@MODEST
@given(st.booleans().flatmap(lambda cyclic: st.tuples(st.just(cyclic), unary_cases(cyclic=cyclic))))
def test_random_grammars_are_proper(case: tuple[bool, tuple[Grammar, list[str]]]) -> None:
    cyclic, (grammar, words) = case
    assert grammar.has_unary_cycle() == cyclic
    assert 1 <= len(words) <= 6
    sums: dict[str, P] = defaultdict(int)
    rules: list[tuple[tuple[str, ...], P]] = [*grammar.binary.items(), *grammar.unary.items()]
    for rule, p in [*rules, *grammar.lexical.items()]:
        sums[rule[0]] += p
    assert sum(grammar.start.values()) == 1
    assert set(sums.values()) == {1}
    terminals = grammar.terminals()
    assert not any(terminals & {*rule} for rule in grammar.unary)
    assert not any(parent in terminals for parent, _, _ in grammar.binary)
    listed = {key: len(trees) for key, trees in naive.subtrees(grammar, words).items()}
    assert tree_counts(grammar, words) == listed
