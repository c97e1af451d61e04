"""Charts of grammars with unary rules: closed forms, equivalent grammars, enumerated chains."""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from conversion import to_rules
from hypothesis import given
from hypothesis import strategies as st
from strategies import grammars

from mbrparse.grammar.charts.base.chart import Chart, Derivation, Wanted
from mbrparse.grammar.charts.base.closure import unary_closure
from mbrparse.grammar.charts.base.span_summary import cell_of
from mbrparse.grammar.charts.factory import ChartFactory, Precision
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import Rule, RuleSet, TerminalKind, Weight, is_terminal, relative_frequencies
from mbrparse.io.errors import GrammarError

EVERYTHING = Wanted(derivations=True, entries=True)
PRECISIONS: tuple[Precision, ...] = ("double", "single")
# On single terminals, on wider spans, with two cycles that share a symbol.
CYCLES = {
    "S -> S": 1.0, "S -> A B": 2.0, "S -> A": 1.0,
    "A -> B": 2.0, "A -> S": 1.0, "A -> A B": 1.0, "A -> 'x'": 3.0,
    "B -> A": 1.0, "B -> C": 2.0, "B -> 'y'": 2.0, "B -> 'x'": 1.0,
    "C -> B C": 1.0, "C -> 'y'": 1.0,
}  # fmt: skip


def grammar_of(counts: Mapping[str, float], start: str = "S", kind: TerminalKind = "words") -> RuleSet:
    rules: dict[Rule, float] = {}
    for text, count in counts.items():
        parent, children = text.split(" -> ")
        rules[Rule(parent, tuple(children.split()))] = count
    return relative_frequencies(kind, dict.fromkeys(start.split(), 1.0), rules)


def chart_of(rules: RuleSet, sentence: str, precision: Precision = "double") -> tuple[PCFG, Chart]:
    pcfg = PCFG.from_rules(rules)
    [chart] = ChartFactory(pcfg, precision, EVERYTHING).charts([pcfg.encode(sentence.split())])
    return pcfg, chart


def occurrences(pcfg: PCFG, chart: Chart) -> dict[tuple[int, int, str], float]:
    starts, ends, labels, g, _ = chart.span_posteriors()
    rows = zip(starts.tolist(), ends.tolist(), labels.tolist(), g.tolist(), strict=True)
    return {(start, end, pcfg.labels[label]): value for start, end, label, value in rows}


def named(pcfg: PCFG, derivation: Derivation) -> tuple[list[tuple[int, int, str]], list[str]]:
    names = pcfg.symbols
    return [(i, j, names[x]) for i, j, x in derivation.nodes], [names[x] for x in derivation.preterminals]


# --- closed forms ------------------------------------------------------------------------


@pytest.mark.parametrize("loops", [1, 3, 999_999])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_geometric_series(loops: int, precision: Precision) -> None:
    """S -> S comes any number of times: its expected number is loops, and S's one more."""
    pcfg, chart = chart_of(grammar_of({"S -> S": loops, "S -> X X": 1, "X -> 'x'": 1}), "x x", precision)
    rel = 1e-9 if precision == "double" else 1e-4
    assert chart.log_prob == pytest.approx(0.0, abs=rel)
    assert occurrences(pcfg, chart) == pytest.approx(
        {(0, 1, "X"): 1, (0, 2, "S"): loops + 1, (1, 2, "X"): 1}, rel=rel
    )
    assert chart.span_summary().best[cell_of(2, 0, 2)] == pytest.approx(loops + 1, rel=rel)
    derivation = chart.viterbi()
    assert named(pcfg, derivation) == ([(0, 2, "S")], ["X", "X"])
    assert derivation.log_prob == pytest.approx(-math.log(loops + 1), rel=rel)


def test_a_cycle_of_two_over_one_word() -> None:
    """With a = P(A -> B), b = P(B -> A), a chain from A holds 1/(1-ab) A's and a/(1-ab) B's."""
    pcfg, chart = chart_of(grammar_of({"A -> B": 3, "A -> 'x'": 1, "B -> A": 1, "B -> 'x'": 1}, "A"), "x")
    a, b = Fraction(3, 4), Fraction(1, 2)
    more = 1 / (1 - a * b)
    assert chart.log_prob == pytest.approx(0.0)
    assert occurrences(pcfg, chart) == pytest.approx({(0, 1, "A"): float(more), (0, 1, "B"): float(a * more)})
    inside = dict(zip(*(part.tolist() for part in chart.inside(0, 1)), strict=True))
    assert inside == pytest.approx({0: 0.0, 1: 0.0})
    outside = dict(zip(*(part.tolist() for part in chart.outside(0, 1)), strict=True))
    assert outside == pytest.approx({0: math.log(more), 1: math.log(a * more)})
    # The word's own symbol: A with probability (1-a) / (1-ab), B with the rest.
    summary = chart.span_summary()
    assert summary.total.tolist() == pytest.approx([1.0])
    assert pcfg.labels[summary.label[0]] == "B"
    assert summary.best.tolist() == pytest.approx([float(a * more * (1 - b))])
    # Its best derivation takes the cycle halfway: 3/4 * 1/2 against 1/4.
    assert named(pcfg, chart.viterbi()) == ([(0, 1, "A")], ["B"])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_five_hundred_tokens_under_chains_do_not_underflow(precision: Precision) -> None:
    """Each of 499 S's is rewritten through T with 1/1000, after S -> S with 9/10 any number of times."""
    rules = grammar_of(
        {
            "S -> S": 900,
            "S -> T": 99,
            "S -> P": 1,
            "T -> P S": 1,
            "T -> Q S": 999,
            "P -> 'x'": 1,
            "Q -> 'y'": 1,
        }
    )
    n = 500
    pcfg, chart = chart_of(rules, "x " * n, precision)
    rel = 1e-9 if precision == "double" else 1e-4
    expected = (n - 1) * math.log(0.99 / 1000) + math.log(0.01)
    assert chart.log_prob == pytest.approx(expected, rel=rel)
    g = occurrences(pcfg, chart)
    assert g[0, n, "S"] == pytest.approx(10, rel=rel)
    assert g[n - 1, n, "S"] == pytest.approx(10, rel=rel)
    assert g[250, n, "T"] == pytest.approx(1, rel=rel)
    derivation = chart.viterbi()
    assert derivation.log_prob == pytest.approx((n - 1) * math.log(0.099 / 1000) + math.log(0.001), rel=rel)
    assert len(derivation.nodes) == 2 * (n - 1) + 1
    assert derivation.nodes[-1][:2] == (n - 1, n)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_label_over_a_word_as_preterminal_and_as_constituent(precision: Precision) -> None:
    """A is always there, and three times of ten it is a constituent over B."""
    rules = grammar_of({"S -> 'y' A": 1, "A -> 'y'": 7, "A -> B": 3, "B -> 'y'": 1}, kind="tags")
    pcfg, chart = chart_of(rules, "y y", precision)
    entries = chart.span_posteriors()
    keys = zip(entries.starts.tolist(), entries.ends.tolist(), entries.label_ids.tolist(), strict=True)
    names = [(start, end, pcfg.labels[label]) for start, end, label in keys]
    constituents = dict(zip(names, entries.constituents.tolist(), strict=True))
    expected = {(0, 1, "y"): 0, (0, 2, "S"): 1, (1, 2, "A"): 0.3, (1, 2, "B"): 0}
    assert constituents == pytest.approx(expected, abs=1e-9 if precision == "double" else 1e-6)
    assert occurrences(pcfg, chart)[1, 2, "A"] == pytest.approx(1)


# --- the closure -------------------------------------------------------------------------


@given(st.data())
def test_the_closure_is_exact(data: st.DataObject) -> None:
    """(I - U) U* = I in rationals, near one too: what is off is off by rounding."""
    size = data.draw(st.integers(1, 5))
    counts: dict[str, float] = {}
    for parent in range(size):
        for child in data.draw(st.lists(st.integers(0, size - 1), max_size=3, unique=True)):
            counts[f"N{parent} -> N{child}"] = data.draw(st.sampled_from([1, 5, 1e-3, 1e3]))
        counts[f"N{parent} -> 'x'"] = data.draw(st.sampled_from([1, 1e-4]))
    pcfg = PCFG.from_rules(grammar_of(counts, "N0"))
    closure = unary_closure(pcfg)
    unary = [[Fraction(0)] * size for _ in range(size)]
    for parent, child, log_prob in zip(
        pcfg.unary_parent.tolist(), pcfg.unary_child.tolist(), pcfg.unary_log_prob, strict=True
    ):
        unary[parent][child] = Fraction(float(np.exp(log_prob)))
    # A symbol's rules are taken to sum to one, whatever rounding made of them.
    for symbol, log_prob in zip(pcfg.lexical_symbol.tolist(), pcfg.lexical_log_prob, strict=True):
        others = sum(unary[symbol]) - unary[symbol][symbol]
        unary[symbol][symbol] = 1 - others - Fraction(float(np.exp(log_prob)))
    exact = _inverse([[Fraction(i == j) - unary[i][j] for j in range(size)] for i in range(size)])
    for bottom in range(size):
        entries = range(closure.start[bottom], closure.start[bottom + 1])
        tops = [int(closure.top[entry]) for entry in entries]
        assert tops == [top for top in range(size) if exact[top][bottom] > 0]
        for entry, top in zip(entries, tops, strict=True):
            assert closure.value[entry] == pytest.approx(float(exact[top][bottom]), rel=1e-12)


def _inverse(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    size = len(matrix)
    rows = [[*row, *(Fraction(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for k in range(size):
        pivot = next(i for i in range(k, size) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(size):
            if i != k:
                factor = rows[i][k]
                rows[i] = [value - factor * other for value, other in zip(rows[i], rows[k], strict=True)]
    return [row[size:] for row in rows]


def test_many_symbols_few_unary_rules() -> None:
    counts = {f"N{number} -> 'x'": 1.0 for number in range(30_000)}
    counts |= {f"N{number} -> N{(number + 1) % 50}": 1.0 for number in range(50)}
    closure = unary_closure(PCFG.from_rules(grammar_of(counts, "N0")))
    assert len(closure.top) == 50 * 50 + 29_950


@pytest.mark.parametrize(
    ("counts", "cycle"),
    [
        ({"S -> S": 1}, "S -> S"),
        ({"S -> A": 1, "A -> B": 1, "B -> A": 1}, "A -> B -> A"),
        ({"S -> A": 7, "S -> B": 3, "A -> S": 1, "B -> S": 1}, "A -> S -> A"),
        ({"S -> S": 1e17, "S -> 'x'": 1}, "S -> S"),  # as good as
    ],
)
def test_a_cycle_of_probability_one_is_refused(counts: dict[str, float], cycle: str) -> None:
    rules = grammar_of(counts)
    with pytest.raises(GrammarError) as caught:
        rules.check("g.txt")
    assert str(caught.value).startswith(f"g.txt: the unary rules {cycle} are a cycle of probability one")
    pcfg = PCFG.from_rules(rules)
    with pytest.raises(GrammarError, match="cycle of probability one"):
        unary_closure(pcfg)


# --- equivalent grammars and batches -----------------------------------------------------


@st.composite
def acyclic(draw: st.DrawFn) -> RuleSet:
    """A random grammar with unary rules from earlier to later symbols."""
    rules = to_rules(draw(grammars()))
    parents = sorted({rule.parent for rule in rules.rules} | rules.start.keys())
    found = dict(rules.rules)
    for place, parent in enumerate(parents):
        below = parents[place + 1 :]
        share = draw(st.sampled_from([0.0, 0.2, 0.5])) if below else 0.0
        for child in (
            draw(st.lists(st.sampled_from(below), min_size=1, max_size=2, unique=True)) if share else ()
        ):
            kept = {
                rule: Weight(w.probability * (1 - share))
                for rule, w in found.items()
                if rule.parent == parent
            }
            found |= kept | {Rule(parent, (child,)): Weight(share)}
    return RuleSet(rules.terminal_kind, rules.start, found)


def without_unary_rules(rules: RuleSet) -> RuleSet:
    """The grammar in which each symbol does at once what its chains end in; children before parents."""
    done: dict[str, dict[tuple[str, ...], float]] = {}
    for parent in sorted({rule.parent for rule in rules.rules}, reverse=True):
        own = done.setdefault(parent, {})
        for rule, weight in rules.rules.items():
            if rule.parent != parent:
                continue
            if len(rule.children) == 1 and not is_terminal(rule.children[0]):
                for children, probability in done.get(rule.children[0], {}).items():
                    own[children] = own.get(children, 0.0) + weight.probability * probability
            else:
                own[rule.children] = own.get(rule.children, 0.0) + weight.probability
    flat = {Rule(a, children): Weight(p) for a, sides in done.items() for children, p in sides.items()}
    return RuleSet(rules.terminal_kind, rules.start, flat)


@given(acyclic(), st.lists(st.sampled_from("xyz"), min_size=1, max_size=6))
def test_inside_equals_that_of_the_equivalent_grammar(rules: RuleSet, words: list[str]) -> None:
    pcfg, flat = PCFG.from_rules(rules), PCFG.from_rules(without_unary_rules(rules))
    if not set(words) <= set(flat.terminals):
        return
    [chart] = ChartFactory(pcfg, wanted=EVERYTHING, kernel="forest").charts([pcfg.encode(words)])
    [other] = ChartFactory(flat, wanted=EVERYTHING, kernel="forest").charts([flat.encode(words)])
    assert chart.has_parse == other.has_parse
    if not chart.has_parse:
        return
    assert chart.log_prob == pytest.approx(other.log_prob, abs=1e-9)
    for start, end in ((i, j) for i in range(len(words)) for j in range(i + 1, len(words) + 1)):
        mine, theirs = (
            {c.symbols[i]: x for i, x in zip(*(part.tolist() for part in k.inside(start, end)), strict=True)}
            for c, k in ((pcfg, chart), (flat, other))
        )
        assert mine == pytest.approx(theirs, abs=1e-9)
    # However long the chain over a word, it has one preterminal.
    position = np.arange(len(words))
    assert chart.span_summary().total[cell_of(len(words), position, position + 1)] == pytest.approx(1)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_nothing_depends_on_the_batch(precision: Precision) -> None:
    pcfg = PCFG.from_rules(grammar_of(CYCLES))
    batch = [list(words) for n in range(1, 7) for words in product("xy", repeat=n)][::3]
    factory = ChartFactory(pcfg, precision, EVERYTHING)
    together = factory.charts([pcfg.encode(words) for words in batch])
    for words, one in reversed(list(zip(batch, together, strict=True))):
        [alone] = ChartFactory(pcfg, precision, EVERYTHING).charts([pcfg.encode(words)])
        assert one.log_prob == alone.log_prob
        assert one.viterbi() == alone.viterbi()
        for mine, yours in zip(one.span_posteriors(), alone.span_posteriors(), strict=True):
            assert np.array_equal(mine, yours)


def test_the_dense_kernel_cannot_be_forced() -> None:
    with pytest.raises(GrammarError, match="the dense kernel takes no unary rules"):
        ChartFactory(PCFG.from_rules(grammar_of(CYCLES)), kernel="dense")


# --- the best derivation -----------------------------------------------------------------

Tree = tuple[str, int, int, tuple["Tree", ...]]


def all_trees(rules: RuleSet, words: str) -> Iterator[tuple[Tree, float]]:
    """Every tree in which no chain of unary rules comes to a symbol twice."""
    weights = {rule: weight.probability for rule, weight in rules.rules.items()}
    chains = [
        (r.parent, r.children[0], p)
        for r, p in weights.items()
        if len(r.children) == 1 and not is_terminal(r.children[0])
    ]

    def over(start: int, end: int) -> Iterator[tuple[Tree, float]]:
        for rule, p in weights.items():
            if rule.children == (f"'{words[start]}'",) and end - start == 1:
                yield from above((rule.parent, start, end, ()), p, {rule.parent})
            if len(rule.children) == 2:
                for split in range(start + 1, end):
                    for (left, q), (right, r) in product(table[start, split], table[split, end]):
                        if (left[0], right[0]) == rule.children:
                            yield from above(
                                (rule.parent, start, end, (left, right)), p * q * r, {rule.parent}
                            )

    def above(tree: Tree, p: float, seen: set[str]) -> Iterator[tuple[Tree, float]]:
        yield tree, p
        for parent, child, q in chains:
            if child == tree[0] and parent not in seen:
                yield from above((parent, tree[1], tree[2], (tree,)), p * q, seen | {parent})

    table: dict[tuple[int, int], list[tuple[Tree, float]]] = {}
    for width in range(1, len(words) + 1):
        for start in range(len(words) - width + 1):
            table[start, start + width] = list(over(start, start + width))
    for tree, p in table[0, len(words)]:
        if tree[0] in rules.start:
            yield tree, p * rules.start[tree[0]].probability


def shape(tree: Tree) -> tuple[list[tuple[int, int, str]], list[str]]:
    """A tree's nodes in preorder, and its preterminals."""
    symbol, start, end, children = tree
    if not children:
        return [], [symbol]
    parts = [shape(child) for child in children]
    return [(start, end, symbol), *(n for nodes, _ in parts for n in nodes)], [
        x for _, tags in parts for x in tags
    ]


@pytest.mark.parametrize("words", ["x", "y", "xx", "xy", "yy", "xyx", "xyy", "yxy", "xyyx"])
@pytest.mark.parametrize("start", ["S", "S A", "B C"])
def test_the_best_derivation_is_the_best_of_all(words: str, start: str) -> None:
    rules = grammar_of(CYCLES, start)
    pcfg, chart = chart_of(rules, " ".join(words))
    trees = list(all_trees(rules, words))
    assert chart.has_parse == bool(trees)
    if trees:
        best = max(p for _, p in trees)
        derivation = chart.viterbi()
        assert derivation.log_prob == pytest.approx(math.log(best), abs=1e-9)
        assert named(pcfg, derivation) in [shape(tree) for tree, p in trees if p >= best * (1 - 1e-9)]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_ties_go_to_the_shorter_chain_then_to_the_first_in_text(precision: Precision) -> None:
    counts = {
        "S -> A": 2.0, "S -> D": 1.0, "S -> X X": 1.0, "A -> X X": 1.0, "A -> B": 1.0,
        "B -> X X": 1.0, "C -> X X": 1.0, "D -> B": 1.0, "X -> 'x'": 1.0,
    }  # fmt: skip
    pcfg, chart = chart_of(grammar_of(counts), "x x", precision)
    assert named(pcfg, chart.viterbi())[0] == [(0, 2, "S")]  # four trees have 1/4 each
    del counts["S -> X X"], counts["A -> X X"]
    counts["S -> A"] = 1.0
    pcfg, chart = chart_of(grammar_of(counts), "x x", precision)
    assert named(pcfg, chart.viterbi())[0] == [(0, 2, "S"), (0, 2, "A"), (0, 2, "B")]
