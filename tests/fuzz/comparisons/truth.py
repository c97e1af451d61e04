"""What is true of a sentence by the listed trees of the naive twins, and how numbers are compared with it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import naive
import naive_crossing
import naive_objectives
import naive_unary
from naive import Grammar, LabelledSpan, Node, P

#: Expected numbers of constituents.
MATCHES = ("expected_labelled", "expected_bracketed", "expected_consistent")
#: What begins like these, of what is stated of trees, is no share or probability.
_NO_RATES = (
    *("sentence", "length", "constituents", "tree_constituents", "candidate", "samples", "log_", "tree_log"),
    *(f"expected_{what}" for what in ("parent", "prod", "split")),
    *(f"least_expected_{what}" for what in ("start", "end", "label")),
)


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
        if found is not None and math.isnan(found) and math.isnan(wanted):
            return
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

    def rates(self, row: Mapping[str, Any], rated: bool = False) -> None:
        """What is stated of a tree: shares and probabilities are none below zero or above one.

        No more is expected to be right than there is of it, nor than is in the tree. ``rated`` says whether
        the expected score is a rate.
        """
        nodes: Sequence[Any] = row.get("nodes") or ()
        for name, value in row.items():
            if name.startswith(_NO_RATES) or name in MATCHES or (name == "expected_score" and not rated):
                continue
            values = (
                [g for *_, g in nodes] if name == "nodes" else value if isinstance(value, list) else [value]
            )
            for one in values:
                holds = one is None or isinstance(one, str) or -1e-12 <= one <= 1 + 1e-9
                self.true("rates", holds, (name, one, row))
        # A continuation at the root, as no treebank has one, is a match, and no constituent of n-ary trees.
        odd = any(node[:2] == nodes[0][:2] and "_Cont" in node[2] for node in nodes)
        for name in MATCHES[:2] if nodes and not odd else ():
            most = min(len(nodes), row["constituents"])
            self.true("rates", -1e-12 <= row[name] <= most + 1e-9, (name, row))


Spans = tuple[LabelledSpan, ...]


class Known:
    """What is true of a sentence's constituents, by projected labels; preterminals are none."""

    n: int
    has_chains: bool
    is_acyclic = False

    def at_least(self, k: int) -> dict[LabelledSpan, float]:
        """The probabilities of k constituents at least of each label."""
        raise NotImplementedError

    def levels(self, nary: bool) -> dict[naive.Span, list[float]]:
        """Those of one constituent at least over each span, of two, and so on."""
        raise NotImplementedError

    def expected(self, nary: bool) -> float:
        """The expected number of constituents."""
        raise NotImplementedError

    @cached_property
    def constituents(self) -> dict[LabelledSpan, float]:
        """The probabilities of labels."""
        return self.at_least(1)

    @property
    def brackets(self) -> dict[naive.Span, float]:
        """The probabilities that the binary tree has spans."""
        return {span: levels[0] for span, levels in self.levels(nary=False).items()}

    def matches(self, spans: Sequence[LabelledSpan], nary: bool) -> tuple[float, float]:
        """How many of a tree's labels and of its brackets are expected to be right."""
        levels, over = self.levels(nary), Counter(span[:2] for span in spans)
        labelled = sum(
            self.at_least(k).get(span, 0.0)
            for span, times in Counter(spans).items()
            for k in range(1, times + 1)
        )
        return labelled, sum(sum(levels.get(span, ())[:times]) for span, times in over.items())


class Truth(Known):
    """What is true of a sentence under a grammar; by projected labels, unless the name says otherwise."""

    def __init__(self, grammar: Grammar, words: Sequence[str]) -> None:
        self.grammar, self.words, self.n = grammar, words, len(words)
        self.projection = naive_objectives.projection_of(grammar)
        self.terminals = grammar.terminals()
        self.total = naive_unary.sentence_probability(grammar, words)
        self.is_acyclic, self.has_chains = not grammar.has_unary_cycle(), bool(grammar.unary)
        self._copies: dict[int, dict[LabelledSpan, float]] = {}
        self._looks: dict[bool, dict[Spans, P]] = {}
        self._items: dict[tuple[str, int], dict[naive.Item, P]] = {}

    @cached_property
    def posteriors(self) -> dict[LabelledSpan, P]:
        return dict(naive_unary.span_posteriors(self.grammar, self.words, self.projection))

    def at_least(self, k: int) -> dict[LabelledSpan, float]:
        """The probabilities of k constituents at least of each label."""
        if k not in self._copies:

            def kind_of(symbol: str) -> str | None:
                return None if symbol in self.terminals else self.projection[symbol]

            found = naive_unary.at_least(self.grammar, self.words, k, kind_of)
            self._copies[k] = {span: float(p) for span, p in found.items()}
        return self._copies[k]

    def levels(self, nary: bool) -> dict[naive.Span, list[float]]:
        """Those of one constituent at least over each span, of two, and so on; n-ary: no continuations."""
        return self._levels[nary]

    @cached_property
    def _levels(self) -> list[dict[naive.Span, list[float]]]:
        return [
            naive_objectives.brackets(self.grammar, self.words, self.projection, nary)
            for nary in (False, True)
        ]

    def expected(self, nary: bool) -> float:
        """The expected number of constituents."""
        known = naive_objectives.expected_constituents(self.grammar, self.words, self.projection)
        return float(sum(p for (_, _, x), p in known.items() if not (nary and x.endswith("_Cont"))))

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

    def look(self, tree: Node, nary: bool) -> Spans:
        """What a derivation looks like, by constituents in preorder; an n-ary root is no continuation."""
        every = [(n.start, n.end, naive.project(n.symbol, self.projection)) for n in naive.constituents(tree)]
        if nary and every:
            root = (*every[0][:2], every[0][2].removesuffix("_Cont"))
            every = [root, *(node for node in every[1:] if not node[2].endswith("_Cont"))]
        return tuple(every)

    def looks(self, nary: bool) -> dict[Spans, P]:
        """The probabilities of the trees that derivations look like."""
        if nary not in self._looks:
            found: dict[Spans, P] = defaultdict(int)
            for tree, p in self.listed:
                found[self.look(tree, nary)] += p
            self._looks[nary] = dict(found)
        return self._looks[nary]

    def items(self, kind: naive.ItemKind, k: int) -> dict[naive.Item, P]:
        """The probabilities of k items at least of each."""
        if (kind, k) not in self._items:
            found = naive_unary.item_posteriors(self.grammar, self.words, kind, self.projection, k)
            self._items[kind, k] = dict(found)
        return self._items[kind, k]
