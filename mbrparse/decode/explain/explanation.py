"""Explaining a sentence: everything that a grammar says of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from mbrparse.charts.exhaustive.factory import ChartFactory
from mbrparse.decode.explain.page import Explanation, PageReading
from mbrparse.decode.explain.results import chart_cells, objective_results
from mbrparse.decode.objectives import Objective
from mbrparse.decode.parser.parser import Parse, Parser
from mbrparse.decode.parser.sentences import sentences_from
from mbrparse.decode.span_posteriors import Posteriors
from mbrparse.errors import MbrparseError, OptionsError, shortened
from mbrparse.grammar.pcfg import PCFG, UNKNOWN_TERMINAL, Grammar
from mbrparse.treebank.outlines import constituents
from mbrparse.treebank.tree import Tree

#: The objectives that are explained if none are named.
USUAL = ("labelled-tree", "labelled-recall", "bracketed-recall", "general-recall", "labelled-f")
#: A chart of more words could not be read.
LONGEST = 40


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

    >>> from mbrparse.training.count import train
    >>> from mbrparse.treebank.brackets import read_tree
    >>> grammar = train([read_tree("(S (NP DT NN) VB)"), read_tree("(S DT (X NN VB))")])
    >>> [round(reading.posterior, 3) for reading in explain(grammar, "DT NN VB").readings]
    [0.5, 0.5]
    """
    if getattr(grammar, "kind", "pcfg") != "pcfg":
        raise OptionsError("a DOP grammar's charts are of fragments, which no page shows: use a PCFG")
    parser = Parser(grammar, *(objectives or USUAL), k_best=readings, expectations=True, fallback="empty")
    pcfg = parser.source.grammar  # type: ignore[union-attr]
    [[leaves], _] = sentences_from([sentence])
    of_words = pcfg.terminal_kind == "words"
    words = tuple(leaf.word if of_words and leaf.word is not None else leaf.label for leaf in leaves)
    if len(words) > LONGEST:
        raise MbrparseError(
            f"the sentence has {len(words)} words, of {LONGEST} at most for a chart that can be read",
            remedy="explain a part of it; mbrparse posteriors draws charts of long sentences",
        )
    [parse] = parser.parse([sentence])
    posteriors = parse.posteriors
    if parse.reason is not None or posteriors is None:
        raise _unparsed(parse, words, pcfg)
    # Forests have the cells of preterminals, too.
    chart = ChartFactory(pcfg, kernel="forest").chart(parse.terminal_ids)
    cells = tuple(chart_cells(chart, pcfg))
    rules = {
        (entry.label, *way.children): way.log_prob
        for cell in cells
        for entry in cell.entries
        for way in entry.ways
    }
    results = tuple(objective_results(parse, posteriors, chart, pcfg, rules))
    found = tuple(_readings(parse, posteriors))
    return Explanation(words, parse.log_prob, cells, found, results, posteriors)


def _unparsed(parse: Parse, words: Sequence[str], grammar: PCFG) -> MbrparseError:
    ids = zip(words, parse.terminal_ids.tolist(), strict=True)
    unknown = dict.fromkeys(repr(shortened(word)) for word, place in ids if place == UNKNOWN_TERMINAL)
    if unknown:
        known = ", ".join(map(shortened, grammar.terminals[:5]))
        return MbrparseError(
            f"the grammar has no {' and no '.join(unknown)}",
            remedy=f"its terminals are {grammar.terminal_kind} such as {known}",
        )
    return MbrparseError(
        f"the grammar has no tree of {shortened(' '.join(words), 200)!r}: {parse.reason}",
        remedy="add a rule, or try a part of the sentence",
    )


def _readings(parse: Parse, posteriors: Posteriors) -> Iterator[PageReading]:
    for log_prob, tree in parse.candidates:
        if tree is not None:
            spans = constituents(tree)
            expected, _ = posteriors.expected_matches(spans)
            yield PageReading(tree, log_prob, math.exp(log_prob - parse.log_prob), spans, expected)
