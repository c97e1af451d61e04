"""Counts of tag n-grams, and of the tags before and after each symbol; their files.

Figures of merit (Caraballo & Charniak 1998) weigh a constituent by tag n-grams and by boundary
statistics (their appendix B). Both are kept as counts: from trees by counting, from a grammar and
sentences by expectation, each constituent then counting with its posterior.

*Tags* are here the grammar's terminals. Both ends of a sentence count as a tag of their own, BOUNDARY:
t_{-2} and t_{-1} are one, and so is t_n.

Files are plain text, versioned, one count a line, in a fixed order:

::

    mbrparse-statistics 1
    terminals tags
    counts 7
    1 ngram boundary boundary 'DT'
    1 ngram boundary 'DT' 'NN'
    1 ngram 'DT' 'NN' boundary
    1 left NP boundary
    ...
    1 right NP boundary
    end

``COUNT ngram A B C``: tag C came after A and B so often; ``COUNT left N T``: N began so often right after
T; ``COUNT right N T``: it ended so often right before T. Tags are in quotes, and ``boundary`` is an end of
the sentence. Counts from posteriors have fractions. Empty lines and lines that begin with ``#`` are
skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mbrparse import arguments, errors, files
from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.grammar import rules
from mbrparse.grammar.fields import HeaderReader, format_number
from mbrparse.grammar.pcfg import PCFG, FloatArray
from mbrparse.treebank import labels, outlines
from mbrparse.treebank.corpora.reading import SourceTree
from mbrparse.treebank.tree import Tree

# Terminals are written in quotes, so that no tag is called this.
BOUNDARY = "boundary"
MAGIC = "mbrparse-statistics"
VERSION = 1
BATCH = 64

Trigram = tuple[str, str, str]
SymbolTag = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over a training corpus; tags are quoted terminals or BOUNDARY, symbols as in grammar files.

    ngrams    c(t_{m-2}, t_{m-1}, t_m) for m = 0..n; shorter n-grams are their sums
    left      C(N, t): how often N begins right after t (symbol, tag)
    right     C(N, t): how often N ends right before t (symbol, tag)

    A tag in binary rules is a symbol too, and a constituent of width one.
    """

    terminal_kind: rules.TerminalKind
    ngrams: dict[Trigram, float]
    left: dict[SymbolTag, float]
    right: dict[SymbolTag, float]


def count_statistics(trees: Iterable[SourceTree], terminal_kind: rules.TerminalKind) -> Statistics:
    """Count the statistics of binarized trees directly; raises GrammarError if there is no tree.

    >>> from mbrparse.treebank.brackets import read_tree
    >>> found = count_statistics([SourceTree("", 1, read_tree("(S x (A x y))"))], "tags")
    >>> found.left["A", "'x'"], found.right["A", "boundary"], found.ngrams["'x'", "'x'", "'y'"]
    (1, 1, 1)
    """
    ngrams: Counter[Trigram] = Counter()
    left: Counter[SymbolTag] = Counter()
    right: Counter[SymbolTag] = Counter()
    for _, _, tree, _ in trees:
        tags, spans = _spans(tree, terminal_kind == "words")
        _count_ngrams(tags, ngrams)
        padded = [BOUNDARY, *tags, BOUNDARY]
        for start, end, symbol in spans:
            left[symbol, padded[start]] += 1
            right[symbol, padded[end + 1]] += 1
    if not ngrams:
        raise errors.GrammarError("no trees to gather statistics from")
    return Statistics(terminal_kind, dict(ngrams), dict(left), dict(right))


def expect_statistics(grammar: PCFG, sentences: Iterable[Sequence[str]]) -> Statistics:
    """The statistics of sentences (of terminals), constituents counting with their posteriors.

    Sentences that the grammar cannot parse add their tags but no constituents. Raises GrammarError if
    none can be parsed.
    """
    ngrams: Counter[Trigram] = Counter()
    contexts = [*map(rules.quote, grammar.terminals), BOUNDARY]
    boundary = len(grammar.terminals)
    left, right = np.zeros((2, len(grammar.symbols), len(contexts)))
    charts = ChartFactory(_by_symbol(grammar))
    stream = iter(sentences)
    while batch := list(islice(stream, BATCH)):
        for sentence in batch:
            _count_ngrams([rules.quote(terminal) for terminal in sentence], ngrams)
        encoded = [grammar.encode(sentence) for sentence in batch]
        for chart in [charts.chart(ids) for ids in encoded if len(ids) and ids.min() >= 0]:
            if not chart.has_parse:
                continue
            padded = np.concatenate([[boundary], chart.terminal_ids, [boundary]])
            entries = chart.span_posteriors()
            np.add.at(left, (entries.label_ids, padded[entries.starts]), entries.g)
            np.add.at(right, (entries.label_ids, padded[entries.ends + 1]), entries.g)
    if not left.any():
        raise errors.GrammarError(
            "the grammar parses none of the sentences that statistics are to come from",
            remedy="give sentences of the grammar's own corpus",
        )
    found = (_entries(grammar.symbols, contexts, table) for table in (left, right))
    return Statistics(grammar.terminal_kind, dict(ngrams), *found)


def _entries(symbols: Sequence[str], contexts: Sequence[str], table: FloatArray) -> dict[SymbolTag, float]:
    places = np.argwhere(table).tolist()
    return {(symbols[row], contexts[column]): float(table[row, column]) for row, column in places}


def _count_ngrams(tags: Sequence[str], ngrams: Counter[Trigram]) -> None:
    padded = [BOUNDARY, BOUNDARY, *tags, BOUNDARY]
    ngrams.update(zip(padded, padded[1:], padded[2:], strict=False))


def _spans(tree: Tree, words: bool) -> tuple[list[str], list[tuple[int, int, str]]]:
    """A tree's terminals, and each symbol that a chart would hold: (start, end, symbol)."""
    spans: list[tuple[int, int, str]] = [*outlines.constituents(tree)]
    # An only child is a preterminal whatever the terminals are (grammar.count).
    alone = {start for start, end, _ in spans if end - start == 1}
    terminals: list[str] = []
    for place, leaf in enumerate(tree.leaves()):
        word = leaf.word if words else None
        terminals.append(rules.quote(leaf.tag if word is None else word))
        is_symbol = word is not None or place in alone
        tag = leaf.label if words else leaf.tag
        spans.append((place, place + 1, labels.escape(tag) if is_symbol else terminals[-1]))
    return terminals, spans


def _by_symbol(grammar: PCFG) -> PCFG:
    """The same grammar with every symbol as its own label: posteriors are then those of symbols."""
    same = PCFG(**{name: getattr(grammar, name) for name in PCFG.__dataclass_fields__})
    # Cached properties, set before their first use.
    same.__dict__["labels"] = grammar.symbols
    same.__dict__["label_ids"] = np.arange(len(grammar.symbols), dtype=np.int32)
    return same


def write_statistics(statistics: Statistics, path: str | Path) -> None:
    """Write a file of statistics (``-``: standard output), complete or not at all."""
    parts: dict[str, Mapping[Any, float]] = {
        "ngram": statistics.ngrams,
        "left": statistics.left,
        "right": statistics.right,
    }
    lines = [
        f"{format_number(count)} {name} {' '.join(key)}\n"
        for name, counts in parts.items()
        for key, count in sorted(counts.items())
    ]
    with files.open_output(path) as stream:
        stream.write(f"{MAGIC} {VERSION}\nterminals {statistics.terminal_kind}\ncounts {len(lines)}\n")
        stream.writelines(lines)
        stream.write("end\n")


@arguments.checked
def read_statistics(path: str | Path) -> Statistics:
    """Read a file of statistics; raises GrammarError with file, line and remedy."""
    reader = HeaderReader(files.source_name(path), "counts")
    rows = reader.rows(files.read_lines(path))
    if next(rows, []) != [MAGIC, str(VERSION)]:
        raise reader.error(
            f"not a file of statistics (its first line is not '{MAGIC} {VERSION}')",
            "gather them with: mbrparse train --statistics FILE",
        )
    read = 0
    counts: dict[str, Counter[Any]] = {"ngram": Counter(), "left": Counter(), "right": Counter()}
    for fields in rows:
        match fields:
            case [count, "ngram" as name, *tags] | [count, ("left" | "right") as name, _, *tags] if len(
                fields
            ) == (5 if name == "ngram" else 4):
                odd = next((tag for tag in tags if tag != BOUNDARY and not rules.is_terminal(tag)), None)
                if odd is not None:
                    raise reader.error(
                        f"{odd} is neither a tag in quotes nor {BOUNDARY}", "write it in quotes"
                    )
                counts[name][tuple(fields[2:])] += reader.number(count)  # type: ignore[assignment]
                read += 1
            case _ if not reader.reads(fields):
                raise reader.error(
                    "not a line of a file of statistics",
                    "counts read: COUNT ngram TAG TAG TAG, COUNT left SYMBOL TAG, COUNT right SYMBOL TAG",
                )
    kind, _ = reader.header(read)
    return Statistics(kind, *(dict(counts[name]) for name in ("ngram", "left", "right")))
