"""Rules of 10^-5 to 10^-300 and sentences to 60 words beside 40 digits: exact, or refused with the reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conversion import names_of, posteriors_of, rules_of, to_naive
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import LabelledSpan, project
from naive_digits import Cell, Digits
from naive_objectives import projection_of

from mbrparse.charts.chart import Chart
from mbrparse.charts.exhaustive.factory import ChartFactory, PrunedCharts, Pruning
from mbrparse.charts.rule_tables import unary_closure
from mbrparse.decode.best_first.best_first import BestFirst, Until
from mbrparse.decode.best_first.best_first_chart import BestFirstChart, BestFirstCharts
from mbrparse.errors import GrammarError
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.projection import has_annotations, projected_grammar

# Loose enough that a label is only left out where its posterior is of no account.
PRUNED = 1e-15
KINDS = ["ordinary", "directly", "unary", "cyclic", "markovized"]


@st.composite
def grammars(draw: st.DrawFn) -> PCFG:
    """A grammar of a few symbols over x and y, with probabilities that are powers of ten to any exponent."""
    kind = draw(st.sampled_from(KINDS))
    symbols = ["S", "A", "B", "C"] if kind != "markovized" else ["S", "A^S", "A^B", "B_Cont>A", "B^A"]
    pairs = [f"{left} {right}" for left in symbols for right in symbols]
    improbable = st.floats(5, draw(st.sampled_from([20, 80, 300]))).map(lambda exponent: 10.0**-exponent)
    rules: dict[str, float] = {}
    for parent in symbols:
        sides = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=3, unique=True))
        if kind == "directly":
            sides.append(f"x {draw(st.sampled_from(symbols))}")
        below = symbols[symbols.index(parent) + 1 :] if kind == "unary" else symbols
        if kind in ("unary", "cyclic") and below:
            sides += draw(st.lists(st.sampled_from(below), max_size=2, unique=True))
        sides += draw(st.lists(st.sampled_from("xy"), min_size=1, max_size=2, unique=True))
        for side in sides:
            likely = st.just(0.3 if side in symbols else 1.0)
            rules[f"{parent} -> {side}"] = draw(likely | improbable | improbable)
        # Where nothing is likely, all of it is next to impossible.
        if kind == "cyclic" or draw(st.booleans()):
            rules[f"{parent} -> z"] = 1.0
    return PCFG.from_rules(rules_of(rules, draw(st.sampled_from(["S", f"S {symbols[1]}"]))))


@st.composite
def cases(draw: st.DrawFn, least: int, most: int) -> Case:
    """A grammar that is not refused for its chains of unary rules, and a sentence."""
    pcfg = draw(grammars().filter(lambda pcfg: not refused(pcfg)))
    known = [word for word in pcfg.terminals if word != "z"]
    return Case(pcfg, draw(st.lists(st.sampled_from(known), min_size=least, max_size=most)))


class Case:
    """A grammar, one of its sentences, and what is true of it."""

    def __init__(self, pcfg: PCFG, words: list[str]) -> None:
        self.pcfg, self.words = pcfg, words
        self.ids = self.pcfg.encode(self.words)
        self._twin = to_naive(self.pcfg)
        self.projection = projection_of(self._twin)
        self.true = Digits(self._twin, self.words)

    def left(self) -> Digits:
        """The derivations that pruning leaves: none where a projected label is hardly probable."""
        coarse = Digits(to_naive(projected_grammar(self.pcfg)), self.words)
        g = coarse.posteriors() if coarse.total else {}
        for threshold in (PRUNED, PRUNED * 1e-3):
            alive = {key for key, value in g.items() if value > threshold}

            def kept(start: int, end: int, cell: Cell, alive: set[LabelledSpan] = alive) -> Cell:
                return {a: p for a, p in cell.items() if (start, end, project(a, self.projection)) in alive}

            found = Digits(self._twin, self.words, kept)
            if found.total:
                return found
        return self.true

    def check(self, chart: Chart | BestFirstChart, digits: float, true: Digits | None = None) -> None:
        """Compare a chart with what is true of the sentence, or of the derivations that are left."""
        true = true or self.true
        assert chart.has_parse == (true.total > 0), chart.failure
        if not chart.has_parse:
            return
        assert chart.log_prob == pytest.approx(float(true.log_prob), rel=1e-12, abs=digits)
        found = posteriors_of(chart.span_posteriors(), self.pcfg.labels)
        g = {key: float(value) for key, value in true.posteriors(self.projection).items()}
        wrong = {
            key: (found.get(key, 0.0), g.get(key, 0.0))
            for key in found.keys() | g.keys()
            if found.get(key, 0.0) != pytest.approx(g.get(key, 0.0), abs=digits, rel=digits)
        }
        assert not wrong
        self.check_derivation(chart, digits, true)

    def check_derivation(self, chart: Chart | BestFirstChart, digits: float, true: Digits) -> None:
        best, names = chart.viterbi(), names_of(self.pcfg)
        assert best.log_prob == pytest.approx(float(true.log_best()), rel=1e-12, abs=digits)
        nodes = [(start, end, names[symbol]) for start, end, symbol in best.nodes]
        itself = true.derivation(nodes, [names[symbol] for symbol in best.preterminals])
        # Each node is as good as the best one up to the rule for ties.
        ties = digits * max(len(best.nodes), 1)
        assert float(itself) == pytest.approx(float(true.log_best()), rel=1e-12, abs=ties)


def charts_of(case: Case) -> Iterator[tuple[Chart | BestFirstChart, float]]:
    """The case's sentence in each kind of chart, and how exact that is."""
    pcfg, ids = case.pcfg, case.ids
    yield ChartFactory(pcfg).chart(ids), 1e-9
    yield ChartFactory(pcfg, kernel="forest").chart(ids), 1e-9
    if not pcfg.has_unaries:
        yield BestFirstCharts(pcfg, BestFirst("beta", Until("exhausted"))).chart(ids), 1e-9


@given(cases(1, 14))
def test_charts_of_every_kind(case: Case) -> None:
    check_charts(case)


@pytest.mark.long
@settings(max_examples=20)
@given(cases(30, 60))
def test_charts_of_sixty_words(case: Case) -> None:
    check_charts(case)


def refused(pcfg: PCFG) -> bool:
    """Whether unary rules are refused, since chains of them are less probable than any number."""
    try:
        unary_closure(pcfg)
    except GrammarError as error:
        return "less probable than any number" in error.message
    return False


def check_charts(case: Case) -> None:
    for chart, digits in charts_of(case):
        case.check(chart, digits)
    pruned = PrunedCharts(case.pcfg, Pruning(case.pcfg, PRUNED))
    # Without annotations what is left out is of no account.
    annotated = has_annotations(case.pcfg)
    case.check(pruned.chart(case.ids), 1e-9, case.left() if annotated else case.true)
    if case.true.total:
        alone = ChartFactory(case.pcfg).chart(case.ids)
        case.check_derivation(alone, 1e-9, case.true)
