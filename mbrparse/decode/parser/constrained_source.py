"""Sentences with brackets: charts of the parses that have these constituents.

A bracket ``(NP ...)`` says that a constituent NP of the n-ary tree is over its words, ``(* ...)`` that some
constituent is: the posteriors, trees, samples and probabilities of a sentence are those given its brackets. A
binary tree that crosses no bracket has a node over each of them: nothing is allowed over the spans that cross
one, as where grammars are trained on bracketed text, and over a bracket only what its labels allow.

A constituent is known by its label without annotations; a joined chain ``S+VP`` is both, a continuation is
none. Brackets around the same words are a *demand* for so many constituents. Over a word (of a grammar of
words) its tag is one more.

Where there are unary rules, what is over a span is a chain, some of which has to meet the demand. It is read
from below: where part of the demand is still to come stand copies of symbols, one for each state, so that a
chain has one reading. Rules make these copies over the demand's brackets only, and wider nodes take the
symbols themselves, to which they lead. (A symbol's rules then sum to more than one.)
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbrparse import errors
from mbrparse.charts.packed_forest import SpanFilter
from mbrparse.decode.answers import ParserOptions
from mbrparse.decode.parser import sources
from mbrparse.decode.parser.sentences import ANY, Line
from mbrparse.decode.tree_probability import Probability, TreeProbability
from mbrparse.decode.trees import LabelledSpans
from mbrparse.grammar import pcfg, rules
from mbrparse.treebank import labels
from mbrparse.treebank.outlines import Constituent, Span

NO_PARSE = "no parse"


class Demand(NamedTuple):
    """The labels that are to be over a span, the lowest first, and whether this is a word."""

    labels: tuple[str, ...]
    word: bool

    def next_states(self, chains: list[tuple[str, ...]]) -> npt.NDArray[np.int64]:
        """[state, chain]: how many labels are there once a chain of labels stands over so many of them.

        >>> Demand(("VP", "S"), False).next_states([("S", "VP"), ("S",), ()]).tolist()
        [[2, 0, 0], [2, 2, 1]]
        """
        found = np.zeros((len(self.labels), len(chains)), np.int64)
        for state in range(len(self.labels)):
            for place, chain in enumerate(chains):
                reached = state
                for label in reversed(chain):
                    if reached < len(self.labels) and self.labels[reached] in (ANY, label):
                        reached += 1
                found[state, place] = reached
        return found


class LabelChains:
    """The constituents that each projected label of a grammar stands for, the topmost first.

    ``over`` others, and where it is ``lexical``, rewritten as a word. ``known`` are all of them.
    """

    def __init__(self, grammar: pcfg.PCFG) -> None:
        self.lexical, self.over = list[tuple[str, ...]](), list[tuple[str, ...]]()
        for label in grammar.labels:
            phrase = not rules.is_terminal(label) and not labels.is_continuation_label(label)
            self.over.append(labels.split_chain(label) if phrase else ())
            above, tag = labels.split_tag(labels.unescape(label))
            self.lexical.append((*above, tag) if phrase and grammar.terminal_kind == "words" else ())
        self.known = frozenset(
            label for chains in (self.over, self.lexical) for one in chains for label in one
        )


def demanding(
    grammar: pcfg.PCFG, chains: LabelChains, demands: Sequence[Demand]
) -> tuple[pcfg.PCFG, npt.NDArray[np.bool_]]:
    """The grammar with the copies of symbols that chains need, and what binary and lexical rules may make.

    The latter is [row, symbol], the first row where there is no demand, then one for each.
    """
    count, below = len(grammar.symbols), np.unique(grammar.unary_child)
    names, owner = list(grammar.symbols), [np.zeros(count, np.int64)]
    parents = grammar.parent, grammar.lexical_symbol, grammar.unary_parent
    # Rules by their place, with their parents, and unary ones with their children.
    binary, lexical, unary = ([(np.arange(len(parent)), parent)] for parent in parents)
    children, ready = [grammar.unary_child], list[npt.NDArray[np.bool_]]()
    for number, demand in enumerate(demands, start=1):
        full, lower = len(demand.labels), chains.lexical if demand.word else chains.over
        symbol_of = np.full((full + 1, count), -1)
        symbol_of[:full, below] = len(names) + np.arange(full * len(below)).reshape(full, -1)
        symbol_of[full] = np.arange(count)
        names += [f"{names[one]}{labels.STATE}{number}of{state}" for state in range(full) for one in below]
        owner.append(np.full(full * len(below), number))
        after = demand.next_states(chains.over)[:, grammar.label_ids]
        first = demand.next_states(lower)[0, grammar.label_ids]
        for state in range(full):
            parent = symbol_of[after[state, grammar.unary_parent], grammar.unary_parent]
            rule = np.flatnonzero(parent >= 0)
            unary.append((rule, parent[rule]))
            children.append(symbol_of[state, grammar.unary_child[rule]])
        made = np.where(first < full, symbol_of[first, np.arange(count)], -1)
        kind, over = (lexical, grammar.lexical_symbol) if demand.word else (binary, grammar.parent)
        rule = np.flatnonzero(made[over] >= 0)
        kind.append((rule, made[over][rule]))
        ready.append(first == full)
    owners = np.concatenate(owner)
    none = np.zeros(len(names) - count, np.bool_)
    rows = [np.append(one, none) | (owners == number) for number, one in enumerate(ready, start=1)]
    if len(none):
        added: dict[str, Any] = {}
        (rule, parent), log_prob = _joined(binary), grammar.log_prob
        columns = _in_order(parent, grammar.left[rule], grammar.right[rule], log_prob=log_prob[rule])
        added |= zip(("parent", "left", "right", "log_prob"), columns, strict=True)
        rule, parent = _joined(unary)
        columns = _in_order(parent, np.concatenate(children), log_prob=grammar.unary_log_prob[rule])
        added |= zip(("unary_parent", "unary_child", "unary_log_prob"), columns, strict=True)
        rule, parent = _joined(lexical)
        columns = _in_order(grammar.lexical_terminal[rule], parent, log_prob=grammar.lexical_log_prob[rule])
        added |= zip(("lexical_terminal", "lexical_symbol", "lexical_log_prob"), columns, strict=True)
        root = np.append(grammar.root_log_prob, np.where(none, 0.0, -np.inf))
        grammar = replace(grammar, symbols=tuple(names), root_log_prob=root, rules=None, **added)
    return grammar, np.array([owners == 0, *rows])


def _joined(parts: Sequence[tuple[Any, Any]]) -> list[npt.NDArray[np.int64]]:
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def _in_order(*ids: Any, log_prob: pcfg.FloatArray) -> list[Any]:
    order = np.argsort(rules.row_keys(*ids), kind="stable")
    return [*(column[order].astype(np.int32) for column in ids), log_prob[order]]


class GivenProbability:
    """The probability of trees that have a sentence's demands; of others it is none."""

    def __init__(self, grammar: pcfg.PCFG, chains: LabelChains, demand_of: Mapping[Span, Demand]) -> None:
        self._of_trees, self._chains, self._demand_of = TreeProbability(grammar), chains, demand_of
        self.serves_nary = self._of_trees.serves_nary

    def log_prob(self, spans: LabelledSpans, terminal_ids: pcfg.IntArray, nary: bool = False) -> float:
        """As ``TreeProbability`` has it; the words' preterminals are those that the demands allow."""
        missing = {span: list(demand.labels) for span, demand in self._demand_of.items()}
        for start, end, name in spans:
            here = missing.get((start, end))
            for label in () if labels.is_continuation(name) else labels.split_chain(name):
                if here and here[-1] in (ANY, label):
                    here.pop()
        allowed = {}
        for (start, end), names in missing.items():
            if names and end - start > 1:
                return -math.inf
            if names:
                reached = Demand(tuple(names), True).next_states(self._chains.lexical)[0]
                allowed[start] = frozenset(np.flatnonzero(reached == len(names)).tolist())
        return self._of_trees.log_prob(spans, terminal_ids, nary, allowed)


class RestrictedSource(sources.GrammarSource):
    """A source of a grammar with copies of its symbols."""

    def __init__(self, whole: ConstrainedSource, grammar: pcfg.PCFG) -> None:
        self._whole = whole
        super().__init__(whole.origin, whole.options, grammar)

    def probability(self) -> Probability:
        """That of the whole grammar's trees."""
        return self._whole.probability()


class ConstrainedSource(sources.GrammarSource):
    """The charts of a PCFG's parses that have the brackets of their sentences."""

    def __init__(self, source: pcfg.Grammar, options: ParserOptions) -> None:
        self._chains, self._demand_of = LabelChains(source.pcfg), dict[Span, Demand]()
        super().__init__(source, options)
        if options.items == "symbol" and self.grammar.has_unaries:
            raise errors.OptionsError("`items=symbol` and `constrain` need a grammar without unary rules")
        self._own = self.decoders, self.candidates
        # The last demands, and what serves them.
        self._last: tuple[object, sources.GrammarSource, npt.NDArray[np.bool_]] | None = None

    @cached_property
    def _probability(self) -> GivenProbability:
        return GivenProbability(self.origin.pcfg, self._chains, self._demand_of)

    def probability(self) -> Probability:
        """That of trees and a sentence with its brackets."""
        return self._probability

    def evidence(self, line: Line) -> sources.Evidence:
        """What is known of a sentence with its brackets; raises LabelError for a label of no constituent."""
        asked = self._asked(line)
        evidence = self._given(line, asked)
        if evidence.reason != NO_PARSE or not asked:
            return evidence
        number = bisect_left(range(len(asked)), True, key=lambda n: bool(self._given(line, asked[:n]).reason))
        if not number:
            return evidence
        start, end, label = asked[number - 1][0]
        words = " ".join(leaf.word or leaf.label for leaf in line.sentence[start:end])
        text = errors.shortened(f"({label or ANY} {words})", 60)
        return evidence._replace(
            reason=f"no parse within these brackets: {text} is the first that excludes all"
        )

    def _asked(self, line: Line) -> list[tuple[Constituent, tuple[str, ...]]]:
        """The brackets in the order of the text, each with its labels."""
        brackets = list(line.brackets)
        if self.retags:
            places = enumerate(line.sentence)
            brackets += [
                Constituent(one, one + 1, leaf.label) for one, leaf in places if leaf.word is not None
            ]
        asked = []
        for bracket in sorted(brackets, key=lambda one: (one.start, -one.end)):
            names: tuple[str, ...] = () if bracket.label in ("", ANY) else (bracket.label,)
            if not self._chains.known.issuperset(names):
                if labels.is_continuation_label(bracket.label):
                    continue
                names = labels.split_chain(bracket.label)
            for name in names:
                if name not in self._chains.known:
                    near = errors.did_you_mean(
                        name, self._chains.known, f"brackets without a label: ({ANY} ...)"
                    )
                    what, line_number = f"the grammar has no label {name}", line.number or None
                    raise errors.LabelError(what, source=line.source, line=line_number, remedy=near)
            asked.append((bracket, names))
        return asked

    def _given(self, line: Line, asked: Sequence[tuple[Constituent, tuple[str, ...]]]) -> sources.Evidence:
        """What is known of a sentence with these brackets."""
        wanted: dict[Span, tuple[str, ...]] = {}
        for (start, end, _), names in asked:
            # The lowest label comes first.
            wanted[start, end] = (*reversed(names), *wanted.get((start, end), ()))
        self._demand_of.clear()
        for (start, end), names in wanted.items():
            if names or end - start > 1:
                self._demand_of[start, end] = Demand(names or (ANY,), end - start == 1)
        demands = sorted(set(self._demand_of.values()))
        if self._last is None or self._last[0] != demands:
            grammar, made = demanding(self.grammar, self._chains, demands)
            same = grammar is self.grammar  # where there are no unary rules
            self._last = demands, self if same else RestrictedSource(self, grammar), made
        _, source, made = self._last
        self.decoders, self.candidates = self._own if source is self else (source.decoders, source.candidates)
        rows = {span: demands.index(demand) + 1 for span, demand in self._demand_of.items()}
        source.forests.spans = SpanFilter.of_brackets(len(line.sentence), made, rows) if rows else None
        return sources.GrammarSource.evidence(source, line)
