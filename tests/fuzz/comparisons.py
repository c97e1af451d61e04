"""What the library says of a case, beside the listed trees of the naive twins."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import naive
import naive_crossing
import naive_nary
import naive_objectives
import naive_unary
import numpy as np
import pytest
from cases import Case
from conversion import derivation_of, dop_treebank, names_of, posteriors_of, to_rules
from naive import Grammar, LabelledSpan, Node, P
from naive_dop import NaiveDop, inner_nodes
from naive_dop import Node as DopNode
from naive_dop import spans as dop_spans

from mbrparse.charts.chart import TOO_IMPROBABLE, Chart
from mbrparse.charts.dop.dop_charts import DopCharts, DopTreeProbability
from mbrparse.charts.exhaustive.factory import ChartFactory, Kernel, PrunedCharts, Pruning
from mbrparse.charts.spans import cell_of
from mbrparse.decode.best_first.best_first import BestFirst, Until
from mbrparse.decode.best_first.best_first_chart import BestFirstCharts
from mbrparse.decode.candidates.k_best import LEAST_SHARE
from mbrparse.decode.objectives import OBJECTIVES, Item, Objective, Space
from mbrparse.decode.parser.parser import Parse, Parser
from mbrparse.decode.parser.parsing import Details
from mbrparse.decode.parser.score import score
from mbrparse.decode.tree_probability import TreeProbability
from mbrparse.errors import GrammarError
from mbrparse.grammar.dop_grammar import DopGrammar, reduced_rules
from mbrparse.grammar.pcfg import PCFG, FloatArray
from mbrparse.grammar.projection import has_annotations
from mbrparse.grammar.rules import RuleSet, TerminalKind, Weight, is_terminal, unquote
from mbrparse.treebank.outlines import constituents
from mbrparse.treebank.tree import Tree

BEST_FIRST = BestFirst("beta", Until("exhausted"))
ALL = 100_000
Spans = tuple[LabelledSpan, ...]


#: How columns of shares and probabilities end.
_RATES = ("_recall", "_precision", "_f", "posterior", "least_g")


class Mismatch(Exception):  # noqa: N818
    """What the library says is not what the trees say."""


class Comparison:
    """Counts what is compared, by name; raises Mismatch."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    def close(self, name: str, found: float | None, wanted: P, digits: float = 1e-9) -> None:
        """Compare two numbers, absolutely below one and relatively above."""
        self.counts[name] += 1
        wanted = float(wanted)
        if found is None or not (found == wanted or abs(found - wanted) <= digits * max(1.0, abs(wanted))):
            raise Mismatch(f"{name}: {found!r}, but by enumeration {wanted!r}")

    def table(self, name: str, found: Mapping[Any, float], wanted: Mapping[Any, P], digits: float) -> None:
        """Compare two tables, in which what is not listed is zero."""
        for key in found.keys() | wanted.keys():
            self.close(name, found.get(key, 0.0), wanted.get(key, 0), digits)

    def true(self, name: str, holds: bool, otherwise: object) -> None:
        """Something that must hold."""
        self.counts[name] += 1
        if not holds:
            raise Mismatch(f"{name}: {otherwise}")


def compare(case: Case, check: Comparison) -> None:
    """Make all comparisons of a case."""
    if case.grammar is None:
        _compare_dop(case, check)
        return
    rules = to_rules(case.grammar)
    kind: TerminalKind = "words" if case.kind == "words" else "tags"
    pcfg = PCFG.from_rules(RuleSet(kind, rules.start, rules.rules))
    if (pcfg.encode(case.words) < 0).any():
        [parse] = Parser(pcfg).parse([case.words])
        check.true("refusals", (parse.reason or "").startswith("unknown terminal"), parse.reason)
        return
    try:
        _ = ChartFactory(pcfg).forests
    except GrammarError as error:
        # A cycle may be of probability one in doubles alone.
        known = ("less probable than any number", "cycle of probability one")
        check.true("refusals", any(text in error.message for text in known), error)
        return
    true = Truth(case.grammar, case.words)
    # Of tiny probabilities the twin makes fractions of thousands of digits.
    _compare_charts(pcfg, case.words, true, check, cells=case.kind != "tiny")
    if not true.total:
        [parse] = Parser(pcfg).parse([case.words])
        check.true("refusals", parse.reason == "no parse", parse.reason)
        return
    _Objectives(pcfg, case, true, check).compare()


class Truth:
    """What is true of a sentence; everything by projected labels, unless its name says otherwise."""

    def __init__(self, grammar: Grammar, words: Sequence[str]) -> None:
        self.grammar, self.words, self.n = grammar, words, len(words)
        self.projection = naive_objectives.projection_of(grammar)
        self.terminals = grammar.terminals()
        self.total = naive_unary.sentence_probability(grammar, words)
        self.is_acyclic = not grammar.has_unary_cycle()

    @cached_property
    def posteriors(self) -> dict[LabelledSpan, P]:
        return dict(naive_unary.span_posteriors(self.grammar, self.words, self.projection))

    @cached_property
    def constituents(self) -> dict[LabelledSpan, float]:
        """The probabilities of labels as constituents; preterminals are none."""
        gains = naive_objectives.gains(self.grammar, self.words, "labelled-recall", self.projection)
        return {(int(i), int(j), str(x)): float(g) for (i, j, x), g in gains.items()}

    def at_least(self, k: int) -> dict[LabelledSpan, float]:
        """The probabilities of k constituents at least of each label."""

        def kind_of(symbol: str) -> str | None:
            return None if symbol in self.terminals else self.projection[symbol]

        found = naive_unary.at_least(self.grammar, self.words, k, kind_of)
        return {span: float(p) for span, p in found.items()}

    @cached_property
    def brackets(self) -> dict[naive.Span, float]:
        """The probabilities that the binary tree has spans."""
        gains = naive_objectives.gains(self.grammar, self.words, "bracketed-recall")
        return {(int(i), int(j)): float(g) for (i, j), g in gains.items()}

    @cached_property
    def nary_brackets(self) -> dict[naive.Span, list[float]]:
        """Those of one constituent at least of the n-ary tree, of two, and so on."""
        return naive_objectives.nary_brackets(self.grammar, self.words, self.projection)

    @cached_property
    def expected_nary(self) -> float:
        """The expected number of constituents of the n-ary tree."""
        known = naive_objectives.expected_constituents(self.grammar, self.words, self.projection)
        return float(sum(p for (_, _, x), p in known.items() if not x.endswith("_Cont")))

    @cached_property
    def listed(self) -> list[tuple[Node, P]]:
        """The derivations; through cycles those that go around none."""
        return naive.derivations(self.grammar, self.words)

    def is_continuation(self, symbol: str) -> bool:
        """Whether a symbol of the grammar is a continuation."""
        return self.projection[symbol].endswith("_Cont")

    def uncrossed(self, bracketing: Iterable[naive.Span], binary: bool = False) -> float:
        """The probability that no constituent crosses any of these spans; of the ``binary`` tree none at all.

        Continuations are constituents of the binary tree only.
        """
        every = [(i, j) for i in range(self.n) for j in range(i + 2, self.n + 1)]
        closed = {span for span in every if any(naive.crosses(span, one) for one in bracketing)}
        may_close: Callable[[str], bool] = (lambda _: False) if binary else self.is_continuation
        e = naive_unary.inside(self.grammar, self.words, closed, may_close)
        mass = sum((p * e.get((0, self.n, a), 0) for a, p in self.grammar.start.items()), 0)
        return float(mass / self.total)

    @cached_property
    def consistent(self) -> dict[naive.Span, float]:
        """c of every span; of acyclic grammars by listing the trees."""
        every = [(i, j) for i in range(self.n) for j in range(i + 2, self.n + 1)]
        if self.is_acyclic:
            trees = naive_crossing.n_ary_trees(self.grammar, self.words, self.is_continuation)
            return {span: float(naive_crossing.consistent(trees, span)) for span in every}
        return {span: self.uncrossed([span]) for span in every}

    def looks(self, nary: bool) -> dict[Spans, P]:
        """The probabilities of the trees that derivations look like, by constituents in preorder."""
        found: dict[Spans, P] = defaultdict(int)
        for tree, p in self.listed:
            nodes = [
                (n.start, n.end, naive.project(n.symbol, self.projection)) for n in naive.constituents(tree)
            ]
            if nary and nodes:
                root = (*nodes[0][:2], nodes[0][2].removesuffix("_Cont"))
                nodes = [root, *(node for node in nodes[1:] if not node[2].endswith("_Cont"))]
            found[tuple(nodes)] += p
        return dict(found)


def _compare_charts(pcfg: PCFG, words: Sequence[str], true: Truth, check: Comparison, cells: bool) -> None:
    ids = pcfg.encode(words)
    best = naive_unary.log(naive_unary.best_probability(true.grammar, words))
    for chart_name, chart in _charts(pcfg, ids):
        digits = 1e-9
        name = f"chart, {chart_name}"
        check.true(name, chart.has_parse == (true.total > 0), chart.failure)
        if not true.total:
            continue
        check.close(name, chart.log_prob, naive_unary.log(true.total), digits)
        found = posteriors_of(chart.span_posteriors(), pcfg.labels)
        named = {(i, j, unquote(x) if is_terminal(x) else x): g for (i, j, x), g in found.items()}
        check.table(name, named, true.posteriors, digits)
        check.close(name, chart.viterbi().log_prob, best, digits)
        if cells and chart_name in ("usual", "forest"):
            _compare_cells(name, pcfg, chart, true, check)


def _compare_cells(name: str, pcfg: PCFG, chart: Chart, true: Truth, check: Comparison) -> None:
    """Inside and outside values, what a summary says of each span, and the best derivation."""
    names, n = names_of(pcfg), true.n
    inside, outside = (of(true.grammar, true.words) for of in (naive_unary.inside, naive_unary.outside))
    log, summary = naive_unary.log, chart.span_summary()
    for start, end in ((i, j) for i in range(n) for j in range(i + 1, n + 1)):
        ids, logs = chart.inside(start, end)
        found = {names[x]: value for x, value in zip(ids, logs, strict=True)}
        wanted = {x: p for (i, j, x), p in inside.items() if p and (i, j) == (start, end) and x in names}
        # Dense charts keep tags out of their cells.
        if end - start > 1 or pcfg.has_unaries:
            check.true(name, found.keys() == wanted.keys(), (start, end, found, wanted))
        for x, value in found.items():
            check.close(name, value, log(wanted[x]))
        for x, value in zip(*chart.outside(start, end), strict=True):
            check.close(name, value, log(outside[start, end, names[x]]))
        masses = [p for (i, j, _), p in true.posteriors.items() if (i, j) == (start, end)]
        cell = cell_of(n, start, end)
        # However long the chain over a word, it has one preterminal.
        total = 1 if end == start + 1 else true.brackets.get((start, end), 0)
        check.close(name, summary.total[cell], total)
        if end - start > 1:
            check.close(name, summary.best[cell], max(masses, default=0))
    shapes = {_shape(tree): p for tree, p in true.listed}
    nodes, preterminals = derivation_of(chart, names)
    check.close(name, chart.viterbi().log_prob, log(Fraction(shapes[tuple(nodes), tuple(preterminals)])))


def _shape(tree: Node) -> tuple[tuple[LabelledSpan, ...], tuple[str, ...]]:
    """A tree's constituents in preorder, and its preterminals; a terminal stands for itself."""
    nodes = naive.nodes(tree)
    constituents = tuple((node.start, node.end, node.symbol) for node in nodes if node.children)
    return constituents, tuple(node.symbol for node in nodes if not node.children)


def _charts(pcfg: PCFG, ids: Any) -> Iterator[tuple[str, Any]]:
    engines: tuple[Kernel | None, ...] = (None, "forest")
    for engine in engines:
        yield engine or "usual", ChartFactory(pcfg, kernel=engine).chart(ids)
    if not has_annotations(pcfg):
        pruned = PrunedCharts(pcfg, Pruning(pcfg, 1e-16))
        yield "pruned", pruned.chart(ids)
    if not pcfg.has_unaries:
        yield "best-first", BestFirstCharts(pcfg, BEST_FIRST).chart(ids)


class _Objectives:
    """All objectives in all spaces, for one sentence that has a parse."""

    def __init__(self, pcfg: PCFG, case: Case, true: Truth, check: Comparison) -> None:
        self.pcfg, self.words, self.true, self.check = pcfg, case.words, true, check
        self.n, self.kind = len(case.words), case.kind

    def compare(self) -> None:
        """Compare each objective's tree and score with the optimum."""
        settings: list[tuple[str, float, dict[str, Any]]] = [("exhaustive", 1e-9, {})]
        if not self.pcfg.has_unaries:
            settings.append(("best-first", 1e-9, {"best_first": BEST_FIRST}))
        for name, digits, chosen in settings:
            self._free(name, digits, chosen)
            self._nary(name, digits, chosen)
        self._consistent()
        self._whole()
        self._derived("projected")
        self._derived("symbol")
        self._candidates()
        self._scores()
        if not self.pcfg.has_unaries and self.n <= 5:
            self._exact_f()

    def _parse(self, *rows: str | Objective, refusable: bool = False, **settings: Any) -> Parse | None:
        """The sentence's parse, or None where it is refused for its numbers."""
        [parse] = Parser(self.pcfg, *rows, **settings).parse([self.words])
        # Samples of chains that nearly never end are not drawn.
        endless = parse.reason == "chart too large for memory" and self.kind == "tiny"
        if refusable and (parse.reason == TOO_IMPROBABLE or endless):
            self.check.refused[str(parse.reason)] += 1
            return None
        # A tree in the space `grammar` need not be there.
        reason = parse.reason or ""
        self.check.true("parses", not reason or reason.startswith("no tree for"), reason)
        self._rates(Details(self.pcfg, TreeProbability(self.pcfg)).row(parse))
        return parse

    def _rates(self, stated: Mapping[str, Any]) -> None:
        """Whatever is stated of trees: shares and probabilities are none below zero or above one."""
        for name, row in (stated.get("trees") or {}).items():
            if any(node[:2] == [0, self.n] and "_Cont" in node[2] for node in (row or {}).get("nodes", ())):
                continue  # a continuation at the root, as no treebank has one: n-ary trees do not count it
            rates = {key: value for key, value in (row or {}).items() if key.endswith(_RATES)}
            rates |= {f"g of {node[:3]}": node[3] for node in (row or {}).get("nodes", ())}
            if OBJECTIVES.get(name) is not None and OBJECTIVES[name].f_score:
                rates["expected_score"] = row["expected_score"]
            for key, value in rates.items():
                self.check.true("rates", value is None or -1e-12 <= value <= 1 + 1e-9, (name, key, value))

    def _free(self, name: str, digits: float, settings: Mapping[str, Any]) -> None:
        g = {key: p for key, p in self.true.constituents.items() if key[1] - key[0] > 1}
        weights = {"labelled-recall": (1.0, 0.0, 0.0), "bracketed-recall": (0.0, 1.0, 0.0)}
        mixed = Objective("mixed", Space.FREE, ((Item.LABELLED_SPAN, 1.0), (Item.SPAN, 0.5)), -0.25)
        parse = self._parse(*(OBJECTIVES[name] for name in weights), mixed, **settings)
        assert parse is not None
        for found, (row, of) in zip(
            parse.decoded, [*weights.items(), ("mixed", (1.0, 0.5, -0.25))], strict=True
        ):
            assert found is not None
            what: dict[str, Any] = dict(
                zip(("labelled_weight", "span_weight", "node_constant"), of, strict=True)
            )
            where = f"free {row}, {name}"
            what["over"] = self.true.brackets
            self.check.close(where, found.score, naive.free_optimum(g, self.n, **what), digits)
            labels = {(i, j): x for i, j, x in found.spans}
            self.check.true(where, frozenset(labels) in naive.bracketings(self.n), found.spans)
            self.check.close(where, found.score, naive.free_value(labels, g, **what), digits)

    def _nary(self, name: str, digits: float, settings: Mapping[str, Any]) -> None:
        g = {key: p for key, p in self.true.constituents.items() if not key[2].endswith("_Cont")}
        gains = ((Item.LABELLED_SPAN, 1.0), (Item.SPAN, 0.5))
        rows = [
            OBJECTIVES["general-recall"],
            Objective("weighed", Space.NARY, gains, -0.6),
            OBJECTIVES["labelled-f"],
            OBJECTIVES["bracketed-f"],
        ]
        parse = self._parse(*rows, **settings)
        assert parse is not None
        # Where rules are unary, several labels may stand over one span.
        wanted = [naive_nary.optimum(g, self.n, 1, 0)]
        if self.true.grammar.unary:
            known = self.true.nary_brackets, self.true.expected_nary
            wanted.append(naive_nary.chain_optimum(g, self.n, 1, 0.5, 0.6, known[0]))
            wanted += [naive_nary.chain_f_optimum(g, self.n, *of, *known) for of in ((1, 0), (0, 1))]
        else:
            wanted.append(naive_nary.optimum(g, self.n, 1, 0.5, 0.6))
            wanted += [naive_nary.f_optimum(g, self.n, *of) for of in ((1, 0), (0, 1))]
        for row, found, best in zip(rows, parse.decoded, wanted, strict=True):
            assert found is not None
            # Posteriors are exact beside one: where all are below its digits an F is not compared, nor what
            # stands over one word.
            if (row.f_score or self.n == 1) and sum(g.values()) < 1e-12:
                continue
            self.check.close(f"n-ary {row.name}, {name}", found.score, best, digits)

    def _exact_f(self) -> None:
        truths: dict[naive_nary.Labelled, float] = defaultdict(float)
        for tree, p in self.true.listed:
            nodes = [node for node in naive.constituents(tree) if not self.true.is_continuation(node.symbol)]
            label = self.true.projection
            key = frozenset((node.start, node.end, label[node.symbol]) for node in nodes)
            truths[key] += float(p / self.true.total)
        rows = [OBJECTIVES[name].with_f("exact") for name in ("labelled-f", "bracketed-f")]
        parse = self._parse(*rows, refusable=True)
        for row, found in zip(rows, () if parse is None else parse.decoded, strict=False):
            assert found is not None
            where, labels = f"n-ary {row.name}, exact", row.name == "labelled-f"
            best = naive_nary.expected_f_optimum(truths, self.n, labels)
            self.check.close(where, found.score, best)
            self.check.close(where, naive_nary.expected_f(truths, frozenset(found.spans), labels), best)
            self.check.close(where, found.constituents, sum(len(tree) * p for tree, p in truths.items()))

    def _consistent(self) -> None:
        parse = self._parse("consistent-brackets", "consistent-brackets-product", refusable=True)
        if parse is None:
            return
        c = self.true.consistent
        sums = max(sum(c[span] for span in sorted(one)) for one in naive.bracketings(self.n))
        products = max(math.prod(c[span] for span in sorted(one)) for one in naive.bracketings(self.n))
        sum_of, product_of = parse.decoded
        assert sum_of is not None
        assert product_of is not None
        assert sum_of.consistent is not None
        for (i, j, _), value in zip(sum_of.spans, sum_of.consistent, strict=True):
            self.check.close("c", value, c[i, j])
        self.check.close("c", sum_of.score, math.fsum(sum_of.consistent))
        self.check.close("free consistent-brackets", sum_of.score, sums)
        if products > 1e-12:
            self.check.close("free consistent-brackets-product", product_of.score, math.log(products), 1e-8)

    def _whole(self) -> None:
        names = ["consistent-brackets-tree", "bracketed-tree"]
        names += [] if self.pcfg.has_unaries else ["most-probable-tree"]
        parse = self._parse(*names, refusable=True)
        if parse is None:
            return
        for name, found in zip(names, parse.decoded, strict=True):
            assert found is not None
            assert found.score is not None
            assert found.certificate is not None
            if name == "most-probable-tree":
                looks = self.true.looks(nary=False)
                best, mine = (
                    max(looks.values()) / self.true.total,
                    looks[tuple(found.spans)] / self.true.total,
                )
            else:
                binary = name == "bracketed-tree"
                brackets = naive.bracketings(self.n)
                best = max(self.true.uncrossed(one, binary) for one in brackets)
                mine = self.true.uncrossed([(i, j) for i, j, _ in found.spans], binary)
            self.check.close(name, found.score, mine)
            self.check.true(name, found.certificate.bound >= float(best) - 1e-9, found.certificate)
            if found.certificate.certified:
                self.check.close(f"{name}, certified", found.score, best)

    def _derived(self, items: str) -> None:
        """The space of the grammar's own trees, and max-rule's."""
        true, projection = self.true, self.true.projection if items == "projected" else None
        mixed = Objective("mixed", Space.GRAMMAR, ((Item.LABELLED_SPAN, 1.0), (Item.SPAN, 0.5)), -0.25)
        names = naive_objectives.GRAMMAR_OBJECTIVES
        rows = [*(OBJECTIVES[name].within(Space.GRAMMAR) for name in names), mixed]
        rules = naive_objectives.MAX_RULE_OBJECTIVES
        parse = self._parse(*rows, *rules, "labelled-tree", items=items, refusable=True)
        if parse is None:
            return
        within = naive_objectives.grammar_trees(true.grammar, self.words, projection)
        gains = {
            name: naive_objectives.gains(true.grammar, self.words, name, projection)
            for name in (*names, *rules)
        }

        def mixture(tree: Node) -> P:
            value = naive_objectives.value
            recalls = [
                value(tree, gains[name], name, projection, true.terminals)
                for name in naive_objectives.SPAN_OBJECTIVES
            ]
            return recalls[0] + recalls[1] / 2 - Fraction(len(naive.labelled_spans(tree, projection))) / 4

        wanted: list[P] = []
        for name in names:
            of = gains[name]
            wanted.append(
                max(
                    (naive_objectives.value(tree, of, name, projection, true.terminals) for tree in within),
                    default=0,
                )
            )
        wanted.append(max(map(mixture, within), default=0))
        for row, found, best in zip(rows, parse.decoded, wanted, strict=False):
            where = f"grammar {row.name}, {items}"
            self.check.true(where, (found is None) == (not within), found)
            if found is not None:
                self.check.close(where, found.score, best)
        for name, found in zip(rules, parse.decoded[len(rows) :], strict=False):
            best, _ = naive_objectives.max_rule_optimum(true.grammar, self.words, name, projection)
            if found is None:
                self.check.true(f"{name}, {items}", best == 0, best)
                continue
            score = float(best) if name == "max-rule-sum" else naive_unary.log(best)  # type: ignore[arg-type]
            self.check.close(f"{name}, {items}", found.score, score)
        found = parse.decoded[-1]
        assert found is not None
        best_log = naive_unary.log(naive_unary.best_probability(true.grammar, self.words))
        self.check.close(f"labelled-tree, {items}", found.log_prob, best_log)

    def _candidates(self) -> None:
        if not self.true.is_acyclic:
            return
        for nary in (False, True):
            looks = self.true.looks(nary)
            parse = self._parse(k_best=ALL, debinarized=nary, refusable=True)
            if parse is None:
                continue
            probable = sum(p / self.true.total > LEAST_SHARE * 10 for p in looks.values())
            name = f"candidates{', n-ary' if nary else ''}"
            self.check.true(name, probable <= len(parse.candidates) <= len(looks), parse.candidates)
            listed = [math.exp(one.log_prob - naive_unary.log(self.true.total)) for one in parse.candidates]
            best = sorted((float(p / self.true.total) for p in looks.values()), reverse=True)
            for mine, theirs in zip(listed, best, strict=False):
                self.check.close(name, mine, theirs)
            sampled = self._parse(samples=50, seed=1, debinarized=nary, refusable=True)
            # Of an n-ary tree with unary rules, samples may lack some of the binary trees that are summed.
            lacking = nary and self.pcfg.has_unaries
            drawn = () if sampled is None or lacking else sampled.candidates
            # Of a tree near the end of the list, derivations may be beyond it.
            least = naive_unary.log(self.true.total) + math.log(LEAST_SHARE) + 30
            for one in (*parse.candidates, *drawn) if self.n > 1 else ():  # a tree of one word has a root
                if one.log_prob < least:
                    continue
                self.check.close(name, one.log_prob, naive_unary.log(Fraction(looks[_spans(one.tree)])))
            self._risk(looks, nary)

    def _risk(self, looks: Mapping[Spans, P], nary: bool) -> None:
        """Minimum risk, where each bracket that two trees share counts one."""

        def shared(trees: Sequence[Tree]) -> FloatArray:
            brackets = [{(node.start, node.end) for node in constituents(tree)} for tree in trees]
            return np.array([[float(len(one & other)) for other in brackets] for one in brackets])

        if self.n == 1:
            return
        spans = {tree: {span[:2] for span in tree} for tree in looks}
        best = max(
            sum(float(p / self.true.total) * len(spans[one] & spans[other]) for other, p in looks.items())
            for one in looks
        )
        parse = self._parse("minimum-risk", k_best=ALL, risk=shared, debinarized=nary, refusable=True)
        if parse is not None:
            self.check.close("minimum-risk", parse.expected_scores["minimum-risk"], best)

    def _scores(self) -> None:
        """Given trees: their probability, and what is expected to match."""
        if not self.true.is_acyclic or self.n == 1:
            return
        looks = self.true.looks(nary=False)
        chosen = sorted(looks, key=str)[:2]
        leaves = [Tree(word) for word in self.words]
        trees = [_tree(spans, leaves) for spans in chosen]
        table = score(self.pcfg, trees, form="binarized", items=False)
        for spans, (_, row) in zip(chosen, table.iterrows(), strict=True):
            if row["reason"] == TOO_IMPROBABLE:
                self.check.refused[TOO_IMPROBABLE] += 1
                continue
            self.check.close("score: posterior", row["posterior"], looks[spans] / self.true.total)
            matches = sum(
                self.true.at_least(k).get(span, 0.0)
                for span, times in Counter(spans).items()
                for k in range(1, times + 1)
            )
            self.check.close("score: labelled", row["expected_labelled"], matches)
            self._rates({"trees": {"score": row.dropna().to_dict()}})


def _spans(tree: Tree | None) -> Spans:
    """The constituents of a candidate in preorder."""
    assert tree is not None
    return tuple((start, end, label) for start, end, label in constituents(tree))


def _tree(spans: Spans, leaves: Sequence[Tree]) -> Tree:
    from mbrparse.decode.trees import build_tree

    return build_tree(spans, leaves)


def _compare_dop(case: Case, check: Comparison) -> None:
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
        seen = [[span for span in _spans(one.tree) if span[1] - span[0] > 1] for one in parse.candidates]
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
