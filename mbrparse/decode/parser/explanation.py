"""Explaining a sentence: everything that a grammar says of it.

The page of one explained sentence: a template, its style and its script, all in one file.

What a grammar says of a sentence: the cells of its chart, and what each objective returns and why.
"""

from __future__ import annotations

import itertools
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbrparse.arguments import checked
from mbrparse.charts.chart import Chart
from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.charts.occurrences import returns
from mbrparse.charts.rule_tables import unary_tables
from mbrparse.charts.spans import cell_of
from mbrparse.decode.objectives import Item, Objective
from mbrparse.decode.parser.parser import Parser
from mbrparse.decode.parser.sentences import Sentence, sentences_from
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.decode.tree_probability import share
from mbrparse.decode.trees import LabelledSpans, build_tree
from mbrparse.errors import MbrparseError, OptionsError, shortened, visible
from mbrparse.files import open_output
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL, FloatArray, Grammar
from mbrparse.page_frame import data_text, page_template
from mbrparse.treebank.drawing import draw_tree
from mbrparse.treebank.outlines import constituents
from mbrparse.treebank.tree import Tree

if TYPE_CHECKING:
    import pandas as pd


class Way(NamedTuple):
    """One way to build a label over its span: a rule, and where its children meet (None: there is one).

    ``share`` is its part of the label's inside value, ``log_best`` the value of its best derivation.
    """

    children: tuple[str, ...]
    split: int | None
    log_prob: float
    log_value: float
    log_best: float
    share: float


class Entry(NamedTuple):
    """A symbol over a span. ``log_outside`` is -inf, and ``posterior`` 0, for one that is in no parse."""

    label: str
    log_inside: float
    log_outside: float
    posterior: float
    ways: tuple[Way, ...]

    @property
    def back_pointer(self) -> Way:
        """The way that has the Viterbi value; of equal ones the first by split, then by children."""
        ways = sorted(self.ways, key=lambda way: (way.split or math.inf, way.children))
        return max(ways, key=lambda way: round(way.log_best, 9))


class ExplainedCell(NamedTuple):
    """A span and all symbols that derive it, the most probable first."""

    start: int
    end: int
    entries: tuple[Entry, ...]


def chart_cells(chart: Chart, grammar: PCFG) -> Iterator[ExplainedCell]:
    """The cells that hold something, in the order of filling; ``chart`` has those of preterminals, too."""
    inside, best = dict[tuple[int, int], FloatArray](), dict[tuple[int, int], FloatArray]()
    names = grammar.symbols
    # Of inside * outside, which counts the copies of a symbol in a chain, the share that the first one has.
    once = np.log(returns(grammar, unary_tables(grammar), np.arange(len(names), dtype=np.int32)).stays)
    for end in range(1, chart.length + 1):
        for start in range(end - 1, -1, -1):
            symbols, values = chart.inside(start, end)
            best[start, end] = np.full(len(names), -np.inf)
            inside[start, end] = row = np.full(len(names), -np.inf)
            row[symbols] = values
            ways: dict[int, list[Way]] = {symbol: [] for symbol in symbols.tolist()}
            for symbol, way in _ways(chart, grammar, inside, best, start, end):
                ways[symbol].append(way)
            outside = dict(zip(*(part.tolist() for part in chart.outside(start, end)), strict=True))
            entries = []
            for symbol, found in ways.items():
                log_inside, log_outside = float(row[symbol]), outside.get(symbol, -math.inf)
                posterior = share(log_inside + log_outside + once[symbol], chart.log_prob)
                entries.append(Entry(names[symbol], log_inside, log_outside, posterior, tuple(found)))
            if entries:
                key = sorted(entries, key=lambda one: (-round(one.posterior, 12), -one.log_inside, one.label))
                yield ExplainedCell(start, end, tuple(key))


def _ways(
    chart: Chart,
    grammar: PCFG,
    inside: dict[tuple[int, int], FloatArray],
    best: dict[tuple[int, int], FloatArray],
    start: int,
    end: int,
) -> Iterator[tuple[int, Way]]:
    """Symbols with their ways; ``best`` gets the span's Viterbi values."""
    names, cell, cell_best = grammar.symbols, inside[start, end], best[start, end]

    def way(symbol: int, children: tuple[str, ...], split: int | None, *logs: float) -> tuple[int, Way]:
        log_prob, value, log_best = map(float, logs)
        return int(symbol), Way(children, split, log_prob, value, log_best, share(value, cell[symbol]))

    if end - start == 1:
        word = grammar.terminals[chart.terminal_ids[start]]
        for rule in np.flatnonzero(grammar.lexical_terminal == chart.terminal_ids[start]).tolist():
            symbol, log_prob = grammar.lexical_symbol[rule], grammar.lexical_log_prob[rule]
            if cell[symbol] > -np.inf:
                cell_best[symbol] = log_prob
                yield way(symbol, (f"'{word}'",), None, log_prob, log_prob, log_prob)
    for split in range(start + 1, end):
        values, viterbi = (
            grammar.log_prob + table[start, split][grammar.left] + table[split, end][grammar.right]
            for table in (inside, best)
        )
        np.maximum.at(cell_best, grammar.parent, viterbi)
        for rule in np.flatnonzero(values > -np.inf).tolist():
            children = names[grammar.left[rule]], names[grammar.right[rule]]
            logs = grammar.log_prob[rule], values[rule], viterbi[rule]
            yield way(grammar.parent[rule], children, split, *logs)
    # Chains are of as many rules as there are symbols, at most.
    for _ in names:
        before = cell_best.copy()
        np.maximum.at(cell_best, grammar.unary_parent, grammar.unary_log_prob + before[grammar.unary_child])
        if np.array_equal(before, cell_best):
            break
    values, viterbi = (grammar.unary_log_prob + row[grammar.unary_child] for row in (cell, cell_best))
    for rule in np.flatnonzero(values > -np.inf).tolist():
        logs = grammar.unary_log_prob[rule], values[rule], viterbi[rule]
        yield way(grammar.unary_parent[rule], (names[grammar.unary_child[rule]],), None, *logs)


_OF_SPANS = Item.LABELLED_SPAN, Item.SPAN, Item.CONSISTENT_SPAN, Item.LOG_CONSISTENT_SPAN


class Gain(NamedTuple):
    """An item of a tree, what it gains, and its span (None: the root's)."""

    name: str
    gain: float
    span: tuple[int, int] | None = None


class Result(NamedTuple):
    """What an objective returns. Its gains are empty where they are of other items than spans and rules.

    ``labelled`` and ``bracketed`` are the expected numbers of right constituents and of right brackets;
    ``expected_constituents`` is what an F divides by, beside the tree's own (None: of no F).
    """

    objective: Objective
    tree: Tree
    constituents: LabelledSpans
    score: float
    labelled: float
    bracketed: float
    gains: tuple[Gain, ...]
    expected_constituents: float | None


def _gains(row: Objective, spans: LabelledSpans, posteriors: Posteriors, nary: bool) -> Iterator[Gain]:
    """What each constituent gains, where the objective looks at nothing but spans."""
    if any(weight and item not in _OF_SPANS for item, weight in row.gains):
        return
    matches = 0.0, 0.0
    for place, (start, end, label) in enumerate(spans):
        # Beside those of the labels above it on the same span.
        before, matches = matches, posteriors.expected_matches(spans[: place + 1], nary)
        gain = row.node_constant + row.weight(Item.LABELLED_SPAN) * (matches[0] - before[0])
        gain += row.weight(Item.SPAN) * (matches[1] - before[1])
        if row.needs_consistency:
            consistent = float(posteriors.consistent[cell_of(posteriors.length, start, end)])
            gain += row.weight(Item.CONSISTENT_SPAN) * consistent
            gain += row.weight(Item.LOG_CONSISTENT_SPAN) * math.log(consistent)
        yield Gain(label, gain, (start, end))


def _rules(chart: Chart, grammar: PCFG, cells: Sequence[ExplainedCell]) -> Iterator[Gain]:
    """The rules of the most probable derivation, with their natural log probabilities."""
    rules = {
        (entry.label, *way.children): way.log_prob
        for cell in cells
        for entry in cell.entries
        for way in entry.ways
    }
    best, names = chart.viterbi(), grammar.symbols
    words = [grammar.terminals[place] for place in chart.terminal_ids.tolist()]
    leaves = [Tree(names[tag], word=word) for tag, word in zip(best.preterminals, words, strict=True)]
    tree = build_tree([(start, end, names[symbol]) for start, end, symbol in best.nodes], leaves)
    root = float(grammar.root_log_prob[names.index(tree.label)])
    if root < 0:
        yield Gain(f"{tree.label} as the root", root)
    start = 0
    for node in tree.preorder():
        parts = [f"'{node.word}'"] if node.is_leaf else [child.label for child in node.children]
        if parts != [node.label]:  # a terminal that stands in rules itself
            yield Gain(
                f"{node.label} → {' '.join(parts)}",
                rules[node.label, *parts],
                (start, start + len(node.leaves())),
            )
        start += node.is_leaf


#: A label's ways beyond these are counted only.
_MOST_WAYS = 100


class PageReading(NamedTuple):
    """A tree of the sentence, its constituents, and how many of them are expected to be right."""

    tree: Tree
    log_prob: float
    posterior: float
    constituents: LabelledSpans
    expected: float


class Page(ABC):
    """A page that is one file; notebooks show it, too."""

    @abstractmethod
    def html(self) -> str:
        """The page: all in one, nothing is loaded from elsewhere."""

    def write(self, path: str | Path) -> None:
        """Write the page; raises FileError."""
        with open_output(path) as stream:
            stream.write(self.html())

    def _repr_html_(self) -> str:
        style = "width:100%;height:46rem;border:1px solid #888"
        return f'<iframe title="Explained" style="{style}" srcdoc="{escape(self.html())}"></iframe>'


def rendered(package: str, name: str, words: Sequence[str], **values: Any) -> str:
    """A page's template in a package's data, filled in, with its script and the style of all."""
    filters = {"probability": probability, "number": _number, "drawn": draw_tree, "visible": _visible}
    page = page_template(package, f"{name}.html", **filters)
    text: str = page.render(
        title=" ".join(words),
        style=data_text(__package__, "explain.css"),
        script=data_text(package, f"{name}.js"),
        **values,
    )
    return text.removesuffix("\n")


@dataclass(frozen=True, repr=False)
class Explanation(Page):
    """One sentence explained, as data, and as a page, which notebooks show.

    Positions are half-open and begin at 0, logarithms are natural. ``cells`` are in the order in which a
    chart is filled: word by word, each time from the shortest span that ends there to the longest.
    ``readings`` are the most probable trees.
    """

    words: tuple[str, ...]
    log_prob: float
    cells: tuple[ExplainedCell, ...]
    readings: tuple[PageReading, ...]
    results: tuple[Result, ...]
    posteriors: Posteriors

    @property
    def missing(self) -> float:
        """The share of the sentence's probability that is in trees which are not among the readings."""
        left = 1 - math.fsum(reading.posterior for reading in self.readings)
        return left if left > 1e-9 else 0.0

    @property
    def frame(self) -> pd.DataFrame:
        """The labels of all cells, in the order of filling; ``children`` and ``split`` are back-pointers."""
        import pandas as pd

        names = ["start", "end", "label", "log_inside", "log_outside", "posterior"]
        rows = [
            (
                start,
                end,
                *one[:4],
                one.back_pointer.log_best,
                " ".join(one.back_pointer.children),
                one.back_pointer.split,
            )
            for start, end, entries in self.cells
            for one in entries
        ]
        found = pd.DataFrame(rows, columns=[*names, "log_viterbi", "children", "split"])
        return found.astype({"split": "Int64"})

    def html(self) -> str:
        cells = [
            {"start": start, "end": end, "entries": list(map(_entry, entries))}
            for start, end, entries in self.cells
        ]
        words = list(map(visible, self.words))
        chart = {"words": words, "cells": cells}
        return rendered(
            __package__,
            "explain",
            words,
            found=self,
            items=_items(self),
            hows=list(map(_how, self.results)),
            # As a script's text: what could end it is written as an escape.
            data=json.dumps(chart).replace("<", "\\u003c"),
        )

    def __repr__(self) -> str:
        return f"<explanation of {' '.join(self.words)!r}: {len(self.readings)} readings>"


def probability(log_prob: float) -> str:
    """A probability in decimals, or as a power of e where it is below 0.0001.

    >>> probability(math.log(0.25)), probability(-50.0), probability(-math.inf)
    ('0.25', 'e^-50', '0')
    """
    if log_prob == -math.inf:
        return "0"
    return f"e^{log_prob:.6g}" if log_prob < math.log(1e-4) else _number(math.exp(log_prob))


def _number(value: float) -> str:
    return f"{round(value, 9):.4g}"


def _visible(value: object) -> str:
    return visible(str(value))


def _entry(entry: Entry) -> dict[str, Any]:
    ways, back = sorted(entry.ways, key=lambda way: -way.share), entry.back_pointer
    listed = [
        {
            "rule": visible(f"{entry.label} → {' '.join(way.children)}"),
            "split": way.split,
            "rule_probability": probability(way.log_prob),
            "value": probability(way.log_value),
            "best": probability(way.log_best),
            "percent": f"{100 * way.share:.4g}",
        }
        for way in ways[:_MOST_WAYS]
    ]
    return {
        "label": visible(entry.label),
        "inside": probability(entry.log_inside),
        "outside": probability(entry.log_outside),
        "posterior": _number(entry.posterior),
        "percent": f"{100 * entry.posterior:.3g}" if entry.posterior >= 1e-4 else "<0.01",
        "viterbi": probability(back.log_best),
        "back": visible(" ".join(back.children)) + ("" if back.split is None else f" at {back.split}"),
        "ways": listed,
        "more": len(ways) - len(listed),
    }


def _items(found: Explanation) -> list[dict[str, Any]]:
    """A row for each constituent of the objectives' trees and of the readings, the most probable first."""
    listed = [one.constituents for one in found.results] + [one.constituents for one in found.readings]
    trees = [[(start, end, label) for start, end, label in spans] for spans in listed]
    rows = [
        {
            "words": visible(" ".join(found.words[start:end])),
            "span": f"{start} to {end}",
            "label": visible(label),
            "g": found.posteriors.labelled(start, end, label),
            "bracket": found.posteriors.bracketed(start, end),
            "chosen": [(start, end, label) in tree for tree in trees[: len(found.results)]],
        }
        for start, end, label in dict.fromkeys(itertools.chain(*trees))
    ]
    return sorted(rows, key=lambda row: -row["g"])


def _how(result: Result) -> str:
    """What an objective's gains are, and how they make its score."""
    row, total = result.objective, math.fsum(gain.gain for gain in result.gains)
    goals = " + ".join(
        f"{'' if weight == 1 else f'{weight:g} times '}{item.value}" for item, weight in row.gains
    )
    cost = f", {row.node_constant:+g} for each constituent" if row.node_constant else ""
    start = f"Gains: {goals}{cost}. Searched: {row.space.value}."
    if not result.gains:
        return f"{start} Its score is {_number(result.score)}."
    start += f" The gains add up to {total:.6g}"
    if row.weight(Item.RULE):
        return f"{start}, the largest log probability; given the sentence it is {_number(result.score)}."
    if not row.f_score:
        return f"{start}, the most of all trees that were searched."
    size, expected = len(result.constituents), _number(result.expected_constituents or 0.0)
    ratio = f"2 * {_number(total)} / ({size} + {expected})"
    return (
        f"{start}; the tree has {size}, and {expected} are expected: F, {ratio}, is {_number(result.score)}."
    )


#: The objectives that are explained if none are named.
USUAL = ("labelled-tree", "labelled-recall", "bracketed-recall", "general-recall", "labelled-f")
#: A chart of more words could not be read.
LONGEST = 40


def explained_words(
    grammar: Grammar, sentence: str | Tree | Sequence[str | Tree]
) -> tuple[PCFG, Sentence, tuple[str, ...]]:
    """The grammar, and the leaves and words of the sentence; raises as ``explain`` does."""
    if getattr(grammar, "kind", "pcfg") != "pcfg":
        raise OptionsError("a DOP grammar's charts are of fragments, which no page shows: use a PCFG")
    pcfg = grammar.pcfg
    [[leaves], _] = sentences_from([sentence])
    of_words = pcfg.terminal_kind == "words"
    words = tuple(leaf.word if of_words and leaf.word is not None else leaf.label for leaf in leaves)
    if len(words) > LONGEST:
        raise MbrparseError(
            f"the sentence has {len(words)} words, of {LONGEST} at most for a chart that can be read",
            remedy="explain a part of it; mbrparse posteriors draws charts of long sentences",
        )
    return pcfg, leaves, words


@checked
def explain(
    grammar: Grammar,
    sentence: str | Tree | Sequence[str | Tree],
    *objectives: str | Objective,
    readings: int = 20,
) -> Explanation:
    """Explain a sentence: everything that a grammar says of it.

    Parameters
    ----------
    grammar
        A PCFG.
    sentence
        A string of words, a list of them, or a tree, whose terminals are parsed.
    objectives
        Names or rows of one's own, by default those of ``USUAL``.
    readings
        How many of the most probable derivations are listed as trees.

    Raises
    ------
    MbrparseError
        Where the grammar derives no tree of the sentence, or it has more words than ``LONGEST``.
    ObjectiveError, OptionsError
        Objectives that have no meaning.

    >>> from mbrparse.training.methods import train
    >>> from mbrparse.treebank.brackets import read_tree
    >>> grammar = train([read_tree("(S (NP DT NN) VB)"), read_tree("(S DT (X NN VB))")])
    >>> [round(reading.posterior, 3) for reading in explain(grammar, "DT NN VB").readings]
    [0.5, 0.5]
    """
    pcfg, _, words = explained_words(grammar, sentence)
    parser = Parser(grammar, *(objectives or USUAL), k_best=readings, expectations=True, fallback="empty")
    [parse] = parser.parse([sentence])
    posteriors = parse.posteriors
    unknown = [word for word, one in zip(words, parse.terminal_ids, strict=True) if one == UNKNOWN_TERMINAL]
    if unknown:
        raise MbrparseError(
            f"the grammar has no {' and no '.join(dict.fromkeys(repr(shortened(word)) for word in unknown))}",
            remedy=f"its terminals are {pcfg.terminal_kind} such as "
            f"{', '.join(map(shortened, pcfg.terminals[:5]))}"
            if pcfg.terminals
            else "it has no terminals",
        )
    text = repr(shortened(" ".join(words), 200))
    if parse.reason == "no parse":
        raise MbrparseError(
            f"the grammar has no tree of {text}: {parse.reason}",
            remedy="add a rule, or try a part of the sentence",
        )
    if parse.reason is not None or posteriors is None:
        raise MbrparseError(f"no explanation of {text}: {parse.reason}", remedy="try a part of the sentence")
    # Forests have the cells of preterminals, too.
    chart = ChartFactory(pcfg, kernel="forest").chart(parse.terminal_ids)
    cells, results, scores = tuple(chart_cells(chart, pcfg)), list[Result](), parse.expected_scores
    for row, tree, spans, found in zip(
        parse.objectives, parse.trees, parse.spans, parse.decoded, strict=True
    ):
        score = scores[row.name]
        assert tree is not None
        assert found is not None
        assert score is not None
        nary = found.constituents is not None
        of_rules = row.weight(Item.RULE) > 0 and len(row.gains) == 1 and not row.node_constant
        gains = _rules(chart, pcfg, cells) if of_rules else _gains(row, spans, posteriors, nary)
        matches = posteriors.expected_matches(spans, nary)
        expected = found.constituents if row.f_score else None
        results.append(Result(row, tree, spans, score, *matches, tuple(gains), expected))
    listed = []
    for log_prob, tree in parse.candidates:
        if tree is not None:
            spans = constituents(tree)
            shown = log_prob - parse.log_share  # a product of the rules that are shown
            posterior, [right, _] = share(log_prob, parse.log_prob), posteriors.expected_matches(spans)
            listed.append(PageReading(tree, shown, posterior, spans, right))
    log_prob = parse.log_prob - parse.log_share
    return Explanation(words, log_prob, cells, tuple(listed), tuple(results), posteriors)


def chart(grammar: Grammar, sentence: str | Tree | Sequence[str | Tree]) -> pd.DataFrame:
    """The chart of a sentence of ``explain``: its cells' labels, in the order in which they are filled.

    Logarithms are natural. ``children`` (or the word, in quotes) and ``split`` are the back-pointer: the way
    that has the Viterbi value.

    >>> from mbrparse.training.methods import train
    >>> shown = ["start", "end", "label", "posterior", "children", "split"]
    >>> chart(train(["(S (NP DT NN) VB)"]), "DT NN VB")[shown].tail(2).values.tolist()
    [[2, 3, "'VB'", 1.0, "'VB'", <NA>], [0, 3, 'S', 1.0, "NP 'VB'", 2]]
    """
    return explain(grammar, sentence, "labelled-tree", readings=1).frame
