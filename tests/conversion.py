"""The naive twins' grammars as the library's and back, and what charts say under the twins' names."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import naive
import numpy as np
from naive_dop import Node

from mbrparse.charts.chart import Chart
from mbrparse.charts.spans import SpanEntries
from mbrparse.decode.candidates.samples import Samples
from mbrparse.grammar.dop_grammar import AddressedTreebank, Weighting, address_trees
from mbrparse.grammar.pcfg import PCFG
from mbrparse.grammar.rules import (
    Rule,
    RuleSet,
    TerminalKind,
    Weight,
    is_terminal,
    quote,
    relative_frequencies,
    unquote,
)
from mbrparse.training.expectation import Expectations
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.tree import Tree

Name = TypeVar("Name")


def to_rules(grammar: naive.Grammar, names: Mapping[str, str] | None = None) -> RuleSet:
    """The same rules; a symbol that is its own only terminal becomes a quoted tag.

    ``names`` renames phrase symbols.
    """
    tags = {symbol for symbol, word in grammar.lexical if symbol == word}

    def name(symbol: str) -> str:
        return quote(symbol) if symbol in tags else (names or {}).get(symbol, symbol)

    rules: dict[Rule, Weight] = {}
    for (parent, left, right), p in grammar.binary.items():
        rules[Rule(name(parent), (name(left), name(right)))] = Weight(float(p))
    for (parent, child), p in grammar.unary.items():
        rules[Rule(name(parent), (name(child),))] = Weight(float(p))
    for (symbol, word), p in grammar.lexical.items():
        if symbol not in tags:
            rules[Rule(name(symbol), (quote(word),))] = Weight(float(p))
    start = {name(symbol): Weight(float(p)) for symbol, p in grammar.start.items()}
    return RuleSet("tags", start, rules)


def to_pcfg(grammar: naive.Grammar, names: Mapping[str, str] | None = None) -> PCFG:
    """The library's arrays of a naive grammar."""
    return PCFG.from_rules(to_rules(grammar, names))


def rules_of(counts: Mapping[str, float], start: str = "S", kind: TerminalKind = "words") -> RuleSet:
    """Relative frequencies of counted rules: ``{"S -> NP VP": 3, "NP -> dogs": 1}``.

    What has no rule is a terminal. ``start`` lists symbols of equal probability.
    """
    split = {tuple(text.replace(" -> ", " ").split()): float(count) for text, count in counts.items()}
    parents = {parent for parent, *_ in split}

    def name(symbol: str) -> str:
        return symbol if symbol in parents or is_terminal(symbol) else quote(symbol)

    rules = {Rule(parent, tuple(map(name, children))): count for (parent, *children), count in split.items()}
    return relative_frequencies(kind, dict.fromkeys(start.split(), 1.0), rules)


def to_naive(pcfg: PCFG) -> naive.Grammar:
    """The naive twin's grammar of the library's arrays, quotes of terminals left out."""
    names = names_of(pcfg)
    binary = zip(pcfg.parent.tolist(), pcfg.left.tolist(), pcfg.right.tolist(), strict=True)
    unary = zip(pcfg.unary_parent.tolist(), pcfg.unary_child.tolist(), strict=True)
    lexical = zip(pcfg.lexical_symbol.tolist(), pcfg.lexical_terminal.tolist(), strict=True)
    logs = pcfg.root_log_prob, pcfg.log_prob, pcfg.lexical_log_prob, pcfg.unary_log_prob
    roots, binaries, lexicals, unaries = (np.exp(part).tolist() for part in logs)
    return naive.Grammar(
        dict(zip(names, roots, strict=True)),
        {(names[a], names[b], names[c]): p for (a, b, c), p in zip(binary, binaries, strict=True)},
        {(names[a], pcfg.terminals[w]): p for (a, w), p in zip(lexical, lexicals, strict=True)},
        {(names[a], names[b]): p for (a, b), p in zip(unary, unaries, strict=True)},
    )


def names_of(pcfg: PCFG) -> list[str]:
    """The symbols as the naive twin names them: terminals without their quotes."""
    return [unquote(name) if is_terminal(name) else name for name in pcfg.symbols]


def counted_rules(pcfg: PCFG, found: Expectations) -> dict[tuple[str, ...], float]:
    """Counts above zero, under the names that the naive twin has for rules."""
    names = names_of(pcfg)
    binary = zip(pcfg.parent, pcfg.left, pcfg.right, strict=True)
    lexical = zip(pcfg.lexical_symbol, pcfg.lexical_terminal, strict=True)
    keys: list[tuple[str, ...]] = [(names[a], names[b], names[c]) for a, b, c in binary]
    keys += [(names[a], pcfg.terminals[t]) for a, t in lexical]
    keys += [(name,) for name in names]
    return {
        key: float(count) for key, count in zip(keys, np.concatenate(found.counts), strict=True) if count > 0
    }


def posteriors_of(entries: SpanEntries, labels: Sequence[str]) -> dict[tuple[int, int, str], float]:
    """What is expected of each (start, end, label)."""
    starts, ends, ids, g = (column.tolist() for column in (*entries[:3], entries.g))
    return {(i, j, labels[x]): value for i, j, x, value in zip(starts, ends, ids, g, strict=True)}


def derivation_of(chart: Chart, names: Sequence[str]) -> tuple[list[tuple[int, int, str]], list[str]]:
    """The constituents of the best derivation in preorder, and its preterminals."""
    best = chart.viterbi()
    return [(i, j, names[x]) for i, j, x in best.nodes], [names[x] for x in best.preterminals]


def nodes_of(samples: Samples, names: Sequence[Name]) -> list[tuple[tuple[int, int, Name], ...]]:
    """The nodes of each derivation in preorder."""
    symbols = [names[x] for x in samples.symbol]
    rows = list(zip(samples.start.tolist(), samples.end.tolist(), symbols, strict=True))
    return [tuple(rows[begin:end]) for begin, end in pairwise(samples.first.tolist())]


def dop_treebank(
    nodes: Sequence[Node], kind: TerminalKind, weighting: Weighting, depth: int | None = None
) -> AddressedTreebank:
    """The library's treebank of the DOP twin's trees."""
    trees = [SourceTree("", 1, dop_tree(node)) for node in nodes]
    return address_trees(trees, kind, weighting, depth)


def dop_tree(node: Node) -> Tree:
    """The library's tree of one of the DOP twin's."""
    if isinstance(node, str):
        return Tree(node)
    label, children = node
    return Tree(label, word=children[0]) if len(children) == 1 else Tree(label, list(map(dop_tree, children)))


def write_posteriors(
    path: Path, lengths: Sequence[int], rows: Sequence[tuple[int, int, int, str, float]], **more: object
) -> Path:
    """A file of posteriors, with an entry for each sentence, start, end, label and g."""
    sentence, start, end, label, g = zip(*rows, strict=True) if rows else [()] * 5
    labels = sorted(set(label))
    arrays = {"sentence": sentence, "start": start, "end": end, "label": [labels.index(one) for one in label]}
    integers = {name: np.array(column, int) for name, column in arrays.items()}
    names = np.array(labels or ["unused"])
    np.savez(path, lengths=lengths, labels=names, g=np.array(g, float), **integers, **more)  # type: ignore[arg-type]
    return path
