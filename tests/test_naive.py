"""The naive twins against the papers' numbers, hand-computed cases, identities and each other."""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import get_args

import naive
import naive_unary
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from naive import Grammar, Item, ItemKind, Node, P, Projection
from naive_objectives import (
    Objective,
    gains,
    grammar_optimum,
    grammar_trees,
    max_rule_optimum,
    max_rule_trees,
    projection_of,
)
from published_grammars import GOODMAN, SIMAAN, X4, X8
from strategies import UNKNOWN, grammars, sentences
from unary_strategies import MOST_TREES, tree_counts, unary_cases, unary_grammars

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


@pytest.mark.parametrize(
    ("kind", "lexical", "objective", "values", "ties"),
    [
        ("production", False, "productions", ("1.68907", "1.93952", "1.93952"), 4),
        ("split_production", False, None, ("1.61101", "1.93952", "1.93952"), 4),
        ("children", False, "parent-child", ("1.87494", "1.62622", "1.92388"), 2),
        ("children", True, None, ("4.17636", "4.14110", "4.17636"), 1),
    ],
)
def test_simaan_items(
    kind: ItemKind, lexical: bool, objective: Objective | None, values: tuple[str, str, str], ties: int
) -> None:
    """The values: of the MPP, of each of the four MLR trees, and the optimum."""
    of_balanced, of_recall, optimum = values
    earned = naive.item_posteriors(SIMAAN, X8, kind, lexical_children=lexical)

    def value(tree: Node) -> P:
        return sum(earned[item] for item in {*naive.tree_items(tree, kind, lexical_children=lexical)})

    [balanced] = naive.viterbi(SIMAAN, X8)[1]
    assert near(value(balanced), of_balanced)
    assert all(near(value(tree), of_recall) for tree in grammar_optimum(SIMAAN, X8, "labelled-recall")[1])
    best, trees = naive.best_of((tree, value(tree)) for tree, _ in naive.derivations(SIMAAN, X8))
    assert near(best, optimum)
    assert len(trees) == ties
    assert (balanced in trees) == (lexical and kind == "children")
    if objective is not None:
        assert grammar_optimum(SIMAAN, X8, objective) == (best, trees)


# --- hand-computed cases ---------------------------------------------------------------

# One symbol, phrase and lexical at once: each bracketing of a^n has probability 2^(1-2n).
HALVES = Grammar({"S": F(1)}, {("S", "S", "S"): F(1, 2)}, {("S", "a"): F(1, 2)})

# Over one word S - A or S - A - B, 1/8 each; over two S(A, A), either A over B or not.
CHAIN = Grammar(
    {"S": F(1)},
    {("S", "A", "A"): F(3, 4)},
    {("A", "a"): F(1, 2), ("B", "a"): F(1)},
    {("S", "A"): F(1, 4), ("A", "B"): F(1, 2)},
)

# Round trips A -> B -> A of probability 1/6 before "a" (from A) or "b" (from B).
ROUND = Grammar(
    {"A": F(1)},
    {},
    {("A", "a"): F(2, 3), ("B", "b"): F(1, 2)},
    {("A", "B"): F(1, 3), ("B", "A"): F(1, 2)},
)

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


def test_halves() -> None:
    assert len(naive.derivations(HALVES, ["a"] * 5)) == 14
    assert naive.sentence_probability(HALVES, ["a"] * 3) == 2 * F(1, 32)
    assert naive.inside(HALVES, ["a", "a"]) == {
        (0, 1, "S"): F(1, 2),
        (1, 2, "S"): F(1, 2),
        (0, 2, "S"): F(1, 8),
    }
    # What lies inside a span plays no part in the outside probability around it.
    assert naive.outside(HALVES, ["b", "a"]) == {(0, 1, "S"): F(1, 4), (0, 2, "S"): F(1)}
    g = naive.posteriors(HALVES, ["a"] * 3)
    assert (g[0, 2, "S"], g[0, 3, "S"]) == (F(1, 2), 1)
    assert naive.posteriors(HALVES, ["b"]) == {}
    for n, catalan in enumerate([1, 1, 2, 5, 14, 42, 132, 429], start=1):
        assert len({*naive.bracketings(n)}) == catalan
    assert not any(naive.crosses(*two) for b in naive.bracketings(6) for two in itertools.combinations(b, 2))


def test_expected_counts() -> None:
    corpus = [["a"] * 3, ["b"], ["a"]]
    counts = naive.expected_counts(HALVES, corpus)
    assert counts.start == {"S": 2}
    assert counts.binary == {("S", "S", "S"): 2}
    assert counts.lexical == {("S", "a"): 4}
    assert counts.log_likelihood == pytest.approx(math.log(1 / 16) + math.log(1 / 2))
    assert counts.unparsed == [1]
    bracketed = naive.expected_counts(HALVES, corpus, [{(0, 2), (0, 1)}, None, ()])
    assert bracketed[:3] == counts[:3]
    assert bracketed.log_likelihood == pytest.approx(math.log(1 / 32) + math.log(1 / 2))
    assert naive.expected_counts(HALVES, corpus[:1], [{(0, 2), (1, 3)}]).unparsed == [0]
    assert naive.expected_counts(CHAIN, [["a", "a"], ["a"]]).unary == {("S", "A"): 1, ("A", "B"): F(3, 2)}


def test_what_chains_earn() -> None:
    short, long = over("S", leaf("A", 0)), over("S", over("A", leaf("B", 0)))
    assert dict(naive.derivations(CHAIN, ["a"])) == {short: F(1, 8), long: F(1, 8)}
    assert naive.labelled_spans(long) == {(0, 1, "S"), (0, 1, "A")}
    assert naive_unary.posteriors(CHAIN, ["a"]) == {(0, 1, "S"): 1, (0, 1, "A"): 1, (0, 1, "B"): F(1, 2)}
    # Of the A over "a", one half is the preterminal, which is no constituent.
    assert grammar_optimum(CHAIN, ["a"], "labelled-recall") == (F(3, 2), [long])
    assert grammar_optimum(CHAIN, ["a"], "bracketed-recall") == (F(3, 2), [short, long])
    productions: dict[Item, P] = {(0, 1, "S", "A"): 1, (0, 1, "A", "B"): F(1, 2)}
    assert gains(CHAIN, ["a"], "productions") == productions
    assert gains(CHAIN, ["a"], "max-rule-sum") == {**productions, (0, 1, "A"): F(1, 2), (0, 1, "B"): F(1, 2)}
    assert gains(CHAIN, ["a"], "parent-child") == {(*item, "only"): p for item, p in productions.items()}
    assert max_rule_optimum(CHAIN, ["a"], "max-rule-sum") == (2, [long])
    assert max_rule_optimum(CHAIN, ["a"], "max-rule-product") == (F(1, 2), [short])


def test_round_trips() -> None:
    """Their number is geometric: 1/5 expected, before "a" and before "b"."""
    closure = {("A", "A"): F(6, 5), ("A", "B"): F(2, 5), ("B", "A"): F(3, 5), ("B", "B"): F(6, 5)}
    assert naive_unary.closure(ROUND) == closure
    assert naive_unary.sentence_probability(ROUND, ["b"]) == F(1, 5)
    assert naive_unary.posteriors(ROUND, ["a"]) == {(0, 1, "A"): F(6, 5), (0, 1, "B"): F(1, 5)}
    assert gains(ROUND, ["a"], "productions") == {(0, 1, "A", "B"): F(1, 5), (0, 1, "B", "A"): F(1, 5)}
    once = over("A", leaf("B", 0))
    assert grammar_optimum(ROUND, ["b"], "labelled-recall") == (F(6, 5), [once])
    assert max_rule_optimum(ROUND, ["b"], "max-rule-sum") == (F(11, 5), [once])
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


@pytest.mark.parametrize(
    ("unary", "accepted"),
    [
        ({("A", "A"): 1}, False),
        ({("A", "B"): 1, ("B", "C"): 1, ("C", "A"): 1}, False),
        ({("A", "A"): F(3, 5), ("A", "B"): 1, ("B", "A"): 1}, False),
        ({("A", "B"): 1, ("B", "A"): F(999, 1000)}, True),
        ({("A", "A"): 0, ("A", "B"): 1}, True),
    ],
)
def test_a_cycle_of_probability_one_is_refused(unary: dict[tuple[str, str], P], accepted: bool) -> None:
    grammar = Grammar({"S": F(1)}, {}, {("S", "a"): F(1)}, unary)
    if accepted:
        assert all(p >= 0 for p in naive_unary.closure(grammar).values())
    else:
        with pytest.raises(ValueError, match="probability one"):
            naive_unary.closure(grammar)


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
    assert max_rule_optimum(MIXED, ["b", "a"], "max-rule-sum") == (0, [])


# --- identities on random grammars -----------------------------------------------------


@given(st.data())
def test_identities(data: st.DataObject) -> None:
    grammar = data.draw(grammars())
    words = data.draw(sentences(grammar, 5))
    n = len(words)
    total = naive.sentence_probability(grammar, words)
    g = naive.posteriors(grammar, words)
    assert UNKNOWN not in words or (total == 0 and not g)
    e, f = naive.inside(grammar, words), naive.outside(grammar, words)
    products = {key: e[key] * f[key] / total for key in e if key in f} if total else {}
    assert products == pytest.approx(g)
    assert naive_unary.posteriors(grammar, words) == pytest.approx(g)
    if not total:
        return
    listed = [tree for tree, _ in naive.derivations(grammar, words)]
    spans = [{(c.start, c.end) for c in naive.constituents(tree)} for tree in listed]
    assert all(one in naive.bracketings(n) for one in spans)
    assert sum(p for (i, j, _), p in g.items() if j - i >= 2) == pytest.approx(n - 1)
    trees = {naive.labelled_spans(tree) for tree in listed}
    parts = [naive.tree_probability(grammar, words, tree) for tree in trees]
    assert sum(parts) == pytest.approx(total)
    labelled, _ = naive.expected_matches(grammar, words, min(trees, key=sorted))
    best, _ = grammar_optimum(grammar, words, "labelled-recall")
    assert labelled <= best + 1e-9 <= naive.free_optimum(g, n) + 2e-9
    counts = naive.expected_counts(grammar, [words])
    assert sum(counts.start.values()) == pytest.approx(1)
    assert sum(counts.binary.values()) == pytest.approx(n - 1)
    assert sum(counts.lexical.values()) == pytest.approx(n)


@given(grammars())
def test_random_grammars_are_proper(grammar: Grammar) -> None:
    assert_proper(grammar)


def assert_proper(grammar: Grammar) -> None:
    """The start distribution and the rules of each symbol sum to one."""
    sums: dict[str, P] = defaultdict(int)
    rules: list[tuple[tuple[str, ...], P]] = [*grammar.binary.items(), *grammar.unary.items()]
    for rule, p in [*rules, *grammar.lexical.items()]:
        sums[rule[0]] += p
    assert sum(grammar.start.values()) == pytest.approx(1)
    assert dict(sums) == pytest.approx(dict.fromkeys(grammar.symbols(), 1.0))


@patient
@given(st.booleans().flatmap(lambda cyclic: st.tuples(st.just(cyclic), unary_cases(cyclic=cyclic))))
def test_random_grammars_with_unary_rules_are_proper(case: tuple[bool, tuple[Grammar, list[str]]]) -> None:
    cyclic, (grammar, words) = case
    assert grammar.has_unary_cycle() == cyclic
    assert_proper(grammar)
    terminals = grammar.terminals()
    assert not any(terminals & {*rule} for rule in grammar.unary)
    assert not any(parent in terminals for parent, _, _ in grammar.binary)
    listed = {key: len(trees) for key, trees in naive.subtrees(grammar, words).items()}
    assert tree_counts(grammar, words) == listed


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
            listed = naive.item_posteriors(grammar, words, kind, projection, True, grammar.terminals())
            assert naive_unary.item_posteriors(grammar, words, kind, projection) == listed
    labelled = constituents_of(naive.derivations(grammar, words), projection_of(grammar))
    assert gains(grammar, words, "labelled-recall", projection_of(grammar)) == labelled
    bare: dict[Item, P] = defaultdict(int)
    for (start, end, _), p in labelled.items():
        bare[start, end] += p
    assert gains(grammar, words, "bracketed-recall", projection_of(grammar)) == bare


def constituents_of(listed: list[tuple[Node, P]], projection: Projection) -> dict[Item, P]:
    """The expected number of constituents of each label, by listed derivations."""
    found: dict[Item, P] = defaultdict(int)
    total = sum(p for _, p in listed)
    for tree, p in listed:
        for node in naive.constituents(tree):
            found[node.start, node.end, projection[node.symbol]] += p / total
    return found


@patient
@given(unary_grammars(cyclic=True))
def test_closure_solves_its_equation(grammar: Grammar) -> None:
    """U* = I + U U*, of which it is the only solution."""
    closed = naive_unary.closure(grammar)
    again: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for symbol in grammar.symbols():
        again[symbol, symbol] += 1
    for (a, b), p in grammar.unary.items():
        for (first, last), q in closed.items():
            if first == b:
                again[a, last] += Fraction(p) * q
    assert {pair: p for pair, p in again.items() if p} == closed


@patient
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
    found = gains(grammar, words, "labelled-recall", projection)
    assert_close(found, constituents_of(listed, projection))
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


@patient
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
