"""Pruned charts beside all trees of small grammars, less those of which the projected grammar rules something out."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import naive
import naive_unary
import numpy as np
import pytest
from conversion import to_pcfg
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from naive import Grammar, Node
from naive_objectives import projection_of
from strategies import grammars, sentences
from unary_strategies import unary_cases

from mbrparse.errors import OptionsError
from mbrparse.decode.objectives import OBJECTIVES, Space
from mbrparse.decode.parser import Parser
from mbrparse.grammar.charts.chart import Wanted
from mbrparse.grammar.charts.factory import ChartFactory
from mbrparse.grammar.charts.sparse.pruned_charts import PrunedChart, PrunedCharts
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.projection import expected_symbols, projected_grammar
from mbrparse.grammar.rules import Rule, is_terminal, relative_frequencies, unquote

EVERYTHING = Wanted(True, True, True, True)
# Symbols of the random grammars that share a label once annotations are projected away.
ANNOTATED = {"S": "S", "A": "S^A", "B": "B~1", "C": "B~2"}


def naive_grammar(pcfg: PCFG) -> Grammar:
    """The twin's grammar of the library's arrays."""
    names = [unquote(name) if is_terminal(name) else name for name in pcfg.symbols]
    binary = zip(pcfg.parent.tolist(), pcfg.left.tolist(), pcfg.right.tolist(), strict=True)
    unary = zip(pcfg.unary_parent.tolist(), pcfg.unary_child.tolist(), strict=True)
    lexical = zip(pcfg.lexical_symbol.tolist(), pcfg.lexical_terminal.tolist(), strict=True)
    probs = [
        np.exp(logs).tolist()
        for logs in (pcfg.root_log_prob, pcfg.log_prob, pcfg.lexical_log_prob, pcfg.unary_log_prob)
    ]
    return Grammar(
        dict(zip(names, probs[0], strict=True)),
        {(names[a], names[b], names[c]): p for (a, b, c), p in zip(binary, probs[1], strict=True)},
        {(names[a], pcfg.terminals[w]): p for (a, w), p in zip(lexical, probs[2], strict=True)},
        {(names[a], names[b]): p for (a, b), p in zip(unary, probs[3], strict=True)},
    )


def renamed(grammar: Grammar) -> Grammar:
    """With symbols that share labels."""

    def name(symbol: str) -> str:
        return ANNOTATED.get(symbol, symbol)

    return Grammar(
        {name(a): p for a, p in grammar.start.items()},
        {(name(a), name(b), name(c)): p for (a, b, c), p in grammar.binary.items()},
        {(name(a), word): p for (a, word), p in grammar.lexical.items()},
    )


def judged(tree: Node) -> list[Node]:
    """The last node of each chain of unary rules."""
    return [node for node in naive.nodes(tree) if len(node.children) != 1]


def kept_trees(
    grammar: Grammar, words: Sequence[str], g: Mapping[tuple[int, int, str], float], threshold: float
) -> list[tuple[Node, float]]:
    """The derivations of which nothing is ruled out."""
    projection = projection_of(grammar)
    return [
        (tree, float(p))
        for tree, p in naive.derivations(grammar, words)
        if all(g.get((x.start, x.end, projection[x.symbol]), 0) > threshold for x in judged(tree))
    ]


def check(grammar: Grammar, words: list[str], place: float) -> None:
    """Compare all that a pruned chart says with the trees that are left."""
    pcfg = to_pcfg(grammar)
    ids = pcfg.encode(words)
    assume(ids.min() >= 0)
    coarse = naive_grammar(projected_grammar(pcfg))
    g = {key: float(value) for key, value in naive_unary.posteriors(coarse, words).items()}
    # Between two posteriors, so that no rounding matters.
    values = sorted({1e-9, 0.9, *(value for value in g.values() if 1e-9 < value < 0.9)})
    chosen = int(place * (len(values) - 1))
    low, high = values[chosen], values[chosen + 1]
    assume(high > low * 1.001)
    first = math.sqrt(low * high)
    charts = PrunedCharts(pcfg, first, wanted=EVERYTHING)
    [chart] = charts.charts([ids])
    assert isinstance(chart, PrunedChart)
    for threshold in (first, first * 1e-3, -1.0):
        listed = kept_trees(grammar, words, g, threshold)
        if listed:
            break
    # (Of the second, some posterior may be as near.)
    assume(threshold != first * 1e-3 or all(abs(v / threshold - 1) > 1e-6 for v in g.values()))
    total = math.fsum(p for _, p in listed)
    assert chart.has_parse == bool(listed)
    if not listed:
        return
    assert chart.pruned.threshold == max(threshold, 0.0)
    assert chart.log_prob == pytest.approx(math.log(total), abs=1e-9)
    projection = projection_of(grammar)
    expected: dict[tuple[int, int, str], float] = defaultdict(float)
    there: set[tuple[int, int, str]] = set()
    for tree, p in listed:
        for node in naive.nodes(tree):
            expected[node.start, node.end, projection[node.symbol]] += p / total
            there.add((node.start, node.end, node.symbol))
    rows = zip(*(column.tolist() for column in chart.span_posteriors()[:4]), strict=True)
    found = {(i, j, pcfg.labels[label]): value for i, j, label, value in rows}
    assert found == pytest.approx(dict(expected), abs=1e-9)
    best = max(p for _, p in listed)
    derivation = chart.viterbi()
    assert derivation.log_prob == pytest.approx(math.log(best), abs=1e-9)
    nodes = {(i, j, pcfg.symbols[x]) for i, j, x in derivation.nodes}
    candidates = [
        {(x.start, x.end, x.symbol) for x in naive.constituents(tree)}
        for tree, p in listed
        if p >= best * (1 - 1e-9)
    ]
    assert nodes in candidates
    # No other symbols than those of trees are there.
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            symbols, logs = chart.outside(start, end)
            found_there = {pcfg.symbols[x] for x in symbols[logs > -700].tolist()}
            names = {unquote(name) if is_terminal(name) else name for name in found_there}
            assert names == {symbol for i, j, symbol in there if (i, j) == (start, end)}
    listed_nodes = chart.live_nodes()
    rows = zip(*(column.tolist() for column in listed_nodes[:3]), listed_nodes.g.tolist(), strict=True)
    summed: dict[tuple[int, int, str], float] = defaultdict(float)
    for i, j, symbol, value in rows:
        summed[i, j, pcfg.labels[pcfg.label_ids[symbol]]] += value
    assert dict(summed) == pytest.approx(dict(expected), abs=1e-9)


@given(st.data(), st.floats(0, 0.999))
@settings(max_examples=60)
def test_pruned_charts_hold_the_trees_of_what_is_alive(data: st.DataObject, place: float) -> None:
    grammar = data.draw(grammars())
    check(renamed(grammar), data.draw(sentences(grammar, 5)), place)


@given(unary_cases(cyclic=False, longest=4), st.floats(0, 0.999))
@settings(max_examples=60)
def test_chains_of_unary_rules_are_judged_by_their_last_symbol(
    case: tuple[Grammar, list[str]], place: float
) -> None:
    grammar, words = case
    try:
        check(grammar, words, place)
    except ValueError as error:
        assert "probability one" in str(error)  # the projected grammar's
