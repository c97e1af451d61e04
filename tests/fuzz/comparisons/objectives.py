"""Every objective in every space: the score of the tree that is returned, and the optimum."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import naive
import naive_nary
import naive_objectives
import naive_unary
from naive import Node, P

from comparisons.charts import BEST_FIRST
from comparisons.truth import MATCHES, Comparison
from mbrparse.charts.chart import TOO_IMPROBABLE
from mbrparse.decode.objectives import OBJECTIVES, Item, Kind, Objective, Space
from mbrparse.decode.parser.mixed_source import Grammars
from mbrparse.decode.parser.parser import Parse, Parser
from mbrparse.decode.parser.parsing import Details
from mbrparse.decode.posteriors.given_posteriors import GivenPosteriors
from mbrparse.decode.tree_probability import TreeProbability
from mbrparse.grammar.pcfg import PCFG

#: Objectives whose expected scores are probabilities.
_RATED = (Kind.WHOLE, Kind.DERIVATION)


class Sentence:
    """What the library says of one sentence that has a parse."""

    def __init__(
        self,
        known: PCFG | Grammars | GivenPosteriors,
        words: Sequence[str],
        kind: str,
        true: Any,
        check: Comparison,
        every: Sequence[Sequence[str]] | None = None,
        place: int = 0,
    ) -> None:
        """``true`` is a Known; the sentence is at a ``place`` among ``every`` one (default: itself alone)."""
        self.pcfg: Any = known
        self.words, self.kind, self.true, self.check, self.n = words, kind, true, check, len(words)
        self.unaries = not isinstance(known, GivenPosteriors) and known.has_unaries
        self._every, self._place = every or [words], place

    def parse(self, *rows: str | Objective, refusable: bool = False, **settings: Any) -> Parse | None:
        """The sentence's parse, or None where it is refused for its numbers."""
        parse = Parser(self.pcfg, *rows, **settings).parse(self._every)[self._place]
        # Samples of chains that nearly never end are not drawn.
        endless = parse.reason == "chart too large for memory" and self.kind == "tiny"
        if refusable and (parse.reason == TOO_IMPROBABLE or endless):
            self.check.refused[str(parse.reason)] += 1
            return None
        # A tree in the space `grammar` need not be there.
        reason = parse.reason or ""
        self.check.true("parses", not reason or reason.startswith("no tree for"), reason)
        self._stated(parse)
        return parse

    def _stated(self, parse: Parse) -> None:
        """Compare what details say of the trees."""
        of_one, given = isinstance(self.pcfg, PCFG), isinstance(self.pcfg, GivenPosteriors)
        details = Details(None if given else self.pcfg, TreeProbability(self.pcfg) if of_one else None)
        stated = details.row(parse)["trees"]
        for objective, spans in zip(parse.objectives, parse.spans, strict=True):
            if (row := stated[objective.name]) is None:
                continue
            self.check.rates(row, objective.f_score is not None or objective.kind in _RATED)
            nary = row.get("nary", False)
            wanted = dict(zip(MATCHES, self.true.matches(spans, nary), strict=False))
            wanted["constituents"] = self.true.expected(nary) if nary or self.unaries else self.n - 1
            if row["posterior"] is not None and self.true.is_acyclic:
                wanted["posterior"] = self.true.looks(nary=False).get(tuple(spans), 0) / self.true.total
            for name, value in wanted.items():
                self.check.close(f"details: {name}", row[name], value)


class Objectives(Sentence):
    """All objectives in all spaces."""

    def compare(self) -> None:
        """Compare each objective's tree and score with the optimum, in all spaces."""
        settings: list[tuple[str, dict[str, Any]]] = [("exhaustive", {})]
        if not self.unaries:
            settings.append(("best-first", {"best_first": BEST_FIRST}))
        for name, chosen in settings:
            self.compare_spans(name, chosen)
        self._consistent()
        self._whole()
        self._derived("projected")
        self._derived("symbol")
        if not self.unaries and self.n <= 5:
            self._exact_f()

    def compare_spans(self, name: str, settings: Mapping[str, Any]) -> None:
        """Compare the trees of posteriors of spans, binary and n-ary ones."""
        self._free(name, settings)
        self._nary(name, settings)

    def _free(self, name: str, settings: Mapping[str, Any]) -> None:
        g = {key: p for key, p in self.true.constituents.items() if key[1] - key[0] > 1}
        weights = {"labelled-recall": (1.0, 0.0, 0.0), "bracketed-recall": (0.0, 1.0, 0.0)}
        mixed = Objective("mixed", Space.FREE, ((Item.LABELLED_SPAN, 1.0), (Item.SPAN, 0.5)), -0.25)
        parse = self.parse(*(OBJECTIVES[name] for name in weights), mixed, **settings)
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
            self.check.close(where, found.score, naive.free_optimum(g, self.n, **what))
            labels = {(i, j): x for i, j, x in found.spans}
            self.check.true(where, frozenset(labels) in naive.bracketings(self.n), found.spans)
            self.check.close(where, found.score, naive.free_value(labels, g, **what))

    def _nary(self, name: str, settings: Mapping[str, Any]) -> None:
        g = {key: p for key, p in self.true.constituents.items() if not key[2].endswith("_Cont")}
        gains = ((Item.LABELLED_SPAN, 1.0), (Item.SPAN, 0.5))
        rows = [
            OBJECTIVES["general-recall"],
            Objective("weighed", Space.NARY, gains, -0.6),
            OBJECTIVES["labelled-f"],
            OBJECTIVES["bracketed-f"],
        ]
        parse = self.parse(*rows, **settings)
        assert parse is not None
        # Where rules are unary, several labels may stand over one span.
        wanted = [naive_nary.optimum(g, self.n, 1, 0)]
        if self.true.has_chains:
            known = self.true.levels(nary=True), self.true.expected(nary=True)
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
            self.check.close(f"n-ary {row.name}, {name}", found.score, best)

    def _exact_f(self) -> None:
        truths: dict[naive_nary.Labelled, float] = defaultdict(float)
        for tree, p in self.true.listed:
            nodes = [node for node in naive.constituents(tree) if not self.true.is_continuation(node.symbol)]
            label = self.true.projection
            key = frozenset((node.start, node.end, label[node.symbol]) for node in nodes)
            truths[key] += float(p / self.true.total)
        rows = [OBJECTIVES[name].with_f("exact") for name in ("labelled-f", "bracketed-f")]
        parse = self.parse(*rows, refusable=True)
        for row, found in zip(rows, () if parse is None else parse.decoded, strict=False):
            assert found is not None
            where, labels = f"n-ary {row.name}, exact", row.name == "labelled-f"
            best = naive_nary.expected_f_optimum(truths, self.n, labels)
            self.check.close(where, found.score, best)
            self.check.close(where, naive_nary.expected_f(truths, frozenset(found.spans), labels), best)
            self.check.close(where, found.constituents, sum(len(tree) * p for tree, p in truths.items()))

    def _consistent(self) -> None:
        parse = self.parse("consistent-brackets", "consistent-brackets-product", refusable=True)
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
        names += [] if self.unaries else ["most-probable-tree"]
        parse = self.parse(*names, refusable=True)
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
        parse = self.parse(*rows, *rules, "labelled-tree", items=items, refusable=True)
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
            score = float(best) if name == "max-rule-sum" else naive.log(best)  # type: ignore[arg-type]
            self.check.close(f"{name}, {items}", found.score, score)
        found = parse.decoded[-1]
        assert found is not None
        best_log = naive.log(naive_unary.best_probability(true.grammar, self.words))
        self.check.close(f"labelled-tree, {items}", found.log_prob, best_log)
