"""The explanation of a sentence equals what listing all its trees one by one says."""

import math
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import naive
import naive_unary
import pandas as pd
import pytest
from conversion import to_pcfg
from hypothesis import example, given
from hypothesis import strategies as st
from unary_strategies import unary_cases

import mbrparse as mp
from mbrparse.decode.parser.explanation import explain

PAIRS: dict[tuple[str, str, str], naive.P] = {("S", a, b): 0.25 for a, b in ("AC", "AD", "EB", "FB")}
FOUR = naive.Grammar({"S": 1.0}, PAIRS | {(label, "X", "X"): 1.0 for label in "ABCDEF"}, {("X", "x"): 1.0})


@st.composite
def ambiguous(draw: st.DrawFn) -> tuple[naive.Grammar, str]:
    """Two nonterminals, one above the other by a unary rule, and a sentence that they derive."""
    weights = st.lists(st.integers(1, 9), min_size=4, max_size=4)
    s, a = ([weight / sum(drawn) for weight in drawn] for drawn in (draw(weights), draw(weights)))
    grammar = naive.Grammar(
        {"S": 0.7, "A": 0.3},
        {("S", "S", "S"): s[0], ("S", "A", "S"): s[1], ("A", "S", "A"): a[0]},
        {("S", "x"): s[2], ("S", "y"): s[3], ("A", "x"): a[1], ("A", "y"): a[2]},
        {("A", "S"): a[3]},
    )
    return grammar, " ".join(draw(st.text("xy", min_size=2, max_size=4)))


@given(ambiguous())
@example((FOUR, "x x x x"))
def test_chart_readings_and_results_equal_enumeration(case: tuple[naive.Grammar, str]) -> None:
    grammar, text = case
    words = text.split()
    found = explain(to_pcfg(grammar), text, readings=2000)
    total = float(naive.sentence_probability(grammar, words))
    assert math.exp(found.log_prob) == pytest.approx(total)
    entries = {(cell.start, cell.end, one.label): one for cell in found.cells for one in cell.entries}
    inside, outside = naive.inside(grammar, words), naive.outside(grammar, words)
    assert {key: math.exp(one.log_inside) for key, one in entries.items()} == pytest.approx(inside)
    for key, one in entries.items():
        assert one.posterior == pytest.approx(float(inside[key] * outside.get(key, 0)) / total, abs=1e-12)
        assert sum(way.share for way in one.ways) == pytest.approx(1)
        for way in one.ways:
            assert math.exp(way.log_value) == pytest.approx(way.share * float(inside[key]))
            if way.split is not None:
                (start, end, label), (left, right) = key, way.children
                below = inside[start, way.split, left] * inside[way.split, end, right]
                assert math.exp(way.log_value) == pytest.approx(
                    float(grammar.binary[label, left, right] * below)
                )
    viterbi = {key: float(max(p for _, p in some)) for key, some in naive.subtrees(grammar, words).items()}
    rows: Any = list(found.frame.itertuples(index=False))
    assert {row[:3]: math.exp(row.log_viterbi) for row in rows} == pytest.approx(viterbi)
    for row in rows:
        children = tuple(row.children.replace("'", "").split())
        split = [] if pd.isna(row.split) else [row.split]
        ends = pairwise([row.start, *split, row.end])
        parts: Any = [
            viterbi[start, end, child]
            for (start, end), child in zip(ends, children, strict=True)
            if "'" not in row.children
        ]
        rules: Any = grammar.binary | grammar.unary | grammar.lexical
        assert float(rules[row.label, *children]) * math.prod(parts) == pytest.approx(viterbi[row[:3]])
    spans = {cell: place for place, cell in enumerate((one.start, one.end) for one in found.cells)}
    assert list(spans) == sorted(spans, key=lambda span: (span[1], -span[0]))
    trees: dict[tuple[naive.LabelledSpan, ...], float] = {}
    for tree, probability in naive.derivations(grammar, words):
        key_of_tree = tuple(sorted((node.start, node.end, node.symbol) for node in naive.constituents(tree)))
        trees[key_of_tree] = trees.get(key_of_tree, 0.0) + float(probability) / total
    readings = {tuple(sorted(map(tuple, one.constituents))): one.posterior for one in found.readings}
    assert readings == pytest.approx(trees)
    assert found.missing == 0
    posteriors = naive.posteriors(grammar, words)
    for result in found.results[1:3]:
        spans_of = [(start, end) for start, end, _ in result.constituents]
        by_label = [float(posteriors.get(item, 0)) for item in result.constituents]
        by_span = [
            float(sum(g for (*span, _), g in posteriors.items() if tuple(span) == one)) for one in spans_of
        ]
        gains = by_label if result.objective.name == "labelled-recall" else by_span
        if not grammar.unary:
            assert [gain.gain for gain in result.gains] == pytest.approx(gains)
            assert result.score == pytest.approx(sum(gains))
    best = found.results[0]
    assert best.score == pytest.approx(float(naive.viterbi(grammar, words)[0]) / total)
    assert sum(gain.gain for gain in best.gains) == pytest.approx(math.log(best.score * total))


@given(unary_cases())
def test_posteriors_in_chains_are_of_one_copy_at_least(case: tuple[naive.Grammar, list[str]]) -> None:
    grammar, words = case
    pcfg = to_pcfg(grammar)
    if not set(words) <= set(pcfg.terminals) or not naive_unary.sentence_probability(grammar, words):
        return
    wanted = naive_unary.at_least(grammar, words, 1, lambda symbol: symbol)
    rows: Any = mp.chart(pcfg, words).itertuples(index=False)
    for row in rows:
        assert row.posterior <= 1
        if row.end - row.start > 1:
            p = wanted.get((row.start, row.end, row.label), 0)
            assert row.posterior == pytest.approx(float(p), abs=1e-12)


def test_a_word_of_a_cycle_is_once_in_its_cell() -> None:
    rows = mp.chart(mp.grammar("S -> S [0.75] | S S [0.05] | 'x' [0.2]"), "x x")
    assert rows["posterior"].tolist() == pytest.approx([1.0] * 3)


def test_the_four_trees_are_the_lecture(tmp_path: Path) -> None:
    found = mp.explain(to_pcfg(FOUR), "x x x x", "labelled-tree", "labelled-recall")
    assert [result.labelled for result in found.results] == pytest.approx([1.75, 2.0])
    assert [reading.posterior for reading in found.readings] == pytest.approx([0.25] * 4)
    spans = [gain.span for gain in found.results[0].gains]
    assert spans == [(0, 4), (0, 2), (0, 1), (1, 2), (2, 4), (2, 3), (3, 4)]
    found.write(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert '<td class="number">1.75</td>' in page
    assert '<td class="number best">2</td>' in page
    shown = found._repr_html_()
    assert page in unescape(shown)
    assert "<script" not in shown


def test_words_and_labels_may_hold_markup() -> None:
    evil = "</script><b>&\"'"
    grammar = naive.Grammar({"S": 1.0}, {("S", "<i>", "<i>"): 1.0}, {("<i>", evil): 1.0})
    page = mp.explain(to_pcfg(grammar), [evil, evil]).html()
    assert evil not in page
    assert "<i>" not in page
    assert page.count("</script>") == 2
