"""DOP: charts and objectives beside the derivations of all fragments."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping

import naive
import naive_nary
import pytest
from cases import Case
from conversion import dop_treebank, posteriors_of
from naive import LabelledSpan, P
from naive_dop import NaiveDop, inner_nodes
from naive_dop import Node as DopNode
from naive_dop import spans as dop_spans

from comparisons.candidates import spans_of
from comparisons.truth import Comparison
from mbrparse.charts.dop.dop_charts import DopCharts, DopTreeProbability
from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.decode.objectives import OBJECTIVES
from mbrparse.decode.parser.parser import Parser
from mbrparse.grammar.dop_grammar import DopGrammar, reduced_rules
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import RuleSet, TerminalKind, Weight


def compare_dop(case: Case, check: Comparison) -> None:
    """Compare a sentence under a treebank's DOP grammar."""
    twin = NaiveDop(list(case.trees), case.weighting, case.depth)
    tagged = any(len(node[1]) == 1 for tree in case.trees for node in inner_nodes(tree))
    kind: TerminalKind = "words" if tagged else "tags"
    treebank = dop_treebank(case.trees, kind, case.weighting, case.depth)  # type: ignore[arg-type]
    grammar = DopGrammar.of_treebank(treebank)
    ids = grammar.pcfg.encode(case.words)
    if (ids < 0).any():
        return
    true = {tree: p for tree, p in twin.trees(case.words).items() if p}
    chart = DopCharts(grammar).chart(ids)
    check.true("chart, dop", chart.has_parse == bool(true), chart.failure)
    if not true:
        return
    total = sum(true.values())
    check.close("chart, dop", chart.log_prob, math.log(total))
    check.close("chart, dop", chart.viterbi().log_prob, twin.best_derivation(case.words))
    g = twin.posteriors(case.words)
    written = _written(grammar)
    general = ChartFactory(written).chart(written.encode(case.words))
    check.close("chart, reduction", general.log_prob, math.log(total))
    for name, one, labels in (("dop", chart, grammar.pcfg.labels), ("reduction", general, written.labels)):
        found = posteriors_of(one.span_posteriors(), labels)
        nodes = {x: p for x, p in found.items() if x[2] not in treebank.terminals}
        check.table(f"chart, {name}", nodes, g, 1e-9)
    wide = {x: p for x, p in g.items() if x[1] - x[0] > 1}
    n = len(case.words)
    names = ("labelled-recall", "bracketed-recall", "labelled-f", "general-recall")
    parser = Parser(grammar, *(OBJECTIVES[name] for name in names))
    [parse] = parser.parse([case.words])
    for name, weights in (("labelled-recall", (1.0, 0.0)), ("bracketed-recall", (0.0, 1.0))):
        best = naive.free_optimum(wide, n, labelled_weight=weights[0], span_weight=weights[1])
        check.close(f"dop {name}", parse.expected_scores[name], best)
    nary = {x: p for x, p in wide.items() if not x[2].endswith("_Cont")}
    check.close("dop labelled-f", parse.expected_scores["labelled-f"], naive_nary.f_optimum(nary, n, 1, 0))
    best = naive_nary.optimum(nary, n, 1, 0)
    check.close("dop general-recall", parse.expected_scores["general-recall"], best)
    _compare_dop_candidates(grammar, case, true, check)


def _compare_dop_candidates(
    grammar: DopGrammar, case: Case, true: Mapping[DopNode, P], check: Comparison
) -> None:
    looks: dict[frozenset[LabelledSpan], P] = defaultdict(int)
    for tree, p in true.items():
        looks[frozenset(span for span in dop_spans(tree) if span[1] - span[0] > 1)] += p
    total, probability = sum(looks.values()), DopTreeProbability(grammar)
    for way in ("k_best", "samples"):
        [parse] = Parser(grammar, **{way: 1000}).parse([case.words])  # type: ignore[arg-type]
        seen = [[span for span in spans_of(one.tree) if span[1] - span[0] > 1] for one in parse.candidates]
        for one, spans in zip(parse.candidates, seen, strict=True):
            check.close("dop candidates", one.log_prob, math.log(looks[frozenset(spans)]))
            if spans:
                found = probability.log_prob(spans, grammar.pcfg.encode(case.words))
                check.close("dop candidates", one.log_prob, found)
        listed = [one.log_prob for one in parse.candidates]
        # In order, but for rounding. Samples lack a tree of a larger share with a probability of 1e-11.
        check.true("dop candidates", listed == pytest.approx(sorted(listed, reverse=True)), listed)
        lacking = looks.keys() - set(map(frozenset, seen))
        share = max((float(looks[one] / total) for one in lacking), default=0.0)
        check.true("dop candidates", share < 0.025 or way == "k_best", lacking)


def _written(grammar: DopGrammar) -> PCFG:
    """Goodman's reduction, written out."""
    rules = {rule: Weight(probability) for rule, probability in reduced_rules(grammar)}
    treebank = grammar.treebank
    start = {name: Weight(count / treebank.trees) for name, count in treebank.start.items()}
    written = RuleSet(treebank.terminal_kind, start, rules)
    written.check()
    return PCFG.from_rules(written)
