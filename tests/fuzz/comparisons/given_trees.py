"""Given trees: all that `score` says of them, what `rerank` chooses, and how expectations are calibrated."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import naive
import naive_objectives
from naive import Node, nodes, tree_items
from naive_lacking import lacking

from comparisons.candidates import spans_of
from comparisons.objectives import Sentence
from comparisons.truth import MATCHES, Spans
from comparisons.votes import WEIGHED
from mbrparse.charts.chart import TOO_IMPROBABLE
from mbrparse.decode.objectives import OBJECTIVES
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.parser.reranking import Reranker
from mbrparse.decode.parser.score import Scorer
from mbrparse.decode.parser.sentences import GivenTree
from mbrparse.decode.trees import build_tree
from mbrparse.grid.calibration import calibration
from mbrparse.treebank.candidate_files import CandidateLine
from mbrparse.treebank.tree import Tree

#: By column of `score`, the items whose expected number it has.
_ITEMS: dict[str, naive_objectives.Objective] = {
    "expected_parent_child": "parent-child",
    "expected_productions": "productions",
    "expected_split_productions": "max-rule-sum",
}
#: The objectives that choose among candidates, and the columns of `score` that they maximize.
_CHOICES = {
    "labelled-recall": "expected_labelled",
    "bracketed-recall": "expected_bracketed",
    "labelled-f": "expected_labelled_f",
    "bracketed-f": "expected_bracketed_f",
    "consistent-brackets": "expected_consistent",
    "most-probable-tree": "posterior",
    "productions": "expected_productions",
}


class GivenTrees(Sentence):
    """Trees that the grammar has or has not, binarized and n-ary ones."""

    def compare(self, given: Sequence[Tree]) -> None:
        """Compare a ``given`` binarized tree, an n-ary one, and two of each form that are derived."""
        self._compare_form(given[:1], False)
        self._compare_form(given[1:], True)

    def _compare_form(self, given: Sequence[Tree], nary: bool) -> None:
        derived = [] if self.true.total == 0 else self._derived(nary)
        trees = [*given, *(one for one, _ in derived)]
        if not trees:
            return
        form, n = "original" if nary else "binarized", self.n
        listed = [GivenTree(one, 0, line=place) for place, one in enumerate(trees, 1)]
        scorer = Scorer(self.pcfg, form, items=not nary, consistent=True)  # type: ignore[arg-type]
        rows = scorer.rows(listed)
        wanted = list[dict[str, Any]]()
        for one, row, derivation in zip(
            trees, rows, [*(None for _ in given), *(of for _, of in derived)], strict=True
        ):
            found = () if n == 1 and not self.unaries else spans_of(one)
            # Where chains have continuations, trees that derivations look like are not told. A rule of a
            # continuation that is a root looks like one of its label, which a twin sees at roots alone.
            told = not (nary and self._continued)
            if told and not (nary and any(map(self.true.is_continuation, self._roots))):
                rules = lacking(self.true.grammar, self.true.projection, one, nary)
                self.check.true(
                    "score: never_seen", row["never_seen"] == rules or n == 1, (row["never_seen"], rules)
                )
            if not self.true.total:
                continue
            if row["reason"] == TOO_IMPROBABLE:
                self.check.refused[TOO_IMPROBABLE] += 1
                return
            wanted.append(self._row(found, nary, told))
            if not nary:
                wanted[-1] |= self._items(row, one, derivation)
            for name, value in wanted[-1].items():
                if isinstance(value, str) or value is None:
                    self.check.true(f"score: {name}", row[name] == value, (row[name], value))
                else:
                    self.check.close(f"score: {name}", row[name], value)
            self.check.rates(row)
        if wanted:
            self._rerank(trees, wanted, nary)
            if n > 1 and self.kind != "words":
                self._calibrate([one for one, _ in derived] or trees, nary)

    def _derived(self, nary: bool) -> list[tuple[Tree, Node]]:
        """Two of the trees that derivations look like, with one of these each."""
        found = dict[Spans, tuple[Tree, Node]]()
        for derivation, _ in self.true.listed:
            spans = self.true.look(derivation, nary)
            tags = [
                (node.start, self.true.projection[node.symbol])
                for node in nodes(derivation)
                if not node.children
            ]
            if self.kind == "words" and any(tag.endswith("_Cont") for _, tag in tags):
                continue  # no treebank's word has such a tag
            words = [
                Tree(tag, word=self.words[i]) if self.kind == "words" else Tree(self.words[i])
                for i, tag in tags
            ]
            found[spans] = build_tree(spans, words), derivation
        return [found[spans] for spans in sorted(found)[:2]]

    def _row(self, spans: Spans, nary: bool, told: bool) -> dict[str, Any]:
        true, size = self.true, len(spans)
        count = true.expected(nary) if nary or self.unaries else self.n - 1
        row: dict[str, Any] = {
            "length": self.n,
            "log_probability": naive.log(true.total),
            "constituents": count,
            "tree_constituents": size,
        }
        for name, value in zip(MATCHES, (*true.matches(spans, nary), self._uncrossed(spans)), strict=True):
            row[name] = value
            if name == "expected_consistent":
                row[f"{name}_recall"] = value / size if size else 0
                continue
            row[f"{name}_recall"] = value / count if count else 0
            row[f"{name}_precision"] = value / size if size else 0
            row[f"{name}_f"] = 2 * value / (size + count) if size + count else 1
        times, each = Counter[Any](), []
        for span in spans:
            times[span] += 1
            each.append(true.at_least(times[span]).get(span, 0.0))
        if spans:
            row["least_expected_posterior"] = min(each)
        if told and true.is_acyclic:
            p = true.looks(nary).get(spans, 0)
            row["posterior"] = p / true.total
            row["tree_log_probability"] = naive.log(p) if p else None
        return row

    @property
    def _roots(self) -> list[str]:
        return [symbol for symbol, p in self.true.grammar.start.items() if p]

    @property
    def _continued(self) -> bool:
        """Whether continuations are in chains."""
        rules = (rule for rule, p in self.true.grammar.unary.items() if p)
        return any(self.true.is_continuation(symbol) for rule in rules for symbol in rule)

    def _uncrossed(self, spans: Spans) -> float:
        return math.fsum(self.true.consistent.get(span[:2], 1.0) for span in spans)

    def _items(self, row: dict[str, Any], tree: Tree, derivation: Node | None) -> dict[str, float]:
        """What is expected of items, where the tree shows what is over its words."""
        if row["expected_productions"] is None or (derivation is None and self.kind != "words"):
            return {}
        true, wanted = self.true, dict[str, float]()
        node = _node(tree, 0) if self.kind == "words" else derivation
        labels = None if self.kind == "words" else true.projection
        for name, objective in _ITEMS.items():
            kind = naive_objectives.KINDS[objective]
            items = Counter(tree_items(node, kind, labels, True, true.terminals))  # type: ignore[arg-type]
            wanted[name] = sum(
                float(true.items(kind, k).get(item, 0))
                for item, copies in items.items()
                for k in range(1, copies + 1)
            )
        return wanted

    def _rerank(self, trees: Sequence[Tree], wanted: Sequence[dict[str, Any]], nary: bool) -> None:
        columns = {name: column for name, column in _CHOICES.items() if all(column in row for row in wanted)}
        rows = [*(OBJECTIVES[name] for name in columns), WEIGHED]
        lines = [CandidateLine(1, place, -float(place), one) for place, one in enumerate(trees, 1)]
        form = "original" if nary else "binarized"
        [chosen] = Reranker(rows, self.pcfg, form).choices([lines], "candidates")  # type: ignore[arg-type]
        for row, one in zip(rows, chosen, strict=True):
            scores = [
                float(of["expected_labelled"] + of["expected_bracketed"] / 2 - 0.6 * of["tree_constituents"])
                if row is WEIGHED
                else float(of[columns[row.name]])
                for of in wanted
            ]
            self.check.table(
                f"rerank with a grammar, {row.name}",
                dict(enumerate(one.scores)),
                dict(enumerate(scores)),
                1e-9,
            )
            # Ties are relative to what nodes cost, too.
            self.check.close(f"rerank with a grammar, {row.name}", scores[one.place], max(scores), 2e-9)

    def _calibrate(self, gold: Sequence[Tree], nary: bool) -> None:
        """Of the trees of an objective, with each of the gold trees for the true one."""
        parses = Parser(self.pcfg, "labelled-f" if nary else "labelled-tree").parse([self.words] * len(gold))
        spans, true = parses[0].spans[0], self.true
        if "_Cont" in spans[0][2]:
            return  # no treebank has such a root
        how: dict[str, Any] = {"form": "original"} if nary else {"form": "binarized", "unaries": self.unaries}
        frame = calibration(gold, parses, **how).frames["calibration"]
        told = {row["of"]: row for row in frame.to_dict("records")}
        row, pairs = (
            self._row(tuple(spans), nary, told=True),
            defaultdict[str, list[tuple[float, float]]](list),
        )
        for one in gold:
            left, times = Counter(spans_of(one)), Counter[Any]()
            size, right = left.total(), 0
            for span in spans:
                times[span] += 1
                pairs["constituents"].append((true.at_least(times[span]).get(span, 0.0), left[span] > 0))
                right += left[span] > 0
                left[span] -= 1
            pairs["precision"].append((row["expected_labelled_precision"], right / len(spans)))
            pairs["f"].append((row["expected_labelled_f"], 2 * right / (len(spans) + size)))
            if row["constituents"]:
                pairs["recall"].append((row["expected_labelled_recall"], right / size))
            if not nary and "posterior" in row:
                pairs["tree"].append((float(row["posterior"]), right == size == len(spans)))
        for kind, listed in pairs.items():
            expected, found = (sum(column) / len(listed) for column in zip(*listed, strict=True))
            wanted = {"number": len(listed), "expected": expected, "found": found, "error": expected - found}
            # Rounding may put what is between two bins into either.
            if all(abs(10 * p - round(10 * p)) > 1e-6 or p in (0, 1) for p, _ in listed):
                bins = defaultdict[int, list[tuple[float, float]]](list)
                for p, share in listed:
                    bins[min(int(10 * p), 9)].append((p, share))
                wanted["ece"] = sum(abs(sum(p - share for p, share in one)) for one in bins.values()) / len(
                    listed
                )
            for name, value in wanted.items():
                self.check.close(f"calibration: {kind}", told[kind][name], value)


def _node(tree: Tree, start: int) -> Node:
    """The twin's node of a tree whose words have tags."""
    below, end = list[Node](), start
    for child in tree.children:
        below.append(_node(child, end))
        end = below[-1].end
    return Node(tree.label, start, max(end, start + 1), tuple(below))
