"""The Viterbi agenda and A* against the naive twin, against all trees, and against exhaustive charts."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import naive
import naive_agenda
import numpy as np
import pytest
from best_first_cases import even_statistics, pcfg_of
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import grammars, sentences

from mbrparse.decode.best_first.best_first import FIRST_PARSE, BestFirst, Until
from mbrparse.decode.best_first.merits import MERITS
from mbrparse.decode.best_first.viterbi import outside_bounds, viterbi_charts
from mbrparse.decode.best_first.viterbi.item_state import empty_item_search
from mbrparse.decode.best_first.viterbi.outside_bounds import OutsideBounds, outside_bound
from mbrparse.decode.best_first.viterbi.pair_rules import PairRules, pair_rules
from mbrparse.decode.best_first.viterbi.viterbi_chart import ViterbiChart
from mbrparse.decode.best_first.viterbi.viterbi_charts import ViterbiCharts
from mbrparse.decode.parser import Parser
from mbrparse.errors import OptionsError, PosteriorsError
from mbrparse.grammar.charts.chart import Wanted
from mbrparse.grammar.charts.clock import Clock
from mbrparse.grammar.charts.factory import ChartFactory
from mbrparse.grammar.induce import induce
from mbrparse.grammar.pcfg import PCFG, FloatArray, IntArray
from mbrparse.grammar.statistics.gather import Statistics, count_statistics
from mbrparse.treebank.binarize import Binarization
from mbrparse.treebank.corpora import SourceTree
from mbrparse.treebank.prepare import Account, Preparation, prepare
from mbrparse.treebank.splits import split_fraction
from mbrparse.treebank.tree import Tree

EXHAUSTED = Until("exhausted")
ADMISSIBLE = ["beta", "a-star"]
NAMES = [name for name, merit in MERITS.items() if not merit.needs_prefix] + ["a-star"]
NEAR = 1e-9

# All bracketings of a sentence of x are equally good, and A is as good as B.
TIED = naive.Grammar(
    {"S": 1.0},
    {("S", "A", "S"): 0.2, ("S", "B", "S"): 0.2, ("S", "S", "S"): 0.2},
    {("S", "x"): 0.4, ("A", "x"): 0.4, ("A", "y"): 0.6, ("B", "x"): 0.4, ("B", "y"): 0.6},
)


@st.composite
def known(draw: st.DrawFn) -> tuple[naive.Grammar, list[str]]:
    """A grammar, and a sentence of terminals that it has."""
    grammar = draw(grammars())
    terminals = {word for (_, word), p in grammar.lexical.items() if p > 0}
    return grammar, draw(sentences(grammar).filter(terminals.issuperset))


def search(
    grammar: PCFG, sentence: list[str], merit: str, until: Until = FIRST_PARSE, edges: int | None = None
) -> ViterbiChart:
    """What the Viterbi agenda finds."""
    how = BestFirst(merit, until, edges, statistics=even_statistics(grammar, [sentence]), agenda="viterbi")
    return ViterbiCharts(grammar, how).chart(grammar.encode(sentence))


def probability(chart: ViterbiChart) -> float:
    """That of the derivation found."""
    return math.exp(chart.derivation.log_prob)


@settings(max_examples=150)
@given(known(), st.sampled_from(ADMISSIBLE))
def test_first_parse_is_the_most_probable_of_all_trees(
    case: tuple[naive.Grammar, list[str]], merit: str
) -> None:
    grammar, sentence = case
    chart = search(pcfg_of(grammar), sentence, merit)
    best, trees = naive.viterbi(grammar, sentence)
    assert probability(chart) == pytest.approx(float(best), rel=NEAR)
    assert chart.has_parse == bool(trees)
    assert chart.effort.optimal
    assert chart.effort.reopened == 0
    assert chart.effort.popped <= chart.effort.pushed


@settings(max_examples=60)
@given(known(), st.sampled_from(ADMISSIBLE))
def test_ties_are_decided_as_by_exhaustive_charts(case: tuple[naive.Grammar, list[str]], merit: str) -> None:
    library, sentence = pcfg_of(case[0]), case[1]
    [exhaustive] = ChartFactory(library, wanted=Wanted(False, True)).charts([library.encode(sentence)])
    expected, found = exhaustive.viterbi(), search(library, sentence, merit).viterbi()
    assert list(found.nodes) == list(expected.nodes)
    assert list(found.preterminals) == list(expected.preterminals)


@pytest.mark.parametrize("merit", ADMISSIBLE)
@pytest.mark.parametrize("length", range(1, 8))
def test_of_many_equal_trees_it_is_the_exhaustive_charts(merit: str, length: int) -> None:
    library, sentence = pcfg_of(TIED), ["x"] * length
    [exhaustive] = ChartFactory(library, wanted=Wanted(False, True)).charts([library.encode(sentence)])
    found = search(library, sentence, merit).viterbi()
    assert list(found.nodes) == list(exhaustive.viterbi().nodes)
    assert list(found.preterminals) == list(exhaustive.viterbi().preterminals)


@settings(max_examples=60)
@given(known(), st.sampled_from(NAMES))
def test_an_exhausted_agenda_has_the_best_tree(case: tuple[naive.Grammar, list[str]], merit: str) -> None:
    grammar, sentence = case
    chart = search(pcfg_of(grammar), sentence, merit, EXHAUSTED)
    assert probability(chart) == pytest.approx(float(naive.viterbi(grammar, sentence)[0]), rel=NEAR)
    assert chart.effort.optimal


@settings(max_examples=60)
@given(known(), st.sampled_from(["beta", "normalized-beta"]))
def test_first_parse_is_the_naive_searchs(case: tuple[naive.Grammar, list[str]], merit: str) -> None:
    grammar, sentence = case
    mean = merit == "normalized-beta"
    found = naive_agenda.search(
        grammar, sentence, lambda item, inside: inside ** (1 / (item[1] - item[0]) if mean else 1)
    )
    chart = search(pcfg_of(grammar), sentence, merit)
    exhausted = search(pcfg_of(grammar), sentence, merit, EXHAUSTED)
    # Which of equal merits is first is not the twin's to say; with beta it does not matter for what is found.
    if merit == "beta":
        assert probability(chart) == pytest.approx(found.probability, rel=NEAR)
        assert chart.effort.popped == len(found.popped)
    assert chart.has_parse == (found.probability > 0)
    assert probability(chart) <= probability(exhausted) * (1 + NEAR)


@settings(max_examples=60)
@given(known())
def test_bounds_are_no_smaller_than_the_best_outside(case: tuple[naive.Grammar, list[str]]) -> None:
    grammar, sentence = case
    library, length = pcfg_of(grammar), len(sentence)
    bounds = tables(library).table(length)
    for (start, end, symbol), outside in naive_agenda.best_outsides(grammar, sentence).items():
        number = library.symbols.index(symbol)
        bound = math.exp(outside_bound(bounds, number, start, end, length))
        assert outside * (1 - NEAR) <= bound <= 1 + NEAR


@settings(max_examples=25)
@given(grammars(), st.integers(1, 5))
def test_bounds_are_those_of_the_best_sentence(grammar: naive.Grammar, length: int) -> None:
    """Each bound is the best outside among any words: all are one, as likely as each symbol's likeliest."""
    library = pcfg_of(grammar)
    bounds = tables(library).table(length)
    likeliest: dict[tuple[str, str], naive.P] = {}
    for (symbol, _), p in grammar.lexical.items():
        likeliest[symbol, "w"] = max(likeliest.get((symbol, "w"), 0.0), p)
    for place in range(length):
        words = ["w"] * place + [naive.HOLE] + ["w"] * (length - place - 1)
        for number, symbol in enumerate(library.symbols):
            hole = naive.Grammar(grammar.start, grammar.binary, {**likeliest, (symbol, naive.HOLE): 1.0})
            outside = naive_agenda.best_outsides(hole, words).get((place, place + 1, symbol), 0.0)
            bound = math.exp(outside_bound(bounds, number, place, place + 1, length))
            assert bound == pytest.approx(outside, rel=NEAR)


def tables(library: PCFG) -> OutsideBounds:
    """The bounds of a grammar."""
    rules = pair_rules(library.parent, library.left, library.right, library.log_prob, library.root_log_prob)
    return OutsideBounds(library, rules)


def test_longer_sentences_than_the_tables_take_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    library = pcfg_of(TIED)
    expected = search(library, ["x", "y"] * 3 + ["x"], "a-star")
    monkeypatch.setattr("mbrparse.decode.best_first.viterbi.outside_bounds.MOST_NUMBERS", 30)
    bounds = tables(library)
    assert 1 < bounds.longest < 7
    assert bounds.table(bounds.longest).size
    assert not bounds.table(bounds.longest + 1).size
    found = search(library, ["x", "y"] * 3 + ["x"], "a-star")
    assert list(found.viterbi().nodes) == list(expected.viterbi().nodes)
    assert found.effort.optimal


def test_tables_grow_with_the_sentences() -> None:
    library = pcfg_of(TIED)
    charts = ViterbiCharts(library, BestFirst("a-star", agenda="viterbi"))
    lengths = [3, 9, 1, 12, 5]
    together = list(charts.charts([library.encode(["x"] * length) for length in lengths]))
    for chart, length in zip(together, lengths, strict=True):
        alone = search(library, ["x"] * length, "a-star")
        assert (chart.derivation.log_prob, chart.effort) == (alone.derivation.log_prob, alone.effort)


def test_tables_take_none_of_a_sentences_time(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    make = outside_bounds.context_bounds

    def made(rules: PairRules, narrow: FloatArray, length: int) -> FloatArray:
        told.append("tables")
        return make(rules, narrow, length)

    class Told(Clock):
        @contextmanager
        def running(self, spent: float = 0.0) -> Iterator[None]:
            told.append("begins")
            with super().running(spent):
                yield

    monkeypatch.setattr(outside_bounds, "context_bounds", made)
    library = pcfg_of(TIED)
    charts = ViterbiCharts(library, BestFirst("a-star", agenda="viterbi"), Told(600.0))
    assert all(chart.has_parse for chart in charts.charts([library.encode(["x"] * n) for n in (3, 2, 9)]))
    assert told == ["tables", "begins", "begins", "tables", "begins"]


@pytest.mark.parametrize("merit", NAMES)
def test_arrays_grow_and_nothing_changes(merit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library, sentence = pcfg_of(TIED), ["x", "y", "x", "x", "y", "x", "x"]
    expected = search(library, sentence, merit, EXHAUSTED)
    monkeypatch.setattr(viterbi_charts, "ROOM", 1)
    found = search(library, sentence, merit, EXHAUSTED)
    assert found.effort == expected.effort
    assert list(found.derivation.nodes) == list(expected.derivation.nodes)


def test_a_slice_at_a_time_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    library, sentence = pcfg_of(TIED), ["x", "y"] * 4
    expected = search(library, sentence, "boundary-bigram")
    monkeypatch.setattr(viterbi_charts, "SLICE", 1)
    assert search(library, sentence, "boundary-bigram").effort == expected.effort


@pytest.mark.parametrize("merit", NAMES)
def test_edges_bound_the_search(merit: str) -> None:
    library, sentence = pcfg_of(TIED), ["x"] * 9
    full = search(library, sentence, merit, EXHAUSTED)
    seen = []
    for limit in (1, 20, 100, full.effort.edges - 1):
        chart = search(library, sentence, merit, EXHAUSTED, limit)
        assert chart.effort.edges <= limit
        assert not chart.effort.optimal
        assert chart.has_parse or chart.failure == f"no parse within {limit} edges"
        seen.append(probability(chart))
    assert all(one <= two * (1 + NEAR) for one, two in pairwise([*seen, probability(full)]))
    assert search(library, sentence, merit, EXHAUSTED, full.effort.edges).effort.optimal


def test_a_sentence_without_a_parse() -> None:
    grammar = naive.Grammar({"S": 1.0}, {("S", "A", "B"): 1.0}, {("A", "a"): 1.0, ("B", "b"): 1.0})
    chart = search(pcfg_of(grammar), ["b", "a"], "a-star")
    assert not chart.has_parse
    assert chart.log_prob == -math.inf
    assert chart.failure == "no parse"
    # Neither can be in a parse at its place.
    assert chart.effort.pushed == 0
    assert search(pcfg_of(grammar), ["b", "a"], "beta").effort.popped == 2


def test_a_root_of_small_probability_waits() -> None:
    """The first root that is popped is the likelier symbol below, but the less likely parse."""
    grammar = naive.Grammar({"S": 0.1, "T": 0.9}, {}, {("S", "x"): 1.0, ("T", "x"): 0.5, ("T", "y"): 0.5})
    library = pcfg_of(grammar)
    for merit in ADMISSIBLE:
        assert [library.symbols[s] for s in search(library, ["x"], merit).derivation.preterminals] == ["T"]


def test_long_sentences_do_not_underflow() -> None:
    grammar = naive.Grammar(
        {"S": 1.0}, {("S", "X", "S"): 0.9}, {("S", "x"): 0.1, ("X", "x"): 1e-3, ("X", "y"): 0.999}
    )
    for merit in ("a-star", "normalized-beta"):
        found = search(pcfg_of(grammar), ["x"] * 400, merit).derivation
        assert found.log_prob == pytest.approx(399 * math.log(0.9e-3) + math.log(0.1), rel=1e-9)
        assert len(found.nodes) == 399


def test_it_has_no_sums() -> None:
    chart = search(pcfg_of(TIED), ["x", "x"], "a-star")
    assert math.isnan(chart.log_prob)
    for question in (chart.span_posteriors, chart.span_summary):
        with pytest.raises(PosteriorsError, match="keeps the best derivation and no posteriors"):
            question()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"merit": "prefix", "agenda": "viterbi"}, "prefix is made of sums"),
        ({"merit": "prefix-estimate", "agenda": "viterbi"}, "give agenda paper"),
        ({"merit": "a-star"}, "give agenda viterbi"),
        ({"merit": "beta", "until": Until("mass", 0.9), "agenda": "viterbi"}, "until mass is a sum"),
        ({"merit": "beta", "agenda": "other"}, "agenda is one of paper, viterbi"),
        ({"merit": "alpha"}, "merit is one of stack, beta"),
    ],
)
def test_what_has_no_meaning_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(OptionsError, match=message):
        BestFirst(**arguments)  # type: ignore[arg-type]


def test_parser_gives_the_exhaustive_tree_and_no_others() -> None:
    library = pcfg_of(TIED)
    parser = Parser(library, "labelled-tree", best_first=BestFirst("a-star", agenda="viterbi"))
    [found] = parser.parse(["x y x x"])
    assert str(found.tree) == str(Parser(library, "labelled-tree").parse(["x y x x"])[0].tree)
    assert math.isnan(found.log_prob)
    assert found.expected_scores == {"labelled-tree": None}
    with pytest.raises(OptionsError, match="give objective labelled-tree"):
        Parser(library, "labelled-recall", best_first=BestFirst("a-star", agenda="viterbi"))


def penn(trees: tuple[Tree, ...], how: Binarization) -> tuple[PCFG, Statistics, list[IntArray]]:
    """A grammar of nine tenths of the sample, its statistics, and the sentences of the last tenth."""
    given = [SourceTree("penn", number, tree) for number, tree in enumerate(trees, start=1)]
    prepared = list(prepare(given, Preparation(binarization=how, max_length=40), Account()))
    split = split_fraction(len(prepared), "0.1")
    train = [SourceTree("penn", number, prepared[number]) for number in split.train]
    grammar = PCFG.from_rules(induce(train, "tags"))
    return grammar, count_statistics(train, "tags"), [grammar.encode(prepared[n].tags()) for n in split.test]


@pytest.mark.parametrize(
    "how", [Binarization("right", 0, 1), Binarization("right", math.inf, 2)], ids=["small", "large"]
)
def test_penn_sample_is_parsed_as_by_exhaustive_charts(
    treebank_sample: tuple[Tree, ...], how: Binarization
) -> None:
    grammar, statistics, test = penn(treebank_sample, how)
    assert len(test) == 362
    exhaustive = [chart.viterbi() for chart in ChartFactory(grammar, wanted=Wanted(False, True)).charts(test)]
    for merit in ADMISSIBLE:
        charts = ViterbiCharts(grammar, BestFirst(merit, agenda="viterbi"))
        for chart, expected in zip(charts.charts(test), exhaustive, strict=True):
            assert chart.derivation.log_prob == pytest.approx(expected.log_prob, abs=NEAR)
            assert list(chart.derivation.nodes) == list(expected.nodes)
            assert chart.effort.optimal
            assert chart.effort.reopened == 0
    guess = ViterbiCharts(grammar, BestFirst("boundary-bigram", statistics=statistics, agenda="viterbi"))
    logs = [chart.derivation.log_prob for chart in guess.charts(test)]
    best = [expected.log_prob for expected in exhaustive]
    assert all(log <= top + NEAR for log, top in zip(logs, best, strict=True))
    assert np.mean([log == pytest.approx(top, abs=NEAR) for log, top in zip(logs, best, strict=True)]) > 0.6


def test_empty_search_has_room() -> None:
    made = empty_item_search(3, 5, 8, 2)
    assert made.items.shape == (8, 7)
    assert made.by_start.shape == made.by_end.shape == (4, 5)
    assert len(made.slots) == 32
    assert not made.slots.any()
