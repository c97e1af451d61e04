"""Pruned charts beside all trees of small grammars, less those that the projected grammar rules out."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import naive
import naive_unary
import numpy as np
import pytest
from commandline import Command
from conversion import derivation_of, names_of, posteriors_of, rules_of, to_naive, to_pcfg
from hypothesis import assume, given
from hypothesis import strategies as st
from naive import Grammar, Node
from naive_objectives import projection_of
from strategies import grammars, sentences
from unary_strategies import unary_cases

from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.charts.exhaustive.forest_charts import ForestCharts
from mbrparse.charts.exhaustive.pruning import PrunedChart, PrunedCharts, Pruning
from mbrparse.decode.answers import Settings
from mbrparse.decode.best_first.best_first import BestFirst, Until
from mbrparse.decode.objectives import OBJECTIVES, Kind, Objective, Space
from mbrparse.decode.parser.output import Details
from mbrparse.decode.parser.parser import Parser
from mbrparse.errors import OptionsError
from mbrparse.grammar.files.grammar_files import write_rules
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.projection import expected_symbols, projected_grammar
from mbrparse.grammar.rules import Rule, RuleSet, quote, relative_frequencies
from mbrparse.treebank.brackets import read_tree
from mbrparse.treebank.tree import Tree

# Symbols of the random grammars that share a label once annotations are projected away.
ANNOTATED = {"S": "S", "A": "S^A", "B": "B~1", "C": "B~2"}


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
    """The last node of each chain of unary rules, and the first where a binary rule takes it."""
    nodes = naive.nodes(tree)
    taken = [child for node in nodes if len(node.children) == 2 for child in node.children]
    return taken + [node for node in nodes if len(node.children) != 1]


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


def check_best(pcfg: PCFG, chart: PrunedChart, listed: list[tuple[Node, float]]) -> None:
    """Compare the best derivation with the best of those that are left."""
    best = max(p for _, p in listed)
    assert chart.viterbi().log_prob == pytest.approx(math.log(best), abs=1e-9)
    candidates = [
        [(x.start, x.end, x.symbol) for x in naive.constituents(tree)]
        for tree, p in listed
        if p >= best * (1 - 1e-9)
    ]
    assert derivation_of(chart, pcfg.symbols)[0] in candidates


def check(grammar: Grammar, words: list[str], place: float) -> None:
    """Compare all that a pruned chart says with the trees that are left."""
    pcfg = to_pcfg(grammar)
    ids = pcfg.encode(words)
    assume(ids.min() >= 0)
    coarse = to_naive(projected_grammar(pcfg))
    g = {key: float(value) for key, value in naive_unary.posteriors(coarse, words).items()}
    # Between two posteriors, so that no rounding matters.
    values = sorted({1e-9, 0.9, *(value for value in g.values() if 1e-9 < value < 0.9)})
    chosen = int(place * (len(values) - 1))
    low, high = values[chosen], values[chosen + 1]
    assume(high > low * 1.001)
    first = math.sqrt(low * high)
    charts = PrunedCharts(pcfg, Pruning(pcfg, first))
    chart = charts.chart(ids)
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
    assert posteriors_of(chart.span_posteriors(), pcfg.labels) == pytest.approx(dict(expected), abs=1e-9)
    check_best(pcfg, chart, listed)
    # No other symbols than those of trees are there.
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            symbols, logs = chart.outside(start, end)
            alive = {names_of(pcfg)[x] for x in symbols[logs > -700].tolist()}
            assert alive == {symbol for i, j, symbol in there if (i, j) == (start, end)}
    forest = ForestCharts(pcfg, pruning=charts.pruning).chart(ids)
    assert forest.log_prob == pytest.approx(chart.log_prob, abs=1e-9)
    assert forest.pruned == chart.pruned
    assert posteriors_of(forest.span_posteriors(), pcfg.labels) == pytest.approx(dict(expected), abs=1e-9)


@given(st.data(), st.floats(0, 0.999))
def test_pruned_charts_hold_the_trees_of_what_is_alive(data: st.DataObject, place: float) -> None:
    grammar = data.draw(grammars())
    check(renamed(grammar), data.draw(sentences(grammar, 5)), place)


@given(unary_cases(cyclic=False, longest=4), st.floats(0, 0.999))
def test_chains_of_unary_rules_are_judged_by_their_ends(
    case: tuple[Grammar, list[str]], place: float
) -> None:
    grammar, words = case
    try:
        naive_unary.closure(to_naive(projected_grammar(to_pcfg(grammar))))
    except ValueError:
        assume(False)  # projected, a cycle has probability one
    check(grammar, words, place)


NAMES = ("S", "S^A", "S^B", "NP~1", "NP~2", "NP_Cont>x", "NP_Cont>y")


def trees() -> st.SearchStrategy[Tree]:
    """Small trees of one and two children whose labels have annotations."""
    names = st.sampled_from(NAMES)
    words = st.builds(lambda name, word: Tree(name, word=word), names, st.sampled_from("xy"))
    return st.recursive(
        words,
        lambda below: st.builds(Tree, names, st.lists(below, min_size=1, max_size=2)),
        max_leaves=6,
    )


def projected_tree(tree: Tree) -> Tree:
    """A tree without annotations."""

    def label(name: str) -> str:
        return name[: min(name.index(mark) if mark in name else len(name) for mark in "^>~")]

    return tree.fold(
        lambda leaf: Tree(label(leaf.label), word=leaf.word),
        lambda node, children: Tree(label(node.label), children),
    )


@given(st.lists(trees(), min_size=1, max_size=6))
def test_the_projected_grammar_is_that_of_the_projected_trees(treebank: list[Tree]) -> None:
    fine = PCFG.from_rules(counted(treebank))
    found, expected = projected_grammar(fine), PCFG.from_rules(counted(map(projected_tree, treebank)))
    assert found.symbols == expected.symbols
    assert found.terminals == expected.terminals
    rules = "parent", "left", "right", "unary_parent", "unary_child", "lexical_symbol", "lexical_terminal"
    for name in rules:
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
    for name in ("log_prob", "unary_log_prob", "lexical_log_prob", "root_log_prob"):
        assert np.exp(getattr(found, name)) == pytest.approx(np.exp(getattr(expected, name)), abs=1e-7)


def counted(treebank: Iterable[Tree]) -> RuleSet:
    """Relative frequencies of a treebank's rules."""
    starts: dict[str, float] = defaultdict(float)
    rules: dict[Rule, float] = defaultdict(float)
    for tree in treebank:
        starts[tree.label] += 1
        for node in tree.preorder():
            if node.children:
                rules[Rule(node.label, tuple(child.label for child in node.children))] += 1
            elif node.word is not None:
                rules[Rule(node.label, (quote(node.word),))] += 1
    return relative_frequencies("words", starts, rules)


def test_weights_of_a_grammar_whose_trees_need_not_end() -> None:
    """Both make as many S~1 as S~2, and more than themselves."""
    counts = {"S~1 -> S~1 S~2": 3, "S~2 -> S~1 S~2": 3, "S~2 -> 'x'": 1}
    pcfg = PCFG.from_rules(rules_of(counts, "S~1"))
    expected = expected_symbols(pcfg)
    assert np.isfinite(expected).all()
    assert expected[1] / expected[0] == pytest.approx(1)
    projected = ChartFactory(projected_grammar(pcfg)).chart(pcfg.encode(["x"] * 4))
    assert projected.has_parse


ANNOTATED_TREES = [
    "(S (NP^S (DT the) (NN dog)) (VP^S (VB saw) (NP^VP (DT the) (NN cat))))",
    *["(S (NP^S (NN dog) (NN cat)) (VP^S (VB saw) (NP^VP (NN dog) (PP^NP (IN on) (NN saw)))))"] * 3,
    "(S (NP^S (DT the) (NN saw)) (VP^S (VB saw) (NP^VP (NP^NP (DT the) (NN dog)) (PP^NP (IN on) (NN cat)))))",
    "(S (NP^S (DT the) (NN saw)) (VP^S (VP^VP (VB saw) (NN dog)) (PP^VP (IN on) (NN cat))))",
]
SENTENCES = ["the dog saw dog on saw", "dog cat saw the dog on cat", "the saw saw the cat"]


@pytest.fixture(scope="module")
def grammar() -> PCFG:
    """Few trees, whose labels name their parents."""
    return PCFG.from_rules(counted(map(read_tree, ANNOTATED_TREES)))


@pytest.mark.parametrize(
    "objective",
    [
        *(row for row in OBJECTIVES.values() if row.kind is not Kind.RISK),
        OBJECTIVES["labelled-recall"].within(Space.GRAMMAR),
    ],
    ids=lambda row: f"{row.name}-{row.space.name}",
)
def test_every_objective_has_the_exact_tree_at_a_threshold_that_rules_nothing_out(
    objective: Objective, grammar: PCFG
) -> None:
    exact = Parser(grammar, objective).parse(SENTENCES)
    pruned = Parser(grammar, objective, prune=1e-300).parse(SENTENCES)
    assert [str(parse.tree) for parse in pruned] == [str(parse.tree) for parse in exact]
    assert all(parse.reason is None for parse in exact)


@pytest.mark.parametrize("how", [{"k_best": 5}, {"samples": 50, "seed": 1}, {"items": "symbol"}])
def test_candidates_and_symbols_are_those_of_what_is_left(how: Settings, grammar: PCFG) -> None:
    how = {**how, "prune": 0.5}
    pruned = Parser(grammar, "labelled-recall", **how).parse(SENTENCES[0])[0]
    chart = PrunedCharts(grammar, Pruning(grammar, 0.5)).chart(pruned.terminal_ids)
    assert pruned.log_prob == pytest.approx(chart.log_prob, abs=1e-12)
    exact = Parser(grammar, "labelled-recall").parse(SENTENCES[0])[0]
    assert pruned.log_prob < exact.log_prob - 0.01
    assert len(pruned.candidates) < 2


def test_a_sentence_that_loses_all_its_parses_gets_them_back(grammar: PCFG) -> None:
    parser = Parser(grammar, "labelled-recall", "labelled-tree", prune=0.999)
    exact = Parser(grammar, "labelled-recall", "labelled-tree")
    found, expected = parser.parse(SENTENCES), exact.parse(SENTENCES)
    assert all(parse.reason is None for parse in found)
    told = [Details(grammar).row(parse)["pruned"] for parse in found]
    assert {one["threshold"] for one in told} <= {0.999, 0.999e-3, 0.0}
    assert any(one["threshold"] < 0.999 for one in told)
    for one, parse, whole in zip(told, found, expected, strict=True):
        assert parse.log_prob <= whole.log_prob + 1e-12
        assert (one["left_out"] > 1e-9) == (one["threshold"] > 0 and parse.log_prob < whole.log_prob - 1e-9)


def test_batches_do_not_matter(grammar: PCFG) -> None:
    parser = Parser(grammar, "labelled-recall", prune=0.05)
    together = parser.parse(SENTENCES)
    alone = [parser.parse(text)[0] for text in SENTENCES]
    assert [parse.log_prob for parse in together] == [parse.log_prob for parse in alone]
    assert [str(parse.tree) for parse in together] == [str(parse.tree) for parse in alone]


def test_what_cannot_be_pruned(grammar: PCFG) -> None:
    plain = PCFG.from_rules(counted(projected_tree(read_tree(text)) for text in ANNOTATED_TREES))
    with pytest.raises(OptionsError, match="nothing to project: no labels of this grammar differ"):
        Parser(plain, prune=0.1)
    with pytest.raises(OptionsError, match="leave out best_first"):
        Parser(grammar, prune=0.1, best_first=BestFirst("normalized-beta", Until("exhausted")))
    with pytest.raises(OptionsError, match="from 0 to below 1"):
        Parser(grammar, prune=1.0)
    unary = PCFG.from_rules(counted([read_tree("(S (NP^S (NN x)) (VP^S (NP^VP (NN x)) (VB x)))")]))
    with pytest.raises(OptionsError, match="cannot tell what crosses a span"):
        Parser(unary, "consistent-brackets", prune=0.1)


def test_commands_prune(command: Command, tmp_path: Path, grammar: PCFG) -> None:
    write_rules(counted(map(read_tree, ANNOTATED_TREES)), tmp_path / "g")
    text = "\n".join(SENTENCES) + "\n"
    done = command("parse", "-g", tmp_path / "g", "--prune", 0.05, "--details", tmp_path / "d", stdin=text)
    assert done.out.count("\n") == 3
    rows = [json.loads(line) for line in (tmp_path / "d").read_text("utf-8").splitlines()]
    for row, sentence in zip(rows, SENTENCES, strict=True):
        parse = Parser(grammar, prune=0.05).parse(sentence)[0]
        assert row["log_probability"] == parse.log_prob
        assert row["pruned"]["threshold"] == 0.05
    shown = command("posteriors", "-g", tmp_path / "g", "--prune", 0.5, "--format", "tsv", stdin=text)
    assert shown.out != command("posteriors", "-g", tmp_path / "g", "--format", "tsv", stdin=text).out
    plain = counted(projected_tree(read_tree(text)) for text in ANNOTATED_TREES)
    write_rules(plain, tmp_path / "plain")
    for name in ("parse", "posteriors"):
        refused = command(name, "-g", tmp_path / "plain", "--prune", 0.05, stdin=text)
        assert refused.code == 2
        assert "nothing to project" in refused.err
